//! Disks beside a plain array: any byte range, over images that are left without a goodbye.

use std::fs;
use std::path::{Path, PathBuf};

use wearwell::{Placement, VictimPolicy};
use wearwell_emu::{ChipProfile, CutOutcome, Faults, PowerCut};
use wearwell_serve::disk::{Disk, DiskConfig, DiskError, Finding, check};
use wearwell_sim::engine::{AwareMode, DataMode, Engine, EngineSpec};
use wearwell_sim::run::{RunConfig, run};

/// 64 blocks of 16 pages of 2 KiB, three quarters of them for the host.
fn config() -> DiskConfig {
    let mut config = DiskConfig::new(ChipProfile::resolve("geometry:2048:16:64").expect("valid"));
    config.engine.logical_bytes = Some(1_536 << 10);
    config
}

/// A disk, and what it must hold.
struct Twin {
    disk: Disk,
    model: Vec<u8>,
    rng: fastrand::Rng,
}

impl Twin {
    fn new(disk: Disk, seed: u64) -> Self {
        let model = vec![0; disk.bytes() as usize];
        Self { disk, model, rng: fastrand::Rng::with_seed(seed) }
    }

    /// A range: mostly short, and nothing is aligned.
    fn range(&mut self) -> (usize, usize) {
        let longest = *self.rng.choice(&[1, 600, 5000, 40_000]).expect("some");
        let len = self.rng.usize(1..=longest);
        (self.rng.usize(..=self.model.len() - len), len)
    }

    fn step(&mut self) {
        let (at, len) = self.range();
        match self.rng.u8(..10) {
            0..5 => {
                let data: Vec<u8> = std::iter::repeat_with(|| self.rng.u8(1..)).take(len).collect();
                self.disk.write(at as u64, &data, self.rng.u16(..4)).expect("write");
                self.model[at..at + len].copy_from_slice(&data);
            }
            5 => {
                self.disk.discard(at as u64, len as u64).expect("discard");
                let page = self.disk.page_bytes() as usize;
                let (first, last) = (at.next_multiple_of(page), (at + len) / page * page);
                if first < last {
                    self.model[first..last].fill(0);
                }
            }
            6 => {
                self.disk.write_zeroes(at as u64, len as u64, 0, self.rng.bool()).expect("zeroes");
                self.model[at..at + len].fill(0);
            }
            7 => self.disk.flush().expect("flush"),
            8 => {
                self.disk.clean(8).expect("clean");
            }
            _ => self.check(at, len),
        }
    }

    fn check(&mut self, at: usize, len: usize) {
        let mut data = vec![0xEE; len];
        self.disk.read(at as u64, &mut data).expect("read");
        assert!(data == self.model[at..at + len], "{len} bytes at {at}");
    }

    /// Runs of pages that take flash, one after another: holes read as zeros, and cover what was never written.
    fn check_extents(&mut self) {
        let mut at = 0;
        while at < self.disk.bytes() {
            let run = self.disk.extent(at, u64::MAX);
            assert!(run.bytes > 0);
            let content = &self.model[at as usize..(at + run.bytes) as usize];
            assert!(run.allocated || content.iter().all(|&byte| byte == 0), "a hole at {at} with content");
            at += run.bytes;
        }
        assert_eq!(at, self.disk.bytes());
    }
}

#[test]
fn any_bytes_read_back_as_they_were_written() {
    for seed in 0..3 {
        let mut twin = Twin::new(Disk::memory(&config()).expect("a disk"), seed);
        for _ in 0..4000 {
            twin.step();
        }
        twin.check(0, twin.model.len());
        twin.check_extents();
    }
}

