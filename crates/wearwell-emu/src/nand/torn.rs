//! What programs and erases leave when they are cut or fail.

use std::iter;

use wearwell_flash::{BlockAddr, PageAddr};

use super::{EmuNand, Payload, state};
use crate::error::EmuError;
use crate::faults::{Salt, rng};
use crate::layout::{BlockRecord, flag};
use crate::power::CutOutcome;
use crate::store::Store;

/// Reads that are left of a page that fades, for the bits from 3 on.
const NAMED_READS: [u8; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 20, state::MOST_READS_LEFT];

/// Four bits for each page, the lowest first.
fn bits_of(states: u128) -> impl Iterator<Item = u8> {
    (0..u128::BITS).step_by(4).map(move |shift| (states >> shift & 0xF) as u8)
}

impl<S: Store> EmuNand<S> {
    /// What is left of a program that failed: too many wrong bits, or few enough for the code, at least for a while.
    /// The caller flags its block as fragile if it may fade.
    pub(super) fn leave_failed_program(&mut self, page: PageAddr, payload: &Payload<'_>, record: &BlockRecord) {
        let mut draw = rng(self.body.faults.seed, Salt::FailedProgram, page.0, record.erases);
        if !draw.bool() {
            self.set_empty(page, state::UNCORRECTABLE);
            return;
        }
        self.leave_whole_program(page, payload, record);
        if self.body.faults.failed_pages_fade && draw.bool() {
            self.let_fail_later(page, &mut draw);
        }
    }

    /// The page holds what it was given, for as long as the erase of its block lasts.
    pub(super) fn leave_whole_program(&mut self, page: PageAddr, payload: &Payload<'_>, record: &BlockRecord) {
        let checks = self.store_payload(page, payload);
        let on_weak = record.has(flag::WEAK_ERASE);
        self.set_page(page, if on_weak { state::ON_WEAK_ERASE } else { state::PROGRAMMED }, 0, checks);
    }

    /// The earlier pages that share cells with this one and hold something.
    fn pairs_of(&self, page: PageAddr) -> impl Iterator<Item = PageAddr> + use<S> {
        let in_group = page.0 % self.geometry.pages_per_block % self.geometry.paired_pages;
        let programmed = |&earlier: &PageAddr| self.page_state(earlier).0 != state::ERASED;
        // Collected, because the caller changes pages while it goes through them.
        let pairs: Vec<PageAddr> = (page.0 - in_group..page.0).map(PageAddr).filter(programmed).collect();
        pairs.into_iter()
    }

    /// The earlier pages that share cells with this one become unreadable.
    pub(super) fn harm_pairs(&mut self, page: PageAddr) {
        self.pairs_of(page).for_each(|earlier| self.set_empty(earlier, state::UNCORRECTABLE));
    }

    /// What a cut leaves of a program that harms the pages of a group each its own way, this one too.
    pub(super) fn harm_some_pairs(&mut self, page: PageAddr, draw: &mut fastrand::Rng) {
        for page in self.pairs_of(page).chain([page]) {
            match draw.u8(..4) {
                0 | 1 => {}
                2 => self.set_empty(page, state::UNCORRECTABLE),
                _ => self.let_fail_later(page, draw),
            }
        }
    }

    /// A page that holds something reads well for a while: over one power-on, or for a number of reads over any. The
    /// caller flags its block as fragile.
    fn let_fail_later(&mut self, page: PageAddr, draw: &mut fastrand::Rng) {
        // Pages in the other states hold nothing, or fail in a time of their own.
        if self.page_state(page).0 != state::PROGRAMMED {
            return;
        }
        let (how, reads) = match draw.bool() {
            true => (state::FAILS_LATER, state::READS_LEFT),
            false => (state::FADES, draw.u8(1..=state::MOST_READS_LEFT)),
        };
        self.set_page(page, how, reads, self.checks(page));
    }

    /// Leaves a page that holds something as the four bits of [`CutOutcome::Each`] say. The caller flags its block as
    /// fragile.
    pub(super) fn leave_as(&mut self, page: PageAddr, bits: u8) {
        let bits = bits & 0xF;
        let (how, reads) = match bits {
            0 => return,
            1 => return self.set_empty(page, state::UNCORRECTABLE),
            2 => return self.set_empty(page, state::LOOKS_ERASED),
            15 => (state::FAILS_LATER, state::READS_LEFT),
            _ => (state::FADES, NAMED_READS[usize::from(bits) - 3]),
        };
        // The others hold nothing, or fail in a time of their own.
        if self.page_state(page).0 == state::PROGRAMMED {
            self.set_page(page, how, reads, self.checks(page));
        }
    }

