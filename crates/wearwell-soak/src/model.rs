//! What each sector of the disk may hold.
//!
//! Requests are numbered as they are sent, over all connections. For a sector in which something may still be lost, the
//! model knows every content it may have, with the number of the request that made it:
//!
//! - *visible*: what a read may return now. There is one, unless a write failed or is not yet answered.
//! - *durable*: what may be there after a kill: the content at the last flush and everything since.
//!
//! A sector that is not in the map has one content, which is both.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

/// The unit of the model.
pub(crate) const SECTOR_BYTES: usize = 512;

/// The number of a request.
pub(crate) type Seq = u64;

/// A content of a sector, and the request that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Content {
    seq: Seq,
    digest: u64,
}

#[derive(Debug, Clone)]
struct Open {
    visible: Vec<Content>,
    durable: Vec<Content>,
}

/// The possible contents of the disk.
#[derive(Debug)]
pub(crate) struct Model {
    /// The newest content of every sector, once all sent requests are done.
    newest: Vec<u8>,
    /// The content of sectors that are not open.
    settled: Vec<u64>,
    open: HashMap<u32, Open>,
}

/// A sector that holds what it must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The sector.
    pub(crate) sector: u32,
    /// How many contents it might have had.
    pub(crate) allowed: usize,
    /// True if it holds zeros.
    pub(crate) is_zero: bool,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zeros = if self.is_zero { ", but zeros" } else { "" };
        write!(f, "sector {} holds none of the {} contents it may have{zeros}", self.sector, self.allowed)
    }
}

fn sectors(offset: u64, length: usize) -> std::ops::Range<u32> {
    let sector_bytes = SECTOR_BYTES as u64;
    (offset / sector_bytes) as u32..(offset + length as u64).div_ceil(sector_bytes) as u32
}

impl Model {
    /// A disk of zeros.
    pub(crate) fn new(bytes: u64) -> Self {
        let newest = vec![0; bytes as usize];
        let settled = newest.chunks(SECTOR_BYTES).map(xxh3_64).collect();
        Self { newest, settled, open: HashMap::new() }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.newest.len() as u64
    }

    /// A write was sent.
    pub(crate) fn sent(&mut self, seq: Seq, offset: u64, data: &[u8]) {
        self.newest[offset as usize..][..data.len()].copy_from_slice(data);
        for sector in sectors(offset, data.len()) {
            let digest = xxh3_64(&self.newest[sector as usize * SECTOR_BYTES..][..SECTOR_BYTES]);
            let before = Content { seq: 0, digest: self.settled[sector as usize] };
            let open = self.open.entry(sector).or_insert_with(|| Open { visible: vec![before], durable: vec![before] });
            open.visible.push(Content { seq, digest });
            open.durable.push(Content { seq, digest });
        }
    }

    /// A write was answered without an error: nothing older may be read any more.
    pub(crate) fn written(&mut self, seq: Seq, offset: u64, length: usize) {
        for sector in sectors(offset, length) {
            if let Some(open) = self.open.get_mut(&sector) {
                open.visible.retain(|content| content.seq >= seq);
            }
        }
    }

    /// A durable write was answered: nothing older may come back in its range.
    pub(crate) fn written_durably(&mut self, seq: Seq, offset: u64, length: usize) {
        for sector in sectors(offset, length) {
            if let Some(open) = self.open.get_mut(&sector) {
                open.durable.retain(|content| content.seq >= seq);
            }
            self.settle(sector);
        }
    }

    /// Flush number `seq` was answered: what could be read when it was sent is durable.
    pub(crate) fn flushed(&mut self, seq: Seq) {
        let sectors: Vec<u32> = self.open.keys().copied().collect();
        for sector in sectors {
            if let Some(Open { visible, durable }) = self.open.get_mut(&sector) {
                durable.retain(|content| content.seq > seq || visible.contains(content));
            }
            self.settle(sector);
        }
    }

    fn settle(&mut self, sector: u32) {
        if let Some(Open { visible, durable }) = self.open.get(&sector)
            && let ([visible], [durable]) = (&visible[..], &durable[..])
            && visible == durable
        {
            self.settled[sector as usize] = durable.digest;
            self.open.remove(&sector);
        }
    }

    /// Request number `seq` read these bytes, which are whole sectors.
    pub(crate) fn read(&mut self, seq: Seq, offset: u64, data: &[u8]) -> Result<(), Wrong> {
        for (sector, bytes) in sectors(offset, data.len()).zip(data.chunks(SECTOR_BYTES)) {
            let digest = xxh3_64(bytes);
            let wrong = |allowed| Wrong { sector, allowed, is_zero: bytes.iter().all(|&byte| byte == 0) };
            match self.open.get_mut(&sector) {
                None if self.settled[sector as usize] == digest => {}
                None => return Err(wrong(1)),
                Some(open) => {
                    let could_be = |content: &&Content| content.seq <= seq && content.digest == digest;
                    let Some(found) = open.visible.iter().rev().find(could_be).copied() else {
                        return Err(wrong(open.visible.iter().filter(|content| content.seq <= seq).count()));
                    };
                    open.visible.retain(|content| *content == found || content.seq > seq);
                }
            }
        }
        Ok(())
    }

