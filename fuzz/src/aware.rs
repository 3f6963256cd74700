//! Arbitrary writes of sectors to file systems that the inference layer reads.

use std::sync::LazyLock;

use crc::{CRC_32_ISO_HDLC, Crc};
use wearwell::{BlockDevice, Sectors, WriteHint};
use wearwell_aware::{Aware, Config, Mode, State, Streams};
use wearwell_sim::fat::Volume;

use crate::input::Input;
use crate::ram_disk::{RamDisk, SECTOR};

const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Where partitions of the base disks begin.
const FIRST: u64 = 40;
const LOGICAL: u64 = 3000;

/// The base disks: FAT12, FAT16 and FAT32 without a table; FAT12 in an MBR, as a primary and as a logical partition;
/// the same in a GPT; nothing at all; ext with a tree of extents, and with a map of blocks; and exFAT.
static BASES: LazyLock<Vec<RamDisk>> = LazyLock::new(|| {
    let (small, large, largest) = (volume(2000), volume(20_000), volume(1_100_000));
    vec![small.clone(), large, largest, mbr(&small), gpt(&small), RamDisk::new(8000), ext(true), ext(false), exfat()]
});

/// A volume with a few files.
fn volume(sectors: u64) -> RamDisk {
    let mut disk = RamDisk::new(sectors);
    let mut volume = Volume::format(&mut disk).expect("a size that FAT fits");
    volume.make_dir("DIR").expect("room");
    for (name, bytes) in [("A", 3000), ("B", 20_000), ("DIR/C", 5000), ("DIR/D", 40_000)] {
        volume.create(name, &vec![bytes as u8 | 1; bytes]).expect("room");
    }
    volume.remove("B").expect("it is there");
    drop(volume);
    disk
}

/// Puts a volume into a larger disk.
fn put(disk: &mut RamDisk, volume: &RamDisk, first: u64) {
    disk.content.extend(volume.content.iter().map(|(lba, bytes)| (lba + first, *bytes)));
}

fn entry(disk: &mut RamDisk, lba: u64, slot: usize, kind: u8, start: u64, sectors: u64) {
    let table = disk.content.entry(lba).or_insert([0; SECTOR]);
    let entry = &mut table[446 + slot * 16..][..16];
    entry[4] = kind;
    entry[8..12].copy_from_slice(&(start as u32).to_le_bytes());
    entry[12..].copy_from_slice(&(sectors as u32).to_le_bytes());
    table[510..].copy_from_slice(&[0x55, 0xAA]);
}

fn mbr(volume: &RamDisk) -> RamDisk {
    let mut disk = RamDisk::new(8000);
    entry(&mut disk, 0, 0, 0x01, FIRST, 2000);
    entry(&mut disk, 0, 1, 0x05, LOGICAL, 4000);
    entry(&mut disk, LOGICAL, 0, 0x01, FIRST, 2000);
    put(&mut disk, volume, FIRST);
    put(&mut disk, volume, LOGICAL + FIRST);
    disk
}

