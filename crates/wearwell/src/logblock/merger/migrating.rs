//! Migrations: the live pages of a log block move to a fresh one (Lee '07, section 4).

use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use super::Merger;
use crate::addr::{Lpn, Ppn, Seg};
use crate::ftl::{FtlError, Probe};
use crate::logblock::addr::{Lbn, LogId};
use crate::logblock::index::Copies;
use crate::logblock::pages::Pages;
use crate::logblock::tag::{Content, Role};

impl<M: Pages, P: Probe> Merger<M, P> {
    /// Moves the live pages of a full log block to a fresh one (Lee '07, section 4).
    pub(in crate::logblock) fn migrate(&mut self, lbn: Lbn, id: LogId) -> Result<(), FtlError> {
        // The list is taken out while it is filled, and put back in either case: its room was reserved once.
        let mut held = core::mem::take(&mut self.moving);
        let moved = self.copy_to_fresh_log(lbn, &mut held);
        if let Ok((seg, copies)) = moved {
            // The copies are complete. Until the old segment is erased, a mount takes each page from either.
            let old = self.index.move_log(lbn, id, seg, &held, copies);
            self.store.use_as_log(seg, id);
            self.moving = held;
            // `copy_log` has programmed a record if there was a discard.
            self.discards.settle(lbn);
            self.store.stats.migrations += 1;
            self.store.probe_mut().migrated(lbn.0, copies.pages, self.index.logs().get(id).migrations);
            self.store.release(old)?;
            // All logged pages of the logical block are in the new segment, so nothing in its other log blocks counts.
            return self.release_logs_of(lbn, Some(id));
        }
        self.moving = held;
        moved.map(|_| ())
    }

    /// Copies a logical block's logged pages to a free segment. Returns it, with how many pages are not padding.
    fn copy_to_fresh_log(&mut self, lbn: Lbn, held: &mut Vec<Lpn>) -> Result<(Seg, Copies), FtlError> {
        loop {
            let seg = self.store.take(false)?;
            // A try that failed has left entries.
            held.clear();
            match self.copy_log(lbn, seg, held) {
                Ok(copies) => return Ok((seg, copies)),
                Err(error) => self.store.put_back(seg, error)?,
            }
        }
    }

    /// Programs an erased segment with the logged pages of a logical block, one behind the other: first the copies,
    /// then records of what was lost, then the discards. A record has a new number, so none may come before a copy:
    /// a mount that finds a number newer than the old log block's knows that the copies are complete.
    fn copy_log(&mut self, lbn: Lbn, seg: Seg, held: &mut Vec<Lpn>) -> Result<Copies, ErrorKind> {
        let first = self.store.page_in(seg, 0).0;
        // `held` has an entry for each page that was programmed, so its length is the next page.
        let next = |held: &Vec<Lpn>| {
            let role = if held.is_empty() { Role::LogHead } else { Role::Plain };
            (Ppn(first + held.len() as u32), role)
        };
        let mut losses = Vec::new();
        for offset in 0..self.store.shape().pages {
            let from = self.index.map().logged(lbn, offset);
            if !from.is_some() {
                continue;
            }
            let lpn = self.index.map().join(lbn, offset);
            let (to, role) = next(held);
            let copied = match role {
                _ if self.index.lost().contains(lpn) => Err(ErrorKind::Uncorrectable),
                // The head says what this block is and how often it was erased. The source's tag says that of another
                // block, or not at all.
                Role::LogHead => self.store.copy_as(from, to, lpn, role),
                _ => self.store.copy(from, to),
            };
            match copied {
                Ok(()) => held.push(lpn),
                Err(ErrorKind::Uncorrectable) => losses.push(lpn),
                Err(error) => return Err(error),
            }
            self.store.stats.copied_pages += u64::from(copied.is_ok());
        }
        for lpn in losses {
            self.note_loss(lpn);
            let (to, role) = next(held);
            self.store.program_meta(to, &[], lpn, Content::Lost, role)?;
            held.push(lpn);
        }
        let pages = held.len() as u32;
        let beginning = self.index.map().join(lbn, 0);
        // The record that there is goes with the old segment. Discards since then fit into the same page.
        let has_record =
            self.index.map().logged(lbn, self.store.shape().pages).is_some() || self.discards.is_dirty(lbn);
        if M::TAGGED && has_record {
            let (to, role) = next(held);
            self.program_discards(lbn, to, role)?;
            held.push(beginning);
        }
        // A later program here must not harm the copies, since their originals are erased.
        while !(held.len() as u32).is_multiple_of(self.store.shape().group) {
            let (to, role) = next(held);
            self.store.program_meta(to, &[], beginning, Content::Pad, role)?;
            held.push(beginning);
        }
        Ok(Copies { pages, has_record: M::TAGGED && has_record })
    }
}