#[test]
fn totals_are_those_of_the_report() {
    for (name, config) in engines() {
        let mut twin = Twin::new(Disk::memory(&config).expect("a disk"), 9);
        for _ in 0..2000 {
            twin.step();
        }
        let (totals, report, wear) = (twin.disk.totals(), twin.disk.report(), twin.disk.inspect().wear);
        assert_eq!((totals.host_bytes, &totals.streams), (report.host_bytes, &report.streams), "{name}");
        assert_eq!((totals.stats.erases, totals.stats.copied_pages), (report.erases, report.copied_pages), "{name}");
        assert_eq!(
            (totals.stats.programmed_pages(), totals.stats.wa_total()),
            (report.programmed_pages, report.wa_total)
        );
        let own_pages = totals.limits.live_pages - report.live_pages;
        assert!(own_pages <= 1 && totals.bad_segments() == report.bad, "{name}: a page of the discard map at most");
        assert_eq!((totals.wear(), totals.stats.erases > 0), (wear, true), "{name}");
    }
}

fn reopen(path: &Path, twin: Twin) -> (Twin, bool) {
    let Twin { disk, model, rng } = twin;
    drop(disk);
    let (disk, found) = Disk::open(path).expect("opens");
    (Twin { disk, model, rng }, found.clean)
}

/// One configuration for each engine, layout and kind of chip.
fn engines() -> Vec<(String, DiskConfig)> {
    let nand = "geometry:2048:16:64";
    let of = |name: &str, chip: &str, change: &dyn Fn(&mut EngineSpec)| {
        let mut config = DiskConfig::new(ChipProfile::resolve(chip).expect("valid"));
        config.engine.logical_bytes = Some(1 << 20);
        change(&mut config.engine);
        (name.to_owned(), config)
    };
    vec![
        of("page, streams, cat", nand, &|e| (e.place, e.which) = (Placement::ByStream, VictimPolicy::Cat)),
        of("log-block", nand, &|e| e.ftl = Engine::LogBlock),
        of("primary-replacement", nand, &|e| e.ftl = Engine::PrimaryReplacement),
        of("fast", nand, &|e| e.ftl = Engine::Fast),
        of("two dies", "geometry:4096:16:64:2", &|e| e.aware = AwareMode::Strict),
        of("nor", "kawaguchi-28f008sa", &|_| ()),
    ]
}

#[test]
fn every_engine_serves_an_image() {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, config) in engines() {
        let path = dir.path().join(&name);
        let mut twin = Twin::new(Disk::create(&path, &config).expect(&name), 3);
        let plan = twin.disk.plan().settled();
        for _ in 0..4 {
            for _ in 0..150 {
                twin.step();
            }
            twin.disk.flush().expect("flush");
            (twin, _) = reopen(&path, twin);
            twin.check(0, twin.model.len());
            twin.check_extents();
            assert_eq!(twin.disk.plan().settled(), plan, "{name}: the header says what it was made with");
        }
        drop(twin);
        let found = check(&path).expect("can be looked at");
        assert_eq!(found.findings, [], "{name}");
        assert!(found.pages_read > 0);
    }
}

#[test]
fn what_was_written_is_read_also_when_the_chip_takes_no_more() {
    let page = 2048_usize;
    for (name, config) in engines() {
        let mut disk = Disk::memory(&config).expect("a disk");
        disk.write(0, &vec![1; 4 * page], 0).expect("written");
        disk.flush().expect("flushed");
        // Parts of pages wait in the engine: they count as written.
        for at in 0..4 {
            disk.write((at * page + 512) as u64, &[2; 512], 0).expect("written");
        }
        disk.inject(Faults { program_fail_rate: 1.0, ..Faults::default() }).unwrap();
        // Where a page is a sector, none was written in part.
        let has_parts = disk.page_bytes() > 512;
        assert_eq!(disk.flush().is_err(), has_parts, "{name}");
        assert!(disk.write(0, &vec![3; 4 * page], 0).is_err(), "{name}");
        for at in 0..4 {
            let mut found = [0; 512];
            disk.read((at * page + 512) as u64, &mut found).expect("readable");
            assert!(found == [2; 512] || found == [3; 512], "{name}: page {at} holds {}", found[0]);
        }
        assert_eq!(disk.flush().is_err(), has_parts, "{name}: nothing more is durable than before");
    }
}

