//! A chip that keeps no bytes. It counts operations and advances simulated time. This is the simulator's hottest path.
//!
//! Reads leave the buffers unchanged. The layouts of `wearwell` are told that bytes are only counted.

use std::convert::Infallible;

#[cfg(any(debug_assertions, test))]
use wearwell_flash::ProgramOrder;
use wearwell_flash::{BankAddr, BlockAddr, Nand, NandGeometry, Nor, NorAddr, NorGeometry, PageAddr, ReadReport};

use crate::profile::{ChipKind, ChipProfile};
use crate::timeline::Timeline;

/// Operations of a whole chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Pages, or on NOR byte ranges, read.
    pub reads: u64,
    /// Pages, or on NOR byte ranges, programmed, without copies.
    pub programs: u64,
    /// Pages copied.
    pub copies: u64,
    /// Blocks erased.
    pub erases: u64,
}

/// A chip of any profile, usable as NAND or as NOR, that stores nothing and never fails.
///
/// Debug builds check the contract (pages programmed once and in the chip's order; nothing in a NOR bank that erases;
/// addresses in range) and panic where it is broken, because that is a defect of the layer above.
#[derive(Debug, Clone)]
pub struct CountChip {
    geometry: NandGeometry,
    nor: NorGeometry,
    pages_per_die: u32,
    /// Bytes of a page transfer over the bus: data and spare.
    page_and_spare_bytes: u32,
    /// True if an erase runs while other banks work, as on NOR.
    background_erase: bool,
    timed: bool,
    counts: Counts,
    time: Timeline,
    marked_bad: Vec<BlockAddr>,
    /// For each page: true if it must not be programmed before its block's next erase.
    #[cfg(debug_assertions)]
    passed: Vec<bool>,
}

impl CountChip {
    /// A fresh chip of this profile, all blocks erased.
    pub fn new(profile: &ChipProfile) -> Self {
        let time = Timeline::new(profile);
        let geometry = profile.nand_geometry();
        Self {
            geometry,
            // Nobody divides by it if the chip has a single die, which may have more pages than that.
            pages_per_die: (geometry.pages() / u64::from(geometry.dies)).min(u64::from(u32::MAX)) as u32,
            nor: profile.nor_geometry(),
            page_and_spare_bytes: profile.page_bytes + profile.spare_bytes,
            background_erase: profile.kind == ChipKind::Nor,
            timed: time.has_times(),
            counts: Counts::default(),
            time,
            marked_bad: Vec::new(),
            #[cfg(debug_assertions)]
            passed: vec![false; profile.pages() as usize],
        }
    }

    /// Operations since the chip was made.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The chip's simulated time.
    pub fn time(&self) -> &Timeline {
        &self.time
    }

    /// The chip's simulated time, to begin commands and let time pass.
    pub fn time_mut(&mut self) -> &mut Timeline {
        &mut self.time
    }

    /// The die of a page, with one division at most.
    #[inline]
    fn die_of_page(&self, page: PageAddr) -> BankAddr {
        let die = BankAddr(if self.geometry.dies == 1 { 0 } else { page.0 / self.pages_per_die });
        debug_assert_eq!(die, self.geometry.die_of(self.geometry.block_of(page)), "dies are as large as each other");
        die
    }

    /// Asserts in debug builds that a page is programmed once and in the chip's order. If the order is ascending, a
    /// program also closes all lower pages. The closed pages are the first ones of the block, so the walk down ends
    /// where the last one began.
    #[inline]
    fn check_program(&mut self, page: PageAddr) {
        debug_assert!(u64::from(page.0) < self.geometry.pages(), "page {} is outside the chip", page.0);
        #[cfg(debug_assertions)]
        {
            assert!(!self.passed[page.0 as usize], "page {} was passed since its block's erase", page.0);
            let lowest = match self.geometry.program_order {
                ProgramOrder::Ascending => self.geometry.page(self.geometry.block_of(page), 0),
                ProgramOrder::Any => page,
            };
            let behind = self.passed[lowest.0 as usize..=page.0 as usize].iter_mut().rev();
            behind.take_while(|passed| !**passed).for_each(|passed| *passed = true);
        }
    }

    #[inline]
    fn check_erase(&mut self, block: BlockAddr) {
        debug_assert!(block.0 < self.geometry.blocks, "block {} is outside the chip", block.0);
        #[cfg(debug_assertions)]
        {
            let first = self.geometry.page(block, 0).0 as usize;
            self.passed[first..first + self.geometry.pages_per_block as usize].fill(false);
        }
    }

