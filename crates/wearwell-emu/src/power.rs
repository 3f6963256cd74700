//! Power cuts: which operation a cut hits, and what it leaves.
//!
//! State-changing operations are numbered from 0 in the order of their calls. A test runs once with a trace, and then
//! once for every number and every outcome of that operation's kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::EmuError;

/// A kind of operation that a power cut can hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// A NAND page program, also as part of a copy.
    Program,
    /// A NAND block erase.
    Erase,
    /// A bad-block mark.
    MarkBad,
    /// A NOR program.
    NorProgram,
    /// The start of a NOR erase.
    NorErase,
    /// A step of a running NOR erase: a poll of its bank, or the wait for its end.
    NorErasing,
}

/// What a power cut leaves of the operation that it hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CutOutcome {
    /// The page is still erased.
    ProgramOld,
    /// The page is programmed.
    ProgramNew,
    /// The page is uncorrectable.
    ProgramUncorrectable,
    /// The page reads as erased, but programming it breaks the contract and leaves it uncorrectable.
    ProgramLooksErased,
    /// The page reads well after the next power-on, for at most eight reads. It is uncorrectable after the power-on
    /// after that.
    ProgramFailsLater,
    /// The same, but for at most two reads: one to find the page, one to check it.
    ProgramFailsSoon,
    /// The page is programmed; the earlier pages of its group of `paired_pages` are uncorrectable.
    ProgramHarmsPairs,
    /// The page and the earlier pages of its group of `paired_pages` are uncorrectable.
    ProgramPairedDamage,
    /// The page and the earlier ones of its group of `paired_pages`, each its own way: as it should be, uncorrectable,
    /// or it fails later, some after a number of reads over any number of power-ons.
    ProgramHarmsSomePairs {
        /// Chooses for each page.
        seed: u64,
    },
    /// The block keeps its old content.
    EraseOld,
    /// The block is erased.
    EraseDone,
    /// Every page of the block is uncorrectable.
    EraseUncorrectable,
    /// The block reads as erased; pages programmed before another erase are uncorrectable after the next power-on.
    EraseWeak,
    /// Each page of the block is left in one of four states: as it was, uncorrectable, failing later (some after a
    /// number of reads over any number of power-ons), or reading as erased without bearing a program.
    EraseMixed {
        /// Chooses for each page.
        seed: u64,
    },
    /// Each page that the operation may change is left as four bits say. For a program the lowest bits are of its own
    /// page, and the next ones of the earlier pages of its group that hold something. For an erase they are of the
    /// first page of the block, and all pages behind the 32nd stay. No seed draws this.
    ///
    /// | bits | what is left |
    /// | --- | --- |
    /// | 0 | what the program asked for, or what was there |
    /// | 1 | an uncorrectable page |
    /// | 2 | a page that reads as erased without bearing a program |
    /// | 3 to 14 | a page that reads well 1 to 9, 11, 20 or 40 times, over any number of power-ons |
    /// | 15 | a page that fails later |
    Each {
        /// The bits.
        states: u128,
    },
    /// The block is not marked.
    MarkOld,
    /// The block is marked.
    MarkNew,
    /// No bit of the NOR program is cleared.
    NorProgramNone,
    /// All bits of the NOR program are cleared.
    NorProgramAll,
    /// Some bits of the NOR program are cleared. The seed decides whether half of them, few or most.
    NorProgramSome {
        /// Chooses the bits.
        seed: u64,
    },
    /// Every bit of the NOR block is either old or set.
    NorEraseBits {
        /// Chooses the bits.
        seed: u64,
    },
    /// The first bytes of the NOR block are erased, the rest is old.
    NorErasePrefix {
        /// Chooses how many.
        seed: u64,
    },
    /// The NOR block holds noise.
    NorEraseNoise {
        /// Makes the noise.
        seed: u64,
    },
    /// One of the outcomes that the operation can have.
    Seeded {
        /// Chooses it.
        seed: u64,
    },
}

