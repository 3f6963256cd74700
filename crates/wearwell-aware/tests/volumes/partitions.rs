//! Partition tables that other crates write and read: `mbrman` with chains of extended tables, and `gptman`.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::ops::Range;

use fatfs::FatType;
use gptman::{GPT, GPTHeader, GPTPartitionEntry};
use mbrman::{BOOT_ACTIVE, BOOT_INACTIVE, CHS, LogicalPartition, MBR, MBRPartitionEntry};
use wearwell::{BlockDevice, Rng, Sectors, WriteHint};
use wearwell_aware::{Aware, Config, Kind, MAX_VOLUMES, NotUnderstood, Width};

use crate::exfat;
use crate::rig::{Chip, Engine, Format, SECTOR, geometry_of};

const SECTORS: u64 = 4500;

const MBR_FAT: [u8; 8] = [0x01, 0x04, 0x06, 0x07, 0x0B, 0x0C, 0x0E, 0x1C];
const MBR_OTHER: [u8; 4] = [0x82, 0x83, 0xA5, 0x0A];
const BASIC_DATA: [u8; 16] = *b"\xA2\xA0\xD0\xEB\xE5\xB9\x33\x44\x87\xC0\x68\xB6\xB7\x26\x99\xC7";
const EFI_SYSTEM: [u8; 16] = *b"\x28\x73\x2A\xC1\x1F\xF8\xD2\x11\xBA\x4B\x00\xA0\xC9\x3E\xC9\x3B";
const LINUX: [u8; 16] = *b"\xAF\x3D\xC6\x0F\x83\x84\x72\x47\x8E\x79\x3D\x69\xD8\x47\x7D\xE4";

/// A partition, as the other crate reads it.
#[derive(Debug, Clone, Copy)]
struct Part {
    start: u64,
    sectors: u64,
    may_hold_fat: bool,
}

impl Part {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.sectors)
    }
}

/// A disk in memory, and its volumes: the start, the sectors and the clusters of each.
struct Made {
    image: Vec<u8>,
    volumes: BTreeMap<u64, (u64, u32, Width)>,
}

impl Made {
    fn new(rng: &mut Rng, places: &[Part]) -> Self {
        let mut made = Self { image: vec![0; SECTORS as usize * SECTOR], volumes: BTreeMap::new() };
        for place in places {
            // Some partitions of the wrong type hold volumes too, and some of the right type hold nothing.
            if rng.below(5) > 0 {
                made.put_volume(rng, place);
            }
        }
        made
    }

    fn cursor(&mut self) -> Cursor<&mut [u8]> {
        Cursor::new(&mut self.image)
    }

    /// Puts a volume that fits, FAT12 or exFAT, into a place.
    fn put_volume(&mut self, rng: &mut Rng, place: &Part) {
        let (volume, clusters, width) = if place.sectors >= u64::from(exfat::SECTORS) {
            (exfat::by_hand(), exfat::CLUSTERS, Width::ExFat)
        } else {
            let volume = Format::new(FatType::Fat12, place.sectors as u32 - rng.below(3), 512).image();
            let clusters = geometry_of(&volume).clusters;
            (volume, clusters, Width::Fat12)
        };
        self.image[place.start as usize * SECTOR..][..volume.len()].copy_from_slice(&volume);
        self.volumes.insert(place.start, ((volume.len() / SECTOR) as u64, clusters, width));
    }

    /// The volumes to be found, by the rules: a partition counts if it lies in the usable range, shares no sector with
    /// another one, and has no partition table inside.
    fn expected(&self, parts: &[Part], tables: &[u64], usable: &Range<u64>) -> Vec<(u64, u32, Width)> {
        let has_in_common = |a: &Part, b: &Part| a.start < b.end() && b.start < a.end();
        let counts = |one: &&Part| {
            usable.start <= one.start
                && one.end() <= usable.end
                && parts.iter().filter(|other| has_in_common(one, other)).count() == 1
                && !tables.iter().any(|table| (one.start..one.end()).contains(table))
        };
        let volume = |part: &Part| {
            let &(sectors, clusters, width) = self.volumes.get(&part.start)?;
            (part.may_hold_fat && sectors <= part.sectors).then_some((part.start, clusters, width))
        };
        let mut found: Vec<_> = parts.iter().filter(counts).filter_map(volume).collect();
        found.sort_unstable_by_key(|&(start, ..)| start);
        found
    }

