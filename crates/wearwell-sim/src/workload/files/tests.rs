use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use wearwell_emu::ChipProfile;

use super::*;
use crate::request::Op;
use crate::workload::WorkloadSpec;

const SPECS: [&str; 7] = [
    "postmark:small",
    "postmark:large",
    "postmark:files=60,dirs=7,size=1..9KiB,block=1000",
    "postmark:files=9,dirs=each,size=300..300,create=7,read=2",
    "fax",
    "cell-phone",
    "event-recorder",
];

fn spec(text: &str) -> FilesSpec {
    match text.parse() {
        Ok(WorkloadSpec::Files(spec)) => spec,
        other => panic!("{text}: {other:?}"),
    }
}

fn workload(text: &str, mib: u64, seed: u64) -> FileWorkload {
    FileWorkload::new(&spec(text), mib << 11, false, seed).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The requests of the set-up and of some transactions.
fn requests(text: &str, seed: u64, transactions: u32) -> Vec<Request> {
    let mut workload = workload(text, 32, seed);
    let mut all = workload.take_requests();
    for _ in 0..transactions {
        workload.transact().unwrap_or_else(|error| panic!("{text}: {error}"));
        all.extend(workload.take_requests());
    }
    all
}

#[test]
fn the_same_seed_gives_the_same_requests_and_another_seed_others() {
    for text in SPECS {
        let first = requests(text, 1, 150);
        assert_eq!(first, requests(text, 1, 150), "{text}");
        // The faxes and events themselves are not drawn.
        if !["fax", "event-recorder"].contains(&text) {
            assert_ne!(first, requests(text, 2, 150), "{text}");
        }
    }
}

#[test]
fn every_request_lies_on_the_volume_and_is_whole_sectors() {
    for text in SPECS {
        for request in requests(text, 3, 300) {
            assert!(request.end_bytes() <= 32 << 20, "{text}: {request:?}");
            assert!(request.offset_bytes % 512 == 0 && request.length_bytes % 512 == 0, "{text}: {request:?}");
            assert!(request.length_bytes <= 64 << 10 && (request.length_bytes == 0) == (request.op == Op::Flush));
        }
    }
}

/// A volume, and a map of what its files must hold.
struct Mirrored {
    volume: Volume<Recorder>,
    model: BTreeMap<String, Vec<u8>>,
}

impl Files for Mirrored {
    fn set_block_bytes(&mut self, bytes: usize) {
        self.volume.set_block_bytes(bytes);
    }
    fn set_syncs_blocks(&mut self, syncs_blocks: bool) {
        self.volume.set_syncs_blocks(syncs_blocks);
    }
    fn make_dir(&mut self, path: &str) -> Result<(), FatError> {
        self.volume.make_dir(path)
    }
    fn remove(&mut self, path: &str) -> Result<(), FatError> {
        self.model.remove(path);
        self.volume.remove(path)
    }
    fn create(&mut self, path: &str, data: &[u8]) -> Result<(), FatError> {
        assert!(self.model.insert(path.to_owned(), data.to_vec()).is_none(), "{path} was there");
        self.volume.create(path, data)
    }
    fn append(&mut self, path: &str, data: &[u8]) -> Result<(), FatError> {
        self.model.get_mut(path).expect(path).extend_from_slice(data);
        self.volume.append(path, data)
    }
    fn overwrite(&mut self, path: &str, offset_bytes: u64, data: &[u8]) -> Result<(), FatError> {
        let offset = offset_bytes as usize;
        self.model.get_mut(path).expect(path)[offset..offset + data.len()].copy_from_slice(data);
        self.volume.overwrite(path, offset_bytes, data)
    }
    fn read(&mut self, path: &str) -> Result<(), FatError> {
        assert!(self.volume.read(path)? == self.model[path], "{path}");
        Ok(())
    }
    fn free_bytes(&mut self) -> Result<u64, FatError> {
        self.volume.free_bytes()
    }
    fn footprint_bytes(&self, bytes: u64) -> u64 {
        self.volume.footprint_bytes(bytes)
    }
}

/// Runs a program on a volume of `sectors` sectors, mounts it again, and compares its files.
fn assert_volume_matches_model(text: &str, sectors: u64, transactions: u32) {
    let mut device = Recorder::new(sectors);
    let volume = Volume::format(Recorder::new(sectors)).expect("a volume");
    let mut files = Mirrored { volume, model: BTreeMap::new() };
    let (mut program, mut draw) = (spec(text).program(), Draw::new(5));
    program.set_up(&mut files, &mut draw).unwrap_or_else(|error| panic!("{text}: {error}"));
    for _ in 0..transactions {
        program.transact(&mut files, &mut draw).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    // Taken from below the window: nothing may be left in it.
    let mut bytes = vec![0; sectors as usize * 512];
    files.volume.device().read(0, &mut bytes).expect("in memory");
    device.write(0, &bytes).expect("in memory");
    let mut again = Volume::mount(&mut device).expect("the volume");
    let found: BTreeSet<String> = again.files().expect("a listing").into_iter().collect();
    assert_eq!(found, files.model.keys().cloned().collect(), "{text}");
    for (path, content) in &files.model {
        assert!(again.read(path).expect(path) == *content, "{text}: {path} differs");
    }
    again.unmount().expect("in memory");
}

#[test]
fn the_volume_holds_what_the_programs_wrote() {
    for text in SPECS {
        assert_volume_matches_model(text, 32 << 11, 400);
    }
}

/// FAT12, FAT16 and FAT32, by the size of the volume.
#[test]
fn every_kind_of_fat_holds_it() {
    for (mib, kind) in [(2, "FAT12   "), (32, "FAT16   "), (520, "FAT32   ")] {
        let volume = Volume::format(Recorder::new(mib << 11)).expect("a volume");
        let mut boot = [0; 512];
        volume.device().read(0, &mut boot).expect("in memory");
        let place = if mib > 512 { 82 } else { 54 };
        assert_eq!(&boot[place..place + 8], kind.as_bytes());
    }
    assert_volume_matches_model("postmark:files=20,dirs=3,size=1..20KiB", 2 << 11, 300);
    assert_volume_matches_model("cell-phone", 520 << 11, 20);
}

/// Files are created as long as they fit; after that a file is deleted first.
#[test]
fn a_volume_without_room_is_worked_on() {
    assert_volume_matches_model("postmark:files=7,size=1MiB..1MiB,create=10,read=off", 9 << 11, 100);
    assert_volume_matches_model("postmark:files=30,size=1..1MiB,create=8,read=0", 18 << 11, 300);
    assert_volume_matches_model("fax", 1 << 11, 30);
    for (text, mib) in [("postmark:large", 8), ("postmark:files=1,size=8MiB..8MiB", 8)] {
        let refused = FileWorkload::new(&spec(text), mib << 11, false, 1);
        assert!(matches!(refused, Err(FatError::NoRoom { .. })), "{text}");
    }
    assert!(matches!(FileWorkload::new(&FilesSpec::Fax, 40, false, 1), Err(FatError::Format { sectors: 40, .. })));
    assert!(matches!(FileWorkload::new(&FilesSpec::Camera, 60_000, false, 1), Err(FatError::Format { .. })));
    assert!(FileWorkload::new(&FilesSpec::Camera, 68_000, false, 1).is_ok());
    assert!(matches!(FileWorkload::new(&FilesSpec::Fax, 1 << 32, false, 1), Err(FatError::TooLarge { .. })));
}

/// The sectors of both allocation tables.
fn tables(workload: &FileWorkload) -> Range<u64> {
    let mut boot = [0; 512];
    workload.volume.device().read(0, &mut boot).expect("in memory");
    workload.volume.device().take_requests();
    let word = |place: usize| u64::from(u16::from_le_bytes([boot[place], boot[place + 1]]));
    word(14)..word(14) + u64::from(boot[16]) * word(22)
}

/// Of the sectors written by some transactions: how many there are, how many are of the allocation tables, how many
/// different ones of these, and how many different sectors in all.
fn mix(text: &str, transactions: u32) -> (u64, u64, u64, u64) {
    let mut workload = workload(text, 112, 1);
    workload.take_requests();
    let tables = tables(&workload);
    let mut times = BTreeMap::new();
    for _ in 0..transactions {
        workload.transact().unwrap_or_else(|error| panic!("{text}: {error}"));
        for request in workload.take_requests().iter().filter(|request| request.op == Op::Write) {
            for sector in request.offset_bytes / 512..request.end_bytes() / 512 {
                *times.entry(sector).or_insert(0_u64) += 1;
            }
        }
    }
    let of_tables = || times.iter().filter(|(sector, _)| tables.contains(sector));
    (times.values().sum(), of_tables().map(|(_, count)| count).sum(), of_tables().count() as u64, times.len() as u64)
}

#[test]
fn small_files_rewrite_the_allocation_tables() {
    let (sectors, of_tables, different, _) = mix("postmark:small", 2000);
    // A directory and its file are two clusters in both tables, when they come and when they go.
    assert!((5 * 2000..16 * 2000).contains(&sectors), "{sectors}");
    assert!(of_tables * 10 > sectors * 3, "{of_tables} of {sectors}");
    assert!(of_tables > 200 * different, "{of_tables} writes of {different} sectors");
}

#[test]
fn large_files_are_data_with_a_few_tables_in_between() {
    let once = "postmark:files=20,size=1MiB..1MiB,transactions=600,read=off,block=4KiB";
    let (sectors, of_tables, different, _) = mix(once, 200);
    assert!(of_tables > 0 && of_tables * 50 < sectors, "{of_tables} of {sectors}");
    assert!(of_tables > 2 * different, "{of_tables} writes of {different} sectors");
    // Two tables after every block of 8 sectors.
    let (sectors, of_tables, ..) = mix("postmark:large", 200);
    assert!(of_tables * 6 > sectors && of_tables * 4 < sectors, "{of_tables} of {sectors}");
}

#[test]
fn the_event_recorder_writes_few_sectors_over_and_over() {
    let (sectors, of_tables, _, different) = mix("event-recorder", 2000);
    assert!(of_tables == 0 && different < 70 && sectors > 4000, "{sectors}, {different} different, {of_tables}");
}

/// Formatting writes every sector of the tables.
#[test]
fn the_set_up_begins_with_a_format() {
    let mut workload = workload("event-recorder", 112, 1);
    let requests = workload.take_requests();
    let writes = || requests.iter().filter(|request| request.op == Op::Write);
    let is_written =
        |sector: u64| writes().any(|write| (write.offset_bytes / 512..write.end_bytes() / 512).contains(&sector));
    let tables = tables(&workload);
    assert_eq!(tables, 1..1 + 2 * 224);
    assert!(tables.into_iter().all(is_written));
}

#[test]
fn every_embedded_chip_can_be_formatted() {
    for chip in ChipProfile::all() {
        let formatted = Volume::format(Recorder::new(chip.logical_bytes / 512));
        assert!(formatted.is_ok(), "{}: {:?}", chip.name, formatted.err());
    }
}
