//! Separates hot, cold and read-only pages (Chiang '97, section 3.5).
//!
//! The paper says that hot pages are those "updated frequently at recent time" and that each page's update count and
//! timestamp are stored, but gives no formula. The rule here: a page is hot if it has been updated since it was first
//! written (count above zero) and its last update is less than half the device's logical pages ago, counted in host
//! page writes. Under uniform access a page's mean time between updates is the number of logical pages. Then 39 % of
//! ordinary pages pass the limit of half that time, and so do nearly all pages that are written more than five times as
//! often as the average.
//!
//! A host write is itself an update. It goes to the hot class if the update before it was that recent, otherwise to the
//! cold one. Pages that the host calls read-only have a class of their own. All of this is lost at a mount and when the
//! policy is changed.

use alloc::vec;
use alloc::vec::Vec;

use super::{ClassPlacement, Copied, HostWrite, Shape};
use crate::addr::{Class, Lpn};

const HOT: Class = Class(0);
const COLD: Class = Class(1);
const READ_ONLY: Class = Class(2);

/// The time of the last update of each page.
///
/// A stamp is the low 31 bits of the clock plus one; 0 means never updated. Bit 31 marks read-only pages.
#[derive(Debug, Clone)]
pub struct HotColdReadonly {
    updated: Vec<u32>,
    hot_within_pages: u32,
}

const STAMP: u32 = (1 << 31) - 1;
const READ_ONLY_MARK: u32 = 1 << 31;

impl HotColdReadonly {
    pub fn new(shape: Shape) -> Self {
        let pages = shape.logical_pages;
        Self { updated: vec![0; pages as usize], hot_within_pages: pages / 2 }
    }

    pub fn classes() -> u32 {
        3
    }

    fn is_hot(&self, lpn: Lpn, clock: u64) -> bool {
        let stamp = self.updated[lpn.0 as usize] & STAMP;
        // The clock and the stamp are modulo 2³¹, and so is the difference.
        stamp != 0 && (clock as u32 & STAMP).wrapping_sub(stamp - 1) & STAMP < self.hot_within_pages
    }
}

impl ClassPlacement for HotColdReadonly {
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        let i = write.lpn.0 as usize;
        if write.hint.read_only {
            self.updated[i] = READ_ONLY_MARK;
            return READ_ONLY;
        }
        // A first write is no update, and neither is one behind a discard.
        if write.old.is_none() {
            self.updated[i] = 0;
            return COLD;
        }
        let class = if self.is_hot(write.lpn, write.clock) { HOT } else { COLD };
        // The greatest stamp and one more would be the mark of read-only pages.
        self.updated[i] = ((write.clock as u32) & STAMP) % STAMP + 1;
        class
    }

    fn copied(&mut self, copy: Copied) -> Class {
        if self.updated[copy.lpn.0 as usize] & READ_ONLY_MARK != 0 {
            READ_ONLY
        } else if self.is_hot(copy.lpn, copy.clock) {
            HOT
        } else {
            COLD
        }
    }

    fn table_bytes(&self) -> u64 {
        self.updated.len() as u64 * 4
    }
}
