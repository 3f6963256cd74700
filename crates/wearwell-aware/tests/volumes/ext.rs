//! Journals of volumes made by the real tools, and of one made by hand.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use wearwell::{BlockDevice, Sectors, WriteHint};
use wearwell_aware::{Aware, Config, ExtError, Kind, NotUnderstood, Streams};
use wearwell_sim::fat::Device;

use crate::rig::{Chip, Disk, Engine, SECTOR};
use crate::spy::{Seen, Spy};

/// A tool of a file system, which may not be in a user's path.
pub(crate) fn tool(name: &str) -> Option<Command> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")]);
    let found = dirs.map(|dir| dir.join(name)).find(|path| path.exists());
    if found.is_none() {
        eprintln!("note: {name} is not there, so this test does nothing");
    }
    found.map(Command::new)
}

/// An empty file for an image.
pub(crate) fn temporary(name: &str, mib: u64) -> PathBuf {
    let file = std::env::temp_dir().join(format!("wearwell-{name}-{}", std::process::id()));
    std::fs::File::create(&file).and_then(|f| f.set_len(mib << 20)).expect("room in the temporary directory");
    file
}

/// A volume made by one of the tools. Returns its bytes, and the sectors of the blocks that `debugfs` lists for the
/// journal. None if a tool is missing.
fn made(name: &str, options: &str, mib: u64) -> Option<(Vec<u8>, BTreeSet<u64>)> {
    let (mut mkfs, mut debugfs) = (tool(name)?, tool("debugfs")?);
    let file = temporary(&format!("{name}-{}-{mib}", options.replace([' ', ','], "")), mib);
    let done = mkfs.args(["-q", "-F"]).args(options.split_whitespace()).arg(&file).status().expect("it runs");
    assert!(done.success(), "{name} {options}");
    let listed = debugfs.args(["-R", "blocks <8>"]).arg(&file).output().expect("it runs");
    let image = std::fs::read(&file).expect("it was made");
    std::fs::remove_file(&file).expect("it is there");
    let block_sectors = 2_u64 << image[1024 + 24];
    let listed = String::from_utf8(listed.stdout).expect("numbers");
    let blocks = listed.split_whitespace().map(|number| number.parse::<u64>().expect("a number"));
    Some((image, blocks.flat_map(|block| block * block_sectors..(block + 1) * block_sectors).collect()))
}

fn disk(sectors: u64) -> Disk<Aware<Spy<Engine>>> {
    let sectors = sectors.next_multiple_of(8);
    Disk::behind(Aware::new(Spy::new(Chip { page_bytes: 4096, sectors }.format()), Config::DEFAULT), 0)
}

fn journal<F: BlockDevice>(aware: &Aware<F>) -> BTreeSet<u64> {
    aware.journals().flat_map(|run| run.start..run.start + run.count).collect()
}

#[test]
fn the_journal_lies_where_the_tools_say() {
    let cases = [
        ("mkfs.ext4", "", 64),
        ("mkfs.ext4", "-b 4096 -J size=16", 96),
        ("mkfs.ext4", "-b 4096 -O ^64bit -J size=8", 64),
        ("mkfs.ext4", "-b 2048 -O 64bit,meta_bg,^resize_inode", 64),
        // Groups end inside the journal, so its extents are in a block of their own.
        ("mkfs.ext4", "-b 1024 -O ^flex_bg -J size=32", 96),
        ("mkfs.ext3", "", 64),
        ("mkfs.ext3", "-b 4096 -J size=32", 96),
        ("mkfs.ext3", "-b 1024 -J size=16", 64),
    ];
    for (name, options, mib) in cases {
        let Some((image, expected)) = made(name, options, mib) else { return };
        let mut disk = disk(image.len() as u64 / 512);
        disk.put_image(&image);
        let aware = &mut disk.ftl;
        assert_eq!(aware.not_understood(), None, "{name} {options}");
        assert_eq!(journal(aware), expected, "{name} {options}");
        assert!(expected.len() >= 2048, "{name} {options}");
        let ends = [expected.first(), expected.last()].map(|lba| aware.kind_at(*lba.expect("some")));
        assert_eq!(ends, [Some(Kind::Journal); 2], "{name} {options}");
        assert_eq!(aware.kind_at(3), None);
        assert!(aware.table_bytes() < 1024);
    }
}

#[test]
fn a_volume_without_a_journal_has_none() {
    for (name, options) in [("mkfs.ext2", ""), ("mkfs.ext4", "-O ^has_journal")] {
        let Some((image, _)) = made(name, options, 16) else { return };
        let mut disk = disk(image.len() as u64 / 512);
        disk.put_image(&image);
        assert_eq!((disk.ftl.journals().count(), disk.ftl.not_understood()), (0, None));
    }
}