    /// After a kill, the next server returned these bytes from `offset` on. They must stay like this.
    pub(crate) fn found_after_kill(&mut self, offset: u64, data: &[u8]) -> Result<(), Wrong> {
        for (sector, bytes) in sectors(offset, data.len()).zip(data.chunks(SECTOR_BYTES)) {
            let digest = xxh3_64(bytes);
            let wrong = |allowed| Wrong { sector, allowed, is_zero: bytes.iter().all(|&byte| byte == 0) };
            match self.open.remove(&sector) {
                None if self.settled[sector as usize] != digest => return Err(wrong(1)),
                Some(open) if !open.durable.iter().any(|content| content.digest == digest) => {
                    return Err(wrong(open.durable.len()));
                }
                _ => self.settled[sector as usize] = digest,
            }
        }
        self.newest[offset as usize..][..data.len()].copy_from_slice(data);
        Ok(())
    }

    /// The pages in which something may still be lost.
    pub(crate) fn open_pages(&self, page_bytes: u64) -> BTreeSet<u64> {
        self.open.keys().map(|&sector| u64::from(sector) * SECTOR_BYTES as u64 / page_bytes).collect()
    }

    /// These bytes cannot be read, after a kill or after writes were lost. They keep all possible contents.
    pub(crate) fn may_have_any(&mut self, offset: u64, length: usize) {
        for sector in sectors(offset, length) {
            if let Some(open) = self.open.get_mut(&sector) {
                open.visible = open.durable.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: [u8; 1024] = [1; 1024];
    const NEW: [u8; 1024] = [2; 1024];

    /// Two sectors that hold flushed old content, and new content in flight.
    fn in_flight() -> Model {
        let mut model = Model::new(4096);
        model.sent(1, 512, &OLD);
        model.written(1, 512, 1024);
        model.flushed(2);
        model.sent(3, 512, &NEW);
        model
    }

    #[test]
    fn what_is_in_flight_is_old_or_new_by_sector() {
        let mixed = [&OLD[..512], &NEW[..512]].concat();
        assert_eq!(in_flight().found_after_kill(512, &mixed), Ok(()));
        assert_eq!(in_flight().read(4, 512, &mixed), Ok(()));
        let torn = [&OLD[..500], &NEW[..524]].concat();
        let wrong = Err(Wrong { sector: 1, allowed: 2, is_zero: false });
        assert_eq!(in_flight().found_after_kill(512, &torn), wrong);
        assert_eq!(in_flight().read(4, 512, &torn), wrong);
    }

    #[test]
    fn what_was_found_stays() {
        let mut model = in_flight();
        assert_eq!(model.found_after_kill(512, &OLD), Ok(()));
        let wrong = Err(Wrong { sector: 1, allowed: 1, is_zero: false });
        assert_eq!(model.read(5, 512, &NEW), wrong);
        assert_eq!(model.found_after_kill(512, &NEW), wrong);
    }

    #[test]
    fn what_was_flushed_cannot_be_lost() {
        let mut model = in_flight();
        model.written(3, 512, 1024);
        assert_eq!(model.read(4, 512, &OLD), Err(Wrong { sector: 1, allowed: 1, is_zero: false }));
        model.flushed(5);
        assert_eq!(model.found_after_kill(512, &OLD), Err(Wrong { sector: 1, allowed: 1, is_zero: false }));
        let mut zeros = in_flight();
        assert_eq!(zeros.found_after_kill(512, &[0; 512]), Err(Wrong { sector: 1, allowed: 2, is_zero: true }));
    }

    #[test]
    fn a_flush_covers_what_was_sent_before_it() {
        let mut model = in_flight();
        model.written(3, 512, 1024);
        model.sent(5, 512, &[3; 512]);
        model.flushed(4);
        assert_eq!(model.found_after_kill(512, &NEW), Ok(()));
    }

    #[test]
    fn a_durable_write_covers_itself_only() {
        let mut model = in_flight();
        model.sent(4, 2048, &[9; 512]);
        model.written(4, 2048, 512);
        model.written_durably(4, 2048, 512);
        assert_eq!(model.found_after_kill(512, &OLD), Ok(()));
        assert_eq!(model.found_after_kill(2048, &[0; 512]), Err(Wrong { sector: 4, allowed: 1, is_zero: true }));
    }

    #[test]
    fn a_failed_write_is_old_or_new_until_it_was_read() {
        let mut model = in_flight();
        model.flushed(4);
        assert_eq!(model.read(5, 512, &OLD), Ok(()));
        assert!(model.read(6, 512, &NEW).is_err());
        // Until the next flush, it may have left a copy on flash that a mount finds.
        assert_eq!(model.open[&1].durable.len(), 2);
        model.flushed(7);
        assert!(model.found_after_kill(512, &NEW).is_err());
    }
}
