//! Faults other than power cuts: bad blocks, failing operations, wear-out, and bit errors that grow.
//!
//! Every fault depends on one seed and on *where* it happens (block, erase count, page), not on when. So a run repeats
//! exactly, even if another process continues it.

use wearwell_flash::BlockAddr;

use crate::error::SetupError;
use crate::profile::ChipProfile;

/// The faults of a chip. The default has none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Faults {
    /// The seed of all draws.
    pub seed: u64,
    /// Blocks that are bad from the factory; fixed when the chip is made.
    pub factory_bad: FactoryBad,
    /// The endurance of each block; fixed when the chip is made. If absent, blocks never wear out.
    pub endurance: Option<Endurance>,
    /// Numbers of operations (as counted for power cuts) that fail, if they are programs or erases.
    pub fail_ops: Vec<u64>,
    /// Numbers of operations that end in [`EmuError::Interrupted`](crate::EmuError::Interrupted), if they are programs
    /// or erases of NAND. A draw decides whether they happened.
    pub interrupt_ops: Vec<u64>,
    /// What a failed program has left may read well for a while and then fail, as after a cut.
    pub failed_pages_fade: bool,
    /// What failed operations of these numbers leave, in place of a draw: the four bits of
    /// [`CutOutcome::Each`](crate::CutOutcome::Each) for the page, or for every page of the block.
    pub fails_as: Vec<(u64, u8)>,
    /// Numbers of operations that fail, if they are bad-block marks of NAND.
    pub fail_marks: Vec<u64>,
    /// Fraction of programs that fail, 0 to 1.
    pub program_fail_rate: f64,
    /// Fraction of erases that fail, 0 to 1.
    pub erase_fail_rate: f64,
    /// Bit errors in reads; none if absent.
    pub bit_errors: Option<BitErrors>,
}

/// Which blocks are bad from the factory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FactoryBad {
    /// None.
    #[default]
    None,
    /// This number, drawn from the seed; never block 0, which makers guarantee to be good.
    Count(u32),
    /// These.
    Blocks(Vec<BlockAddr>),
}

/// The distribution of the blocks' endurance: normal, from twelve uniform draws, so it ends at ±6 deviations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Endurance {
    /// Mean erases that a block survives.
    pub cycles: u32,
    /// Standard deviation relative to `cycles`.
    pub spread: f64,
}

impl Endurance {
    /// The rated endurance of a profile.
    pub fn of(profile: &ChipProfile) -> Self {
        Self { cycles: profile.endurance_cycles, spread: profile.endurance_spread }
    }

    /// Erases that `block` survives, at least one.
    pub(crate) fn draw(self, seed: u64, block: u32) -> u32 {
        let mut rng = rng(seed, Salt::Endurance, block, 0);
        // The variance of a uniform draw is 1/12 and its mean 1/2, so the sum has a deviation of 1 around 6.
        let deviations = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let cycles = f64::from(self.cycles) * (1.0 + self.spread * deviations);
        // The cast saturates, and u32::MAX means no limit.
        (cycles as u32).clamp(1, u32::MAX - 1)
    }
}

/// A plain model of bit errors in the worst code word of a page: `base + per_cycle × erases + per_read × reads of the
/// block since its erase + per_hour × hours since its first program`, rounded up or down by a draw for each page. So
/// errors only grow until the block is erased.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BitErrors {
    /// Wrong bits of a fresh page.
    pub base: f64,
    /// Wrong bits added by each erase of the block.
    pub per_cycle: f64,
    /// Wrong bits added by each read in the block since its erase.
    pub per_read: f64,
    /// Wrong bits added by each hour of simulated time since the first program in the block.
    pub per_hour: f64,
    /// Bits in a code word that the code corrects.
    pub correctable_bits: u32,
    /// From this number of corrected bits on, a read asks for the data to be moved.
    pub refresh_bits: u32,
}

impl BitErrors {
    /// Wrong bits in the worst code word of a page.
    pub(crate) fn bits(&self, seed: u64, page: u32, erases: u32, reads: u32, age_ns: u64) -> u32 {
        const HOUR_NS: f64 = 3.6e12;
        let expected = self.base
            + self.per_cycle * f64::from(erases)
            + self.per_read * f64::from(reads)
            + self.per_hour * (age_ns as f64 / HOUR_NS);
        // Cutting the fraction off behind a uniform draw rounds up as often as the fraction says. A page has one draw a
        // cycle, so that a second read never finds fewer errors.
        (expected + rng(seed, Salt::BitErrors, page, erases).f64()) as u32
    }
}

/// Separates draws for different purposes.
#[derive(Clone, Copy)]
pub(crate) enum Salt {
    Endurance = 1,
    BitErrors,
    FactoryBad,
    ProgramFails,
    EraseFails,
    FailedErase,
    Noise,
    TornErase,
    FailedProgram,
    Interrupted,
}

