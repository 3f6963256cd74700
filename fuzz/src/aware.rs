//! Any sectors written anywhere in front of file systems that are inferred from.

use std::sync::LazyLock;

use crc::{CRC_32_ISO_HDLC, Crc};
use wearwell::{Ftl, Sectors, WriteHint};
use wearwell_aware::{Aware, Config, Mode, State, Streams};
use wearwell_sim::fat::Volume;

use crate::input::Input;
use crate::ram_disk::{RamDisk, SECTOR};

const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Where partitions of the base disks begin.
const FIRST: u64 = 40;
const LOGICAL: u64 = 3000;

/// The base disks: FAT12, FAT16 and FAT32 without a table; FAT12 in an MBR, as a primary and as a logical partition;
/// the same in a GPT; and nothing at all.
static BASES: LazyLock<Vec<RamDisk>> = LazyLock::new(|| {
    let (small, large, largest) = (volume(2000), volume(20_000), volume(1_100_000));
    vec![small.clone(), large, largest, mbr(&small), gpt(&small), RamDisk::new(8000)]
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
        let ends = [0, 1, 2, LOGICAL, bare.size() - 1];
        let of_volume = |g: &wearwell_aware::Geometry| {
            let backup = g.start + u64::from(g.backup_boot);
            [g.start, backup, g.table_start, g.table_start + g.table_sectors, g.root_start, g.data_start, g.data_end()]
        };
        let landmarks = ends.into_iter().chain(aware.volumes().flat_map(of_volume)).collect();
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
        let there = Ftl::write(&mut self.bare, at, data, WriteHint::NONE);
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

/// The first byte names the disk, the second the settings, the others what is done.
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
    // Each may read all tables anew.
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
