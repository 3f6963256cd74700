//! Cost-benefit (Kawaguchi '95, section 2.8): age × (1−u) / 2u. The cost of a victim is to read and to write back its
//! valid pages. What the age counts from differs between the papers, and matters: see [`Age`].
//!
//! `cost-benefit-sqrt` weighs the age less: √age × (1−u) / 2u, as the simulators of SepBIT and MiDAS do. Scores are of
//! + − × ÷ only, so here it is the square of that, which orders segments alike; `falling` compares the square, too.

use super::age_weighted::{AgeScore, AgeWeighted};
use crate::addr::Seg;
use crate::segments::Segments;

/// What the age of a segment counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// From when it was opened, or an erased segment taken for its class.
    Opened,
    /// From when its last page was written.
    Sealed,
    /// From when a page in it last became invalid, as Kawaguchi has it.
    Invalidated,
}

/// The score, or its square.
#[derive(Debug, Clone)]
pub struct CostBenefit<const SQUARE: bool> {
    age: Age,
}

impl<const SQUARE: bool> AgeWeighted<CostBenefit<SQUARE>> {
    pub fn new(segments: u32, slots: u32, age: Age) -> Self {
        Self::by(CostBenefit { age }, segments, slots)
    }
}

impl<const SQUARE: bool> AgeScore for CostBenefit<SQUARE> {
    fn weight(valid: u32, slots: u32) -> f64 {
        // Without a valid page this is infinite, but no candidate is empty.
        let weight = f64::from(slots - valid) / (2.0 * f64::from(valid));
        if SQUARE { weight * weight } else { weight }
    }

    #[inline]
    fn stamp(&self, seg: Seg, segments: &Segments) -> u64 {
        match self.age {
            Age::Opened => segments.opened(seg),
            Age::Sealed => segments.sealed(seg),
            Age::Invalidated => segments.invalidated(seg),
        }
    }

    #[inline]
    fn combine(weight: f64, age: f64, _erases: u32) -> f64 {
        weight * age
    }
}
