use std::collections::BTreeMap;

use wearwell::Rng;
use wearwell::page::log::Counted;

use super::*;

const PAGE_BYTES: usize = 1024;
const PAGES_PER_BLOCK: u32 = 4;
const BLOCKS: u32 = 6;

/// A chip that keeps to the contract and fails where a test says so.
#[derive(Debug, Default)]
struct TestChip {
    pages: BTreeMap<u32, Vec<u8>>,
    next: [u32; BLOCKS as usize],
    bad: Vec<BlockAddr>,
    fail_programs_in: Option<BlockAddr>,
    fail_erase_of: Option<BlockAddr>,
    unreadable: Option<PageAddr>,
    reads: u64,
}

impl Nand for TestChip {
    type Error = ErrorKind;

    fn geometry(&self) -> NandGeometry {
        NandGeometry {
            page_bytes: PAGE_BYTES as u32,
            spare_bytes: 0,
            pages_per_block: PAGES_PER_BLOCK,
            blocks: BLOCKS,
            ..NandGeometry::SLC
        }
    }

    fn read(&mut self, page: PageAddr, data: &mut [u8], _: &mut [u8]) -> Result<wearwell_flash::ReadReport, ErrorKind> {
        self.reads += 1;
        if self.unreadable == Some(page) {
            return Err(ErrorKind::Uncorrectable);
        }
        match self.pages.get(&page.0) {
            Some(stored) => data.copy_from_slice(stored),
            None => data.fill(0xFF),
        }
        Ok(wearwell_flash::ReadReport::default())
    }

    fn program(&mut self, page: PageAddr, data: &[u8], _: &[u8]) -> Result<(), ErrorKind> {
        let block = self.geometry().block_of(page);
        let slot = page.0 % PAGES_PER_BLOCK;
        assert!(slot >= self.next[block.0 as usize], "page {slot} programmed twice or out of order");
        self.next[block.0 as usize] = slot + 1;
        if self.fail_programs_in == Some(block) {
            return Err(ErrorKind::ProgramFailed);
        }
        self.pages.insert(page.0, data.to_vec());
        Ok(())
    }

