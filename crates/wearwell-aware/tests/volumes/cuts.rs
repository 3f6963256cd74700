//! Power cuts between operations, in the middle of them, and again while epochs pass, under each engine.

use std::collections::{BTreeMap, BTreeSet};

use fatfs::FatType;
use wearwell::logblock::{Recycling, Scheme};
use wearwell::{BlockDevice, Reclamation, Rng, Sectors};
use wearwell_aware::{Aware, Config, State};
use wearwell_emu::{CutOutcome, EmuChip, PowerCut};
use wearwell_sim::fat::{Device, Volume};

use crate::differential::Script;
use crate::engines::{Blocks, Forgetful, Make};
use crate::rig::{Chip, Disk, Engine, Format, SECTOR};
use crate::spy::Discards;

const FORMAT: Format = Format::new(FatType::Fat12, 640, 1024);

type Bytes = [u8; SECTOR];

/// What the device promised when the last flush returned, and what was sent to it since.
///
/// A sector is *gone* if its whole page was dead at some flush, so that the page was discarded, and no flush has made a
/// later write durable. It must never show what it held before. A sector that is dead in a page with other live data
/// comes back after a mount, by design.
struct Promised {
    /// For each sector, its content at the flush and everything written to it since.
    contents: Vec<Vec<Bytes>>,
    gone: BTreeSet<u64>,
    /// Sectors that were dead or old: the flush that was cut may have discarded these too.
    going: BTreeSet<u64>,
}

impl Promised {
    fn of(image: &[u8]) -> Self {
        let contents = image.chunks_exact(SECTOR).map(|sector| vec![sector.try_into().expect("512 bytes")]);
        Self { contents: contents.collect(), gone: BTreeSet::new(), going: BTreeSet::new() }
    }

    fn flushed(&mut self, aware: &Aware<Engine>) {
        for (lba, contents) in (0..).zip(&mut self.contents) {
            if contents.len() > 1 {
                self.gone.remove(&lba);
                contents.drain(..contents.len() - 1);
            }
        }
        self.gone.extend(dead_pages(aware));
        let is_going = |lba: &u64| matches!(aware.state_at(*lba), Some(State::Dead | State::Old));
        self.going = (0..aware.sectors()).filter(is_going).collect();
    }

    /// Checks that each sector holds its content at the flush or something written since, or zeros if it may have been
    /// discarded. A sector that is gone must not hold its old content.
    fn check(&self, found: &[Bytes]) -> Result<(), String> {
        for (lba, found) in (0_u64..).zip(found) {
            let contents = &self.contents[lba as usize];
            let is_gone = self.gone.contains(&lba);
            let is_zeros = *found == [0; SECTOR] && (is_gone || self.going.contains(&lba));
            if !is_zeros && !contents[usize::from(is_gone)..].contains(found) {
                let came_back = if is_gone && contents[0] == *found { "came back from the dead" } else { "is wrong" };
                return Err(format!("sector {lba} {came_back}"));
            }
        }
        Ok(())
    }
}

/// Sectors of pages in which everything is dead.
fn dead_pages(aware: &Aware<Engine>) -> Vec<u64> {
    let page_sectors = u64::from(aware.page_bytes()) / SECTOR as u64;
    let pages = (0..aware.sectors()).step_by(page_sectors as usize).map(|start| start..start + page_sectors);
    pages.filter(|page| page.clone().all(|lba| aware.state_at(lba) == Some(State::Dead))).flatten().collect()
}

/// A disk that records what it promised.
struct Shadowed {
    disk: Disk<Aware<Engine>>,
    promised: Promised,
}

impl Device for Shadowed {
    fn sectors(&self) -> u64 {
        self.disk.sectors()
    }

