//! LFS (Rosenblum and Ousterhout '92): age × (1−u) / (1+u), where the age is that of the newest data in the
//! segment and the whole segment is read to clean it. Copied data keeps its age: the destination takes over
//! the stamp of the segment it came from.

use super::age_weighted::{AgeScore, AgeWeighted};
use crate::addr::Seg;
use crate::segments::Segments;

/// The score.
#[derive(Debug, Clone)]
pub struct Lfs;

impl AgeWeighted<Lfs> {
    pub(crate) fn new(segments: u32, slots: u32) -> Self {
        Self::by(Lfs, segments, slots)
    }
}

impl AgeScore for Lfs {
    fn weight(valid: u32, slots: u32) -> f64 {
        f64::from(slots - valid) / f64::from(slots + valid)
    }

    #[inline]
    fn stamp(&self, seg: Seg, segments: &Segments) -> u64 {
        segments.newest(seg)
    }

    #[inline]
    fn combine(weight: f64, age: f64, _erases: u32) -> f64 {
        weight * age
    }
}