#[test]
fn an_engine_without_records_is_refused() {
    let mut config = config();
    config.engine.ftl = Engine::InPlace;
    let error = Disk::memory(&config).expect_err("in-place");
    assert!(matches!(error, DiskError::NoRecords { .. }) && error.is_refusal());
}

#[test]
fn a_served_disk_and_a_simulated_run_agree() {
    // A run fills the disk once in sequence, and then again; so does this host.
    let mut run_config = RunConfig::new(config().engine.chip, "sequential".parse().expect("a workload"));
    run_config.engine = config().engine;
    run_config.data = DataMode::Stored;
    run_config.write_bytes = run_config.engine.logical_bytes;
    let run = run(&run_config, None, &mut ()).expect("a run");
    let mut disk = Disk::memory(&config()).expect("a disk");
    for round in 0..2 {
        for at in (0..disk.bytes()).step_by(2048) {
            disk.write(at, &[round; 2048], 0).expect("write");
        }
    }
    let served = disk.report();
    assert_eq!(served.map_digest, run.map_digest);
    assert_eq!((served.erase_count, served.live_pages), (run.erase_count, run.live_pages));
    assert_eq!(served.host_pages, 2 * run.host_pages, "with the fill");
    assert_eq!(served.host_bytes, 2 * disk.bytes());
    assert_eq!(served.config.max_ops_per_host_page, run.config.max_ops_per_host_page);
}

/// A small image with something on it, shut down; and its bytes.
fn used_image(dir: &Path) -> (PathBuf, Vec<u8>) {
    let path = dir.join("disk.ww");
    let mut disk = Disk::create(&path, &config()).expect("created");
    for at in 0..200 {
        disk.write(at * 2048 * 3, &[at as u8 + 1; 2048], 0).expect("write");
    }
    disk.shutdown().expect("shut down");
    drop(disk);
    let bytes = fs::read(&path).expect("read");
    (path, bytes)
}

