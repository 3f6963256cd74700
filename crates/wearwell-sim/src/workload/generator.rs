//! Draws unit numbers from a synthetic workload, in batches.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::zipf::{Scatter, ZipfTable};
use super::{WorkloadError, WorkloadSpec};
use crate::size::Percent;

/// The unit 640-116 is defined on, in bytes.
const EIGHTHS_UNIT_BYTES: u64 = 4096;

/// Draws the units that a host writes. The numbers depend only on the workload, the range and the seed, not on the
/// machine or the size of batches.
pub struct Generator {
    rng: Xoshiro256PlusPlus,
    pattern: Pattern,
}

/// Invariant: every unit a pattern gives is below the number of units it was made for.
enum Pattern {
    Sequential { units: u32, next: u32 },
    Random { units: u32 },
    Hot { split: Split, hot_units: u32, cold_units: u32, scatter: Option<Scatter> },
    Eighths(Eighths),
    Zipf(ZipfTable),
}

impl Generator {
    /// A generator over `units` units of `unit_bytes` bytes each.
    ///
    /// # Errors
    /// No units or 2³² and more, a part of the range that is written to but holds none, a unit size that
    /// 640-116 cannot be made of, and a trace or a program, which have requests of their own.
    pub fn new(spec: &WorkloadSpec, units: u64, unit_bytes: u64, seed: u64) -> Result<Self, WorkloadError> {
        let count = u32::try_from(units).ok().filter(|&count| count > 0).ok_or(WorkloadError::Units { units })?;
        let empty = |part| WorkloadError::EmptyPart { workload: spec.to_string(), units, part };
        let pattern = match spec {
            WorkloadSpec::Sequential => Pattern::Sequential { units: count, next: 0 },
            WorkloadSpec::Random => Pattern::Random { units: count },
            WorkloadSpec::Hot { writes, range, is_scattered } => {
                // At most `units`, which fits.
                let hot_units = range.of(units) as u32;
                let cold_units = count - hot_units;
                if hot_units == 0 {
                    return Err(empty("the first part"));
                }
                if cold_units == 0 && *writes != Percent::FULL {
                    return Err(empty("the rest of the range"));
                }
                let split = Split::new(*writes);
                // The order has a seed of its own, so that it does not repeat the draws.
                let scatter = is_scattered.then(|| Scatter::new(count, !seed));
                Pattern::Hot { split, hot_units, cold_units, scatter }
            }
            WorkloadSpec::HotAndCold640 => {
                if !EIGHTHS_UNIT_BYTES.is_multiple_of(unit_bytes) {
                    return Err(WorkloadError::UnitSize { unit_bytes });
                }
                let units_per_4k = EIGHTHS_UNIT_BYTES / unit_bytes;
                Pattern::Eighths(Eighths::new(count, units_per_4k.ilog2()).ok_or_else(|| empty("an eighth"))?)
            }
            // The table's order has a seed of its own, so that it does not repeat the draws.
            WorkloadSpec::Zipf { theta } => Pattern::Zipf(ZipfTable::new(count, *theta, !seed)),
            WorkloadSpec::Trace(_) | WorkloadSpec::Files(_) | WorkloadSpec::Journal(_) => {
                return Err(WorkloadError::NotSynthetic);
            }
        };
        Ok(Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed), pattern })
    }

    /// Fills `out` with the next units to write.
    pub fn fill(&mut self, out: &mut [u32]) {
        let rng = &mut self.rng;
        match &mut self.pattern {
            Pattern::Sequential { units, next } => {
                for unit in out {
                    *unit = *next;
                    *next = if *next + 1 == *units { 0 } else { *next + 1 };
                }
            }
            Pattern::Random { units } => out.fill_with(|| below(rng.next_u64(), *units)),
            Pattern::Hot { split, hot_units, cold_units, scatter } => out.fill_with(|| {
                let is_hot = split.is_first(rng.next_u64());
                let (start, length) = if is_hot { (0, *hot_units) } else { (*hot_units, *cold_units) };
                let unit = start + below(rng.next_u64(), length);
                scatter.as_ref().map_or(unit, |scatter| scatter.unit(unit))
            }),
            Pattern::Eighths(eighths) => out.fill_with(|| eighths.unit(rng.next_u64(), rng.next_u64())),
            Pattern::Zipf(table) => out.fill_with(|| table.unit(rng.next_u64())),
        }
    }
}