const BLOCK_SECTORS: u64 = 8;
const BLOCKS: u32 = 3000;
/// The blocks of the volume made by hand.
const TABLE: u32 = 4;
const LEAF: u32 = 20;
const RUNS: [(u32, u32); 2] = [(21, 500), (1000, 600)];

struct ByHand(Vec<u8>);

impl ByHand {
    fn new() -> Self {
        let mut volume = Self(vec![0; BLOCKS as usize * 4096]);
        volume.set(1024, &[(0x04, BLOCKS), (0x18, 2), (0x28, 2048), (0x38, 0xEF53), (0x4C, 1), (0x58, 256)]);
        volume.set(1024, &[(0x5C, 4), (0x60, 0x40), (0xE0, 8)]);
        volume.set(4096, &[(8, TABLE)]);
        let inode = TABLE as usize * 4096 + 7 * 256;
        volume.set(inode, &[(0, 0x8180), (4, 1100 * 4096), (0x20, 0x8_0000)]);
        // One entry at depth 1, and its leaf.
        volume.set(inode + 0x28, &[(0, 0x0001_F30A), (4, 0x0001_0004), (12, 0), (16, LEAF)]);
        volume.set(LEAF as usize * 4096, &[(0, 0x0002_F30A), (4, 340)]);
        for (place, (start, blocks)) in RUNS.into_iter().enumerate() {
            volume.set(LEAF as usize * 4096 + 12 + place * 12, &[(4, blocks), (8, start)]);
        }
        volume
    }

    fn set(&mut self, base: usize, fields: &[(usize, u32)]) {
        for &(at, value) in fields {
            self.0[base + at..base + at + 4].copy_from_slice(&value.to_le_bytes());
        }
    }

    fn on_disk(&self) -> Disk<Aware<Spy<Engine>>> {
        let mut disk = disk(self.0.len() as u64 / 512);
        disk.put_image(&self.0);
        disk
    }
}

/// Runs of the journal, in blocks. The leaf counts as part of it.
fn runs<F: BlockDevice>(aware: &Aware<F>) -> Vec<(u64, u64)> {
    aware.journals().map(|run| (run.start / BLOCK_SECTORS, run.count / BLOCK_SECTORS)).collect()
}

#[test]
fn a_journal_has_its_own_stream() {
    let mut disk = ByHand::new().on_disk();
    assert_eq!(runs(&disk.ftl), [(20, 501), (1000, 600)]);
    disk.ftl.inner_mut().take();
    // From the last blocks of a run to the first ones after it.
    disk.write(519 * BLOCK_SECTORS, &[1; 4 * 4096]).expect("no faults");
    disk.write(2000 * BLOCK_SECTORS, &[1; 4096]).expect("no faults");
    let journal = Streams::DEFAULT.journal;
    let expected = [(519, 2, journal), (521, 2, 0), (2000, 1, 0)].map(|(block, blocks, stream)| Seen::Write {
        start: block * BLOCK_SECTORS,
        count: blocks * BLOCK_SECTORS,
        stream,
    });
    assert_eq!(disk.ftl.inner_mut().take(), expected);
    let hint = WriteHint::stream(7);
    let at = Sectors { start: 1000 * BLOCK_SECTORS, count: 1 };
    disk.ftl.write(at, &[0; SECTOR], hint).expect("no faults");
    let own = [Seen::Write { start: at.start, count: 1, stream: 7 }];
    assert_eq!(disk.ftl.inner_mut().take(), own, "the host's own word counts");
}

#[test]
fn a_journal_that_moves_is_found_again() {
    let mut volume = ByHand::new();
    let mut disk = volume.on_disk();
    let rebuilds = disk.ftl.counters().rebuilds;
    let leaf = LEAF as usize * 4096;
    volume.set(leaf + 24, &[(4, 700), (8, 1200)]);
    disk.write(u64::from(LEAF) * BLOCK_SECTORS, &volume.0[leaf..leaf + 4096]).expect("no faults");
    disk.flush().expect("no faults");
    assert_eq!(runs(&disk.ftl), [(20, 501), (1000, 600)], "the inode was not written");
    let inode = TABLE as usize * 4096 + 3 * 512;
    disk.write(u64::from(TABLE) * BLOCK_SECTORS + 3, &volume.0[inode..inode + 512]).expect("no faults");
    assert_eq!(runs(&disk.ftl), [(20, 501), (1000, 600)]);
    disk.flush().expect("no faults");
    assert_eq!(runs(&disk.ftl), [(20, 501), (1200, 700)]);
    assert_eq!(disk.ftl.counters().rebuilds, rebuilds, "and nothing else was read anew");
    disk.write(2, &[0; SECTOR]).expect("no faults");
    disk.flush().expect("no faults");
    assert_eq!(runs(&disk.ftl), []);
}