#[test]
fn an_image_has_one_user_whose_process_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let (path, _) = used_image(dir.path());
    let (disk, found) = Disk::open(&path).expect("opens");
    assert!(found.clean);
    for refused in [Disk::open(&path).map(|_| ()), Disk::open_private(&path).map(|_| ()), check(&path).map(|_| ())] {
        match refused {
            Err(DiskError::InUse { holder, .. }) => assert_eq!(holder, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
    }
    drop(disk);
    assert!(matches!(Disk::create(&path, &config()), Err(DiskError::Setup(_))), "never overwritten");
    Disk::open(&path).expect("free again");
}

#[test]
fn looking_changes_no_byte() {
    let dir = tempfile::tempdir().expect("a folder");
    let (path, _) = used_image(dir.path());
    let (mut disk, _) = Disk::open(&path).expect("opens");
    disk.write(12_345, &[9; 5000], 0).expect("write");
    disk.flush().expect("flush");
    drop(disk);
    let cut_off = fs::read(&path).expect("read");
    let (mut disk, found) = Disk::open_private(&path).expect("opens");
    assert!(!found.clean && found.open_segments > 0);
    let inspection = disk.inspect();
    disk.write(0, &[7; 100_000], 0).expect("into memory");
    disk.shutdown().expect("of the copy");
    drop(disk);
    assert_eq!(check(&path).expect("can be looked at").findings, []);
    assert!(fs::read(&path).expect("read") == cut_off);
    let in_use: u64 = inspection.states.iter().map(|row| row.valid_pages).sum();
    assert!(in_use >= inspection.map.mapped_pages && inspection.map.mapped_pages > 200);
    assert_eq!(inspection.states.iter().map(|row| row.segments).sum::<u32>(), 64);
}

#[test]
fn every_changed_byte_of_the_header_is_noticed_and_none_panics() {
    let dir = tempfile::tempdir().expect("a folder");
    let (path, good) = used_image(dir.path());
    let text_end = 24 + u32::from_le_bytes(good[20..24].try_into().expect("a word")) as usize;
    assert!(text_end < 4096, "or this takes long");
    // The chip behind it is left out: it is not looked at, which saves time.
    for at in 0..text_end {
        let mut head = good[..65_536].to_vec();
        head[at] ^= 0x40;
        fs::write(&path, head).expect("write");
        let error = Disk::open(&path).expect_err("a damaged header");
        assert!(!error.is_refusal(), "{at}: damage is no misuse: {error}");
        let error = error.to_string();
        assert!(error.contains("byte") || error.contains("bytes"), "{at}: {error}");
    }
    for len in [0, 7, 8, 20, 24, 1000, 65_535, 65_536, 65_537, 70_000, good.len() - 1] {
        fs::write(&path, &good[..len]).expect("write");
        let error = Disk::open(&path).expect_err("cut short").to_string();
        assert!(error.contains("byte"), "{len}: {error}");
    }
    fs::write(&path, &good).expect("write");
    Disk::open(&path).expect("whole again");
}

#[test]
fn a_check_finds_what_was_changed_in_the_file_and_where() {
    let dir = tempfile::tempdir().expect("a folder");
    let (path, good) = used_image(dir.path());
    let at = good.windows(2048).position(|page| page == [77; 2048]).expect("the page");
    let mut bytes = good.clone();
    bytes[at + 1000] ^= 1;
    fs::write(&path, &bytes).expect("write");
    let found = check(&path).expect("can be looked at");
    assert_eq!((found.pages_read, found.clean_shutdown), (200, Some(true)));
    let [Finding::Page { what: "data", at: named, .. }, Finding::Unreadable { lpn, .. }] = found.findings[..] else {
        panic!("{found:?}");
    };
    assert_eq!((named, lpn), (at as u64, 76 * 3));
    assert!(fs::read(&path).expect("read") == bytes, "a check writes nothing");
    let (mut disk, _) = Disk::open(&path).expect("opens");
    assert!(disk.read(u64::from(lpn) * 2048, &mut [0; 10]).is_err());
    disk.read(u64::from(lpn + 3) * 2048, &mut [0; 10]).expect("the others are whole");
}

#[test]
fn a_check_tells_of_changed_records_and_of_bytes_that_nobody_uses() {
    let dir = tempfile::tempdir().expect("a folder");
    let (path, good) = used_image(dir.path());
    let (chip_at, block) = (65_536, 3_u32);
    let record_at = chip_at + 4096 + 48 * u64::from(block);
    let tries = [
        (record_at, Finding::Record { block, at: record_at }),
        (record_at + 47, Finding::Record { block, at: record_at }),
        (chip_at + 4095, Finding::Unused { at: chip_at + 4095 }),
        (chip_at - 5, Finding::Unused { at: chip_at - 5 }),
    ];
    for (at, finding) in tries {
        let mut bytes = good.clone();
        bytes[at as usize] ^= 0x20;
        fs::write(&path, &bytes).expect("write");
        assert_eq!(check(&path).expect("can be looked at").findings, [finding]);
        Disk::open(&path).expect("it does no harm that matters");
    }
}

#[test]
fn the_life_of_a_disk_goes_on_in_its_image() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("disk.ww");
    drop(Disk::create(&path, &config()).expect("created"));
    let (mut read_bytes, mut programmed_pages) = (0, 0);
    for opens in 1..4 {
        let (mut disk, _) = Disk::open(&path).expect("opens");
        disk.read(0, &mut [0; 700]).expect("read");
        (0..5).for_each(|page| disk.write(page * 2048, &[opens as u8; 2048], 0).expect("write"));
        disk.shutdown().expect("shut down");
        (read_bytes, programmed_pages) = (read_bytes + 700, programmed_pages + disk.counters().programmed_pages());
        let life = disk.life();
        assert_eq!((life.opens, life.read_bytes, life.written_bytes), (opens, read_bytes, u64::from(opens) * 10_240));
        assert_eq!(life.programmed_bytes, programmed_pages * 2048);
        drop(disk);
        let (looked_at, _) = Disk::open_private(&path).expect("opens");
        assert_eq!((looked_at.life().opens, looked_at.life().written_bytes), (opens + 1, life.written_bytes));
    }
}

