//! CAT, cost age times (Chiang '97, section 4): the least u/(1−u) × 1/age × erases, where the age counts from the
//! moment the segment was opened. The score is its reciprocal, so that greater is better. A segment that was never
//! erased counts as erased once, and no age is below 1.

use super::age_weighted::{AgeScore, AgeWeighted};
use crate::addr::Seg;
use crate::segments::Segments;

/// The score.
#[derive(Debug, Clone)]
pub struct Cat;

impl AgeWeighted<Cat> {
    pub(crate) fn new(segments: u32, slots: u32) -> Self {
        Self::by(Cat, segments, slots)
    }
}

impl AgeScore for Cat {
    /// CAT levels wear, so erase counts are close to each other.
    const WEAR_CLASSES: u32 = 16;

    fn weight(valid: u32, slots: u32) -> f64 {
        // Without a valid page this is infinite, but no candidate is empty.
        f64::from(slots - valid) / f64::from(valid)
    }

    #[inline]
    fn stamp(&self, seg: Seg, segments: &Segments) -> u64 {
        segments.opened(seg)
    }

    #[inline]
    fn combine(weight: f64, age: f64, erases: u32) -> f64 {
        let age = if age > 1.0 { age } else { 1.0 };
        weight * age / (f64::from(erases) + 1.0)
    }
}
