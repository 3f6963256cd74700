//! Chips in image files: what survives the process, and which files are refused.
#![cfg(target_os = "linux")]

use std::os::unix::fs::FileExt;
use std::path::Path;

use wearwell_emu::{
    AnyStore, ChipProfile, CutOutcome, Damage, Damaged, EmuChip, EmuError, EmuNand, EmuNor, Endurance, FactoryBad,
    Faults, ImageFault, ImageFile, PowerCut, SetupError,
};
use wearwell_flash::{BankAddr, BlockAddr, Nand, Nor, NorAddr, PageAddr};

fn nand() -> ChipProfile {
    ChipProfile::resolve("geometry:512:8:64").expect("valid")
}

fn look(chip: &mut EmuNand<AnyStore>, page: u32) -> Result<(u8, u8), EmuError> {
    let (mut data, mut spare) = ([0; 512], [0; 64]);
    chip.read(PageAddr(page), &mut data, &mut spare)?;
    Ok((data[511], spare[0]))
}

fn fault_of(path: &Path, profile: &ChipProfile) -> ImageFault {
    match EmuNand::open_image(path, profile, Faults::default()) {
        Err(SetupError::Image { fault, .. }) => fault,
        other => panic!("expected an image fault, got {other:?}"),
    }
}

#[test]
fn everything_a_nand_chip_is_survives_its_process() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("chip.img");
    let faults = Faults {
        factory_bad: FactoryBad::Blocks(vec![BlockAddr(5)]),
        endurance: Some(Endurance { cycles: 3, spread: 0.0 }),
        ..Faults::default()
    };
    let mut chip = EmuNand::create_image(&path, &nand(), faults).expect("create");
    chip.program(PageAddr(0), &[7; 512], &[8; 64]).expect("program");
    chip.program(PageAddr(2), &[9; 512], &[10]).expect("program");
    chip.mark_bad(BlockAddr(6)).expect("mark");
    chip.erase(BlockAddr(1)).expect("erase");
    chip.erase(BlockAddr(1)).expect("erase");
    chip.arm(Some(PowerCut { at_op: chip.ops(), outcome: CutOutcome::ProgramFailsLater }));
    chip.program(PageAddr(3), &[11; 512], &[12]).expect_err("cut");
    drop(chip);

    let mut chip = EmuNand::open_image(&path, &nand(), Faults::default()).expect("open");
    assert_eq!((look(&mut chip, 0), look(&mut chip, 1)), (Ok((7, 8)), Ok((0xFF, 0xFF))));
    assert_eq!((look(&mut chip, 2), look(&mut chip, 3)), (Ok((9, 10)), Ok((11, 12))));
    assert_eq!(
        (chip.is_bad(BlockAddr(5)), chip.is_bad(BlockAddr(6)), chip.is_bad(BlockAddr(0))),
        (Ok(true), Ok(true), Ok(false))
    );
    assert_eq!(chip.erase_counts()[..3], [0, 2, 0]);
    assert_eq!(chip.program(PageAddr(1), &[0; 512], &[]), Err(EmuError::OutOfOrder(PageAddr(1))));
    chip.erase(BlockAddr(1)).expect("the third erase");
    assert_eq!(chip.erase(BlockAddr(1)), Err(EmuError::EraseFailed(BlockAddr(1))), "endurance is the file's");
    chip.sync().expect("sync");
    drop(chip);

    let mut chip = EmuNand::open_image(&path, &nand(), Faults::default()).expect("open again");
    assert_eq!(look(&mut chip, 3), Err(EmuError::Uncorrectable(PageAddr(3))), "the second power-on");
    assert_eq!(look(&mut chip, 0), Ok((7, 8)));
}

