//! The least and the greatest erase count, kept up to date.

use crate::wear::Spread;

/// The least and the greatest erase count of the good segments.
///
/// Invariant: `at_min` of them have been erased `min` times, none less often, none more often than `max`, and one that
/// often.
///
/// All are looked at when the last one with the least count is erased. Each such look raises `min`, and for that every
/// segment has to be erased: so a look costs constant time an erase, unless few segments lag behind all others.
#[derive(Debug, Clone, Default)]
pub(crate) struct EraseSpread {
    min: u32,
    max: u32,
    at_min: u32,
}

impl EraseSpread {
    pub(crate) fn of(erases: impl Iterator<Item = u32>) -> Self {
        let mut spread = Self { min: u32::MAX, max: 0, at_min: 0 };
        for count in erases {
            spread.max = spread.max.max(count);
            if count < spread.min {
                (spread.min, spread.at_min) = (count, 0);
            }
            spread.at_min += u32::from(count == spread.min);
        }
        if spread.at_min == 0 { Self::default() } else { spread }
    }

    /// Counts an erase of a segment, which now has been erased so often, as `all` good segments show.
    pub(crate) fn count_erase(&mut self, erases: u32, all: impl Iterator<Item = u32>) {
        self.max = self.max.max(erases);
        // This segment was one of the least worn, and no longer is.
        if erases - 1 == self.min {
            self.at_min = self.at_min.saturating_sub(1);
            if self.at_min == 0 {
                *self = Self::of(all);
            }
        }
    }

    pub(crate) fn spread(&self, endurance: u32) -> Spread {
        Spread { min_erases: self.min, max_erases: self.max, endurance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    #[test]
    fn the_spread_is_that_of_all_counts() {
        let mut rng = Rng::new(7);
        let mut counts = [3, 0, 9, 3, 1];
        let mut spread = EraseSpread::of(counts.iter().copied());
        for _ in 0..5000 {
            let segment = rng.below(counts.len() as u32) as usize;
            counts[segment] += 1;
            spread.count_erase(counts[segment], counts.iter().copied());
            let (min, max) = (counts.iter().min().copied(), counts.iter().max().copied());
            assert_eq!((Some(spread.min), Some(spread.max)), (min, max));
            assert_eq!(spread.at_min as usize, counts.iter().filter(|&&count| Some(count) == min).count());
        }
    }
}
