//! The summary of a segment on NAND: its head and all tags, in the pages behind the slots.

use alloc::vec::Vec;

use wearwell_flash::{ErrorKind, Nand};

use super::nand::{NandLog, page_tag};
use super::nand_bytes;
use super::nand_groups::TagPlace;
use super::tag::{Record, TAG_BYTES, is_erased};
use super::{Payload, SegmentScan};
use crate::addr::Seg;

impl<N: Nand, B: Payload, T: TagPlace> NandLog<N, B, T> {
    /// Programs the summary of a segment.
    pub(super) fn program_summary(&mut self, seg: Seg, head: &[u8], tags: &[u8]) -> Result<(), ErrorKind> {
        // The last page is programmed last. A mount reads it first, since a summary that was cut lacks it.
        for part in 0..self.layout.summary_pages {
            self.fill_summary(part, head, tags);
            self.program_page(self.address(seg, 1 + self.layout.slots + part), Record::Summary.encode())?;
        }
        Ok(())
    }

    /// Fills `self.page` with a part of a summary: the head, all tags, and then zeros.
    fn fill_summary(&mut self, part: u32, head: &[u8], tags: &[u8]) {
        let bytes = self.layout.summary_payload_bytes as usize;
        let start = part as usize * bytes;
        self.page.fill(0);
        for (at, held) in [(0, head), (head.len(), tags)] {
            let (from, end) = (start.max(at), (start + bytes).min(at + held.len()));
            if B::STORES && from < end {
                self.page[from - start..end - start].copy_from_slice(&held[from - at..end - at]);
            }
        }
    }

    /// Takes a segment's summary into its scan. False if there is no good one.
    pub(super) fn read_summary(&mut self, seg: Seg, scan: &mut SegmentScan) -> Result<bool, ErrorKind> {
        let payload_bytes = self.layout.summary_payload_bytes as usize;
        let is_whole = self.layout.summary_pages == 1;
        let mut bytes = Vec::new();
        // The last page is read first, because it is the one that an incomplete summary lacks.
        for part in (0..self.layout.summary_pages).rev() {
            let record = self.record_at(self.address(seg, 1 + self.layout.slots + part), true)?;
            if !matches!(record, Some(Record::Summary)) {
                return Ok(false);
            }
            // Memory is taken only now: most segments without a summary are left at its last page.
            if !is_whole {
                bytes.resize(self.layout.summary_pages as usize * payload_bytes, 0);
                bytes[part as usize * payload_bytes..][..payload_bytes].copy_from_slice(&self.page[..payload_bytes]);
            }
        }
        Ok(self.take_summary(if is_whole { &self.page[..payload_bytes] } else { &bytes }, scan).is_some())
    }

    fn take_summary(&self, bytes: &[u8], scan: &mut SegmentScan) -> Option<()> {
        let (head, tags) = nand_bytes::decode_summary(bytes, self.layout.slots, self.read_versions())?;
        // A shutdown ends segments early. The slots behind the last one with a tag were never programmed.
        let programmed = tags.chunks_exact(TAG_BYTES).rposition(|tag| !is_erased(tag)).map_or(0, |slot| slot + 1);
        scan.tags = tags.chunks_exact(TAG_BYTES).take(programmed).map(page_tag).collect();
        (scan.erases, scan.opened, scan.class) = (Some(head.erases), Some(head.opened), head.class);
        scan.suspect_from = self.layout.slots;
        scan.sealed = true;
        Some(())
    }
}
