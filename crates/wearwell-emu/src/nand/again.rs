//! The same power cut with another outcome.

use wearwell_flash::{BlockAddr, PageAddr};

use super::{EmuNand, Payload};
use crate::layout::flag;
use crate::power::CutOutcome;
use crate::store::Store;

/// An operation of which a cut has left nothing.
#[derive(Debug, Clone)]
pub(super) enum Undone {
    Program { page: PageAddr, data: Vec<u8>, spare: Vec<u8> },
    Copy { from: PageAddr, to: PageAddr },
    Erase(BlockAddr),
    MarkBad(BlockAddr),
}

impl Undone {
    pub(super) fn program(page: PageAddr, payload: &Payload<'_>) -> Self {
        match *payload {
            Payload::Host { data, spare } => Self::Program { page, data: data.to_vec(), spare: spare.to_vec() },
            Payload::CopyOf(from) => Self::Copy { from, to: page },
        }
    }
}

impl<S: Store> EmuNand<S> {
    /// Leaves this of the operation that was cut, if that cut has left nothing of it.
    pub(super) fn cut_undone(&mut self, outcome: CutOutcome) -> bool {
        let Some(undone) = self.undone.take() else { return false };
        let (op, cut) = (self.body.power.ops() - 1, Some(outcome));
        match undone {
            Undone::Program { page, data, spare } => {
                _ = self.program_with(page, &Payload::Host { data: &data, spare: &spare }, op, cut);
            }
            Undone::Copy { from, to } => _ = self.program_with(to, &Payload::CopyOf(from), op, cut),
            Undone::Erase(block) => self.leave_torn_erase(block, outcome),
            Undone::MarkBad(block) => {
                let mut record = self.body.record(block);
                record.flags |= flag::MARKED_BAD;
                self.body.put_record(block, &record);
            }
        }
        true
    }
}
