//! What a cut leaves of a program, and of an erase.

use fastrand::Rng;
use wearwell_flash::PageAddr;

use super::{Cell, NandChip};

/// How far a cut erase came: so many of 16 pages are still as they were, or erased already. The others are left in any
/// state.
struct Share {
    of_16: u8,
    is_erased: bool,
}

const EVEN: Share = Share { of_16: 0, is_erased: false };

const SHARES: [Share; 5] = [
    EVEN,
    Share { of_16: 10, is_erased: false },
    Share { of_16: 14, is_erased: false },
    Share { of_16: 10, is_erased: true },
    Share { of_16: 14, is_erased: true },
];

impl NandChip {
    pub(super) fn leave_cut_program(&mut self, page: PageAddr, data: &[u8], spare: &[u8], rng: &mut Rng) {
        let (b, offset) = self.split(page);
        let cell = match rng.u8(..7) {
            0 => return,
            1 => Cell::Good,
            2 => Cell::Uncorrectable,
            3 => Cell::LooksErased,
            4 => fading(rng, 3),
            5 => fading(rng, 10),
            _ => fading(rng, 60),
        };
        self.blocks[b].next = offset + 1;
        self.faults.has_cut_commit |= offset + 1 == self.geometry.pages_per_block;
        self.put(page, data, spare, cell);
        let in_group = offset % self.geometry.paired_pages;
        for earlier in page.0 - in_group..page.0 {
            let cell = &mut self.pages[earlier as usize].cell;
            if *cell == Cell::Erased || rng.bool() {
                continue;
            }
            *cell = match *cell {
                Cell::Good if self.temper.fading_pairs && rng.bool() => fading(rng, 12),
                _ => Cell::Uncorrectable,
            };
        }
    }

    pub(super) fn leave_cut_erase(&mut self, block: usize, rng: &mut Rng) {
        match rng.u8(..if self.temper.mixed_erases { 6 } else { 4 }) {
            0 => {}
            1 => self.set_all(block, Cell::Erased),
            2 => self.set_all(block, Cell::Uncorrectable),
            3 => {
                self.set_all(block, Cell::Erased);
                self.blocks[block].weak = true;
            }
            _ => {
                let share = if self.temper.uneven_erases { &SHARES[rng.usize(..SHARES.len())] } else { &EVEN };
                for page in self.pages_of(block) {
                    // An even share draws nothing, so that older histories keep what their cuts leave.
                    if share.of_16 > 0 && rng.u8(..16) < share.of_16 {
                        page.cell = if share.is_erased { Cell::LooksErased } else { page.cell };
                        continue;
                    }
                    page.cell = match (rng.u8(..4), page.cell) {
                        (0, as_it_was) => as_it_was,
                        (1, _) => Cell::Uncorrectable,
                        (2, Cell::Good) => fading(rng, 10),
                        (2, as_it_was) => as_it_was,
                        _ => Cell::LooksErased,
                    };
                }
                // Whatever its pages read as, it has to be erased again.
                self.blocks[block].weak = true;
            }
        }
    }
}

/// A page that reads well for a while, fewer than so many times.
pub(super) fn fading(rng: &mut Rng, most_reads: u8) -> Cell {
    Cell::Fading { reads_left: rng.u8(..most_reads), outlasts_power_off: rng.u8(..10) < 7 }
}
