//! What the map is built with, as far as the repair of the flash needs it.

use alloc::vec::Vec;
use core::mem::take;

use super::{Found, Log, MountError, MountReport, Recovery, note};
use crate::addr::Seg;
use crate::clean::which::VictimChoice;
use crate::ftl::Probe;
use crate::place::PlaceChoice;

/// What is left of a [`Recovery`] once its tables are gone. They are as large as half of the map, and the repair needs
/// memory, too.
#[derive(Default)]
pub(super) struct Outcome {
    /// Pages that a cut may have hit.
    pub(super) suspects: Vec<Found>,
    /// Pages that the map points to in segments whose erase may have begun.
    pub(super) uncertain: Vec<Found>,
    /// Other copies of uncertain pages, and of those of which a suspect copy counts.
    pub(super) passed_over: Vec<Found>,
    /// Segments that show that pages may be lost.
    pub(super) evidence: Vec<Seg>,
    /// Segments with an unreadable slot that no cut has hit; in the end, those whose account is incomplete.
    pub(super) gaps: Vec<Seg>,
    /// Parts of the discard map without a record of lost pages yet.
    pub(super) unrecorded: Vec<u32>,
    /// Parts of the discard map that cannot be read, and that the checkpoint stands for.
    pub(super) known_parts: Vec<u32>,
    /// Segments with a page that could not be read and that would count.
    pub(super) stale: Vec<Seg>,
    /// Segments without a summary.
    pub(super) unsealed: Vec<Seg>,
    /// Segments with a copy of an uncertain page.
    pub(super) tied: Vec<Seg>,
    /// Segments without a header that hold nothing, if one of them has to get one.
    pub(super) headless: Vec<Seg>,
    /// Empty segments may stay as they are.
    pub(super) is_settled: bool,
    pub(super) report: MountReport,
}

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> Recovery<'_, L, P, V, W> {
    /// Takes what is left out of the recovery, of which `suspects` are the suspect pages.
    // Not by value: the recovery would be on the stack twice. Not inline: the scans of this would be there in `build`.
    #[inline(never)]
    pub(super) fn finish(&mut self, suspects: Vec<Found>) -> Result<Outcome, MountError> {
        // Copies take memory in the next mount. Where empty segments are kept, there would be more in each.
        let has_many_copies = self.copies > self.alloc.shape().slots as usize;
        // Spec P11. Another one that can be read would be the newest.
        let mut stale = Vec::new();
        for found in suspects.iter().filter(|found| found.seq > self.newest[found.lpn.0 as usize]) {
            note(&mut stale, self.segment_of(found.at))?;
        }
        let is_settled = !self.is_undone_newer()? && !has_many_copies && stale.is_empty();
        Ok(Outcome { suspects, stale, is_settled, ..take(&mut self.outcome) })
    }
}