use CutOutcome::{
    Each, EraseDone, EraseMixed, EraseOld, EraseUncorrectable, EraseWeak, MarkNew, MarkOld, NorEraseBits,
    NorEraseNoise, NorErasePrefix, NorProgramAll, NorProgramNone, NorProgramSome, ProgramFailsLater, ProgramFailsSoon,
    ProgramHarmsPairs, ProgramHarmsSomePairs, ProgramLooksErased, ProgramNew, ProgramOld, ProgramPairedDamage,
    ProgramUncorrectable,
};

/// The last outcomes occur only where cells are shared.
const PROGRAM: &[CutOutcome] = &[
    ProgramOld,
    ProgramNew,
    ProgramUncorrectable,
    ProgramLooksErased,
    ProgramFailsLater,
    ProgramFailsSoon,
    ProgramPairedDamage,
    ProgramHarmsPairs,
    ProgramHarmsSomePairs { seed: 0 },
];
const OF_SHARED_CELLS: usize = 3;
const ERASE: &[CutOutcome] = &[EraseOld, EraseDone, EraseUncorrectable, EraseWeak, EraseMixed { seed: 0 }];
const MARK: &[CutOutcome] = &[MarkOld, MarkNew];
const NOR_PROGRAM: &[CutOutcome] = &[
    NorProgramNone,
    NorProgramAll,
    NorProgramSome { seed: 0 },
    NorProgramSome { seed: 1 },
    NorProgramSome { seed: 2 },
];
const NOR_ERASE: &[CutOutcome] = &[
    EraseOld,
    EraseDone,
    NorEraseBits { seed: 0 },
    NorErasePrefix { seed: 0 },
    NorErasePrefix { seed: 1 },
    NorEraseNoise { seed: 0 },
];

impl OpKind {
    /// Every outcome of a cut during such an operation, on a chip whose pages share cells in groups of `paired_pages`.
    /// If an outcome takes a seed, a few seeds stand for all.
    pub fn outcomes(self, paired_pages: u32) -> &'static [CutOutcome] {
        match self {
            Self::Program if paired_pages > 1 => PROGRAM,
            Self::Program => &PROGRAM[..PROGRAM.len() - OF_SHARED_CELLS],
            Self::Erase => ERASE,
            Self::MarkBad => MARK,
            Self::NorProgram => NOR_PROGRAM,
            Self::NorErase | Self::NorErasing => NOR_ERASE,
        }
    }

    /// True if a cut during such an operation can leave this.
    fn can_leave(self, outcome: CutOutcome) -> bool {
        match self {
            Self::Program => {
                PROGRAM.contains(&outcome) || matches!(outcome, ProgramHarmsSomePairs { .. } | Each { .. })
            }
            Self::Erase => ERASE.contains(&outcome) || matches!(outcome, EraseMixed { .. } | Each { .. }),
            Self::MarkBad => MARK.contains(&outcome),
            Self::NorProgram => matches!(outcome, NorProgramNone | NorProgramAll | NorProgramSome { .. }),
            Self::NorErase | Self::NorErasing => matches!(
                outcome,
                EraseOld | EraseDone | NorEraseBits { .. } | NorErasePrefix { .. } | NorEraseNoise { .. }
            ),
        }
    }
}

impl CutOutcome {
    /// The outcome that the seed chooses for an operation of this kind. An outcome that takes a seed gets one of its
    /// own.
    pub(crate) fn seeded(kind: OpKind, paired_pages: u32, seed: u64) -> Self {
        let mut draw = fastrand::Rng::with_seed(seed);
        let choices = kind.outcomes(paired_pages);
        let seed = draw.u64(..);
        match choices[draw.usize(..choices.len())] {
            ProgramHarmsSomePairs { .. } => ProgramHarmsSomePairs { seed },
            EraseMixed { .. } => EraseMixed { seed },
            NorProgramSome { .. } => NorProgramSome { seed },
            NorEraseBits { .. } => NorEraseBits { seed },
            NorErasePrefix { .. } => NorErasePrefix { seed },
            NorEraseNoise { .. } => NorEraseNoise { seed },
            other => other,
        }
    }
}