    fn read(&mut self, sector: u64, data: &mut [u8]) -> std::io::Result<()> {
        self.disk.read(sector, data)
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> std::io::Result<()> {
        for (contents, bytes) in self.promised.contents[sector as usize..].iter_mut().zip(data.chunks_exact(SECTOR)) {
            contents.push(bytes.try_into().expect("512 bytes"));
        }
        self.disk.write(sector, data)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.disk.pass(20);
        self.disk.flush()?;
        self.promised.flushed(&self.disk.ftl);
        Ok(())
    }
}

fn arm(aware: &mut Aware<Engine>, rng: &mut Rng, within: u32) {
    let chip = aware.inner_mut().chip_mut();
    let at_op = chip.ops() + u64::from(rng.below(within));
    chip.arm(Some(PowerCut { at_op, outcome: CutOutcome::Seeded { seed: at_op } }));
}

/// Turns the power on and mounts.
fn remount<M: Make>(make: M, disk: Disk<Aware<Engine>>) -> Disk<Aware<Engine>> {
    let now_us = disk.now_us;
    let mut nand = disk.ftl.into_inner().into_chip();
    nand.arm(None);
    nand.power_on();
    let mut disk = Disk::behind(Aware::new(make.mount(nand), Config::DEFAULT), 0);
    disk.now_us = now_us;
    disk.pass(0);
    assert_eq!(disk.ftl.not_understood(), None);
    disk
}

fn read_all(disk: &mut Disk<Aware<Engine>>) -> Vec<Bytes> {
    let mut sector = [0; SECTOR];
    let mut read = |start| {
        disk.ftl.read(Sectors { start, count: 1 }, &mut sector).expect("it can be read");
        sector
    };
    (0..u64::from(FORMAT.sectors)).map(&mut read).collect()
}

/// Checks all files except the one that was being changed.
fn check_files(disk: &mut Disk<Aware<Engine>>, files: &BTreeMap<String, Vec<u8>>, in_work: &str) -> Result<(), String> {
    let mut volume = Volume::mount(disk).map_err(|error| error.to_string())?;
    for (path, data) in files.iter().filter(|(path, _)| *path != in_work) {
        if volume.read(path).map_err(|error| error.to_string())? != *data {
            return Err(format!("{path} holds something else"));
        }
    }
    Ok(())
}

/// The state of a life at its first cut.
struct Cut {
    disk: Disk<Aware<Engine>>,
    promised: Promised,
    files: BTreeMap<String, Vec<u8>>,
    in_work: String,
}

/// Does operations until the power is cut.
fn live<M: Make>(make: M, seed: u64, rng: &mut Rng) -> Cut {
    let image = FORMAT.image();
    let mut disk = Disk::behind(Aware::new(make.format(), Config::DEFAULT), 0);
    disk.pass(0);
    disk.put_image(&image);
    let mut shadowed = Shadowed { disk, promised: Promised::of(&image) };
    let mut script = Script::new(seed, 24_000, 6);
    // One directory, so that the file being changed affects no other file.
    script.dirs = vec![String::new(); 4];
    let mut volume = Volume::mount(&mut shadowed).expect("a volume");
    let mut in_work = String::new();
    for step in 0.. {
        if step == 40 {
            arm(&mut volume.device().disk.ftl, rng, 400);
        }
        let bytes: usize = script.files.values().map(Vec::len).sum();
        script.most_files = if bytes > 150_000 { 1 } else { 6 };
        in_work.clear();
        if script.step(&mut volume, |path| in_work.push_str(path)).is_err() {
            break;
        }
    }
    drop(volume);
    let Shadowed { disk, promised } = shadowed;
    Cut { disk, promised, files: script.files, in_work }
}

/// One life: operations until the cut, a mount, a second cut while epochs pass, a third mount; then epochs that are not
/// cut, and a last mount. Returns how many sectors were gone at the first cut.
fn life<M: Make>(make: M, seed: u64) -> Result<usize, String> {
    let mut rng = Rng::new(seed ^ 0xC07);
    let Cut { disk, promised, files, in_work } = live(make, seed, &mut rng);
    let at = |when: &'static str| move |what: String| format!("seed {seed}, {when}: {what}");
    let mut disk = remount(make, disk);
    let mut held = read_all(&mut disk);
    promised.check(&held).map_err(at("after the cut"))?;
    check_files(&mut disk, &files, &in_work).map_err(at("after the cut"))?;

    // Nobody writes any more. Free clusters may become zeros, and nothing else happens.
    arm(&mut disk.ftl, &mut rng, 6);
    let _ = disk.pass_epochs(4);
    for when in ["after a second cut", "epochs later"] {
        let mut gone = Vec::new();
        if when == "epochs later" {
            disk.pass_epochs(4).map_err(|error| error.to_string())?;
            gone = dead_pages(&disk.ftl);
        }
        disk = remount(make, disk);
        let found = read_all(&mut disk);
        for (lba, (found, held)) in (0..).zip(found.iter().zip(&held)) {
            let is_free = disk.ftl.state_at(lba).is_some_and(|state| state != State::Live);
            let is_right = if gone.contains(&lba) { *found == [0; SECTOR] } else { found == held };
            if !(is_right || is_free && *found == [0; SECTOR]) {
                return Err(at(when)(format!("sector {lba} is neither what it was nor discarded")));
            }
        }
        check_files(&mut disk, &files, &in_work).map_err(at(when))?;
        held = found;
    }
    Ok(promised.gone.len())
}

/// Runs the lives of some seeds. In most of them something must be gone at the cut.
fn lives<M: Make>(make: M, seeds: u32) {
    let gone = (0..u64::from(seeds)).map(|seed| life(make, seed).unwrap_or_else(|what| panic!("{what}")));
    let with_gone = gone.filter(|&gone| gone > 0).count();
    assert!(with_gone as u32 > seeds * 4 / 5, "something was gone in only {with_gone} of {seeds} lives");
}

#[test]
fn nothing_reachable_is_lost_and_nothing_dead_comes_back() {
    for page_bytes in [512, 2048] {
        lives(Chip { page_bytes, sectors: 640 }, 60);
    }
}

#[test]
fn nor_under_block_mapping() {
    let reclaims = ["at-once", "proactive:0.1:0.3:0"].map(|text| Reclamation::parse(text).expect("listed"));
    let log_block = Scheme::LogBlock(Recycling::parse("cost-based").expect("listed"));
    for scheme in [Scheme::PrimaryReplacement, log_block] {
        for reclaim in reclaims {
            for page_bytes in [512, 2048] {
                lives(Blocks { chip: Chip { page_bytes, sectors: 640 }, scheme, reclaim }, 20);
            }
        }
    }
}

#[test]
fn an_engine_that_forgets_discards_is_found_out() {
    let chip = Chip { page_bytes: 512, sectors: 640 };
    for discards in [Discards::Forgotten, Discards::Late] {
        let results = (0..30).map(|seed| life(Forgetful(chip, discards), seed));
        let errors: Vec<String> = results.filter_map(Result::err).collect();
        let came_back = errors.iter().filter(|what| what.ends_with("came back from the dead")).count();
        assert!(came_back > 0 && came_back == errors.len(), "{discards:?}: {errors:?}");
    }
}