    /// The layer on a device of `sectors` sectors with this content.
    fn aware(&self, sectors: u64) -> Aware<Engine> {
        let mut engine = Chip { page_bytes: 512, sectors }.format();
        let lbas = (0..sectors).zip(self.image.chunks(SECTOR));
        for (start, bytes) in lbas.filter(|(_, bytes)| bytes.iter().any(|&byte| byte != 0)) {
            engine.write(Sectors { start, count: 1 }, bytes, WriteHint::NONE).expect("no faults");
        }
        Aware::new(engine, Config::DEFAULT)
    }
}

fn found<F: BlockDevice>(aware: &Aware<F>) -> Vec<(u64, u32, Width)> {
    let mut found: Vec<_> = aware.volumes().map(|g| (g.start, g.clusters, g.width)).collect();
    found.sort_unstable_by_key(|&(start, ..)| start);
    found
}

/// True if the partition tables were understood, whatever is in the partitions.
fn has_tables<F: BlockDevice>(aware: &Aware<F>) -> bool {
    !matches!(aware.not_understood(), Some(NotUnderstood::Partitions(_)))
}

/// Places for partitions, with a gap before each that can hold a table.
fn places(rng: &mut Rng, from: u64) -> Vec<Part> {
    let mut places = Vec::new();
    let (mut start, mut fats) = (from, 0);
    for _ in 0..1 + rng.below(8) {
        start += 2 + u64::from(rng.below(40));
        let sectors = u64::from(if rng.below(4) == 0 { exfat::SECTORS } else { 60 } + rng.below(200));
        if start + sectors > SECTORS - 40 {
            break;
        }
        let may_hold_fat = rng.below(3) > 0 && fats < MAX_VOLUMES;
        fats += usize::from(may_hold_fat);
        places.push(Part { start, sectors, may_hold_fat });
        start += sectors;
    }
    places
}

/// The start of each seed: places for partitions, from a sector on, and a disk with volumes in most of them.
fn begin(seed: u64, from: u64) -> (Rng, Vec<Part>, Made) {
    let mut rng = Rng::new(seed);
    let places = places(&mut rng, from);
    let made = Made::new(&mut rng, &places);
    (rng, places, made)
}

/// Makes one partition shorter or longer, so that it may overlap others or end beyond the device.
fn change_length(rng: &mut Rng, sectors: u64) -> u64 {
    match rng.below(4) {
        0 => 1 + u64::from(rng.below(sectors as u32)),
        1 => SECTORS + u64::from(rng.below(3)),
        _ => sectors + u64::from(rng.below(900)),
    }
}

fn one_of<T: Copy>(rng: &mut Rng, list: &[T]) -> T {
    list[rng.below(list.len() as u32) as usize]
}

fn mbr_entry(rng: &mut Rng, sys: u8, start: u64, sectors: u64) -> MBRPartitionEntry {
    let (first_chs, last_chs) = (CHS::empty(), CHS::empty());
    let boot = if rng.below(6) == 0 { BOOT_ACTIVE } else { BOOT_INACTIVE };
    MBRPartitionEntry { boot, first_chs, sys, last_chs, starting_lba: start as u32, sectors: sectors as u32 }
}

/// A table with some of the places as logical partitions, if there are more than four, or by chance.
fn mbr(made: &mut Made, rng: &mut Rng, places: &[Part]) -> MBR {
    let mut table = MBR::new_from(&mut made.cursor(), SECTOR as u32, [7; 4]).expect("a disk");
    let mut slots: Vec<usize> = (1..=4).collect();
    let least = places.len().saturating_sub(if places.len() > 4 { 3 } else { 4 });
    let logical = least + rng.below((places.len() - least) as u32 + 1) as usize;
    let first = rng.below((places.len() - logical) as u32 + 1) as usize;
    let mut before = 1;
    for (i, place) in places.iter().enumerate() {
        let sys = if place.may_hold_fat { one_of(rng, &MBR_FAT) } else { one_of(rng, &MBR_OTHER) };
        let partition = mbr_entry(rng, sys, place.start, place.sectors);
        if (first..first + logical).contains(&i) {
            let ebr = before + u64::from(rng.below((place.start - before) as u32));
            table.logical_partitions.push(LogicalPartition {
                partition,
                absolute_ebr_lba: ebr as u32,
                ebr_sectors: Some((place.end() - ebr) as u32),
                ebr_first_chs: CHS::empty(),
                ebr_last_chs: Some(CHS::empty()),
                bootstrap_code: [0; 446],
            });
        } else {
            table[slots.swap_remove(rng.below(slots.len() as u32) as usize)] = partition;
        }
        before = place.end();
    }
    if let Some(head) = table.logical_partitions.first() {
        let (start, sys) = (u64::from(head.absolute_ebr_lba), one_of(rng, &[0x05, 0x0F, 0x85]));
        let end = places[first + logical - 1].end();
        table[slots[0]] = mbr_entry(rng, sys, start, end - start);
    }
    table
}

