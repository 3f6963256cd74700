//! What a device may hold after a power cut: promises 1 and 2 of every engine, as a model.
//!
//! A [`Held`] of pages, each the versions of its sectors. A cut may undo changes, but for each page only the latest
//! ones: the page holds its content at the flush, or at some moment since. Anything else breaks a promise: an older
//! version (promise 1), discarded data that came back (promise 1), or a mix of moments within a page (promise 2).

use wearwell::{SECTOR_BYTES, Sectors};
use wearwell_emu::{Held, Kept, Seq, Wrong};
use wearwell_sim::run::content::{Version, fill_sector, version_in};

const SECTOR: usize = SECTOR_BYTES as usize;

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
        "page {page}, sector {sector}: holds version {found}, the last flush made {durable} durable, {changes} \
         changes since"
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

/// The versions of a page's sectors; 0: zeros.
type Versions = Box<[Version]>;

/// Every sector's versions.
#[derive(Debug, Clone)]
pub(super) struct Model {
    sectors_per_page: u32,
    held: Held<Versions>,
    last: Version,
    /// The number of the last change.
    seq: Seq,
    bytes: Vec<u8>,
}

impl Model {
    pub(super) fn new(pages: u32, sectors_per_page: u32) -> Self {
        let zeros = vec![0; sectors_per_page as usize].into_boxed_slice();
        Self { sectors_per_page, held: Held::new(pages, zeros), last: 0, seq: 0, bytes: Vec::new() }
    }

    pub(super) fn sectors(&self) -> u64 {
        u64::from(self.held.units()) * u64::from(self.sectors_per_page)
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

    /// A change that fails has met a power cut, so that nothing is read before the next survey: it counts as answered.
    fn change(&mut self, at: Sectors, version: Version) {
        self.seq += 1;
        let per_page = u64::from(self.sectors_per_page);
        let mut sector = at.start;
        let end = at.start + at.count;
        while sector < end {
            let (page, first) = ((sector / per_page) as u32, sector % per_page);
            let sectors = (end - sector).min(per_page - first);
            let mut versions = self.held.newest(page).clone();
            versions[first as usize..(first + sectors) as usize].fill(version);
            self.held.sent(self.seq, page, versions);
            self.held.note_written(self.seq, page);
            sector += sectors;
        }
    }

    /// A flush has returned: everything is durable.
    pub(super) fn flushed(&mut self) {
        self.held.flushed(self.seq);
    }

    /// Compares what was read while power was on.
    pub(super) fn check(&self, at: Sectors, read: &[u8]) -> Result<(), Broken> {
        let per_page = u64::from(self.sectors_per_page);
        let mut wanted = [0; SECTOR];
        for (sector, found) in (at.start..).zip(read.chunks_exact(SECTOR)) {
            let expected = self.held.newest((sector / per_page) as u32)[(sector % per_page) as usize];
            fill_sector(&mut wanted, sector, expected);
            if found != wanted {
                return Err(Broken::Stale { sector, expected });
            }
        }
        Ok(())
    }

    /// Looks at pages after a cut, from `first_page` on. What is found is what the device holds from now on.
    pub(super) fn survey(&mut self, first_page: u32, bytes: &[u8], survival: &mut Survival) -> Result<(), Broken> {
        let page_bytes = self.sectors_per_page as usize * SECTOR;
        for (page, bytes) in (first_page..).zip(bytes.chunks_exact(page_bytes)) {
            let first = u64::from(page) * u64::from(self.sectors_per_page);
            let sectors = (first..).zip(bytes.chunks_exact(SECTOR));
            let found: Versions = sectors.map(|(sector, bytes)| recognize(bytes, sector)).collect::<Result<_, _>>()?;
            match self.held.check_after_cut(page, found.clone()).map_err(|wrong| lost(first, &found, &wrong))? {
                Kept::Settled => {}
                Kept::Newest => survival.newest_pages += 1,
                Kept::Between => survival.between_pages += 1,
                Kept::Flushed => survival.flushed_pages += 1,
            }
        }
        Ok(())
    }
}

/// A page, whose first sector is `first`, that holds what it never held since the last flush.
fn lost(first: u64, found: &[Version], wrong: &Wrong<Versions>) -> Broken {
    // The first content that is allowed is that of the flush. Each change since adds one.
    let durable = &wrong.allowed[0];
    let same = found.iter().zip(durable).take_while(|(found, durable)| found == durable).count();
    let at = same.min(found.len() - 1);
    let changes = wrong.allowed.len() - 1;
    Broken::Lost { page: wrong.unit, sector: first + at as u64, found: found[at], durable: durable[at], changes }
}

/// The version of a sector's bytes.
fn recognize(bytes: &[u8], sector: u64) -> Result<Version, Broken> {
    let version = version_in(bytes, sector).ok_or(Broken::Foreign { sector })?;
    let mut wanted = [0; SECTOR];
    fill_sector(&mut wanted, sector, version);
    // The version stands in the sector. All other bytes follow from it, so that a mix of two is found.
    if bytes == wanted { Ok(version) } else { Err(Broken::Foreign { sector }) }
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
        let mut survival = Survival::default();
        model.survey(0, &bytes, &mut survival)?;
        Ok(survival)
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
        assert_eq!(model.survey(0, &bytes, &mut Survival::default()), Err(Broken::Foreign { sector: 0 }));
    }
}
