//! What pages hold: as a number, and compared with their records.

use std::hash::Hasher;

use wearwell_flash::PageAddr;
use xxhash_rust::xxh3::Xxh3;

use super::{EmuNand, state};
use crate::chip::{Damage, Damaged};
use crate::page_record::{Checks, record};
use crate::store::Store;

/// True if a page in this state has content. The bytes of all others may be anything.
fn has_content(page_state: u8) -> bool {
    matches!(page_state, state::PROGRAMMED | state::FAILS_LATER | state::ON_WEAK_ERASE | state::FADES)
}

impl<S: Store> EmuNand<S> {
    /// The number of [`EmuChip::fingerprint`](crate::EmuChip::fingerprint).
    pub(super) fn hash(&self) -> u64 {
        let (g, l, bytes) = (self.geometry, self.body.layout, self.body.store.bytes());
        let mut hasher = Xxh3::new();
        self.body.hash_state(&mut hasher);
        hasher.write(&bytes[l.page_records(0, g.pages() as u32)]);
        for page in 0..g.pages() as u32 {
            if has_content(self.page_state(PageAddr(page)).0) {
                hasher.write(&bytes[l.data(page, g.page_bytes)]);
                hasher.write(&bytes[l.spare(page, g.spare_bytes)]);
            }
        }
        hasher.finish()
    }

    /// How a page differs from what the chip stored.
    pub(super) fn damage_of(&self, page: PageAddr) -> Option<Damage> {
        let (g, l, bytes) = (self.geometry, self.body.layout, self.body.store.bytes());
        let is_checked = self.body.store.is_checked();
        let (record_at, data_at, spare_at) =
            (l.page_records(page.0, 1), l.data(page.0, g.page_bytes), l.spare(page.0, g.spare_bytes));
        let damage = |what, at: usize| Some(Damage { of: Damaged::Page(page), what, at: at as u64 });
        match self.page_state(page).0 {
            // The check of the spare bytes covers state and detail too, so a change of these counts as one of the spare
            // bytes.
            state if has_content(state) => {
                let (stored, found) =
                    (self.checks(page), Checks::of(is_checked, &bytes[data_at.clone()], &bytes[spare_at.clone()]));
                if stored.data != found.data {
                    damage("data", data_at.start)
                } else if stored.spare != found.spare {
                    damage("spare bytes", spare_at.start)
                } else {
                    None
                }
            }
            // A page without content has no bytes to check, but its record can have one value only.
            state @ (state::ERASED | state::UNCORRECTABLE | state::LOOKS_ERASED)
                if bytes[record_at.clone()] == record(is_checked, state, 0, Checks::NONE) =>
            {
                None
            }
            _ => damage("state", record_at.start),
        }
    }
}