/// A number below `bound` from 64 random bits, by multiplication: no division, and even to within 2⁻³².
#[inline]
pub(crate) fn below(random: u64, bound: u32) -> u32 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u32
}

/// Decides from 64 random bits whether a draw falls into the first of two parts.
struct Split {
    /// The part in units of 2⁻⁶³, so that the whole, 2⁶³, can be represented.
    threshold: u64,
}

impl Split {
    fn new(part: Percent) -> Self {
        Self { threshold: part.of(1 << 63) }
    }

    #[inline]
    fn is_first(&self, random: u64) -> bool {
        random >> 1 < self.threshold
    }
}

/// 640-116 (Kawaguchi, section 3.3). The eighth of a unit depends on the 4 KiB that it lies in. Smaller units within a
/// chosen 4 KiB are equally likely. Units behind the last whole 4 KiB are never written.
struct Eighths {
    split: Split,
    /// The binary logarithm of the number of units in 4 KiB, which is a power of two because it divides one.
    shift: u32,
    /// Small units in each of the two eighths written.
    units: [u32; 2],
}

impl Eighths {
    /// `None` where one of the two eighths would be empty.
    fn new(units: u32, shift: u32) -> Option<Self> {
        let count_4k = units >> shift;
        // Members of part e are e, e + 8, …; rounded up, and 0 is no part of a count of 1 or less.
        let members = |eighth: u32| count_4k.saturating_sub(eighth).div_ceil(8);
        let units = [members(0) << shift, members(1) << shift];
        // 60 % of 2^63. Dividing first keeps it in range.
        let split = Split { threshold: (1u64 << 63) / 10 * 6 };
        (units[1] > 0).then_some(Self { split, shift, units })
    }

