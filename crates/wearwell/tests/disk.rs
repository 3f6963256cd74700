//! The front door: what a firmware engineer meets first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use wearwell::flash::{Nor, NorAddr};
use wearwell::logblock::{BlockConfig, BlockFtl, Costs, Recycling, Scheme, TaggedPages};
use wearwell::page::log::{Log, NandLog, NorLog};
use wearwell::page::{self, PageFtl};
use wearwell::wear::WearLeveling;
use wearwell::{
    BlockAddr, BlockDevice, Config, Disk, Error, ErrorKind, FtlError, MountError, Nand, NandGeometry, OnNor, PageAddr,
    Policies, Probe, RamNand, RamNandError, ReadReport, Reclamation, Rng, Sectors, ShapeError, WriteHint,
};
use wearwell_emu::{ChipProfile, CutOutcome, EmuChip, EmuNand, EmuNor, Faults, PowerCut};

const PAGES: u32 = 300;

fn chip() -> RamNand {
    RamNand::new(RamNand::SMALL)
}

/// Fills every page of a chip with what no engine writes.
fn foreign(bytes: impl Fn(u32) -> u8) -> RamNand {
    let mut chip = chip();
    for page in 0..chip.geometry().pages() as u32 {
        chip.program(PageAddr(page), &[bytes(page); 512], &[bytes(page); 16]).expect("an erased page");
    }
    chip
}

fn block_config() -> BlockConfig {
    BlockConfig {
        logical_pages: 200,
        scheme: Scheme::LogBlock(Recycling::DEFAULT),
        log_blocks: 4,
        reclaim: Reclamation::AtOnce,
        wear: WearLeveling::None,
        costs: Costs::LEE_TABLE_1,
        endurance: 1000,
    }
}

#[test]
fn pages_are_written_read_discarded_and_there_after_a_cut() {
    let mut disk = Disk::format(chip(), Config::new(PAGES)).unwrap();
    for page in 0..PAGES {
        disk.write(page, &[page as u8; 512]).unwrap();
    }
    disk.discard(100..110).unwrap();
    disk.flush().unwrap();
    disk.write(5, &[0xAA; 512]).unwrap();
    disk.shutdown().unwrap();
    let (mut disk, report) = Disk::mount(disk.into_chip(), Config::new(PAGES)).unwrap();
    assert!(report.clean && !report.never_formatted);
    for page in 0..PAGES {
        let mut data = [1; 512];
        disk.read(page, &mut data).unwrap();
        let expected = match page {
            5 => 0xAA,
            100..110 => 0,
            _ => page as u8,
        };
        assert_eq!(data, [expected; 512], "page {page}");
    }
    assert_eq!((disk.pages(), disk.page_bytes()), (PAGES, 512));
}

#[test]
fn what_lies_outside_is_refused() {
    let mut disk = Disk::format(chip(), Config::new(PAGES)).unwrap();
    let outside = FtlError::OutOfRange { start: 300, count: 1, capacity: 300 };
    assert_eq!(disk.write(PAGES, &[0; 512]), Err(Error::Command(outside)));
    assert_eq!(disk.read(PAGES, &mut [0; 512]), Err(Error::Command(outside)));
    let short = FtlError::BufferLength { expected: 512, got: 100 };
    assert_eq!(disk.write(0, &[0; 100]), Err(Error::Command(short)));
    assert!(matches!(disk.discard(299..301), Err(Error::Command(FtlError::OutOfRange { .. }))));
    assert!(matches!(Disk::format(chip(), Config::new(1000)), Err(Error::Mount(MountError::Config(_)))));
    let striped = Config::new(PAGES).blocks_per_segment(2);
    assert!(matches!(Disk::format(chip(), striped), Err(Error::Shape(ShapeError::Segments { .. }))));
}

#[test]
fn the_device_is_one_of_sectors() {
    let mut disk = Disk::format(chip(), Config::new(PAGES)).unwrap();
    let device: &mut dyn BlockDevice = disk.device();
    device.write(Sectors { start: 9, count: 2 }, &[3; 1024], WriteHint::NONE).unwrap();
    let mut page = [0; 512];
    disk.read(10, &mut page).unwrap();
    assert_eq!(page, [3; 512]);
}

/// A driver that names the page in its errors, and fails on demand.
struct Touchy {
    ram: RamNand,
    fails_at: Option<PageAddr>,
    all_fail: bool,
}

