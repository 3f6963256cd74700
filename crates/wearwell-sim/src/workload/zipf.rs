//! Draws from Zipf's law in constant time, with an alias table (Walker 1974). The sweep that builds the table needs no
//! work lists, because the weights are sorted.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// 2³², the unit of the fixed-point thresholds.
const ONE: f64 = 4_294_967_296.0;

/// One slot of the table. It gives its own unit with probability `threshold ÷ 2³²`, and another unit otherwise.
#[derive(Clone, Copy)]
struct Slot {
    threshold: u32,
    alias: u32,
}

/// Units with probabilities as 1/k^θ, k being the rank of a unit in a seeded order. Eight bytes a unit,
/// also while it is built.
pub(super) struct ZipfTable {
    slots: Vec<Slot>,
}

impl ZipfTable {
    /// The table of `units` units, fewer than 2³².
    pub(super) fn new(units: u32, theta: f64, seed: u64) -> Self {
        let total: f64 = Weights::new(theta, 0).take(units as usize).sum();
        let scale = f64::from(units) / total;
        let mut builder = Builder {
            // The sweep leaves the last heavy rank's slot like this. It gives its own unit on either side.
            slots: (0..units).map(|unit| Slot { threshold: u32::MAX, alias: unit }).collect(),
            order: Scatter::new(units, seed),
        };
        builder.sweep(units, theta, scale);
        Self { slots: builder.slots }
    }

    /// The unit for one random number. Its high part chooses the slot, the rest chooses the side.
    #[inline]
    pub(super) fn unit(&self, random: u64) -> u32 {
        let product = u128::from(random) * self.slots.len() as u128;
        let slot = (product >> 64) as u32;
        let side = (product >> 32) as u32;
        let Slot { threshold, alias } = self.slots[slot as usize];
        // A branch here would often be mispredicted, and each misprediction would end the overlap of the loads of a
        // batch.
        std::hint::select_unpredictable(side < threshold, slot, alias)
    }
}

struct Builder {
    slots: Vec<Slot>,
    order: Scatter,
}

impl Builder {
    /// Fills every slot. Weights are scaled so that their mean is 1, the content of a slot. Ranks below `heavy` weigh 1
    /// or more; each light rank fills its slot with its own weight and the rest from the current heavy rank. The heavy
    /// rank's own slot takes what it has left, and the rest from the next heavy rank.
    fn sweep(&mut self, units: u32, theta: f64, scale: f64) {
        let heavy = first_light_rank(units, theta, scale);
        let mut heavy_weights = Weights::new(theta, 0).map(|weight| weight * scale);
        // The weights reach as far as ranks do, so the 1 is never used.
        let mut next_heavy = || heavy_weights.next().unwrap_or(1.0);
        let mut donor = 0;
        let mut left = next_heavy();
        for (rank, weight) in (heavy..units).zip(Weights::new(theta, heavy).map(|weight| weight * scale)) {
            // The last heavy rank stays the donor, whatever rounding makes of what it has left.
            while left < 1.0 && donor + 1 < heavy {
                self.fill(donor, left, donor + 1);
                donor += 1;
                left = next_heavy() - (1.0 - left);
            }
            self.fill(rank, weight, donor);
            left -= 1.0 - weight;
        }
        // All light slots are full. The remaining heavy ranks share what is left among themselves.
        while donor + 1 < heavy {
            self.fill(donor, left, donor + 1);
            donor += 1;
            left = next_heavy() - (1.0 - left);
        }
    }

    /// Sets the slot of `rank` to keep `weight` (cut to 0–1) for itself and give the rest to `other`.
    fn fill(&mut self, rank: u32, weight: f64, other: u32) {
        // The cast saturates: this is the cut.
        let threshold = (weight * ONE) as u32;
        let alias = self.order.unit(other);
        self.slots[self.order.unit(rank) as usize] = Slot { threshold, alias };
    }
}

