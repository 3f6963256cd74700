//! Power cuts: between operations and in the middle of them, and again while epochs pass.

use std::collections::BTreeMap;

use fatfs::FatType;
use wearwell::{Ftl, Rng, Sectors};
use wearwell_aware::{Aware, Config, State};
use wearwell_emu::{CutOutcome, EmuChip, EmuNand, PowerCut};
use wearwell_sim::fat::{Device, Volume};

use crate::differential::Script;
use crate::rig::{Chip, Disk, Engine, Format};

const FORMAT: Format = Format::new(FatType::Fat12, 640, 1024);

type Contents = BTreeMap<u64, Vec<Vec<u8>>>;

/// A disk that remembers what each sector held before the operation in work, and what that wrote to it.
struct Shadowed {
    disk: Disk<Aware<Engine>>,
    contents: Contents,
}

impl Shadowed {
    fn begin_operation(&mut self) {
        for contents in self.contents.values_mut() {
            contents.drain(..contents.len() - 1);
        }
    }
}

impl Device for Shadowed {
    fn sectors(&self) -> u64 {
        self.disk.sectors()
    }

    fn read(&mut self, sector: u64, data: &mut [u8]) -> std::io::Result<()> {
        self.disk.read(sector, data)
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> std::io::Result<()> {
        for (sector, bytes) in (sector..).zip(data.chunks(512)) {
            self.contents.entry(sector).or_default().push(bytes.to_vec());
        }
        self.disk.write(sector, data)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.disk.pass(20);
        self.disk.flush()
    }
}

fn arm(aware: &mut Aware<Engine>, rng: &mut Rng, within: u32) {
    let chip = aware.inner_mut().log_mut().chip_mut();
    let at_op = chip.ops() + u64::from(rng.below(within));
    chip.arm(Some(PowerCut { at_op, outcome: CutOutcome::Seeded { seed: at_op } }));
}

fn chip_of(aware: Aware<Engine>) -> EmuNand {
    aware.into_inner().into_log().into_chip()
}

fn remount(chip: Chip, mut nand: EmuNand, now_us: u64) -> Disk<Aware<Engine>> {
    nand.arm(None);
    nand.power_on();
    let mut disk = Disk::behind(Aware::new(chip.mount(nand), Config::DEFAULT), 0);
    disk.now_us = now_us;
    disk.pass(0);
    assert_eq!(disk.ftl.not_understood(), None);
    disk
}

/// All files but the one that was in work hold what they should.
fn check_files(disk: &mut Disk<Aware<Engine>>, files: &BTreeMap<String, Vec<u8>>, in_work: &str, when: &str) {
    let mut volume = Volume::mount(disk).expect("a volume");
    for (path, data) in files.iter().filter(|(path, _)| *path != in_work) {
        let found = volume.read(path).unwrap_or_else(|error| panic!("{when}: {error}"));
        assert!(found == *data, "{when}: {path} holds something else");
    }
}

/// What was dead before the operation in work is zeros, what it was before it was dead, or what the operation wrote.
fn check_dead(disk: &mut Disk<Aware<Engine>>, dead: &[u64], contents: &Contents, seed: u64) {
    for &lba in dead {
        let mut found = [0; 512];
        disk.ftl.read(Sectors { start: lba, count: 1 }, &mut found).expect("it can be read");
        let is_known = contents.get(&lba).is_some_and(|contents| contents.iter().any(|known| known[..] == found));
        assert!(is_known || found == [0; 512], "seed {seed}: sector {lba} came back as something else");
    }
}

fn dead_sectors(aware: &Aware<Engine>) -> Vec<u64> {
    (0..aware.sectors()).filter(|&lba| aware.state_at(lba) == Some(State::Dead)).collect()
}

/// What a life was at the moment of its first cut.
struct Cut {
    disk: Disk<Aware<Engine>>,
    contents: Contents,
    files: BTreeMap<String, Vec<u8>>,
    in_work: String,
    /// Sectors that were dead before the operation in work.
    dead: Vec<u64>,
}

/// Operations until the power is cut.
fn live(disk: Disk<Aware<Engine>>, seed: u64, rng: &mut Rng) -> Cut {
    let mut shadowed = Shadowed { disk, contents: Contents::new() };
    let mut script = Script::new(seed, 24_000, 6);
    // One directory, so that the file in work stands for nothing but itself.
    script.dirs = vec![String::new(); 4];
    let mut volume = Volume::mount(&mut shadowed).expect("a volume");
    let (mut in_work, mut dead) = (String::new(), Vec::new());
    for step in 0.. {
        if step == 40 {
            arm(&mut volume.device().disk.ftl, rng, 400);
        }
        let bytes: usize = script.files.values().map(Vec::len).sum();
        script.most_files = if bytes > 150_000 { 1 } else { 6 };
        volume.device().begin_operation();
        dead = dead_sectors(&volume.device().disk.ftl);
        in_work.clear();
        if script.step(&mut volume, |path| in_work.push_str(path)).is_err() {
            break;
        }
    }
    drop(volume);
    let Shadowed { disk, contents } = shadowed;
    Cut { disk, contents, files: script.files, in_work, dead }
}

/// One life: operations until the cut, a mount, a second cut while epochs pass, and a third mount. Returns whether
/// there was anything dead at the first cut.
fn life(seed: u64, page_bytes: u32) -> bool {
    let chip = Chip { page_bytes, sectors: 640 };
    let mut disk = Disk::behind(Aware::new(chip.format(), Config::DEFAULT), 0);
    disk.pass(0);
    disk.put_image(&FORMAT.image());
    let mut rng = Rng::new(seed ^ 0xC07);
    let Cut { disk, contents, files, in_work, dead } = live(disk, seed, &mut rng);
    let now_us = disk.now_us;
    let mut disk = remount(chip, chip_of(disk.ftl), now_us);
    check_dead(&mut disk, &dead, &contents, seed);
    check_files(&mut disk, &files, &in_work, &format!("seed {seed}, after the cut"));

    arm(&mut disk.ftl, &mut rng, 6);
    let cut = disk.pass_epochs(4).is_err();
    let now_us = disk.now_us;
    let mut disk = remount(chip, chip_of(disk.ftl), now_us);
    check_files(&mut disk, &files, &in_work, &format!("seed {seed}, second cut {cut}"));
    disk.pass_epochs(4).expect("no cut is armed");
    check_files(&mut disk, &files, &in_work, &format!("seed {seed}, epochs later"));
    !dead.is_empty()
}

#[test]
fn nothing_reachable_is_lost_and_nothing_dead_comes_back_changed() {
    for page_bytes in [512, 2048] {
        let dead = (0..60).filter(|&seed| life(seed, page_bytes)).count();
        assert!(dead > 50, "only {dead} of 60 lives had dead clusters");
    }
}