    /// What a cut leaves of a program and of the earlier pages of its group, each as four bits say.
    pub(super) fn leave_group(&mut self, page: PageAddr, states: u128) {
        let pages: Vec<PageAddr> = [page].into_iter().chain(self.pairs_of(page)).collect();
        pages.into_iter().zip(bits_of(states)).for_each(|(page, bits)| self.leave_as(page, bits));
    }

    /// What a cut leaves of a program, if it leaves neither the old nor the new page.
    pub(super) fn leave_torn_program(&mut self, page: PageAddr, payload: &Payload<'_>, outcome: CutOutcome) {
        match outcome {
            CutOutcome::ProgramLooksErased => self.set_empty(page, state::LOOKS_ERASED),
            CutOutcome::ProgramFailsLater => {
                let checks = self.store_payload(page, payload);
                self.set_page(page, state::FAILS_LATER, state::READS_LEFT, checks);
            }
            CutOutcome::ProgramFailsSoon => {
                let checks = self.store_payload(page, payload);
                self.set_page(page, state::FAILS_LATER, state::READS_LEFT_SOON, checks);
            }
            _ => self.set_empty(page, state::UNCORRECTABLE),
        }
    }

    /// What a cut leaves of an erase.
    pub(super) fn leave_torn_erase(&mut self, block: BlockAddr, outcome: CutOutcome) {
        match outcome {
            CutOutcome::EraseOld => {}
            CutOutcome::EraseUncorrectable => self.finish_erase(block, state::UNCORRECTABLE, 0),
            CutOutcome::EraseMixed { seed } => self.mix_pages(block, seed),
            CutOutcome::Each { states } => self.leave_pages(block, bits_of(states)),
            CutOutcome::EraseWeak => self.finish_erase(block, state::ERASED, flag::WEAK_ERASE),
            // Only `EraseDone` is left: `Power::op` replaces outcomes that an erase cannot have.
            _ => self.finish_erase(block, state::ERASED, 0),
        }
    }

    /// Leaves each page of a block in another state, because an erase does not act evenly.
    fn mix_pages(&mut self, block: BlockAddr, seed: u64) {
        let mut draw = rng(seed, Salt::TornErase, block.0, self.body.record(block).erases);
        for page in 0..self.geometry.pages_per_block {
            let page = self.geometry.page(block, page);
            match draw.u8(..4) {
                // The pulse hit erased pages too.
                0 if self.page_state(page).0 == state::ERASED => self.set_empty(page, state::LOOKS_ERASED),
                0 => {}
                1 => self.set_empty(page, state::UNCORRECTABLE),
                2 if self.page_state(page).0 == state::PROGRAMMED => self.let_fail_later(page, &mut draw),
                // Also a page that was to fail later and is not whole.
                _ => self.set_empty(page, state::LOOKS_ERASED),
            }
        }
        self.need_erase(block);
    }

    /// Leaves each page of a block as four bits say.
    fn leave_pages(&mut self, block: BlockAddr, states: impl Iterator<Item = u8>) {
        for (page, bits) in (0..self.geometry.pages_per_block).zip(states) {
            let page = self.geometry.page(block, page);
            match self.page_state(page).0 {
                // The pulse hit erased pages too.
                state::ERASED | state::LOOKS_ERASED if bits != 1 => self.set_empty(page, state::LOOKS_ERASED),
                _ => self.leave_as(page, bits),
            }
        }
        self.need_erase(block);
    }

    /// Only another erase makes the block usable. Its pages may fail later.
    fn need_erase(&mut self, block: BlockAddr) {
        let mut record = self.body.record(block);
        record.flags |= flag::FRAGILE;
        record.next_page = self.geometry.pages_per_block;
        self.body.put_record(block, &record);
    }

    /// What a failed erase leaves: a draw decides between the old content and nothing readable, unless it is named.
    pub(super) fn fail_erase(&mut self, block: BlockAddr, mut record: BlockRecord, op: u64) -> EmuError {
        record.flags |= flag::GROWN_BAD;
        self.body.put_record(block, &record);
        if let Some(bits) = self.body.faults.fails_as(op) {
            self.leave_pages(block, iter::repeat(bits));
        } else if rng(self.body.faults.seed, Salt::FailedErase, block.0, record.erases).bool() {
            self.set_all_empty(block, state::UNCORRECTABLE);
        }
        EmuError::EraseFailed(block)
    }
}
