//! A FAT volume on an engine that stores data: written files survive a power cut.

use std::io;

use wearwell::page::log::NandLog;
use wearwell::page::{PageConfig, PageFtl, Policies};
use wearwell::{BlockDevice, Inspect, Sectors, WriteHint};
use wearwell_emu::{ChipProfile, EmuNand, Faults};
use wearwell_sim::fat::{Device, Volume};

type Disk = PageFtl<NandLog<EmuNand>, ()>;

/// An engine as the device of a volume.
struct OnEngine<'a>(&'a mut Disk);

fn sectors(start: u64, bytes: usize) -> Sectors {
    Sectors { start, count: bytes as u64 / 512 }
}

impl Device for OnEngine<'_> {
    fn sectors(&self) -> u64 {
        self.0.sectors()
    }
    fn read(&mut self, sector: u64, data: &mut [u8]) -> io::Result<()> {
        self.0.read(sectors(sector, data.len()), data).map_err(io::Error::other)
    }
    fn write(&mut self, sector: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(sectors(sector, data.len()), data, WriteHint::NONE).map_err(io::Error::other)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(io::Error::other)
    }
}

fn content(file: usize, round: usize) -> Vec<u8> {
    (0..file * 700 + 1).map(|place| (place * 31 + file * 7 + round * 3) as u8).collect()
}

/// Cuts the power: only the chip is left.
fn cut(disk: Disk, config: PageConfig) -> Disk {
    let log = NandLog::new(disk.into_log().into_chip(), 1).expect("the same chip");
    let (disk, report) = PageFtl::mount(log, (), config).expect("a mount");
    assert!(!report.clean);
    disk
}

fn assert_holds(volume: &mut Volume<OnEngine<'_>>, round: usize) {
    assert_eq!(volume.files().expect("a listing").len(), 40);
    for file in 0..40 {
        let found = volume.read(&format!("DIR{}/FILE{file}", file % 4)).expect("a file");
        assert!(found == content(file, round), "file {file} of round {round} differs");
    }
}

#[test]
fn files_on_an_engine_survive_cuts() {
    let chip = ChipProfile::resolve("geometry:2048:64:64").expect("a geometry");
    let config = PageConfig { logical_pages: 3400, policies: Policies::default(), seed: 1, endurance: 100_000 };
    let chip = EmuNand::in_memory(&chip, Faults::default()).expect("a chip");
    let mut disk = PageFtl::format(NandLog::new(chip, 1).expect("a layout"), (), config).expect("an engine");
    Volume::format(OnEngine(&mut disk)).expect("a volume").unmount().expect("an unmount");
    for round in 0..6 {
        let mut volume = Volume::mount(OnEngine(&mut disk)).expect("the volume");
        for dir in 0..4 {
            if round == 0 {
                volume.make_dir(&format!("DIR{dir}")).expect("room");
            }
        }
        for file in 0..40 {
            let path = format!("DIR{}/FILE{file}", file % 4);
            if round > 0 {
                volume.remove(&path).expect("the file of the round before");
            }
            let content = content(file, round);
            let (first, rest) = content.split_at(content.len() / 3);
            volume.create(&path, first).expect("room");
            volume.append(&path, rest).expect("room");
        }
        if round % 2 == 0 {
            volume.unmount().expect("an unmount");
        } else {
            // Every operation was synced, so the volume needs no unmount.
            std::mem::forget(volume);
        }
        disk = cut(disk, config);
        assert_holds(&mut Volume::mount(OnEngine(&mut disk)).expect("the volume"), round);
    }
    assert!(disk.erase_counts().iter().sum::<u32>() > 64, "nothing was cleaned");
}