/// Writes a table, and reads it back with the other crate: the partitions, and the places of further tables.
fn write_mbr(made: &mut Made, table: &mut MBR) -> (Vec<Part>, Vec<u64>) {
    table.write_into(&mut made.cursor()).expect("it can be written");
    let read = MBR::read_from(&mut made.cursor(), SECTOR as u32).expect("it can be read");
    let is_partition = |entry: &&MBRPartitionEntry| entry.is_used() && !entry.is_extended();
    let part = |entry: &MBRPartitionEntry| Part {
        start: entry.starting_lba.into(),
        sectors: entry.sectors.into(),
        may_hold_fat: MBR_FAT.contains(&entry.sys),
    };
    let parts = read.iter().map(|(_, entry)| entry).filter(is_partition).map(part).collect();
    (parts, read.logical_partitions.iter().map(|logical| logical.absolute_ebr_lba.into()).collect())
}

#[test]
fn mbr_partitions_are_those_of_mbrman() {
    let (mut volumes, mut logical) = (0, 0);
    for seed in 0..60 {
        let (rng, places, made) = &mut begin(seed, 1);
        let mut table = mbr(made, rng, places);
        let (parts, tables) = write_mbr(made, &mut table);
        assert_eq!(parts.len(), places.len());
        let aware = made.aware(SECTORS);
        let expected = made.expected(&parts, &tables, &(1..SECTORS));
        assert_eq!(found(&aware), expected, "seed {seed}: {parts:?}");
        assert!(has_tables(&aware), "seed {seed}");
        for lba in tables.iter().chain([&0]) {
            assert_eq!(aware.kind_at(*lba), Some(Kind::Boot), "seed {seed}: sector {lba}");
        }
        (volumes, logical) = (volumes + expected.len(), logical + tables.len());
    }
    assert!(volumes > 60 && logical > 60, "{volumes} volumes, {logical} logical partitions");
}

#[test]
fn mbr_partitions_that_overlap_or_end_beyond_the_device_are_ignored() {
    let (mut kept, mut gone) = (0, 0);
    for seed in 0..100 {
        let (rng, places, made) = &mut begin(seed, 1);
        let mut table = mbr(made, rng, places);
        let used: Vec<usize> = table.iter().filter(|(_, e)| e.is_used() && !e.is_extended()).map(|(i, _)| i).collect();
        let changed = one_of(rng, &used);
        table[changed].sectors = change_length(rng, table[changed].sectors.into()) as u32;
        let (parts, tables) = write_mbr(made, &mut table);
        let expected = made.expected(&parts, &tables, &(1..SECTORS));
        assert_eq!(found(&made.aware(SECTORS)), expected, "seed {seed}: {parts:?}, {tables:?}");
        kept += expected.len();
        gone += made.expected(places, &[], &(1..SECTORS)).len() - expected.len();
    }
    assert!(kept > 50 && gone > 25, "{kept} kept, {gone} gone");
}

#[test]
fn partitions_count_that_are_one_too_many_and_tables_that_lie_in_others() {
    let rng = &mut Rng::new(1);
    let place = |i: u64| Part { start: 100 * i, sectors: 90, may_hold_fat: i == 1 };
    let places: Vec<Part> = (1..=9).map(place).collect();
    let made = &mut Made::new(rng, &[]);
    made.put_volume(rng, &places[0]);
    let (mut header, mut entries) = gpt(made, rng, &[]);
    for (entry, i) in entries.iter_mut().zip(1..=9) {
        (entry.partition_type_guid, entry.unique_partition_guid) = (BASIC_DATA, [i; 16]);
        (entry.starting_lba, entry.ending_lba) = (100 * u64::from(i), 100 * u64::from(i) + 89);
    }
    write_gpt(made, &mut header, &entries);
    assert_eq!(found(&made.aware(SECTORS)).len(), 1);
    entries[8].starting_lba = 150;
    write_gpt(made, &mut header, &entries);
    assert_eq!(found(&made.aware(SECTORS)), [], "the ninth overlaps");

    let made = &mut Made::new(rng, &[]);
    made.put_volume(rng, &places[0]);
    let mut table = MBR::new_from(&mut made.cursor(), SECTOR as u32, [7; 4]).expect("a disk");
    table[1] = mbr_entry(rng, 0x0C, 100, 90);
    write_mbr(made, &mut table);
    assert_eq!(found(&made.aware(SECTORS)).len(), 1);
    table[2] = mbr_entry(rng, 0x05, 180, 320);
    table.logical_partitions.push(LogicalPartition {
        partition: mbr_entry(rng, 0x83, 300, 90),
        absolute_ebr_lba: 180,
        ebr_sectors: Some(320),
        ebr_first_chs: CHS::empty(),
        ebr_last_chs: Some(CHS::empty()),
        bootstrap_code: [0; 446],
    });
    write_mbr(made, &mut table);
    assert_eq!(found(&made.aware(SECTORS)), [], "a cluster would be the table of another partition");
}

