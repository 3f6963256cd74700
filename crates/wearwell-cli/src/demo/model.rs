//! What a device may hold after a power cut: promises 1 and 2 of every engine, as a model.
//!
//! For every sector the model knows the version that the last flush made durable, and every change since then in
//! order. A cut may undo changes, but for each page only the latest ones: the page holds its content at the flush, or
//! at some moment since. Anything else breaks a promise: an older version (promise 1), discarded data that came back
//! (promise 1), or a mix of moments within a page (promise 2).

use wearwell::{SECTOR_BYTES, Sectors};
use wearwell_sim::run::content::{Version, fill_sector, version_in};

const SECTOR: usize = SECTOR_BYTES as usize;

/// A change of part of one page that is not durable yet.
#[derive(Debug, Clone, Copy)]
struct Change {
    page: u32,
    first_sector: u32,
    sectors: u32,
    /// 0: zeros.
    version: Version,
}

/// What the pages that had changed since the last flush hold after a cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Survival {
    /// Pages that hold their newest content.
    pub(super) newest_pages: u64,
    /// Pages that hold what they held at some moment between the flush and the cut.
    pub(super) between_pages: u64,
    /// Pages that hold what the flush made durable.
    pub(super) flushed_pages: u64,
}

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Broken {
    /// A sector holds bytes that nobody wrote there.
    #[error("sector {sector} holds bytes that were never written to it")]
    Foreign {
        /// The sector.
        sector: u64,
    },
    /// A page holds content that it did not hold since the last flush.
    #[error(
        "page {page}, sector {sector}: holds version {found}, the last flush made {durable} durable, {changes} changes since"
    )]
    Lost {
        /// The page.
        page: u32,
        /// Its first sector that is not as flushed.
        sector: u64,
        /// The version read.
        found: Version,
        /// The version flushed.
        durable: Version,
        /// Changes of the page since the flush.
        changes: usize,
    },
    /// A read without a cut did not return the newest content.
    #[error("sector {sector} was read and does not hold its newest version, {expected}")]
    Stale {
        /// The sector.
        sector: u64,
        /// The version it must hold.
        expected: Version,
    },
}

/// Every sector's versions.
#[derive(Debug, Clone)]
pub(super) struct Model {
    sectors_per_page: u32,
    /// What the host sees now.
    current: Vec<Version>,
    /// What was durable at the last flush.
    durable: Vec<Version>,
    /// What has changed since, in order.
    changes: Vec<Change>,
    last: Version,
    bytes: Vec<u8>,
}

impl Model {
    pub(super) fn new(pages: u32, sectors_per_page: u32) -> Self {
        let empty = vec![0; pages as usize * sectors_per_page as usize];
        Self {
            sectors_per_page,
            durable: empty.clone(),
            current: empty,
            changes: Vec::new(),
            last: 0,
            bytes: Vec::new(),
        }
    }

    pub(super) fn sectors(&self) -> u64 {
        self.current.len() as u64
    }

    /// The host is about to write these sectors. Returns the bytes of a new version.
    pub(super) fn write(&mut self, at: Sectors) -> &[u8] {
        self.last += 1;
        self.change(at, self.last);
        self.bytes.resize(at.count as usize * SECTOR, 0);
        for (sector, out) in (at.start..).zip(self.bytes.chunks_exact_mut(SECTOR)) {
            fill_sector(out, sector, self.last);
        }
        &self.bytes
    }

    /// The host is about to write zeros to these sectors, or to discard them as whole pages.
    pub(super) fn clear(&mut self, at: Sectors) {
        self.change(at, 0);
    }

    fn change(&mut self, at: Sectors, version: Version) {
        let per_page = u64::from(self.sectors_per_page);
        let mut sector = at.start;
        let end = at.start + at.count;
        while sector < end {
            let next = end.min((sector / per_page + 1) * per_page);
            self.changes.push(Change {
                page: (sector / per_page) as u32,
                first_sector: (sector % per_page) as u32,
                sectors: (next - sector) as u32,
                version,
            });
            sector = next;
        }
        self.current[at.start as usize..end as usize].fill(version);
    }

    /// A flush has returned: everything is durable.
    pub(super) fn flushed(&mut self) {
        let per_page = self.sectors_per_page as usize;
        for change in self.changes.drain(..) {
            let at = change.page as usize * per_page;
            self.durable[at..at + per_page].copy_from_slice(&self.current[at..at + per_page]);
        }
    }

    /// Compares what was read while power was on.
    pub(super) fn check(&self, at: Sectors, read: &[u8]) -> Result<(), Broken> {
        let mut wanted = [0; SECTOR];
        for (sector, found) in (at.start..).zip(read.chunks_exact(SECTOR)) {
            let expected = self.current[sector as usize];
            fill_sector(&mut wanted, sector, expected);
            if found != wanted {
                return Err(Broken::Stale { sector, expected });
            }
        }
        Ok(())
    }

    /// Starts a survey of the whole device after a cut.
    pub(super) fn survey(&mut self) -> Survey<'_> {
        // Stable: the changes of a page keep their order.
        self.changes.sort_by_key(|change| change.page);
        Survey { next_change: 0, survival: Survival::default(), model: self }
    }
}

/// A survey of every page after a cut, in order. The device must keep what is found.
#[derive(Debug)]
pub(super) struct Survey<'a> {
    model: &'a mut Model,
    next_change: usize,
    survival: Survival,
}