fn gpt(volume: &RamDisk) -> RamDisk {
    let mut disk = RamDisk::new(8000);
    entry(&mut disk, 0, 0, 0xEE, 1, 7999);
    let mut header = [0; SECTOR];
    header[..8].copy_from_slice(b"EFI PART");
    header[12] = 92;
    for (offset, value) in [(24, 1_u64), (32, 7999), (40, 34), (48, 7966), (72, 2)] {
        header[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    }
    (header[80], header[84]) = (128, 128);
    let mut entries = [0; SECTOR];
    entries[..16].copy_from_slice(&0xC79926B7_B668C087_4433B9E5_EBD0A0A2_u128.to_le_bytes());
    entries[32..40].copy_from_slice(&FIRST.to_le_bytes());
    entries[40..48].copy_from_slice(&(FIRST + 1999).to_le_bytes());
    disk.content.extend([(1, header), (2, entries)]);
    disk.content.insert(1, sealed(&disk));
    put(&mut disk, volume, FIRST);
    disk
}

/// An ext volume of 3,000 blocks of 1 KiB, with a journal of 1,100 from block 21 on. Its map is in block 20, and if
/// it is no tree in further ones.
fn ext(is_tree: bool) -> RamDisk {
    let mut disk = RamDisk::new(6000);
    let mut put = |block: u64, at: usize, value: u32| {
        let sector = disk.content.entry(block * 2 + (at / SECTOR) as u64).or_insert([0; SECTOR]);
        sector[at % SECTOR..][..4].copy_from_slice(&value.to_le_bytes());
    };
    for (at, value) in [(0x04, 3000), (0x28, 2048), (0x38, 0xEF53), (0x4C, 1), (0x58, 256), (0x5C, 4), (0xE0, 8)] {
        put(1, at, value);
    }
    put(2, 8, 4);
    let inode = 7 * 256;
    put(4, inode, 0x8180);
    put(4, inode + 4, 1100 << 10);
    if is_tree {
        put(4, inode + 0x20, 0x8_0000);
        for (at, value) in [(0, 0x0001_F30A), (4, 0x0001_0004), (16, 20)] {
            put(4, inode + 0x28 + at, value);
        }
        for (at, value) in [(0, 0x0002_F30A), (4, 84), (16, 600), (20, 21), (28, 500), (32, 1000)] {
            put(20, at, value);
        }
    } else {
        for direct in 0..12 {
            put(4, inode + 0x28 + direct * 4, 30 + direct as u32);
        }
        put(4, inode + 0x28 + 48, 20);
        put(4, inode + 0x28 + 52, 19);
        for nth in 0..256 {
            put(20, nth * 4, 100 + nth as u32);
        }
        for (nth, block) in [(0, 18), (1, 17), (2, 16), (3, 15)] {
            put(19, nth * 4, block);
            for pointer in 0..256 {
                put(u64::from(block), pointer * 4, (400 + nth * 256 + pointer) as u32);
            }
        }
    }
    disk
}

/// An exFAT volume of 600 clusters of a sector, with its bitmap in cluster 2 and its root directory in cluster 3.
fn exfat() -> RamDisk {
    let mut disk = RamDisk::new(700);
    let mut boot = [0; SECTOR];
    boot[..11].copy_from_slice(b"\xEB\x76\x90EXFAT   ");
    for (at, value) in [(72, 700_u32), (80, 24), (84, 8), (88, 40), (92, 600), (96, 3), (104, 0x0100)] {
        boot[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    (boot[108], boot[110], boot[510], boot[511]) = (9, 1, 0x55, 0xAA);
    let counted = boot.iter().enumerate().filter(|(at, _)| !matches!(at, 106 | 107 | 112)).map(|(_, &byte)| byte);
    let empty = std::iter::repeat_n(0, 10 * SECTOR);
    let sum = counted.chain(empty).fold(0_u32, |sum, byte| sum.rotate_right(1).wrapping_add(u32::from(byte)));
    let mut root = [0; SECTOR];
    (root[0], root[20], root[24]) = (0x81, 2, 75);
    let mut used = [0; SECTOR];
    (used[0], used[9]) = (0b0000_0011, 0xF0);
    let mut sums = [0; SECTOR];
    sums[..4].copy_from_slice(&sum.to_le_bytes());
    disk.content.extend([(0, boot), (11, sums), (24, [0xFF; SECTOR]), (40, used), (41, root)]);
    disk
}

/// The header of a GPT with the right checksums, as far as its own numbers can be followed.
fn sealed(disk: &RamDisk) -> [u8; SECTOR] {
    let mut header = disk.sector(1);
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (bytes, first) = (number(12) as usize % (SECTOR + 1), u64::from(number(72)));
    let entries = (number(80) as usize % 1024) * (number(84) as usize % 1024);
    let mut digest = CRC.digest();
    for sector in 0..entries.div_ceil(SECTOR).min(200) {
        let left = (entries - sector * SECTOR).min(SECTOR);
        digest.update(&disk.sector(first + sector as u64)[..left]);
    }
    header[88..92].copy_from_slice(&digest.finalize().to_le_bytes());
    header[16..20].fill(0);
    let checksum = CRC.checksum(&header[..bytes]);
    header[16..20].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// The layer under test, and the same sectors without it.
struct Twin {
    aware: Aware<RamDisk>,
    bare: RamDisk,
    now_us: u64,
    /// Where things lie on the base disk.
    landmarks: Vec<u64>,
}

impl Twin {
    fn new(bare: RamDisk, config: Config) -> Self {
        let aware = Aware::new(bare.clone(), config);
        debug_assert!(bare.content.is_empty() || aware.not_understood().is_none(), "{:?}", aware.not_understood());
        let ends = [0, 1, 2, LOGICAL, bare.size() - 1];
        let of_volume = |g: &wearwell_aware::Geometry| {
            let backup = g.start + u64::from(g.backup_boot);
            [g.start, backup, g.table_start, g.table_start + g.table_sectors, g.root_start, g.data_start, g.data_end()]
        };
        let of_journal = |run: Sectors| [run.start, run.start + run.count];
        let volumes = aware.volumes().flat_map(of_volume);
        let journals: Vec<u64> = aware.journals().flat_map(of_journal).collect();
        // Descriptor, inode, and the blocks of maps.
        let of_ext = [4, 11, 30, 32, 38, 40];
        let of_ext = of_ext.into_iter().filter(|_| !journals.is_empty());
        let landmarks = ends.into_iter().chain(volumes).chain(of_ext).chain(journals.iter().copied()).collect();
        Self { aware, bare, now_us: 0, landmarks }
    }

    /// A range near a landmark, or anywhere; at times beyond the end.
    fn place(&self, input: &mut Input<'_>) -> Sectors {
        let landmark = input.byte();
        let start = match self.landmarks.get(usize::from(landmark) % (self.landmarks.len() + 1)) {
            Some(&lba) => lba + u64::from(input.byte() % 8),
            None => input.below(self.bare.size() as usize) as u64,
        };
        Sectors { start, count: u64::from(input.byte() % 8) + 1 }
    }

    fn write(&mut self, at: Sectors, data: &[u8]) {
        let here = self.aware.write(at, data, WriteHint::NONE);
        let there = BlockDevice::write(&mut self.bare, at, data, WriteHint::NONE);
        assert_eq!(here, there);
    }

    /// What the disk holds there, with a few bytes changed.
    fn edit(&mut self, input: &mut Input<'_>) {
        let at = Sectors { count: 1, ..self.place(input) };
        let mut sector = self.bare.sector(at.start);
        for _ in 0..=input.byte() % 4 {
            sector[input.below(SECTOR)] = input.byte();
        }
        self.write(at, &sector);
    }

    fn flush(&mut self, seconds: u8) {
        self.now_us += u64::from(seconds) * 1_000_000;
        self.aware.set_time_us(self.now_us);
        self.aware.flush().expect("memory does not fail");
    }

    /// Every sector is what it was without the layer, or zeros; and zeros if it is dead.
    fn check(&mut self, at: Sectors) {
        let mut data = vec![1; at.count as usize * SECTOR];
        if self.aware.read(at, &mut data).is_err() {
            assert!(at.start + at.count > self.bare.size());
            return;
        }
        for (lba, sector) in (at.start..).zip(data.chunks(SECTOR)) {
            let is_zeros = sector.iter().all(|&byte| byte == 0);
            assert!(is_zeros || sector == self.bare.sector(lba), "sector {lba} is something else");
            assert!(is_zeros || self.aware.state_at(lba) != Some(State::Dead), "sector {lba} is dead");
            let _ = self.aware.kind_at(lba);
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 8 {
            0..3 => self.edit(input),
            3 => {
                let (at, byte) = (self.place(input), input.byte());
                self.write(at, &vec![byte; at.count as usize * SECTOR]);
            }
            4 => self.flush(input.byte()),
            5 => {
                let at = self.place(input);
                assert_eq!(self.aware.discard(at), self.bare.discard(at));
            }
            6 => {
                let at = self.place(input);
                self.check(at);
            }
            _ => {
                let header = sealed(&self.bare);
                self.write(Sectors { start: 1, count: 1 }, &header);
            }
        }
    }
}

/// The first byte selects the disk, the second the settings, and the others the operations.
pub fn aware(data: &[u8]) {
    let mut input = Input::new(data);
    let base = &BASES[usize::from(input.byte()) % BASES.len()];
    let settings = input.byte();
    let config = Config {
        mode: [Mode::Strict, Mode::OrderedHost, Mode::Paper][usize::from(settings % 3)],
        streams: if settings & 0x80 == 0 { Streams::DEFAULT } else { Streams::NONE },
        ..Config::DEFAULT
    };
    let mut twin = Twin::new(base.clone(), config);
    // Each of these may read all tables again.
    for _ in 0..100 {
        if input.is_empty() {
            break;
        }
        twin.step(&mut input);
    }
    for _ in 0..3 {
        twin.flush(60);
    }
    let written: Vec<u64> = twin.bare.content.keys().copied().collect();
    for lba in written {
        twin.check(Sectors { start: lba, count: 1 });
    }
    let clusters: u64 = twin.aware.volumes().map(|g| u64::from(g.clusters)).sum();
    assert!(twin.aware.table_bytes() < clusters.div_ceil(4) + 1024);
}