    #[inline]
    fn check_range(&self, at: NorAddr, len: usize) {
        debug_assert!(at.offset as usize + len <= self.nor.block_bytes as usize, "{at:?}, {len} bytes");
    }

    #[inline]
    fn count_erase(&mut self, block: BlockAddr) {
        self.check_erase(block);
        self.counts.erases += 1;
        if self.timed {
            self.time.erase(self.geometry.die_of(block));
        }
    }
}

impl Nand for CountChip {
    type Error = Infallible;

    #[inline]
    fn geometry(&self) -> NandGeometry {
        self.geometry
    }

    #[inline]
    fn read(&mut self, page: PageAddr, _data: &mut [u8], _spare: &mut [u8]) -> Result<ReadReport, Infallible> {
        debug_assert!(u64::from(page.0) < self.geometry.pages(), "page {} is outside the chip", page.0);
        self.counts.reads += 1;
        // Without times not even the die is looked up, which takes a division.
        if self.timed {
            self.time.read(self.die_of_page(page), self.page_and_spare_bytes);
        }
        Ok(ReadReport::default())
    }

    #[inline(always)]
    fn program(&mut self, page: PageAddr, _data: &[u8], _spare: &[u8]) -> Result<(), Infallible> {
        self.check_program(page);
        self.counts.programs += 1;
        if self.timed {
            self.time.program(self.die_of_page(page), self.page_and_spare_bytes);
        }
        Ok(())
    }

    #[inline]
    fn copy(&mut self, from: PageAddr, to: PageAddr, _spare: &mut [u8]) -> Result<ReadReport, Infallible> {
        self.check_program(to);
        self.counts.copies += 1;
        if self.timed {
            self.time.copy(self.die_of_page(from), self.die_of_page(to), self.page_and_spare_bytes);
        }
        Ok(ReadReport::default())
    }

    #[inline]
    fn erase(&mut self, block: BlockAddr) -> Result<(), Infallible> {
        self.count_erase(block);
        Ok(())
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, Infallible> {
        Ok(self.marked_bad.contains(&block))
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), Infallible> {
        if !self.marked_bad.contains(&block) {
            self.marked_bad.push(block);
        }
        Ok(())
    }

    #[inline]
    fn is_erasing(&mut self, die: BankAddr) -> bool {
        self.background_erase && self.timed && self.time.is_erasing(die)
    }

    fn wait_erase(&mut self, die: BankAddr) {
        if self.background_erase {
            self.time.wait_erase(die);
        }
    }
}

impl Nor for CountChip {
    type Error = Infallible;

    fn geometry(&self) -> NorGeometry {
        self.nor
    }

    fn read(&mut self, at: NorAddr, buf: &mut [u8]) -> Result<(), Infallible> {
        self.check_range(at, buf.len());
        self.counts.reads += 1;
        self.time.read(self.nor.bank_of(at.block), buf.len() as u32);
        Ok(())
    }

    fn program(&mut self, at: NorAddr, bytes: &[u8]) -> Result<(), Infallible> {
        self.check_range(at, bytes.len());
        let bank = self.nor.bank_of(at.block);
        debug_assert!(!self.time.is_erasing(bank), "a program in bank {}, which erases", bank.0);
        self.counts.programs += 1;
        self.time.program(bank, bytes.len() as u32);
        Ok(())
    }

    fn erase_start(&mut self, block: BlockAddr) -> Result<(), Infallible> {
        debug_assert!(!self.time.is_erasing(self.nor.bank_of(block)), "an erase in a bank that erases");
        self.count_erase(block);
        Ok(())
    }

    fn erase_ready(&mut self, bank: BankAddr) -> bool {
        !self.time.is_erasing(bank)
    }

