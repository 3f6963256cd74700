//! Cost-benefit (Kawaguchi '95, section 2.8): age × (1−u) / 2u, where the age counts from the last
//! invalidation and the cost of a victim is to read and to write back its valid pages.

use super::age_weighted::AgeScore;
use crate::addr::Seg;
use crate::segments::Segments;

/// The score.
#[derive(Debug, Clone)]
pub struct CostBenefit;

impl AgeScore for CostBenefit {
    fn weight(valid: u32, slots: u32) -> f64 {
        f64::from(slots - valid) / (2.0 * f64::from(valid))
    }

    #[inline]
    fn stamp(seg: Seg, segments: &Segments) -> u64 {
        segments.invalidated(seg)
    }

    #[inline]
    fn combine(weight: f64, age: f64, _erases: u32) -> f64 {
        weight * age
    }
}
