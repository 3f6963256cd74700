//! The front door with the map on flash.

use wearwell::page::ConfigError;
use wearwell::{Config, Disk, Error, FtlError, MountError, NandGeometry, PageAddr, PagedConfig, RamNand, Rng};
use wearwell_emu::{ChipProfile, CutOutcome, EmuChip, EmuNand, Faults, PowerCut};

const PAGES: u32 = 700;
const GEOMETRY: NandGeometry = NandGeometry { blocks: 64, ..RamNand::SMALL };
const PAGED: PagedConfig = PagedConfig::new(PAGES, 16);

fn chip() -> RamNand {
    RamNand::new(GEOMETRY)
}

#[test]
fn pages_are_written_read_discarded_and_there_after_a_stop() {
    let mut disk = Disk::format(chip(), PAGED).expect("it fits");
    (0..PAGES).for_each(|page| disk.write(page, &[page as u8; 512]).expect("room"));
    disk.discard(100..110).expect("pages of the disk");
    disk.shutdown().expect("a good chip");
    let (mut disk, report) = Disk::mount(disk.into_chip(), PAGED).expect("the map that it was formatted with");
    assert!(!report.never_formatted);
    for page in 0..PAGES {
        let mut data = [1; 512];
        disk.read(page, &mut data).expect("a good chip");
        let expected = if (100..110).contains(&page) { 0 } else { page as u8 };
        assert_eq!(data, [expected; 512], "page {page}");
    }
    assert_eq!((disk.pages(), disk.page_bytes()), (PAGES, 512));
    assert_eq!(disk.limits().segments as usize, disk.erase_counts().len());
    let outside = FtlError::OutOfRange { start: 700, count: 1, capacity: 700 };
    assert_eq!(disk.write(PAGES, &[0; 512]), Err(Error::Command(outside)));
}

#[test]
fn what_was_flushed_is_there_after_a_cut() {
    let profile = ChipProfile::resolve("geometry:512:32:64").expect("a geometry");
    for at in 0..200 {
        let chip = EmuNand::in_memory(&profile, Faults::default()).expect("it fits into memory");
        let mut disk = Disk::format(chip, PAGED).expect("it fits");
        (0..PAGES).for_each(|page| disk.write(page, &[1; 512]).expect("room"));
        disk.flush().expect("a good chip");
        let cut = PowerCut { at_op: disk.chip().ops() + at, outcome: CutOutcome::Seeded { seed: at } };
        disk.chip_mut().arm(Some(cut));
        let mut rng = Rng::new(at);
        while disk.write(rng.below(PAGES / 2), &[2; 512]).is_ok() {}
        // Commands that come too late are errors.
        (0..40).for_each(|page| assert!(disk.write(page, &[2; 512]).is_err()));
        let mut chip = disk.into_chip();
        chip.power_on();
        let (mut disk, _) = Disk::mount(chip, PAGED).expect("nothing but a cut");
        for page in 0..PAGES {
            let mut data = [0; 512];
            disk.read(page, &mut data).expect("no page is lost");
            let is_held = data == [1; 512] || page < PAGES / 2 && data == [2; 512];
            assert!(is_held, "cut at {at}: page {page} begins with {}", data[0]);
        }
    }
}

/// Pages programmed for 20,000 writes, nine tenths of them to the first `hot` pages.
fn programs(hot: u32) -> u64 {
    let mut disk = Disk::format(chip(), PagedConfig::new(1300, 64)).expect("it fits");
    let mut rng = Rng::new(1);
    let mut write = |disk: &mut Disk<RamNand, PagedConfig>, writes: u32| {
        for _ in 0..writes {
            let among = if rng.below(10) > 0 { hot } else { 1300 };
            disk.write(rng.below(among), &[0; 512]).expect("room");
        }
    };
    (0..1300).for_each(|page| disk.write(page, &[0; 512]).expect("room"));
    write(&mut disk, 10_000);
    let before = disk.stats().programmed_pages();
    write(&mut disk, 20_000);
    disk.stats().programmed_pages() - before
}

#[test]
fn what_is_written_again_soon_costs_less() {
    // With the emptiest segment as the victim it does not.
    let (at_random, hot) = (programs(1300), programs(130));
    assert!(hot < at_random * 9 / 10, "{hot} programs, and {at_random} at random");
}

#[test]
fn a_chip_is_refused_with_the_other_map() {
    let paged = Disk::format(chip(), PAGED).expect("it fits").into_chip();
    let (refused, error) = Disk::mount_or_return(paged.clone(), Config::new(PAGES)).map(drop).unwrap_err();
    assert!(matches!(error, Error::Mount(MountError::OtherMap { .. })), "{error}");
    assert_eq!(refused, Some(paged), "nothing was changed");
    let mut in_memory = Disk::format(chip(), Config::new(PAGES)).expect("it fits");
    (0..PAGES).for_each(|page| in_memory.write(page, &[1; 512]).expect("room"));
    in_memory.shutdown().expect("a good chip");
    let in_memory = in_memory.into_chip();
    let (refused, error) = Disk::mount_or_return(in_memory.clone(), PAGED).map(drop).unwrap_err();
    assert!(matches!(error, Error::Mount(MountError::OtherMap { .. })), "{error}");
    assert_eq!(refused, Some(in_memory), "nothing was changed");
}

#[test]
fn what_it_cannot_be_made_of_is_refused() {
    let refusal = |chip, config| match Disk::format(chip, config).map(drop) {
        Err(Error::Mount(MountError::Config(error))) => error,
        other => panic!("{other:?}"),
    };
    let tiny = PagedConfig::new(PAGES, 1);
    assert_eq!(refusal(chip(), tiny), ConfigError::CacheTooSmall { entries: 1, least: 2 });
    let large = PagedConfig::new(1950, 16);
    assert!(matches!(refusal(chip(), large), ConfigError::TooLarge { .. }));
    let paired = RamNand::new(NandGeometry { paired_pages: 2, ..GEOMETRY });
    assert_eq!(refusal(paired, PAGED), ConfigError::SharedCells { group_pages: 2 });
}

#[test]
fn a_blank_chip_is_a_disk_and_a_foreign_one_is_not() {
    let (_, report) = Disk::mount(chip(), PAGED).expect("a blank chip");
    assert!(report.never_formatted);
    let mut foreign = chip();
    wearwell::Nand::program(&mut foreign, PageAddr(511), &[0x5A; 512], &[]).expect("an erased page");
    assert_eq!(Disk::mount(foreign, PAGED).map(drop).unwrap_err(), Error::Mount(MountError::Foreign));
}

#[test]
fn the_counters_have_what_a_checkpoint_costs() {
    let profile = ChipProfile::resolve("geometry:512:32:64").expect("a geometry");
    let chip = EmuNand::in_memory(&profile, Faults::default()).expect("it fits into memory");
    let mut disk = Disk::format(chip, PAGED).expect("it fits");
    for round in 0..3_u8 {
        let before = (disk.chip().ops(), disk.stats().programmed_pages() + disk.stats().erases);
        // This ends the checkpoint of the round before, in a segment of its own.
        disk.write(7, &[round; 512]).expect("room");
        disk.shutdown().expect("a good chip");
        let after = (disk.chip().ops(), disk.stats().programmed_pages() + disk.stats().erases);
        assert_eq!(after.0 - before.0, after.1 - before.1, "round {round}: programs and erases of the chip");
    }
}