/// Its error.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TouchyError {
    Bus { page: PageAddr },
    Ram(RamNandError),
}

impl wearwell::ChipError for TouchyError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Bus { .. } => ErrorKind::Unresponsive,
            Self::Ram(error) => error.kind,
        }
    }
}

impl Touchy {
    fn touch(&self, page: PageAddr) -> Result<(), TouchyError> {
        if self.all_fail || self.fails_at == Some(page) { Err(TouchyError::Bus { page }) } else { Ok(()) }
    }
}

impl Nand for Touchy {
    type Error = TouchyError;
    fn geometry(&self) -> NandGeometry {
        self.ram.geometry()
    }
    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, TouchyError> {
        self.touch(page)?;
        self.ram.read(page, data, spare).map_err(TouchyError::Ram)
    }
    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), TouchyError> {
        self.touch(page)?;
        self.ram.program(page, data, spare).map_err(TouchyError::Ram)
    }
    fn copy(&mut self, from: PageAddr, to: PageAddr, spare: &mut [u8]) -> Result<ReadReport, TouchyError> {
        self.touch(to)?;
        self.ram.copy(from, to, spare).map_err(TouchyError::Ram)
    }
    fn erase(&mut self, block: BlockAddr) -> Result<(), TouchyError> {
        self.ram.erase(block).map_err(TouchyError::Ram)
    }
    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, TouchyError> {
        self.ram.is_bad(block).map_err(TouchyError::Ram)
    }
    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), TouchyError> {
        self.ram.mark_bad(block).map_err(TouchyError::Ram)
    }
}

#[test]
fn errors_are_the_drivers_own() {
    let touchy = |fails_at| Touchy { ram: chip(), fails_at, all_fail: false };
    let third = PageAddr(64);
    assert_eq!(
        Disk::format(touchy(Some(third)), Config::new(PAGES)).unwrap_err(),
        Error::Driver(TouchyError::Bus { page: third })
    );
    let mut disk = Disk::format(touchy(None), Config::new(PAGES)).unwrap();
    disk.write(0, &[1; 512]).unwrap();
    disk.chip_mut().all_fail = true;
    assert!(matches!(disk.write(1, &[1; 512]), Err(Error::Driver(TouchyError::Bus { .. }))));
    assert!(matches!(disk.read(0, &mut [0; 512]), Err(Error::Driver(TouchyError::Bus { .. }))));
    let (chip, error) = Disk::mount_or_return(disk.into_chip(), Config::new(PAGES)).unwrap_err();
    assert!(matches!(error, Error::Driver(TouchyError::Bus { page: PageAddr(_) })), "{error:?}");
    let mut chip = chip.unwrap();
    chip.all_fail = false;
    Disk::mount(chip, Config::new(PAGES)).unwrap();
}

#[test]
fn a_blank_chip_is_mounted_and_said_to_be_blank() {
    let (mut disk, report) = Disk::mount(chip(), Config::new(PAGES)).unwrap();
    assert!(report.never_formatted && !report.clean);
    disk.write(0, &[9; 512]).unwrap();
    disk.flush().unwrap();
    let (_, report) = Disk::mount(disk.into_chip(), Config::new(PAGES)).unwrap();
    assert!(!report.never_formatted);
    let formatted = Disk::format(chip(), Config::new(PAGES)).unwrap();
    assert!(!Disk::mount(formatted.into_chip(), Config::new(PAGES)).unwrap().1.never_formatted);
}

#[test]
fn foreign_data_is_refused_and_kept() {
    let text = foreign(|page| b"somebody else's"[page as usize % 15]);
    let zeros = foreign(|_| 0);
    // One page in the last block is enough.
    let mut lonely = chip();
    lonely.program(PageAddr(511), &[0x5A; 512], &[]).unwrap();
    for before in [text, zeros, lonely] {
        let (after, error) = Disk::mount_or_return(before.clone(), Config::new(PAGES)).unwrap_err();
        assert_eq!(error, Error::Mount(MountError::Foreign));
        assert_eq!(after.as_ref(), Some(&before), "nothing was changed");
        let blocks = TaggedPages::new(before, 1).unwrap();
        let (blocks, error) = BlockFtl::mount_or_return(blocks, (), block_config()).map(drop).unwrap_err();
        assert_eq!((error, Some(blocks.into_chip())), (MountError::Foreign, after));
    }
    let disk = Disk::format(foreign(|_| 0), Config::new(PAGES)).unwrap();
    Disk::mount(disk.into_chip(), Config::new(PAGES)).unwrap();
}