#[test]
fn everything_a_nor_chip_is_survives_its_process_and_an_open_erase_is_torn() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("chip.img");
    let profile = ChipProfile::by_name("kawaguchi-28f008sa").expect("known");
    let at = |block, offset| NorAddr { block: BlockAddr(block), offset };
    let mut chip = EmuNor::create_image(&path, &profile, Faults::default()).expect("create");
    chip.program(at(3, 1000), b"kept").expect("program");
    chip.erase_start(BlockAddr(9)).expect("erase");
    chip.erase_finish(BankAddr(1)).expect("finish");
    let now_ns = chip.time().now_ns();
    chip.erase_start(BlockAddr(10)).expect("left in progress");
    drop(chip);
    let mut chip = EmuNor::open_image(&path, &profile, Faults { seed: 3, ..Faults::default() }).expect("open");
    let mut bytes = [0; 6];
    chip.read(at(3, 999), &mut bytes).expect("read");
    assert_eq!(&bytes, b"\xFFkept\xFF");
    assert!(chip.time().now_ns() >= now_ns, "time goes on");
    assert!(chip.erase_ready(BankAddr(1)));
    assert_eq!(chip.erase_counts()[9], 1);
    chip.program(at(10, 0), &[0]).expect("the bank is free");
}

#[test]
fn a_fresh_image_of_a_big_chip_takes_little_room() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("chip.img");
    let profile = ChipProfile::by_name("mlc-8gb").expect("known");
    let mut chip = EmuNand::create_image(&path, &profile, Faults::default()).expect("create");
    let last = PageAddr(profile.pages() as u32 - 1);
    chip.program(last, &[1; 4096], &[2; 64]).expect("program");
    let mut data = [0; 4096];
    chip.read(last, &mut data, &mut []).expect("read");
    chip.sync().expect("sync");
    let meta = std::fs::metadata(&path).expect("metadata");
    assert_eq!(data, [1; 4096]);
    let (records_bytes, bytes_on_disk) = (profile.pages() * 8, meta.blocks() * 512);
    assert!(meta.len() > 8 << 30 && bytes_on_disk < records_bytes + (1 << 20), "{bytes_on_disk} bytes on disk");
}

#[test]
fn an_image_has_one_user_and_is_never_overwritten() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("chip.img");
    let chip = EmuNand::create_image(&path, &nand(), Faults::default()).expect("create");
    assert!(matches!(EmuNand::open_image(&path, &nand(), Faults::default()), Err(SetupError::InUse { .. })));
    assert!(matches!(EmuNand::create_image(&path, &nand(), Faults::default()), Err(SetupError::Io { .. })));
    drop(chip);
    EmuNand::open_image(&path, &nand(), Faults::default()).expect("free again");
}

#[test]
fn foreign_short_and_damaged_files_are_refused_with_the_place() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("chip.img");
    drop(EmuNand::create_image(&path, &nand(), Faults::default()).expect("create"));
    let good = std::fs::read(&path).expect("read");
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        std::fs::write(&path, bytes).expect("write");
        fault_of(&path, &nand())
    };
    assert_eq!(with(0, b'X'), ImageFault::Foreign);
    assert_eq!(with(8, 1), ImageFault::Version { found: 1, supported: 3 });
    assert_eq!(with(40, 9), ImageFault::Checksum);
    assert_eq!(with(4096 + 48 + 8, 0xFF), ImageFault::Record { block: 1, what: "unknown flags", at: 4096 + 48 });
    assert_eq!(with(4096 + 12, 9), ImageFault::Record { block: 0, what: "next page beyond the block", at: 4096 });
    let mut bytes = good.clone();
    bytes[256 + 7] ^= 0x80;
    bytes[272] ^= 1;
    std::fs::write(&path, bytes).expect("write");
    assert_eq!(fault_of(&path, &nand()), ImageFault::Clock);
    for (len, fault) in [
        (0, ImageFault::Foreign),
        (100, ImageFault::Length { found: 100, expected: 4096 }),
        (good.len() - 1, ImageFault::Length { found: good.len() as u64 - 1, expected: good.len() as u64 }),
    ] {
        std::fs::write(&path, &good[..len]).expect("write");
        assert_eq!(fault_of(&path, &nand()), fault);
    }
    std::fs::write(&path, &good).expect("write");
    let other = ChipProfile::resolve("geometry:512:16:64").expect("valid");
    let fault = fault_of(&path, &other);
    assert!(matches!(fault, ImageFault::OtherChip { field: "pages_per_block", .. }), "{fault}");
    let gone = dir.path().join("nothing.img");
    assert!(matches!(EmuNand::open_image(&gone, &nand(), Faults::default()), Err(SetupError::Io { .. })));
}