/// A power cut that is armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerCut {
    /// The number of the operation that it hits. If that operation is past, it hits the next one.
    pub at_op: u64,
    /// What it leaves. An outcome that does not fit the operation counts as `Seeded { seed: at_op }`.
    pub outcome: CutOutcome,
}

/// Cuts a chip's power while another thread works on it.
#[derive(Debug, Clone)]
pub struct PowerSwitch(Arc<AtomicBool>);

impl PowerSwitch {
    /// Tears the chip's next state-changing operation, with an outcome drawn from its number. Then the power is off.
    pub fn cut(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The chip's side of its switch. A copy of a chip has a switch of its own.
#[derive(Debug, Default)]
struct Switched(Arc<AtomicBool>);

impl Clone for Switched {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// The power supply of one chip. It numbers the operations and cuts the power.
#[derive(Debug, Clone, Default)]
pub(crate) struct Power {
    ops: u64,
    cut: Option<PowerCut>,
    switched: Switched,
    off: bool,
    trace: Option<Vec<OpKind>>,
}

impl Power {
    /// Fails while the power is off. Every call on a chip begins with this.
    pub(crate) fn check(&self) -> Result<(), EmuError> {
        if self.off { Err(EmuError::PowerCut) } else { Ok(()) }
    }

    /// Numbers an operation. Returns what a cut leaves of it, if one hits it; the power is off then.
    pub(crate) fn op(&mut self, kind: OpKind, paired_pages: u32) -> Option<CutOutcome> {
        if let Some(trace) = &mut self.trace {
            trace.push(kind);
        }
        let number = self.ops;
        self.ops += 1;
        let is_due = |cut: &mut PowerCut| cut.at_op <= number;
        // The switch comes first. An armed cut stays armed then.
        let cut = if self.switched.0.load(Ordering::Relaxed) {
            PowerCut { at_op: number, outcome: CutOutcome::Seeded { seed: number } }
        } else {
            self.cut.take_if(is_due)?
        };
        // Also where the operation happens as a whole: the caller gets no answer.
        self.off = true;
        Some(match cut.outcome {
            CutOutcome::Seeded { seed } => CutOutcome::seeded(kind, paired_pages, seed),
            outcome if kind.can_leave(outcome) => outcome,
            _ => CutOutcome::seeded(kind, paired_pages, cut.at_op),
        })
    }

    /// The number of the next operation.
    pub(crate) fn ops(&self) -> u64 {
        self.ops
    }

    pub(crate) fn is_off(&self) -> bool {
        self.off
    }

    pub(crate) fn on(&mut self) {
        self.off = false;
        self.switched.0.store(false, Ordering::Relaxed);
    }

    pub(crate) fn switch(&self) -> PowerSwitch {
        PowerSwitch(Arc::clone(&self.switched.0))
    }

    pub(crate) fn arm(&mut self, cut: Option<PowerCut>) {
        self.cut = cut;
    }

    pub(crate) fn start_trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    pub(crate) fn trace(&self) -> &[OpKind] {
        self.trace.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_tears_the_next_operation_of_its_own_chip() {
        let mut power = Power::default();
        assert_eq!(power.op(OpKind::Program, 1), None);
        let (switch, mut copy) = (power.switch(), power.clone());
        switch.cut();
        assert!(!power.is_off(), "nothing was in progress");
        assert_eq!(power.op(OpKind::Program, 1), Some(CutOutcome::seeded(OpKind::Program, 1, 1)));
        assert!(power.is_off());
        assert_eq!(copy.op(OpKind::Program, 1), None);
        power.on();
        assert_eq!(power.op(OpKind::Program, 1), None);
    }
}