    #[inline]
    fn unit(&self, choice: u64, position: u64) -> u32 {
        let eighth = u32::from(!self.split.is_first(choice));
        let nth = below(position, self.units[eighth as usize]);
        let (nth_4k, within) = (nth >> self.shift, nth & ((1 << self.shift) - 1));
        ((nth_4k * 8 + eighth) << self.shift) | within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generator(text: &str, units: u64, unit_bytes: u64, seed: u64) -> Result<Generator, WorkloadError> {
        Generator::new(&text.parse().expect(text), units, unit_bytes, seed)
    }

    /// How often each unit is drawn.
    fn histogram(text: &str, units: u64, unit_bytes: u64, draws: usize) -> Vec<u32> {
        let mut generator = generator(text, units, unit_bytes, 42).expect(text);
        let mut counts = vec![0; units as usize];
        let mut batch = [0; 64];
        for _ in 0..draws / batch.len() {
            generator.fill(&mut batch);
            for unit in batch {
                counts[unit as usize] += 1;
            }
        }
        counts
    }

    fn share(counts: &[u32], chosen: impl Fn(usize) -> bool) -> f64 {
        let total: u32 = counts.iter().sum();
        let part: u32 = counts.iter().enumerate().filter(|&(unit, _)| chosen(unit)).map(|(_, count)| count).sum();
        f64::from(part) / f64::from(total)
    }

    #[test]
    fn sequential_wraps() {
        let mut sequential = generator("sequential", 3, 4096, 1).expect("fits");
        let mut out = [0; 7];
        sequential.fill(&mut out);
        assert_eq!(out, [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn draws_do_not_depend_on_batches_but_on_the_seed() {
        for text in ["sequential", "random", "hot:90/10", "scattered:90/10", "640-116", "zipf:0.99"] {
            let mut whole = [0; 1000];
            generator(text, 5000, 4096, 9).expect(text).fill(&mut whole);
            let mut pieces = [0; 1000];
            let mut cut = generator(text, 5000, 4096, 9).expect(text);
            let (first, rest) = pieces.split_at_mut(1);
            cut.fill(first);
            rest.chunks_mut(37).for_each(|chunk| cut.fill(chunk));
            assert_eq!(whole, pieces, "{text}");
            let mut other = [0; 1000];
            generator(text, 5000, 4096, 10).expect(text).fill(&mut other);
            assert_eq!(whole == other, text == "sequential", "{text}");
        }
    }

    #[test]
    fn the_same_numbers_everywhere() {
        for (text, expected) in [
            ("random", [81_161, 74_710, 10_015, 74_621]),
            ("hot:90/10", [7471, 7462, 5904, 57_107]),
            ("640-116", [74_705, 74_616, 59_040, 52_337]),
            ("zipf:0.99", [73_062, 16_244, 10_015, 39_464]),
        ] {
            let mut first = [0; 4];
            generator(text, 100_000, 4096, 1).expect(text).fill(&mut first);
            assert_eq!(first, expected, "{text}");
        }
    }

    #[test]
    fn random_is_even() {
        let counts = histogram("random", 10, 4096, 1_000_000);
        // A count has a standard deviation of 300.
        assert!(counts.iter().all(|&count| (98_500..101_500).contains(&count)), "{counts:?}");
    }

    #[test]
    fn hot_splits_writes_and_range() {
        let counts = histogram("hot:90/10", 1000, 4096, 1_000_000);
        assert!((share(&counts, |unit| unit < 100) - 0.9).abs() < 0.002);
        assert!((share(&counts, |unit| unit < 50) - 0.45).abs() < 0.003);
        assert!((share(&counts, |unit| unit >= 550) - 0.05).abs() < 0.001);
        let counts = histogram("hot:12.5/33.3", 1000, 4096, 1_000_000);
        assert!((share(&counts, |unit| unit < 333) - 0.125).abs() < 0.002);
        let counts = histogram("hot:100/10", 1000, 4096, 100_000);
        assert_eq!(share(&counts, |unit| unit < 100), 1.0);
    }

    #[test]
    fn scattered_units_are_as_hot_wherever_they_lie() {
        let mut counts = histogram("scattered:90/10", 1000, 4096, 1_000_000);
        // A hot unit is written 900 times, a cold one 111 times.
        let is_hot = |&count: &u32| count > 500;
        let hot_of_first_half = counts[..500].iter().filter(|count| is_hot(count)).count();
        assert!((25..75).contains(&hot_of_first_half), "{hot_of_first_half} of 100");
        counts.sort_unstable();
        assert!(counts[..900].iter().all(|count| !is_hot(count)) && counts[900..].iter().all(is_hot));
        assert!((share(&counts, |rank| rank >= 900) - 0.9).abs() < 0.002);
    }

    #[test]
    fn six_forty_writes_two_eighths_of_the_4k_units() {
        for units_per_4k in [1, 2, 8] {
            let units = 1003 * units_per_4k as u64 + units_per_4k as u64 / 2;
            let counts = histogram("640-116", units, 4096 / units_per_4k as u64, 2_000_000);
            let eighth = |unit: usize| unit / units_per_4k % 8;
            assert!((share(&counts, |unit| eighth(unit) == 0) - 0.6).abs() < 0.002);
            assert!((share(&counts, |unit| eighth(unit) == 1) - 0.4).abs() < 0.002);
            for (unit, &count) in counts.iter().enumerate() {
                let whole_4k = unit / units_per_4k < 1003;
                assert_eq!(count > 0, eighth(unit) < 2 && whole_4k, "unit {unit} of {units}");
            }
        }
    }

    #[test]
    fn zipf_follows_its_law() {
        let draws = 2_000_000;
        let mut counts = histogram("zipf:1.0", 10_000, 4096, draws);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let harmonic: f64 = (1..=10_000).map(|k| 1.0 / f64::from(k)).sum();
        for rank in [1, 2, 3, 10, 30] {
            let expected = draws as f64 / harmonic / f64::from(rank);
            let found = f64::from(counts[rank as usize - 1]);
            assert!((found / expected - 1.0).abs() < 0.04, "rank {rank}: {found} {expected}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let error = |text, units, unit_bytes| generator(text, units, unit_bytes, 1).err();
        assert_eq!(error("random", 0, 4096), Some(WorkloadError::Units { units: 0 }));
        assert_eq!(error("random", 1 << 32, 4096), Some(WorkloadError::Units { units: 1 << 32 }));
        assert_eq!(error("640-116", 100, 8192), Some(WorkloadError::UnitSize { unit_bytes: 8192 }));
        assert_eq!(error("640-116", 100, 0), Some(WorkloadError::UnitSize { unit_bytes: 0 }));
        assert_eq!(error("640-116", 100, 3000), Some(WorkloadError::UnitSize { unit_bytes: 3000 }));
        assert_eq!(error("trace:x", 100, 4096), Some(WorkloadError::NotSynthetic));
        for (text, units) in [("hot:90/1", 99), ("hot:90/100", 99), ("640-116", 1)] {
            assert!(matches!(error(text, units, 4096), Some(WorkloadError::EmptyPart { .. })), "{text}");
        }
        assert!(error("640-116", 2, 4096).is_none());
    }
}