#[test]
fn one_engine_refuses_what_the_other_wrote() {
    let mut blocks = BlockFtl::format(TaggedPages::new(chip(), 1).unwrap(), (), block_config()).unwrap();
    blocks.write(Sectors { start: 0, count: 4 }, &[1; 2048], WriteHint::NONE).unwrap();
    blocks.flush().unwrap();
    let error = Disk::mount(blocks.into_pages().into_chip(), Config::new(PAGES)).unwrap_err();
    assert_eq!(error, Error::Mount(MountError::Foreign));
    let disk = Disk::format(chip(), Config::new(PAGES)).unwrap();
    let pages = TaggedPages::new(disk.into_chip(), 1).unwrap();
    assert_eq!(BlockFtl::mount(pages, (), block_config()).unwrap_err(), MountError::Foreign);
}

#[test]
fn a_blank_chip_is_a_block_mapped_device_too() {
    let pages = TaggedPages::new(chip(), 1).unwrap();
    let (mut ftl, report) = BlockFtl::mount(pages, (), block_config()).unwrap();
    assert!(report.never_formatted);
    ftl.write(Sectors { start: 0, count: 1 }, &[1; 512], WriteHint::NONE).unwrap();
    ftl.flush().unwrap();
    let (_, report) = BlockFtl::mount(ftl.into_pages(), (), block_config()).unwrap();
    assert!(!report.never_formatted);
}

/// Formats a chip of somebody else's with a cut at each operation. Afterwards it is refused as foreign or is a disk,
/// and it can be formatted. Returns how often it was refused.
fn refused_after_cuts<L: Log>(cut_chip: impl Fn(u64) -> L, power_on: impl Fn(&mut L)) -> u32 {
    let config = page::PageConfig { logical_pages: 20, policies: Policies::default(), seed: 1, endurance: 1000 };
    let mut refused = 0;
    for at in 0.. {
        let Err((mut log, _)) = PageFtl::format_or_return(cut_chip(at), (), config) else { break };
        power_on(&mut log);
        let log = match PageFtl::mount_or_return(log, (), config) {
            Ok((ftl, report)) => {
                assert!(!report.never_formatted, "cut at {at}");
                ftl.into_log()
            }
            Err((log, error)) => {
                assert_eq!(error, MountError::Foreign, "cut at {at}");
                refused += 1;
                log
            }
        };
        PageFtl::format_or_return(log, (), config).map(drop).map_err(|(_, error)| error).expect("it can be formatted");
        assert!(at < 1000, "the format never ends");
    }
    refused
}

#[test]
fn a_format_that_was_cut_is_refused_or_mounted() {
    let profile = ChipProfile::resolve("geometry:2048:16:12").unwrap();
    let nand = |at| {
        let mut chip = EmuNand::in_memory(&profile, Faults::default()).unwrap();
        (0..12 * 16).for_each(|page| chip.program(PageAddr(page), &[0x5A; 2048], &[]).unwrap());
        chip.arm(Some(PowerCut { at_op: chip.ops() + at, outcome: CutOutcome::Seeded { seed: at } }));
        NandLog::new(chip, 1).unwrap()
    };
    let refused = refused_after_cuts(nand, |log| log.chip_mut().power_on());
    // The first erase, and the header behind it.
    assert!((1..=2).contains(&refused), "{refused}");
}

#[test]
fn a_format_that_was_cut_is_refused_or_mounted_on_nor() {
    let mut profile = ChipProfile::by_name("kawaguchi-28f008sa").unwrap();
    (profile.blocks, profile.banks, profile.logical_bytes) = (12, 1, 512 * 300);
    let nor = |at| {
        let mut chip = EmuNor::in_memory(&profile, Faults::default()).unwrap();
        for block in (0..12).map(BlockAddr) {
            Nor::program(&mut chip, NorAddr { block, offset: 64 }, &[0x5A; 512]).unwrap();
        }
        chip.arm(Some(PowerCut { at_op: chip.ops() + at, outcome: CutOutcome::Seeded { seed: at } }));
        NorLog::new(chip, 100, 512).unwrap()
    };
    let refused = refused_after_cuts(nor, |log| log.chip_mut().power_on());
    assert!(refused > 0, "no cut came before the first header");
}