#[test]
fn a_life_that_cannot_be_read_begins_again_and_is_found() {
    let dir = tempfile::tempdir().expect("a folder");
    let (path, _) = used_image(dir.path());
    // Each open is a record.
    (0..2).for_each(|_| drop(Disk::open(&path).expect("opens")));
    let life_at = 65_536 - 512;
    let mut bytes = fs::read(&path).expect("read");
    bytes[life_at + 8] ^= 1;
    fs::write(&path, &bytes).expect("write");
    assert_eq!(check(&path).expect("can be looked at").findings, [], "the other place is whole");
    bytes[life_at + 64 + 8] ^= 1;
    fs::write(&path, &bytes).expect("write");
    assert_eq!(check(&path).expect("can be looked at").findings, [Finding::Life { at: life_at as u64 }]);
    let (disk, _) = Disk::open(&path).expect("it does no harm that matters");
    assert_eq!((disk.life().opens, disk.life().written_bytes), (1, 0));
}

#[test]
fn an_image_of_version_1_is_served_and_has_no_life() {
    let dir = tempfile::tempdir().expect("a folder");
    let (path, good) = used_image(dir.path());
    let mut bytes = good.clone();
    let text_end = 24 + u32::from_le_bytes([good[20], good[21], good[22], good[23]]) as usize;
    bytes[8] = 1;
    bytes[12..16].copy_from_slice(&crc32fast::hash(&good[16..text_end]).to_le_bytes());
    bytes[65_536 - 512..65_536 - 384].fill(0);
    fs::write(&path, &bytes).expect("write");
    assert_eq!(check(&path).expect("can be looked at").findings, []);
    for _ in 0..2 {
        let (mut disk, _) = Disk::open(&path).expect("opens");
        disk.write(0, &[7; 2048], 0).expect("write");
        disk.shutdown().expect("shut down");
        assert_eq!((disk.life().opens, disk.life().written_bytes), (1, 2048));
    }
    let bytes = fs::read(&path).expect("read");
    assert!(bytes[8] == 1 && bytes[text_end..65_536 - 4].iter().all(|&byte| byte == 0), "it stays what it is");
}

#[test]
fn an_image_of_any_bytes_is_a_disk_or_an_error() {
    let dir = tempfile::tempdir().expect("a folder");
    let (path, good) = used_image(dir.path());
    let mut damaged = 0;
    for seed in 0..60 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut bytes = good.clone();
        for _ in 0..rng.usize(1..40) {
            let at = rng.usize(65_536..bytes.len());
            bytes[at] ^= 1 << rng.u8(..8);
        }
        fs::write(&path, &bytes).expect("write");
        damaged += u32::from(!check(&path).expect("can be looked at").findings.is_empty());
        let Ok((mut disk, _)) = Disk::open(&path) else { continue };
        let mut page = [0; 2048];
        for lpn in 0..200_u64 {
            if disk.read(lpn * 2048 * 3, &mut page).is_ok() {
                assert!(page == [lpn as u8 + 1; 2048] || page == [0; 2048], "seed {seed}: a wrong byte in page {lpn}");
            }
            let _ = disk.write(lpn * 2048, &page, 0);
        }
        let _ = disk.shutdown();
    }
    assert!(damaged > 50, "{damaged} of 60");
}

#[test]
fn times_count_from_when_the_disk_was_opened() {
    let mut config = config();
    config.engine.chip.times = ChipProfile::by_name("w25n01gv").expect("known").times;
    let program_us = config.engine.chip.times.as_ref().expect("times").program_us;
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("disk.ww");
    let mut disk = Disk::create(&path, &config).expect("created");
    for _ in 0..2 {
        disk.set_time_us(1_000_000);
        disk.write(0, &[1; 2048], 0).expect("write");
        disk.flush().expect("flush");
        let took_us = disk.sim_us() - 1e6;
        assert!((program_us..100.0 * program_us).contains(&took_us), "{took_us} us");
        drop(disk);
        (disk, _) = Disk::open(&path).expect("opens");
        assert!(disk.sim_us() < 1e5, "counts from the opening");
    }
    assert!(disk.report().sim_seconds.is_some());
}