#[test]
fn mbr_chains_that_are_damaged_and_devices_that_are_too_small() {
    let (mut damaged, mut cut_off) = (0, 0);
    for seed in 0..60 {
        let (rng, places, made) = &mut begin(seed, 1);
        let mut table = mbr(made, rng, places);
        let (parts, tables) = write_mbr(made, &mut table);
        let sectors = 1 + u64::from(rng.below(SECTORS as u32));
        let starts = table.header.iter().filter(|(_, entry)| entry.is_used()).map(|(_, e)| u64::from(e.starting_lba));
        let is_bad = starts.chain(tables.iter().copied()).any(|lba| lba >= sectors);
        let expected = if is_bad { Vec::new() } else { made.expected(&parts, &tables, &(1..sectors)) };
        let aware = made.aware(sectors);
        assert_eq!((found(&aware), has_tables(&aware)), (expected, !is_bad), "seed {seed}, {sectors} sectors");
        cut_off += u32::from(is_bad);
        if tables.len() < 2 {
            continue;
        }
        damaged += 1;
        let at = tables[1 + rng.below(tables.len() as u32 - 1) as usize] as usize * SECTOR;
        match seed % 3 {
            0 => made.image[at + 510] = 0,
            1 => made.image[at + 446] = 1,
            // A link back to the table itself.
            _ => {
                let entry = mbr_entry(rng, 0x05, at as u64 / SECTOR as u64 - tables[0], 9);
                let link = &mut made.image[at + 462..][..16];
                link[4] = entry.sys;
                link[8..12].copy_from_slice(&entry.starting_lba.to_le_bytes());
                link[12..].copy_from_slice(&entry.sectors.to_le_bytes());
            }
        }
        assert!(MBR::read_from(&mut made.cursor(), SECTOR as u32).is_err(), "seed {seed}: the other side agrees");
        let aware = made.aware(SECTORS);
        assert_eq!((found(&aware), has_tables(&aware)), (Vec::new(), false), "seed {seed}");
    }
    assert!(damaged > 15 && cut_off > 10, "{damaged} chains, {cut_off} devices");
}

/// Partitions in random slots of a table of random size.
fn gpt(made: &mut Made, rng: &mut Rng, places: &[Part]) -> (GPTHeader, Vec<GPTPartitionEntry>) {
    let mut header = GPTHeader::new_from(&mut made.cursor(), SECTOR as u64, [9; 16]).expect("a disk");
    header.number_of_partition_entries = 8 + rng.below(121);
    header.update_from(&mut made.cursor(), SECTOR as u64).expect("a disk");
    let mut entries = vec![GPTPartitionEntry::empty(); header.number_of_partition_entries as usize];
    for (i, place) in places.iter().enumerate() {
        let slot = loop {
            let slot = rng.below(header.number_of_partition_entries) as usize;
            if entries[slot].is_unused() {
                break slot;
            }
        };
        let kind = if place.may_hold_fat { one_of(rng, &[BASIC_DATA, EFI_SYSTEM]) } else { LINUX };
        entries[slot] = GPTPartitionEntry {
            partition_type_guid: kind,
            unique_partition_guid: [1 + i as u8; 16],
            starting_lba: place.start,
            ending_lba: place.end() - 1,
            attribute_bits: 0,
            partition_name: "any".into(),
        };
    }
    (header, entries)
}