#[test]
fn the_copy_in_the_superblock_stands_in_for_a_damaged_inode() {
    let mut volume = ByHand::new();
    let inode = TABLE as usize * 4096 + 7 * 256;
    let root = volume.0[inode + 0x28..inode + 0x28 + 60].to_vec();
    volume.0[inode..inode + 256].fill(0xA5);
    assert_eq!(volume.on_disk().ftl.journals().count(), 0);
    volume.0[1024 + 0xFD] = 1;
    volume.0[1024 + 0x10C..][..60].copy_from_slice(&root);
    volume.set(1024, &[(0x10C + 64, 1100 * 4096)]);
    assert_eq!(runs(&volume.on_disk().ftl), [(20, 501), (1000, 600)]);
}

#[test]
fn what_makes_no_sense_has_no_journal() {
    let cases: [(usize, u32, ExtError); 9] = [
        (1024 + 0x04, BLOCKS + 1, ExtError::Field { field: "number of blocks", value: BLOCKS + 1 }),
        (1024 + 0x18, 7, ExtError::Field { field: "logarithm of the block size", value: 7 }),
        (1024 + 0x28, 0, ExtError::Field { field: "inodes of a group", value: 0 }),
        (1024 + 0x58, 100, ExtError::Field { field: "bytes of an inode", value: 100 }),
        (1024 + 0xE0, u32::MAX, ExtError::Field { field: "journal inode", value: u32::MAX }),
        (4096 + 8, BLOCKS, ExtError::Inode),
        (TABLE as usize * 4096 + 7 * 256 + 4, 4096, ExtError::Inode),
        (TABLE as usize * 4096 + 7 * 256 + 0x28 + 4, 0x0003_0004, ExtError::Map),
        (LEAF as usize * 4096 + 12 + 8, BLOCKS - 1, ExtError::Map),
    ];
    for (at, value, expected) in cases {
        let mut volume = ByHand::new();
        volume.set(at, &[(0, value)]);
        let disk = volume.on_disk();
        assert_eq!(disk.ftl.journals().count(), 0, "{at}");
        assert_eq!(disk.ftl.not_understood(), Some(NotUnderstood::Ext { start: 0, error: expected }), "{at}");
    }
}

#[test]
fn it_is_found_in_a_partition_of_linux_beside_fat() {
    let volume = ByHand::new();
    let fat = crate::rig::Format::new(fatfs::FatType::Fat12, 400, 512).image();
    let (first, sectors) = (1000_u32, volume.0.len() as u32 / 512);
    let mut disk = disk(u64::from(first + sectors));
    let mut table = [0; SECTOR];
    for (slot, kind, start, count) in [(0, 0x01, 8, 400), (1, 0x83, first, sectors)] {
        let entry = &mut table[446 + slot * 16..][..16];
        entry[4] = kind;
        entry[8..12].copy_from_slice(&u32::to_le_bytes(start));
        entry[12..].copy_from_slice(&u32::to_le_bytes(count));
    }
    table[510..].copy_from_slice(&[0x55, 0xAA]);
    disk.write(0, &table).expect("no faults");
    for (image, start) in [(&fat, 8), (&volume.0, u64::from(first))] {
        for (lba, sector) in (start..).zip(image.chunks(SECTOR)).filter(|(_, s)| s.iter().any(|&byte| byte != 0)) {
            disk.write(lba, sector).expect("no faults");
        }
    }
    disk.flush().expect("no faults");
    assert_eq!(disk.ftl.volumes().count(), 1);
    let found: Vec<u64> = disk.ftl.journals().map(|run| (run.start - u64::from(first)) / BLOCK_SECTORS).collect();
    assert_eq!(found, [20, 1000]);
    assert_eq!(disk.ftl.kind_at(9), Some(Kind::Table));
    assert_eq!(disk.ftl.kind_at(900), None);
    let rebuilds = disk.ftl.counters().rebuilds;
    disk.write(u64::from(first) + 2, &volume.0[1024..1536]).expect("no faults");
    disk.flush().expect("no faults");
    assert_eq!(disk.ftl.counters().rebuilds, rebuilds, "the neighbour's superblock does not disturb FAT");
    assert!(disk.ftl.table_bytes() < 1024 + 100);
}