/// The first rank whose weight is below 1, found by bisection. It is at least 1, because the first rank weighs at least
/// the mean.
fn first_light_rank(units: u32, theta: f64, scale: f64) -> u32 {
    let (mut low, mut high) = (1, units);
    while low < high {
        let middle = low + (high - low) / 2;
        if scale * weight_of(theta, middle) < 1.0 {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// 1/k^θ of the rank counted from 0.
fn weight_of(theta: f64, rank: u32) -> f64 {
    libm::pow(f64::from(rank) + 1.0, -theta)
}

/// The weights of all ranks from one rank on. Powers are slow, so from rank 4096 on only every 1024th weight is
/// computed as a power. The weights between follow from (1 − 1/k)^θ by its binomial series, to within 10⁻¹³.
struct Weights {
    theta: f64,
    rank: u32,
    value: f64,
}

impl Weights {
    const SERIES_FROM: u32 = 4096;
    const EXACT_EVERY: u32 = 1024;

    fn new(theta: f64, rank: u32) -> Self {
        Self { theta, rank, value: weight_of(theta, rank) }
    }

    /// (1 − x)^θ for small x.
    fn power_near_one(theta: f64, x: f64) -> f64 {
        let third = (2.0 - theta) * x / 3.0 * (1.0 + (3.0 - theta) * x / 4.0);
        1.0 - theta * x * (1.0 + (1.0 - theta) * x / 2.0 * (1.0 + third))
    }
}

impl Iterator for Weights {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        let value = self.value;
        self.rank = self.rank.checked_add(1)?;
        self.value = if self.rank < Self::SERIES_FROM || self.rank.is_multiple_of(Self::EXACT_EVERY) {
            weight_of(self.theta, self.rank)
        } else {
            value * Self::power_near_one(self.theta, 1.0 / (f64::from(self.rank) + 1.0))
        };
        Some(value)
    }
}

/// A seeded permutation from rank to unit that is computed, not stored. It applies rounds of invertible steps on the
/// next power of two. Results outside the range go through them again.
pub(super) struct Scatter {
    units: u32,
    mask: u32,
    shift: u32,
    keys: [(u32, u32); 4],
}

impl Scatter {
    /// The permutation of `units` units, at least one.
    pub(super) fn new(units: u32, seed: u64) -> Self {
        // A single unit takes no bits. The shift is still 1, because a shift by 0 would make every value 0.
        let bits = 32 - (units - 1).leading_zeros();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let keys = std::array::from_fn(|_| {
            let key = rng.next_u64();
            // An odd factor can be undone modulo a power of two.
            (key as u32 | 1, (key >> 32) as u32)
        });
        // An exclusive or with a shift by half of the bits, or more, undoes itself.
        Self { units, mask: ((1u64 << bits) - 1) as u32, shift: bits.div_ceil(2).max(1), keys }
    }

    pub(super) fn unit(&self, rank: u32) -> u32 {
        let mut value = rank;
        // A permutation comes back to where it began, which is in range, so this ends.
        loop {
            for (factor, addend) in self.keys {
                value = value.wrapping_mul(factor).wrapping_add(addend) & self.mask;
                value ^= value >> self.shift;
            }
            if value < self.units {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability of each unit that a table stands for.
    fn probabilities(table: &ZipfTable) -> Vec<f64> {
        let units = table.slots.len() as f64;
        let mut sums = vec![0.0; table.slots.len()];
        for (unit, slot) in table.slots.iter().enumerate() {
            let own = f64::from(slot.threshold) / ONE;
            sums[unit] += own / units;
            sums[slot.alias as usize] += (1.0 - own) / units;
        }
        sums
    }

    #[test]
    fn the_table_holds_exactly_the_law() {
        for (units, theta) in [(1, 1.0), (2, 0.5), (3, 2.0), (1000, 0.99), (20_000, 1.0), (65_537, 1.3), (5000, 0.01)] {
            let table = ZipfTable::new(units, theta, 7);
            let order = Scatter::new(units, 7);
            let probabilities = probabilities(&table);
            let total: f64 = (0..units).map(|rank| weight_of(theta, rank)).sum();
            for rank in 0..units {
                let expected = weight_of(theta, rank) / total;
                let found = probabilities[order.unit(rank) as usize];
                let tolerance = 1e-6 * expected + 1e-9 / f64::from(units);
                assert!((found - expected).abs() < tolerance, "{units} {theta} rank {rank}: {found} {expected}");
            }
        }
    }

    #[test]
    fn weights_by_series_are_powers() {
        for theta in [0.3, 0.99, 1.0, 1.7, 3.0] {
            for (rank, weight) in (0..200_000).zip(Weights::new(theta, 0)) {
                let exact = weight_of(theta, rank);
                assert!((weight / exact - 1.0).abs() < 1e-11, "theta {theta} rank {rank}: {weight} {exact}");
            }
        }
    }

    #[test]
    fn scatter_is_a_permutation_that_parts_neighbours() {
        for units in [1, 2, 3, 5, 8, 100, 4096, 5000] {
            let order = Scatter::new(units, 3);
            let mut seen = vec![false; units as usize];
            for rank in 0..units {
                let unit = order.unit(rank) as usize;
                assert!(!seen[unit], "{units}: unit {unit} twice");
                seen[unit] = true;
            }
        }
        let order = Scatter::new(1 << 20, 11);
        let mut top: Vec<u32> = (0..1024).map(|rank| order.unit(rank)).collect();
        top.sort_unstable();
        // Of 1024 units thrown at random into 2^20, one pair is expected to touch.
        let touching = top.windows(2).filter(|pair| pair[1] - pair[0] == 1).count();
        assert!(touching < 8, "{touching} of the popular units touch");
        // And each sixteenth of the range has about 64 of them.
        for part in 0..16 {
            let count = top.iter().filter(|&&unit| unit >> 16 == part).count();
            assert!((30..100).contains(&count), "{count} popular units in part {part}");
        }
    }
}