/// Writes a table, and reads it back with the other crate: the partitions, and the range in which they may lie.
fn write_gpt(made: &mut Made, header: &mut GPTHeader, entries: &[GPTPartitionEntry]) -> (Vec<Part>, Range<u64>) {
    GPT::write_protective_mbr_into(&mut made.cursor(), SECTOR as u64).expect("there is room");
    header.write_into(&mut made.cursor(), SECTOR as u64, entries).expect("there is room");
    let (header, entries) = read_gpt(made).expect("it can be read");
    let part = |entry: &GPTPartitionEntry| {
        let sectors = entry.size().ok()?;
        let may_hold_fat = [BASIC_DATA, EFI_SYSTEM].contains(&entry.partition_type_guid);
        Some(Part { start: entry.starting_lba, sectors, may_hold_fat })
    };
    let parts = entries.iter().filter(|entry| entry.is_used()).filter_map(part).collect();
    (parts, header.first_usable_lba..header.last_usable_lba + 1)
}

fn read_gpt(made: &mut Made) -> Result<(GPTHeader, Vec<GPTPartitionEntry>), gptman::Error> {
    let mut cursor = made.cursor();
    cursor.set_position(SECTOR as u64);
    let header = GPTHeader::read_from(&mut cursor)?;
    let entries = header.read_partitions(&mut cursor, SECTOR as u64)?;
    Ok((header, entries))
}

#[test]
fn gpt_partitions_are_those_of_gptman() {
    let mut volumes = 0;
    for seed in 0..60 {
        let (rng, places, made) = &mut begin(seed, 34);
        let (mut header, entries) = gpt(made, rng, places);
        let (parts, usable) = write_gpt(made, &mut header, &entries);
        assert_eq!(parts.len(), places.len());
        let expected = made.expected(&parts, &[], &usable);
        let aware = made.aware(SECTORS);
        assert_eq!(found(&aware), expected, "seed {seed}: {parts:?}");
        assert!(has_tables(&aware), "seed {seed}");
        for lba in [0, 1, usable.start - 1, usable.end, SECTORS - 1] {
            assert_eq!(aware.kind_at(lba), Some(Kind::Boot), "seed {seed}: sector {lba}");
        }
        volumes += expected.len();
        // The table at the beginning has all partitions. Without the end of the device, the device is too small for it.
        let aware = made.aware(usable.end);
        assert_eq!((found(&aware), has_tables(&aware)), (expected, true), "seed {seed}");
        let aware = made.aware(usable.end - 1);
        assert_eq!((found(&aware), has_tables(&aware)), (Vec::new(), false), "seed {seed}");
    }
    assert!(volumes > 60, "{volumes}");
}

#[test]
fn gpt_partitions_that_overlap_or_lie_outside_are_ignored() {
    let (mut kept, mut gone) = (0, 0);
    for seed in 0..100 {
        let (rng, places, made) = &mut begin(seed, 34);
        let (mut header, mut entries) = gpt(made, rng, places);
        let used: Vec<usize> = (0..entries.len()).filter(|&slot| entries[slot].is_used()).collect();
        let changed = &mut entries[one_of(rng, &used)];
        match rng.below(8) {
            0 => changed.starting_lba = rng.below(34).into(),
            1 => changed.ending_lba = u64::MAX - u64::from(rng.below(2)),
            2 => changed.ending_lba = changed.starting_lba - 1 - u64::from(rng.below(2)),
            _ => {
                let sectors = changed.ending_lba + 1 - changed.starting_lba;
                changed.ending_lba = changed.starting_lba + change_length(rng, sectors) - 1;
            }
        }
        let (parts, usable) = write_gpt(made, &mut header, &entries);
        let expected = made.expected(&parts, &[], &usable);
        assert_eq!(found(&made.aware(SECTORS)), expected, "seed {seed}: {parts:?}");
        kept += expected.len();
        gone += made.expected(places, &[], &usable).len() - expected.len();
    }
    assert!(kept > 50 && gone > 25, "{kept} kept, {gone} gone");
}

#[test]
fn gpt_with_any_bit_wrong_gives_nothing() {
    for seed in 0..100 {
        let (rng, places, made) = &mut begin(seed, 34);
        let (mut header, entries) = gpt(made, rng, places);
        write_gpt(made, &mut header, &entries);
        let entries_bytes = entries.len() as u32 * header.size_of_partition_entry;
        let byte =
            if seed % 2 == 0 { SECTOR as u32 + rng.below(92) } else { 2 * SECTOR as u32 + rng.below(entries_bytes) };
        made.image[byte as usize] ^= 1 << rng.below(8);
        assert!(read_gpt(made).is_err(), "seed {seed}: the other side agrees");
        let aware = made.aware(SECTORS);
        assert_eq!((found(&aware), has_tables(&aware)), (Vec::new(), false), "seed {seed}: byte {byte}");
    }
}
