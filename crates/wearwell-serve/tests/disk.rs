//! Disks beside a plain array: any byte range, over images that are left without a goodbye.

use std::path::Path;

use wearwell_emu::ChipProfile;
use wearwell_serve::disk::{Disk, DiskConfig};

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

fn reopen(path: &Path, twin: Twin) -> (Twin, bool) {
    let Twin { disk, model, rng } = twin;
    drop(disk);
    let (disk, found) = Disk::open(path).expect("opens");
    (Twin { disk, model, rng }, found.clean)
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