#[test]
fn the_same_disk_is_made_on_nor() {
    let mut profile = ChipProfile::by_name("kawaguchi-28f008sa").unwrap();
    (profile.blocks, profile.banks, profile.logical_bytes) = (12, 1, 512 * 300);
    let chip = EmuNor::in_memory(&profile, Faults::default()).unwrap();
    let mut disk = Disk::format(OnNor(chip), Config::new(300)).unwrap();
    disk.write(7, &[42; 512]).unwrap();
    disk.flush().unwrap();
    let (mut disk, report) = Disk::mount(OnNor(disk.into_chip()), Config::new(300)).unwrap();
    let mut data = [0; 512];
    disk.read(7, &mut data).unwrap();
    assert_eq!((data, report.never_formatted), ([42; 512], false));
    let mut chip = EmuNor::in_memory(&profile, Faults::default()).unwrap();
    Nor::program(&mut chip, NorAddr { block: BlockAddr(11), offset: 5000 }, &[0]).unwrap();
    assert_eq!(Disk::mount(OnNor(chip), Config::new(300)).unwrap_err(), Error::Mount(MountError::Foreign));
    let blank = EmuNor::in_memory(&profile, Faults::default()).unwrap();
    assert!(Disk::mount(OnNor(blank), Config::new(300)).unwrap().1.never_formatted);
}

/// Greatest and least erase count after a hot tenth of the pages was written all the time.
fn worn_by_a_hot_tenth(pages: u32, config: Config) -> (u32, u32) {
    let chip = RamNand::new(NandGeometry { blocks: 64, ..RamNand::SMALL });
    let mut disk = Disk::format(chip, config).expect("it fits");
    (0..pages).for_each(|page| disk.write(page, &[1; 512]).expect("room"));
    let mut rng = Rng::new(1);
    for _ in 0..80 * pages {
        disk.write(rng.below(pages / 10), &[2; 512]).expect("room");
    }
    let erases = disk.erase_counts();
    erases.iter().fold((0, u32::MAX), |(most, least), &count| (most.max(count), least.min(count)))
}

#[test]
fn the_defaults_level_wear() {
    let config = Config::new(1300);
    let (most, least) = worn_by_a_hot_tenth(1300, config);
    assert!(most - least <= 60, "{most} and {least} erases");
    let uneven = config.wear(WearLeveling::None);
    let (most, least) = worn_by_a_hot_tenth(1300, uneven);
    assert!(most - least > 120, "{most} and {least} erases without leveling: the test shows nothing");
}

/// Counts what it hears.
struct Count(Arc<AtomicU32>);

impl Probe for Count {
    fn erased(&mut self, _segment: u32, _erases: u32) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_probe_hears_of_erases() {
    let heard = Arc::new(AtomicU32::new(0));
    let mut disk = Disk::format(chip(), Config::new(PAGES)).unwrap();
    disk.listen(Box::new(Count(Arc::clone(&heard))));
    (0..2000).for_each(|write| disk.write(write % PAGES, &[1; 512]).unwrap());
    assert!(disk.stats().erases > 0);
    assert_eq!(u64::from(heard.load(Ordering::Relaxed)), disk.stats().erases);
}

/// Sums up the pages that were moved, by the segment that they left.
struct Moves(Arc<AtomicU32>);

impl Probe for Moves {
    fn wants_moves(&self) -> bool {
        true
    }

    fn moved(&mut self, _segment: u32, _class: u8, pages: u32, page: u32) {
        assert!(page < PAGES, "a page of the host's");
        self.0.fetch_add(pages, Ordering::Relaxed);
    }
}

#[test]
fn a_probe_hears_of_every_page_that_is_moved() {
    let heard = Arc::new(AtomicU32::new(0));
    let mut disk = Disk::format(chip(), Config::new(PAGES)).unwrap();
    disk.listen(Box::new(Moves(Arc::clone(&heard))));
    let mut rng = Rng::new(7);
    (0..PAGES).for_each(|page| disk.write(page, &[1; 512]).unwrap());
    for _ in 0..3000 {
        disk.write(rng.below(PAGES), &[1; 512]).unwrap();
        let moved = disk.stats().copied_pages + disk.stats().wear_copies;
        assert_eq!(u64::from(heard.load(Ordering::Relaxed)), moved);
    }
    assert!(disk.stats().copied_pages > 1000);
}