#[test]
fn an_erase_that_the_process_did_not_live_to_finish_is_torn() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("chip.img");
    let mut chip = EmuNand::create_image(&path, &nand(), Faults::default()).expect("create");
    chip.program(PageAddr(0), &[7; 512], &[]).expect("program");
    chip.program(PageAddr(8), &[9; 512], &[]).expect("program");
    drop(chip);
    let mut bytes = std::fs::read(&path).expect("read");
    bytes[4096 + 8] |= 32; // block 0 is erasing
    std::fs::write(&path, bytes).expect("write");
    let mut chip = EmuNand::open_image(&path, &nand(), Faults::default()).expect("open");
    assert_eq!(look(&mut chip, 0), Err(EmuError::Uncorrectable(PageAddr(0))));
    assert_eq!(look(&mut chip, 7), Err(EmuError::Uncorrectable(PageAddr(7))));
    assert_eq!(look(&mut chip, 8), Ok((9, 0xFF)));
    chip.erase(BlockAddr(0)).expect("erase");
    assert_eq!(look(&mut chip, 0), Ok((0xFF, 0xFF)));
}

#[test]
fn damage_to_a_page_in_the_file_is_noticed() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("chip.img");
    let mut chip = EmuNand::create_image(&path, &nand(), Faults::default()).expect("create");
    for page in 0..3 {
        chip.program(PageAddr(page), &[0x5A; 512], &[0xA5; 64]).expect("program");
    }
    drop(chip);
    let mut bytes = std::fs::read(&path).expect("read");
    let data_at = bytes.iter().position(|&byte| byte == 0x5A).expect("data");
    let spare_at = bytes.iter().position(|&byte| byte == 0xA5).expect("spare");
    bytes[data_at + 100] ^= 1;
    bytes[spare_at + 64] ^= 0x80;
    std::fs::write(&path, bytes).expect("write");
    let mut chip = EmuNand::open_image(&path, &nand(), Faults::default()).expect("open");
    let damage: Vec<_> = chip.damage().into_iter().map(|damage| (damage.of, damage.what, damage.at)).collect();
    let page = |page| Damaged::Page(PageAddr(page));
    assert_eq!(damage, [(page(0), "data", data_at as u64), (page(1), "spare bytes", spare_at as u64 + 64)]);
    let mut data = [0; 512];
    assert_eq!(chip.read(PageAddr(0), &mut data, &mut []), Err(EmuError::Uncorrectable(PageAddr(0))));
    assert!(chip.read(PageAddr(0), &mut [], &mut [0; 64]).is_ok(), "its spare is whole");
    assert_eq!(chip.copy(PageAddr(1), PageAddr(8), &mut [0; 64]), Err(EmuError::Uncorrectable(PageAddr(1))));
    assert_eq!(look(&mut chip, 2), Ok((0x5A, 0xA5)));
    chip.copy(PageAddr(0), PageAddr(8), &mut []).expect("nobody looks");
    assert_eq!(look(&mut chip, 8), Err(EmuError::Uncorrectable(PageAddr(8))), "damage is copied as damage");
}