/// The generator for one purpose and place.
pub(crate) fn rng(seed: u64, salt: Salt, place: u32, cycle: u32) -> fastrand::Rng {
    // Odd multipliers spread the parts over the word. The generator mixes the rest.
    let at = (u64::from(place) << 32 | u64::from(cycle)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    fastrand::Rng::with_seed((seed ^ at).wrapping_add((salt as u64).wrapping_mul(0xD1B5_4A32_D192_ED03)))
}

impl Faults {
    /// Checks rates and blocks against the chip.
    pub(crate) fn validate(&self, profile: &ChipProfile) -> Result<(), SetupError> {
        let fail = |reason: String| Err(SetupError::Faults(reason));
        for (what, rate) in [("program_fail_rate", self.program_fail_rate), ("erase_fail_rate", self.erase_fail_rate)] {
            if !(0.0..=1.0).contains(&rate) {
                return fail(format!("{what} is {rate}: it must be from 0 to 1"));
            }
        }
        match &self.factory_bad {
            // Block 0 is never drawn, so there is one fewer to draw from.
            FactoryBad::Count(count) if *count >= profile.blocks => {
                fail(format!("{count} factory-bad blocks, of {}", profile.blocks))
            }
            FactoryBad::Blocks(blocks) if blocks.iter().any(|b| b.0 >= profile.blocks) => {
                fail(format!("a factory-bad block is outside the {} blocks of the chip", profile.blocks))
            }
            _ => Ok(()),
        }
    }

    /// The factory-bad blocks of a chip with this number of blocks.
    pub(crate) fn draw_factory_bad(&self, blocks: u32) -> Vec<BlockAddr> {
        match &self.factory_bad {
            FactoryBad::None => Vec::new(),
            FactoryBad::Blocks(list) => list.clone(),
            FactoryBad::Count(count) => {
                let mut rng = rng(self.seed, Salt::FactoryBad, 0, 0);
                rng.choose_multiple(1..blocks, *count as usize).into_iter().map(BlockAddr).collect()
            }
        }
    }

    /// True if operation `op`, the program of `page` in its block's cycle `erases`, fails.
    pub(crate) fn program_fails(&self, op: u64, page: u32, erases: u32) -> bool {
        self.fail_ops.contains(&op)
            || (self.program_fail_rate > 0.0
                && rng(self.seed, Salt::ProgramFails, page, erases).f64() < self.program_fail_rate)
    }

    /// What is named for operation `op`, should it fail.
    pub(crate) fn fails_as(&self, op: u64) -> Option<u8> {
        self.fails_as.iter().find(|(named, _)| *named == op).map(|&(_, state)| state)
    }

    /// `Some` if operation `op`, at `place` in its block's cycle `erases`, is interrupted. It says whether the
    /// operation happened.
    pub(crate) fn interrupts(&self, op: u64, place: u32, erases: u32) -> Option<bool> {
        let is_interrupted = self.interrupt_ops.contains(&op);
        // The operation's number is part of the seed, so a retry may have another outcome.
        is_interrupted.then(|| rng(self.seed ^ op, Salt::Interrupted, place, erases).bool())
    }

    /// True if operation `op`, the erase of `block` after `erases` others, fails.
    pub(crate) fn erase_fails(&self, op: u64, block: u32, erases: u32) -> bool {
        self.fail_ops.contains(&op)
            || (self.erase_fail_rate > 0.0
                && rng(self.seed, Salt::EraseFails, block, erases).f64() < self.erase_fail_rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endurance_has_its_mean_and_spread() {
        let endurance = Endurance { cycles: 10_000, spread: 0.1 };
        let draws: Vec<f64> = (0..4000).map(|b| f64::from(endurance.draw(7, b))).collect();
        let mean = draws.iter().sum::<f64>() / 4000.0;
        let sigma = (draws.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / 4000.0).sqrt();
        assert!((mean - 10_000.0).abs() < 60.0 && (sigma - 1000.0).abs() < 50.0, "{mean} {sigma}");
        assert_eq!(endurance.draw(7, 3), endurance.draw(7, 3));
        assert_ne!(endurance.draw(7, 3), endurance.draw(8, 3));
    }

    #[test]
    fn bit_errors_only_grow() {
        let model = BitErrors {
            base: 0.5,
            per_cycle: 0.01,
            per_read: 0.001,
            per_hour: 0.1,
            correctable_bits: 8,
            refresh_bits: 6,
        };
        let hour_ns = 3_600_000_000_000;
        for page in 0..50 {
            let fresh = model.bits(1, page, 10, 0, 0);
            assert!(fresh <= 1);
            assert!(model.bits(1, page, 10, 5000, 0) >= fresh + 5);
            assert_eq!(model.bits(1, page, 10, 0, 40 * hour_ns), model.bits(1, page, 10, 4000, 0));
        }
    }
}