    fn erase_finish(&mut self, bank: BankAddr) -> Result<(), Infallible> {
        self.time.wait_erase(bank);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nor_profile_seen_as_nand_erases_in_the_background() {
        let mut chip = CountChip::new(&ChipProfile::by_name("kawaguchi-28f008sa").expect("known"));
        let g = Nand::geometry(&chip);
        assert_eq!((g.pages_per_block, g.page_bytes, g.dies), (504, 512, 8));
        Nand::program(&mut chip, PageAddr(0), &[], &[]).expect("infallible");
        Nand::erase(&mut chip, BlockAddr(8)).expect("infallible");
        assert!(chip.is_erasing(BankAddr(1)) && !chip.is_erasing(BankAddr(0)));
        chip.wait_erase(BankAddr(1));
        assert_eq!((chip.time().now_ns(), chip.is_erasing(BankAddr(1))), (1_000_000_000, false));
        assert_eq!(chip.counts(), Counts { programs: 1, erases: 1, ..Counts::default() });
    }

    #[test]
    fn a_nand_profile_takes_page_and_spare_over_the_bus() {
        let mut chip = CountChip::new(&ChipProfile::by_name("lee-k9l8g08u0m").expect("known"));
        Nand::program(&mut chip, PageAddr(0), &[], &[]).expect("infallible");
        assert_eq!(chip.time().completion_ns(), 1_013_000, "table 1: a page write takes 1.013 ms");
        chip.time_mut().begin_command(2_000_000);
        Nand::read(&mut chip, PageAddr(0), &mut [], &mut []).expect("infallible");
        assert_eq!(chip.time().now_ns(), 2_113_000, "table 1: a page read takes 0.113 ms");
        chip.time_mut().begin_command(3_000_000);
        chip.copy(PageAddr(0), PageAddr(1), &mut []).expect("infallible");
        assert_eq!(chip.time().completion_ns(), 4_126_000, "table 1 measures 1.128 ms for a copy");
        Nand::erase(&mut chip, BlockAddr(0)).expect("infallible");
        assert!(!chip.is_erasing(BankAddr(0)), "NAND erases are not in the background");
    }

    #[test]
    fn nor_programs_take_their_bytes() {
        let mut chip = CountChip::new(&ChipProfile::by_name("chiang-series2plus").expect("known"));
        Nor::program(&mut chip, NorAddr { block: BlockAddr(0), offset: 0 }, &[0; 4096]).expect("infallible");
        assert_eq!(chip.time().completion_ns(), 4096 * 6_000);
        chip.erase_start(BlockAddr(32)).expect("infallible");
        assert!(!chip.erase_ready(BankAddr(1)) && chip.erase_ready(BankAddr(0)));
        chip.erase_finish(BankAddr(1)).expect("infallible");
        assert_eq!(chip.time().now_ns(), 600_000_000);
    }

    #[test]
    fn marks_are_kept_and_a_bare_geometry_takes_no_time() {
        let mut chip = CountChip::new(&ChipProfile::resolve("geometry:512:8:16:2").expect("valid"));
        chip.mark_bad(BlockAddr(3)).expect("infallible");
        assert_eq!((chip.is_bad(BlockAddr(3)), chip.is_bad(BlockAddr(4))), (Ok(true), Ok(false)));
        Nand::erase(&mut chip, BlockAddr(3)).expect("infallible");
        assert_eq!(chip.time().idle_ns(), 0);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "page 8 was passed")]
    fn a_page_behind_a_later_one_panics_in_debug_builds() {
        let mut chip = CountChip::new(&ChipProfile::resolve("geometry:512:8:16").expect("valid"));
        Nand::program(&mut chip, PageAddr(8 + 3), &[], &[]).expect("infallible");
        Nand::erase(&mut chip, BlockAddr(1)).expect("infallible");
        Nand::program(&mut chip, PageAddr(8 + 1), &[], &[]).expect("infallible");
        Nand::program(&mut chip, PageAddr(8), &[], &[]).expect("infallible");
    }

    #[test]
    fn a_chip_programmed_in_any_order_takes_each_page_once() {
        let mut profile = ChipProfile::resolve("geometry:512:8:16").expect("valid");
        profile.program_order = ProgramOrder::Any;
        let mut chip = CountChip::new(&profile);
        for page in [3, 7, 0, 6, 1, 2, 5, 4] {
            Nand::program(&mut chip, PageAddr(8 + page), &[], &[]).expect("infallible");
        }
        assert_eq!(chip.counts().programs, 8);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "was passed")]
    fn a_page_programmed_twice_panics_in_debug_builds() {
        let mut chip = CountChip::new(&ChipProfile::resolve("geometry:512:8:16").expect("valid"));
        Nand::program(&mut chip, PageAddr(9), &[], &[]).expect("infallible");
        Nand::program(&mut chip, PageAddr(9), &[], &[]).expect("infallible");
    }
}