/// Flips a bit of every byte in a part of an image, and returns the bytes of which nobody notices. `open` tells of
/// damage.
fn unseen(
    path: &Path,
    part: std::ops::Range<usize>,
    open: impl Fn(&Path) -> Result<Vec<Damage>, SetupError>,
) -> Vec<usize> {
    let good = std::fs::read(path).expect("read");
    let file = std::fs::OpenOptions::new().write(true).open(path).expect("open");
    let seen = |at: usize| {
        file.write_all_at(&[good[at] ^ 1 << (at % 8)], at as u64).expect("write");
        let seen = open(path).is_ok_and(|damage| damage.is_empty());
        file.write_all_at(&[good[at]], at as u64).expect("write");
        !seen
    };
    part.filter(|&at| !seen(at)).collect()
}

#[test]
fn every_byte_that_changes_in_a_nand_image_is_noticed_but_for_what_nobody_needs() {
    let small = ChipProfile::resolve("geometry:512:8:8").expect("valid");
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("chip.img");
    let mut chip = EmuNand::create_image(&path, &small, Faults::default()).expect("create");
    for page in [0, 1, 2, 8, 16] {
        chip.program(PageAddr(page), &[0x5A; 512], &[0xA5; 64]).expect("program");
    }
    chip.erase(BlockAddr(1)).expect("erase");
    chip.mark_bad(BlockAddr(3)).expect("mark");
    let cut = PowerCut { at_op: chip.ops(), outcome: CutOutcome::ProgramFailsLater };
    chip.arm(Some(cut));
    assert_eq!(chip.program(PageAddr(17), &[1; 512], &[2; 64]), Err(EmuError::PowerCut));
    chip.power_on();
    let open = |path: &Path| {
        let file = ImageFile::open_private(path)?;
        Ok(EmuNand::open_in(file, &small, Faults::default())?.damage())
    };
    drop(chip);
    let records = 4096..8192;
    let torn = unseen(&path, records, open);
    let mut chip = EmuNand::open_image(&path, &small, Faults::default()).expect("open");
    chip.mark_bad(BlockAddr(3)).expect("again");
    chip.sync().expect("sync");
    drop(chip);
    let (spares_at, data_at) = (3 * 4096, 3 * 4096 + 64 * 64);
    let unseen = unseen(&path, 0..data_at + 10 * 512, open);
    let (in_clock, in_spares) = (|at: &usize| (256..288).contains(at), |at: &usize| (spares_at..data_at).contains(at));
    // Either of two clocks; then what pages hold that were erased, never programmed, or lost.
    assert_eq!(unseen.iter().filter(|at| in_clock(at)).count(), 32);
    let rest: Vec<usize> = unseen.into_iter().filter(|at| !in_clock(at)).collect();
    let of_page = |at: &usize| if in_spares(at) { (at - spares_at) / 64 } else { (at - data_at) / 512 };
    let erased: Vec<usize> = (0..64).filter(|page| ![0, 1, 2, 16].contains(page)).collect();
    assert!(rest.iter().all(|at| *at >= spares_at && erased.contains(&of_page(at))), "{rest:?}");
    let erased_data = erased.iter().filter(|&&page| page < 10).count();
    assert_eq!(rest.len(), erased.len() * 64 + erased_data * 512, "all of those");
    // Where nobody synced, one record may be one that is being written, which one of two clocks names.
    let mut blocks: Vec<usize> = torn.iter().map(|at| (at - 4096) / 48).collect();
    blocks.dedup();
    assert!((1..=2).contains(&blocks.len()), "{blocks:?}");
}

#[test]
fn every_byte_that_changes_in_the_records_of_a_nor_image_is_noticed() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("chip.img");
    let toml = "description = 'small'\nsource = 'none'\nkind = 'nor'\npage_bytes = 512\npages_per_block = 1\n\
        block_bytes = 1024\nblocks = 4\nendurance_cycles = 1000\n";
    let profile = ChipProfile::from_toml_str("small", toml).expect("valid");
    let mut chip = EmuNor::create_image(&path, &profile, Faults::default()).expect("create");
    chip.program(NorAddr { block: BlockAddr(2), offset: 3 }, b"kept").expect("program");
    chip.erase_start(BlockAddr(1)).expect("erase");
    chip.erase_finish(BankAddr(0)).expect("finish");
    chip.sync().expect("sync");
    drop(chip);
    let data_at = 2 * 4096;
    let unseen = unseen(&path, 0..data_at + 4096, |path| {
        Ok(EmuNor::open_in(ImageFile::open_private(path)?, &profile, Faults::default())?.damage())
    });
    assert_eq!(unseen, (256..288).chain(data_at..data_at + 4096).collect::<Vec<_>>());
}