#[test]
fn after_a_cut_every_command_fails_until_the_image_is_opened_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let (path, _) = used_image(dir.path());
    let (mut disk, _) = Disk::open(&path).expect("opens");
    let at_op = disk.chip_ops() + 5;
    disk.arm_cut(Some(PowerCut { at_op, outcome: CutOutcome::ProgramUncorrectable })).unwrap();
    assert!((0..200).any(|page| disk.write(page * 2048, &[5; 2048], 0).is_err()));
    assert!(disk.is_off() && disk.flush().is_err());
    drop(disk);
    let (mut disk, found) = Disk::open(&path).expect("opens");
    assert!(!found.clean);
    let mut page = [0; 2048];
    disk.read(199 * 3 * 2048, &mut page).expect("read");
    assert_eq!(page, [200; 2048]);
}

#[test]
fn an_image_holds_what_was_flushed_though_nobody_shut_it_down() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("disk.ww");
    let mut twin = Twin::new(Disk::create(&path, &config()).expect("created"), 7);
    for round in 0..12 {
        for _ in 0..150 {
            twin.step();
        }
        let shut_down = round % 3 == 2;
        if shut_down {
            twin.disk.shutdown().expect("shut down")
        } else {
            twin.disk.flush().expect("flush")
        }
        let clean;
        (twin, clean) = reopen(&path, twin);
        assert_eq!(clean, shut_down, "round {round}");
        twin.check(0, twin.model.len());
        twin.check_extents();
    }
}

#[test]
fn a_fresh_disk_is_a_hole() {
    let mut disk = Disk::memory(&config()).expect("a disk");
    let whole = disk.extent(0, u64::MAX);
    assert_eq!((whole.bytes, whole.allocated), (disk.bytes(), false));
    disk.write(5000, &[1], 0).expect("write");
    assert_eq!((disk.extent(0, u64::MAX).bytes, disk.extent(0, 100).bytes), (4096, 100));
    let written = disk.extent(5000, u64::MAX);
    assert_eq!((written.bytes, written.allocated), (6144 - 5000, true), "though it waits in the write buffer");
    assert_eq!(disk.extent(disk.bytes(), 1).bytes, 0);
}

#[test]
fn what_lies_beyond_the_end_is_refused() {
    let mut disk = Disk::memory(&config()).expect("a disk");
    let end = disk.bytes();
    disk.read(end, &mut []).expect("nothing at the end");
    disk.read(end - 1, &mut [0; 2]).expect_err("one byte too many");
    disk.write(u64::MAX, &[0; 2], 0).expect_err("beyond all");
    disk.discard(end, 1).expect_err("one byte");
}

#[test]
fn a_disk_in_memory_has_at_least_the_size_asked_for() {
    for bytes in [1, 4096, 1 << 20, 100_000_001] {
        let disk = Disk::memory(&DiskConfig::of_size(bytes).expect("fits")).expect("a disk");
        assert!(disk.bytes() >= bytes && disk.bytes() < bytes + 4096, "{bytes}: {}", disk.bytes());
    }
}

#[test]
fn what_the_host_calls_read_only_has_segments_of_its_own() {
    let mut config = config();
    config.engine.place = Placement::HotColdReadonly;
    let mut disk = Disk::memory(&config).expect("a disk");
    disk.write(0, &[1; 20 * 2048], 0).expect("write");
    disk.hint_read_only(true);
    disk.write(1 << 20, &[2; 20 * 2048], 0).expect("write");
    disk.hint_read_only(false);
    disk.write(20 * 2048, &[3; 2048], 0).expect("write");
    let pages = |class| disk.segments().iter().filter(|s| s.class == Some(class)).map(|s| s.valid_pages).sum::<u32>();
    assert_eq!([0, 1, 2].map(pages), [0, 21, 20], "hot, cold, read-only");
}