    fn copy(&mut self, _: PageAddr, _: PageAddr, _: &mut [u8]) -> Result<wearwell_flash::ReadReport, ErrorKind> {
        unreachable!("an update in place copies nothing on the chip")
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        self.pages.retain(|page, _| page / PAGES_PER_BLOCK != block.0);
        if self.fail_erase_of == Some(block) {
            return Err(ErrorKind::EraseFailed);
        }
        self.next[block.0 as usize] = 0;
        Ok(())
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, ErrorKind> {
        Ok(self.bad.contains(&block))
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        self.bad.push(block);
        Ok(())
    }
}

fn stored(logical_pages: u32) -> InPlaceFtl<TestChip> {
    InPlaceFtl::format(TestChip::default(), logical_pages).unwrap()
}

fn page(lpn: u32) -> Sectors {
    Sectors { start: u64::from(lpn) * 2, count: 2 }
}

fn write(ftl: &mut InPlaceFtl<TestChip>, lpn: u32, byte: u8) -> Result<(), FtlError> {
    ftl.write(page(lpn), &[byte; PAGE_BYTES], WriteHint::NONE)
}

fn read(ftl: &mut InPlaceFtl<TestChip>, lpn: u32) -> Result<u8, FtlError> {
    let mut data = [0; PAGE_BYTES];
    ftl.read(page(lpn), &mut data)?;
    assert!(data.iter().all(|&byte| byte == data[0]), "a page of mixed bytes");
    Ok(data[0])
}

#[test]
fn an_update_rewrites_the_valid_pages_of_its_segment() {
    let mut ftl = stored(12);
    (0..4).for_each(|lpn| write(&mut ftl, lpn, lpn as u8).unwrap());
    let filled = *ftl.stats();
    assert_eq!((filled.host_programs, filled.copied_pages, filled.erases), (4, 0, 0));
    write(&mut ftl, 1, 9).unwrap();
    let updated = *ftl.stats();
    assert_eq!((updated.host_programs, updated.copied_pages, updated.erases), (5, 3, 1));
    assert_eq!((0..5).map(|lpn| read(&mut ftl, lpn).unwrap()).collect::<Vec<_>>(), [0, 9, 2, 3, 0]);
    assert_eq!(ftl.lookup(Lpn(1)), Ppn(1));
    assert_eq!(ftl.erase_counts(), [1, 0, 0, 0, 0, 0]);
}

#[test]
fn a_first_write_below_a_programmed_page_rewrites_too() {
    let mut ftl = stored(8);
    write(&mut ftl, 2, 2).unwrap();
    write(&mut ftl, 3, 3).unwrap();
    assert_eq!(ftl.stats().erases, 0);
    write(&mut ftl, 0, 7).unwrap();
    assert_eq!((ftl.stats().copied_pages, ftl.stats().erases), (2, 1));
    assert_eq!((0..4).map(|lpn| read(&mut ftl, lpn).unwrap()).collect::<Vec<_>>(), [7, 0, 2, 3]);
}

#[test]
fn discarded_pages_read_as_zeros_and_are_not_written_back() {
    let mut ftl = stored(4);
    (0..4).for_each(|lpn| write(&mut ftl, lpn, 5).unwrap());
    // Sectors 1 to 6: pages 1 and 2 whole, 0 and 3 in part.
    ftl.discard(Sectors { start: 1, count: 6 }).unwrap();
    assert_eq!((ftl.stats().discarded_pages, ftl.limits().live_pages), (2, 2));
    assert_eq!(ftl.lookup(Lpn(1)), Ppn::NONE);
    write(&mut ftl, 3, 6).unwrap();
    assert_eq!((ftl.stats().copied_pages, ftl.stats().erases), (1, 1));
    assert_eq!((0..4).map(|lpn| read(&mut ftl, lpn).unwrap()).collect::<Vec<_>>(), [5, 0, 0, 6]);
}

#[test]
fn any_commands_read_back_like_an_array_and_count_alike_without_data() {
    let mut ftl = stored(19);
    let mut counted = InPlaceFtl::<_, Counted>::format_with_payload(TestChip::default(), 19).unwrap();
    let mut model = [0; 19 * PAGE_BYTES];
    let mut rng = Rng::new(7);
    for step in 0..2000 {
        let start = rng.below(38);
        let at = Sectors { start: u64::from(start), count: u64::from(rng.below(7).min(38 - start)) };
        let bytes = start as usize * 512..(start as usize + at.count as usize) * 512;
        match rng.below(8) {
            0 => {
                ftl.discard(at).unwrap();
                counted.discard(at).unwrap();
                let (first, end) = (bytes.start.div_ceil(PAGE_BYTES), bytes.end / PAGE_BYTES);
                (first..end).for_each(|lpn| model[lpn * PAGE_BYTES..][..PAGE_BYTES].fill(0));
            }
            1..=5 => {
                model[bytes.clone()].iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
                ftl.write(at, &model[bytes], WriteHint::NONE).unwrap();
                counted.write(at, &[], WriteHint::NONE).unwrap();
            }
            _ => {
                let mut data = vec![1; bytes.len()];
                ftl.read(at, &mut data).unwrap();
                counted.read(at, &mut []).unwrap();
                assert_eq!(data, model[bytes], "step {step}");
            }
        }
        assert_eq!(ftl.stats(), counted.stats(), "step {step}");
        assert_eq!(ftl.chip.reads, counted.chip.reads, "step {step}");
    }
    assert!((0..19).all(|lpn| ftl.lookup(Lpn(lpn)) == counted.lookup(Lpn(lpn))));
    assert_eq!(ftl.erase_counts(), counted.erase_counts());
    assert!(ftl.stats().erases > 100, "the test has to update");
}

#[test]
fn a_failing_block_is_replaced_while_there_are_spares() {
    let mut ftl = stored(4 * 5);
    (0..3).for_each(|lpn| write(&mut ftl, lpn, lpn as u8 + 1).unwrap());
    ftl.chip_mut().fail_programs_in = Some(BlockAddr(0));
    write(&mut ftl, 3, 4).unwrap();
    let after = *ftl.stats();
    assert_eq!((after.retired_segments, after.wear_copies, after.copied_pages), (1, 3, 0));
    assert_eq!((0..4).map(|lpn| read(&mut ftl, lpn).unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(ftl.chip().bad, [BlockAddr(0)]);

    // No spare is left: the write is refused, and as its program failed, nothing else is lost.
    write(&mut ftl, 4, 5).unwrap();
    ftl.chip_mut().fail_programs_in = Some(BlockAddr(1));
    let worn_out = FtlError::WornOut { good_segments: 4, needed_segments: 5 };
    assert_eq!(write(&mut ftl, 5, 6), Err(worn_out));
    assert_eq!(write(&mut ftl, 5, 6), Err(worn_out));
    assert_eq!((read(&mut ftl, 4), read(&mut ftl, 5)), (Ok(5), Ok(0)));
    assert_eq!(ftl.stats().retired_segments, 2);
}

#[test]
fn an_erase_that_fails_without_a_spare_loses_its_segment_and_says_so() {
    let mut ftl = stored(4 * BLOCKS);
    (0..8).for_each(|lpn| write(&mut ftl, lpn, 1).unwrap());
    ftl.chip_mut().fail_erase_of = Some(BlockAddr(0));
    assert!(matches!(write(&mut ftl, 0, 2), Err(FtlError::WornOut { good_segments: 5, needed_segments: 6 })));
    assert_eq!(read(&mut ftl, 2), Err(FtlError::Unreadable { lpn: Lpn(2) }));
    assert_eq!((read(&mut ftl, 4), ftl.stats().lost_pages), (Ok(1), 4));
}

#[test]
fn an_unreadable_page_stays_unreadable_until_it_is_written() {
    let mut ftl = stored(4);
    (0..4).for_each(|lpn| write(&mut ftl, lpn, 1).unwrap());
    ftl.chip_mut().unreadable = Some(PageAddr(2));
    write(&mut ftl, 0, 2).unwrap();
    ftl.chip_mut().unreadable = None;
    assert_eq!((read(&mut ftl, 2), ftl.stats().lost_pages), (Err(FtlError::Unreadable { lpn: Lpn(2) }), 1));
    let half = Sectors { start: 4, count: 1 };
    assert_eq!(ftl.write(half, &[3; 512], WriteHint::NONE), Err(FtlError::Unreadable { lpn: Lpn(2) }));
    write(&mut ftl, 2, 3).unwrap();
    assert_eq!((0..4).map(|lpn| read(&mut ftl, lpn).unwrap()).collect::<Vec<_>>(), [2, 1, 3, 1]);
}

#[test]
fn bad_blocks_are_left_out_and_capacities_checked() {
    let bad = || TestChip { bad: vec![BlockAddr(0), BlockAddr(3)], ..TestChip::default() };
    let ftl = InPlaceFtl::format(bad(), 16).unwrap();
    assert_eq!((ftl.lookup(Lpn(0)), ftl.page_at(Lpn(0)), ftl.page_at(Lpn(8))), (Ppn::NONE, PageAddr(4), PageAddr(16)));
    assert_eq!(ftl.erase_counts().len(), 4);
    let too_large = ConfigError::TooLarge { logical_pages: 17, physical_pages: 24, reserve_pages: 8 };
    assert_eq!(InPlaceFtl::format(bad(), 17).unwrap_err(), MountError::Config(too_large));
    assert_eq!(InPlaceFtl::format(bad(), 0).unwrap_err(), MountError::Config(ConfigError::NoPages));
}