#[test]
fn any_bytes_in_an_image_are_a_chip_or_an_error() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("chip.img");
    let mut chip = EmuNand::create_image(&path, &nand(), Faults::default()).expect("create");
    for page in 0..64 {
        chip.program(PageAddr(page), &[page as u8; 512], &[1; 64]).expect("program");
    }
    drop(chip);
    let good = std::fs::read(&path).expect("read");
    let records_end = 4096 + 4096 + 4096;
    for seed in 0..200 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut bytes = good.clone();
        for _ in 0..20 {
            bytes[rng.usize(4096..records_end)] = rng.u8(..);
        }
        std::fs::write(&path, bytes).expect("write");
        let Ok(mut chip) = EmuNand::open_image(&path, &nand(), Faults::default()) else { continue };
        for page in 0..512 {
            let _ = look(&mut chip, page);
            let _ = chip.program(PageAddr(page), &[0; 512], &[]);
        }
        for block in 0..64 {
            let _ = chip.erase(BlockAddr(block));
        }
    }
}

/// Room in the file system that a file takes.
fn taken_bytes(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).expect("a file").blocks() * 512
}

/// The first and the last byte of a page.
fn first_and_last(chip: &mut EmuNand<AnyStore>, page: u32) -> (u8, u8) {
    let mut data = [0; 4096];
    chip.read(PageAddr(page), &mut data, &mut []).expect("read");
    (data[0], data[4095])
}

/// All pages hold what was written after their blocks were erased, or read as erased.
fn check_kept(chip: &mut EmuNand<AnyStore>) {
    for page in 0..128 {
        let wanted = match page {
            40 => 7,
            24..32 | 96..128 => page as u8,
            _ => 0xFF,
        };
        assert_eq!(first_and_last(chip, page), (wanted, wanted), "page {page}");
    }
}

#[test]
fn erased_blocks_give_their_space_back_when_that_is_durable() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("chip.img");
    // Blocks of 32 KiB, 512 KiB in all.
    let profile = ChipProfile::resolve("geometry:4096:8:16").expect("valid");
    let mut chip = EmuNand::create_image(&path, &profile, Faults::default()).expect("create");
    let fresh = taken_bytes(&path);
    let fill = |chip: &mut EmuNand<AnyStore>, blocks: std::ops::Range<u32>| {
        for page in blocks.start * 8..blocks.end * 8 {
            chip.program(PageAddr(page), &[page as u8; 4096], &[1]).expect("program");
        }
    };
    fill(&mut chip, 0..16);
    chip.sync().expect("sync");
    assert!(taken_bytes(&path) >= fresh + (512 << 10));
    for block in 0..12 {
        chip.erase(BlockAddr(block)).expect("erase");
    }
    // One is filled again before anything is durable, and one in part.
    fill(&mut chip, 3..4);
    chip.program(PageAddr(40), &[7; 4096], &[1]).expect("program");
    assert!(taken_bytes(&path) >= fresh + (512 << 10), "a crash of the machine could undo the erases");
    chip.sync().expect("sync");
    let left = taken_bytes(&path) - fresh;
    // Five blocks, a page, and spares.
    assert!((164 << 10..200 << 10).contains(&left), "{left}");
    check_kept(&mut chip);
    assert_eq!(chip.damage(), []);
    drop(chip);
    let mut chip = EmuNand::open_image(&path, &profile, Faults::default()).expect("open");
    check_kept(&mut chip);
    fill(&mut chip, 0..3);
    assert_eq!(first_and_last(&mut chip, 5), (5, 5), "what had no space has some again");
}