impl Survey<'_> {
    /// Takes the bytes of the next pages, from `first_page` on.
    pub(super) fn pages(&mut self, first_page: u32, bytes: &[u8]) -> Result<(), Broken> {
        let page_bytes = self.model.sectors_per_page as usize * SECTOR;
        for (page, bytes) in (first_page..).zip(bytes.chunks_exact(page_bytes)) {
            self.page(page, bytes)?;
        }
        Ok(())
    }

    fn page(&mut self, page: u32, bytes: &[u8]) -> Result<(), Broken> {
        let per_page = self.model.sectors_per_page as usize;
        let start = page as usize * per_page;
        let mut found = [0; 128];
        let found = &mut found[..per_page];
        for ((sector, bytes), version) in (start as u64..).zip(bytes.chunks_exact(SECTOR)).zip(found.iter_mut()) {
            *version = recognize(bytes, sector)?;
        }
        let first = self.next_change;
        let changes = self.model.changes[first..].iter().take_while(|change| change.page == page).count();
        self.next_change += changes;
        let range = start..start + per_page;
        if changes > 0 {
            let changes = &self.model.changes[first..first + changes];
            let kept = moment(&self.model.durable[range.clone()], changes, found);
            match kept {
                Some(0) => self.survival.flushed_pages += 1,
                Some(kept) if kept == changes.len() => self.survival.newest_pages += 1,
                Some(_) => self.survival.between_pages += 1,
                None => return Err(self.lost(page, found, changes.len())),
            }
            self.model.durable[range.clone()].copy_from_slice(found);
            self.model.current[range].copy_from_slice(found);
        } else if self.model.durable[range] != *found {
            return Err(self.lost(page, found, 0));
        }
        Ok(())
    }

    fn lost(&self, page: u32, found: &[Version], changes: usize) -> Broken {
        let start = page as usize * found.len();
        let durable = &self.model.durable[start..start + found.len()];
        let differs = found.iter().zip(durable).take_while(|(found, durable)| found == durable).count();
        let at = differs.min(found.len() - 1);
        Broken::Lost { page, sector: (start + at) as u64, found: found[at], durable: durable[at], changes }
    }

    /// Ends the survey.
    pub(super) fn done(self) -> Survival {
        self.model.changes.clear();
        self.survival
    }
}

/// The version of a sector's bytes.
fn recognize(bytes: &[u8], sector: u64) -> Result<Version, Broken> {
    let version = version_in(bytes, sector).ok_or(Broken::Foreign { sector })?;
    let mut wanted = [0; SECTOR];
    fill_sector(&mut wanted, sector, version);
    if bytes == wanted { Ok(version) } else { Err(Broken::Foreign { sector }) }
}

/// The number of changes since the flush after which the page held what was found; the greatest, if there are several.
fn moment(durable: &[Version], changes: &[Change], found: &[Version]) -> Option<usize> {
    let mut state = [0; 128];
    let state = &mut state[..durable.len()];
    state.copy_from_slice(durable);
    let mut kept = (state == found).then_some(0);
    for (at, change) in changes.iter().enumerate() {
        let first = change.first_sector as usize;
        state[first..first + change.sectors as usize].fill(change.version);
        if state == found {
            kept = Some(at + 1);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: u64, count: u64) -> Sectors {
        Sectors { start, count }
    }

    /// Two pages of two sectors: both sectors of page 0 flushed as version 1, then its first one written as
    /// version 2, then page 0 written whole as version 3.
    fn model() -> Model {
        let mut model = Model::new(2, 2);
        model.write(at(0, 2));
        model.flushed();
        model.write(at(0, 1));
        model.write(at(0, 2));
        model
    }

    fn survey(model: &mut Model, versions: [Version; 4]) -> Result<Survival, Broken> {
        let mut bytes = [0; 4 * SECTOR];
        for ((sector, out), version) in (0..).zip(bytes.chunks_exact_mut(SECTOR)).zip(versions) {
            fill_sector(out, sector, version);
        }
        let mut survey = model.survey();
        survey.pages(0, &bytes)?;
        Ok(survey.done())
    }

    #[test]
    fn every_moment_since_the_flush_is_allowed() {
        let count =
            |newest_pages, between_pages, flushed_pages| Survival { newest_pages, between_pages, flushed_pages };
        assert_eq!(survey(&mut model(), [3, 3, 0, 0]), Ok(count(1, 0, 0)));
        assert_eq!(survey(&mut model(), [2, 1, 0, 0]), Ok(count(0, 1, 0)));
        assert_eq!(survey(&mut model(), [1, 1, 0, 0]), Ok(count(0, 0, 1)));
    }

    #[test]
    fn a_mix_a_loss_and_a_page_that_came_back_are_found() {
        assert!(matches!(survey(&mut model(), [2, 3, 0, 0]), Err(Broken::Lost { .. })), "a mix of two moments");
        assert!(matches!(survey(&mut model(), [0, 0, 0, 0]), Err(Broken::Lost { .. })), "what was flushed is gone");
        assert!(matches!(survey(&mut model(), [3, 3, 1, 1]), Err(Broken::Lost { changes: 0, .. })), "never written");
        let mut discarded = model();
        discarded.clear(at(0, 2));
        discarded.flushed();
        assert!(matches!(survey(&mut discarded, [1, 1, 0, 0]), Err(Broken::Lost { found: 1, durable: 0, .. })));
    }

    #[test]
    fn what_was_found_after_a_cut_must_stay() {
        let mut model = model();
        assert!(survey(&mut model, [2, 1, 0, 0]).is_ok());
        assert!(survey(&mut model, [2, 1, 0, 0]).is_ok());
        assert!(survey(&mut model, [3, 3, 0, 0]).is_err(), "it was gone once");
    }

    #[test]
    fn foreign_bytes_are_found() {
        let mut model = model();
        let mut bytes = [0; 4 * SECTOR];
        bytes[..SECTOR].fill(0xFF);
        assert_eq!(model.survey().pages(0, &bytes), Err(Broken::Foreign { sector: 0 }));
    }
}
