//! File systems made, changed and repaired by their own tools, on a device with inference and on one without: under a
//! host that keeps writes back, and cuts the power takes at any sector.
//!
//! The tools need no mount: `debugfs -w` changes ext4, a writer of this test exFAT, and `e2fsck` and `fsck.exfat` judge and
//! repair both. Where a tool is missing a test says so and does nothing (Debian: e2fsprogs, exfatprogs).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use wearwell::{Ftl, Rng};
use wearwell_aware::{Aware, Config, Counters, Kind, Mode, State, Width};
use wearwell_emu::{CutOutcome, EmuChip, EmuNand, PowerCut};
use wearwell_sim::fat::Device;

use crate::exfat_files::ExFat;
use crate::ext::{temporary, tool};
use crate::host::CachingHost;
use crate::rig::{Chip, Disk, Engine, SECTOR, content};

/// Both devices, each under a host that does the same.
struct Twins {
    chip: Chip,
    config: Config,
    seed: u64,
    bare: CachingHost<Engine>,
    aware: CachingHost<Aware<Engine>>,
    /// Sectors that have died and were not written since, up to the operation in work; and of these the ones whose new
    /// content the host lost in a cut. Their old content is zeros, whatever the tables say.
    dead: BTreeSet<u64>,
    lost: BTreeSet<u64>,
}

impl Twins {
    fn new(image: &[u8], config: Config, seed: u64) -> Self {
        let chip = Chip { page_bytes: 512, sectors: (image.len() / SECTOR) as u64 };
        let mut bare = Disk::behind(chip.format(), 0);
        let mut aware = Disk::behind(Aware::new(chip.format(), config), 0);
        aware.pass(0);
        bare.put_image(image);
        aware.put_image(image);
        let (bare, aware) = (CachingHost::new(bare, seed), CachingHost::new(aware, seed));
        Self { chip, config, seed, bare, aware, dead: BTreeSet::new(), lost: BTreeSet::new() }
    }

    /// Writes what differs between two images; both hosts keep it back.
    fn apply(&mut self, before: &[u8], after: &[u8]) -> std::io::Result<()> {
        for (sector, bytes) in changes(before, after) {
            self.aware.write(sector, bytes)?;
            self.bare.write(sector, bytes)?;
        }
        let done = self.aware.flush();
        self.bare.fuse = done.is_err().then_some(self.aware.written);
        let _ = self.bare.flush();
        done
    }

    /// The same, written at once.
    fn put(&mut self, before: &[u8], after: &[u8]) {
        for (sector, bytes) in changes(before, after) {
            self.aware.disk.write(sector, bytes).expect("no cut is armed");
            self.bare.disk.write(sector, bytes).expect("no cut is armed");
        }
        self.flush();
    }

    fn flush(&mut self) {
        self.aware.disk.flush().expect("no cut is armed");
        self.bare.disk.flush().expect("no cut is armed");
    }

    /// Writes all that the hosts keep back, and lets everything die that may.
    fn settle(&mut self) {
        self.aware.drain().expect("no cut is armed");
        self.bare.drain().expect("no cut is armed");
        self.aware.disk.pass_epochs(3).expect("no cut is armed");
        self.bare.disk.pass_epochs(3).expect("no cut is armed");
    }

    fn note_dead(&mut self) {
        for sector in self.aware.reached.drain(..) {
            self.dead.remove(&sector);
        }
        let aware = &self.aware.disk.ftl;
        self.dead.extend((0..aware.sectors()).filter(|&lba| aware.state_at(lba) == Some(State::Dead)));
    }

    fn arm(&mut self, rng: &mut Rng) {
        let chip = self.aware.disk.ftl.inner_mut().log_mut().chip_mut();
        let at_op = chip.ops() + u64::from(rng.below(200));
        chip.arm(Some(PowerCut { at_op, outcome: CutOutcome::Seeded { seed: at_op } }));
    }

    /// The power is back, and what the hosts had kept back is gone. A sector that was on its way has its old or its new
    /// content, and the device without inference is given the same.
    fn mount(mut self) -> Self {
        let now_us = self.aware.disk.now_us;
        self.note_dead();
        self.lost.extend(self.aware.kept_back().filter(|sector| self.dead.contains(sector)));
        let in_flight = self.aware.in_flight.take();
        let (chip, config, seed) = (self.chip, self.config, self.seed + 1000);
        let mut bare = Disk::behind(chip.mount(powered(self.bare.disk.ftl.into_log().into_chip())), 0);
        let nand = powered(self.aware.disk.ftl.into_inner().into_log().into_chip());
        let mut aware = Disk::behind(Aware::new(chip.mount(nand), config), 0);
        (aware.now_us, bare.now_us) = (now_us, now_us);
        aware.pass(0);
        if let Some((sector, new)) = in_flight {
            let (mut found, mut old) = ([0; SECTOR], [0; SECTOR]);
            aware.read(sector, &mut found).expect("it can be read");
            bare.read(sector, &mut old).expect("it can be read");
            let was_dead = self.dead.contains(&sector) && found == [0; SECTOR];
            assert!(
                was_dead || found == old || found[..] == new,
                "seed {seed}: sector {sector} is neither old nor new"
            );
            if !was_dead {
                bare.write(sector, &found).expect("no cut is armed");
            }
        }
        let (bare, aware) = (CachingHost::new(bare, seed), CachingHost::new(aware, seed));
        Self { chip, config, seed, bare, aware, dead: BTreeSet::new(), lost: self.lost }
    }

    fn bare_image(&mut self) -> Vec<u8> {
        image_of(&mut self.bare.disk)
    }

    fn aware_image(&mut self) -> Vec<u8> {
        image_of(&mut self.aware.disk)
    }

    fn counters(&self) -> Counters {
        self.aware.disk.ftl.counters()
    }
}

fn powered(mut nand: EmuNand) -> EmuNand {
    nand.arm(None);
    nand.power_on();
    nand
}

fn image_of<F: Ftl>(disk: &mut Disk<F>) -> Vec<u8> {
    let mut image = vec![0; disk.sectors() as usize * SECTOR];
    disk.read(0, &mut image).expect("it can be read");
    image
}

/// The sectors that differ, as they are afterwards.
fn changes<'a>(before: &'a [u8], after: &'a [u8]) -> impl Iterator<Item = (u64, &'a [u8])> {
    let sectors = (0_u64..).zip(before.chunks(SECTOR).zip(after.chunks(SECTOR)));
    sectors.filter(|(_, (before, after))| before != after).map(|(sector, (_, after))| (sector, after))
}

/// What a tool makes of an image, and its exit code.
fn through(file: &Path, image: &[u8], name: &str, options: &[&str]) -> (Vec<u8>, i32) {
    std::fs::write(file, image).expect("room in the temporary directory");
    let done = tool(name).expect("it was there").args(options).arg(file).output().expect("it runs");
    (std::fs::read(file).expect("it is there"), done.status.code().unwrap_or(-1))
}

/// Makes a volume. None if a tool that a test needs is missing.
fn made(file: &Path, mkfs: &str, options: &str, others: &[&str]) -> Option<Vec<u8>> {
    let mut mkfs = tool(mkfs)?;
    for other in others {
        tool(other)?;
    }
    let done = mkfs.args(options.split_whitespace()).arg(file).output().expect("it runs");
    assert!(done.status.success(), "{options}: {}", String::from_utf8_lossy(&done.stderr));
    Some(std::fs::read(file).expect("it was made"))
}

/// The first sector that differs and that is not `free`.
fn difference(here: &[u8], there: &[u8], free: &[u64]) -> Option<u64> {
    changes(here, there).map(|(sector, _)| sector).find(|sector| free.binary_search(sector).is_err())
}

/// A disk to look at an image with.
struct Held(Vec<u8>);

impl Device for Held {
    fn sectors(&self) -> u64 {
        (self.0.len() / SECTOR) as u64
    }
    fn read(&mut self, sector: u64, data: &mut [u8]) -> std::io::Result<()> {
        data.copy_from_slice(&self.0[sector as usize * SECTOR..][..data.len()]);
        Ok(())
    }
    fn write(&mut self, sector: u64, data: &[u8]) -> std::io::Result<()> {
        self.0[sector as usize * SECTOR..][..data.len()].copy_from_slice(data);
        Ok(())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// An exFAT volume with room for some files in its root directory.
fn exfat(name: &str) -> Option<Vec<u8>> {
    let file = temporary(name, 3);
    let image = made(&file, "mkfs.exfat", "-c 512", &["fsck.exfat"]);
    std::fs::remove_file(&file).expect("it is there");
    let mut held = Held(image?);
    ExFat::mount(&mut held).and_then(|mut volume| volume.grow_root(3)).expect("a fresh volume has room");
    Some(held.0)
}

/// A few operations on files, which both hosts do alike. Few clusters are in use, so that they are again soon.
fn work_on_exfat(twins: &mut Twins, rng: &mut Rng, steps: u32) -> std::io::Result<()> {
    for step in 0..steps {
        twins.note_dead();
        let names: Vec<String> = ExFat::mount(&mut twins.bare)?.files()?.into_keys().collect();
        let victim = names.get(rng.below(12) as usize).cloned();
        let (name, data) = (format!("F{}X{step}", rng.below(1000)), content(rng, 4000));
        let data = &data[..1 + rng.below(4000) as usize];
        let done = exfat_step(&mut twins.aware, victim.as_deref(), &name, data);
        twins.bare.fuse = done.is_err().then_some(twins.aware.written);
        let _ = exfat_step(&mut twins.bare, victim.as_deref(), &name, data);
        done?;
    }
    Ok(())
}

fn exfat_step(device: &mut impl Device, victim: Option<&str>, name: &str, data: &[u8]) -> std::io::Result<()> {
    let mut volume = ExFat::mount(device)?;
    match victim {
        Some(victim) => volume.remove(victim),
        None => volume.create(name, data),
    }
}

/// What of an exFAT volume can be reached is the same on both. What is free may differ; and in use, but never written, what
/// the host lost in a cut.
fn exfat_difference(twins: &mut Twins) -> Option<String> {
    let (mut bare, mut aware) = (Held(twins.bare_image()), Held(twins.aware_image()));
    let zeros = |sector: &u64| aware.0[*sector as usize * SECTOR..][..SECTOR].iter().all(|&byte| byte == 0);
    let mut may_differ = ExFat::mount(&mut bare).and_then(|mut volume| volume.free_sectors()).expect("a volume");
    may_differ.extend(twins.lost.iter().filter(|sector| zeros(sector)));
    may_differ.sort_unstable();
    if let Some(sector) = difference(&aware.0, &bare.0, &may_differ) {
        return Some(format!("sector {sector} differs, which is in use"));
    }
    let files = |device: &mut Held| ExFat::mount(device).and_then(|mut volume| volume.files()).expect("a volume");
    let sizes = |files: BTreeMap<String, Vec<u8>>| -> Vec<_> { files.into_iter().map(|(n, d)| (n, d.len())).collect() };
    (sizes(files(&mut bare)) != sizes(files(&mut aware))).then(|| "the files differ".to_owned())
}

/// Files come and go, the power fails, `fsck.exfat` repairs, and they come and go again. What differs, if anything; and
/// whether the power failed in the middle of something.
fn exfat_life(image: &[u8], config: Config, seed: u64) -> (Result<(), String>, bool, Counters) {
    let file = temporary(&format!("exfat-life-{seed}-{:?}", config.mode), 0);
    let mut rng = Rng::new(seed ^ 0xE0F);
    let mut twins = Twins::new(image, config, seed);
    let life = |twins: Twins, rng: &mut Rng| -> (Result<(), String>, bool, Twins) {
        let mut twins = twins;
        work_on_exfat(&mut twins, rng, 160).expect("no cut is armed");
        twins.arm(rng);
        let was_cut = work_on_exfat(&mut twins, rng, 60).is_err();
        let mut twins = twins.mount();
        if let Some(what) = exfat_difference(&mut twins) {
            return (Err(format!("after the cut: {what}")), was_cut, twins);
        }
        let cut = twins.bare_image();
        let (repaired, code) = through(&file, &cut, "fsck.exfat", &["-y"]);
        assert!(code == 0 || code == 1, "seed {seed}: fsck.exfat gives up with {code}");
        twins.put(&cut, &repaired);
        work_on_exfat(&mut twins, rng, 160).expect("no cut is armed");
        twins.settle();
        let left = twins.aware_image();
        let end = match exfat_difference(&mut twins) {
            Some(what) => Err(format!("at the end: {what}")),
            None if through(&file, &left, "fsck.exfat", &["-n"]).1 != 0 => Err("fsck.exfat finds a fault".to_owned()),
            None => Ok(()),
        };
        (end, was_cut, twins)
    };
    let (result, was_cut, ended) = life(twins, &mut rng);
    twins = ended;
    let _ = std::fs::remove_file(&file);
    (result, was_cut, twins.counters())
}

#[test]
fn exfat_is_the_same_with_inference_and_without() {
    let Some(image) = exfat("exfat-twin") else { return };
    let (mut cuts, mut committed) = (0, 0);
    for seed in 0..20 {
        let (result, was_cut, counters) = exfat_life(&image, Config::DEFAULT, seed);
        assert_eq!(result, Ok(()), "seed {seed}");
        cuts += u32::from(was_cut);
        committed += counters.committed_clusters;
    }
    assert!(cuts >= 15, "{cuts} of 20 lives were cut amid something");
    assert!(committed > 20 * 1900, "{committed} clusters became dead");
    let paper = Config { mode: Mode::Paper, ..Config::DEFAULT };
    let failed = (0..20).filter(|&seed| exfat_life(&image, paper, seed).0.is_err()).count();
    assert!(failed >= 5, "paper loses data in {failed} of 20 lives");
}

/// Changes an ext4 volume as a program with files would.
fn debugfs(file: &Path, rng: &mut Rng, step: u32) {
    let source = file.with_extension("data");
    let data = content(rng, 30_000);
    std::fs::write(&source, &data[..1 + rng.below(30_000) as usize]).expect("room in the temporary directory");
    let victim = step.saturating_sub(1 + rng.below(12));
    let commands = match rng.below(5) {
        0 => format!("mkdir D{step}\n"),
        1 | 2 => format!("rm F{victim}\n"),
        _ => format!("write {} F{step}\nwrite {} G{step}\n", source.display(), source.display()),
    };
    let list = file.with_extension("commands");
    std::fs::write(&list, commands).expect("room in the temporary directory");
    let mut debugfs = tool("debugfs").expect("it was there");
    let done = debugfs.args(["-w", "-f"]).arg(&list).arg(file).output().expect("it runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for file in [source, list] {
        std::fs::remove_file(file).expect("it is there");
    }
}

/// The tool's changes go to both devices. Returns the volume as the tool sees it.
fn work_on_ext4(twins: &mut Twins, file: &Path, image: Vec<u8>, rng: &mut Rng, steps: u32) -> (Vec<u8>, bool) {
    let mut image = image;
    std::fs::write(file, &image).expect("room in the temporary directory");
    for step in 0..steps {
        debugfs(file, rng, step);
        let after = std::fs::read(file).expect("it is there");
        let done = twins.apply(&image, &after);
        image = after;
        if done.is_err() {
            return (image, true);
        }
    }
    (image, false)
}

/// What `e2fsck` makes of a volume; where the cut has left half a superblock, by the copy of it in block `copy`.
fn repaired_ext4(file: &Path, cut: &[u8], copy: &str) -> Vec<u8> {
    let (repaired, code) = through(file, cut, "e2fsck", &["-f", "-y"]);
    if (0..4).contains(&code) {
        return repaired;
    }
    let (repaired, code) = through(file, cut, "e2fsck", &["-f", "-y", "-b", copy, "-B", "1024"]);
    assert!((0..4).contains(&code), "e2fsck gives up with {code}");
    repaired
}

#[test]
fn ext4_is_the_same_with_inference_and_without() {
    let file = temporary("ext4-twin", 8);
    let Some(image) = made(&file, "mkfs.ext4", "-q -F -b 1024 -g 4096", &["debugfs", "e2fsck"]) else { return };
    let mut cuts = 0;
    for seed in 0..4 {
        // Nothing is inferred to be dead in ext4: the boldest mode has nothing to lose either.
        let mode = if seed % 2 == 0 { Mode::Strict } else { Mode::Paper };
        let mut rng = Rng::new(seed ^ 0xE44);
        let mut twins = Twins::new(&image, Config { mode, ..Config::DEFAULT }, seed);
        let journal = twins.aware.disk.ftl.journals().next().expect("a journal");
        assert_eq!(twins.aware.disk.ftl.kind_at(journal.start), Some(Kind::Journal));
        let (_, early) = work_on_ext4(&mut twins, &file, image.clone(), &mut rng, 20);
        assert!(!early, "no cut is armed");
        let before = std::fs::read(&file).expect("it is there");
        twins.arm(&mut rng);
        cuts += u32::from(work_on_ext4(&mut twins, &file, before, &mut rng, 20).1);
        let mut twins = twins.mount();
        let cut = twins.bare_image();
        assert_eq!(difference(&twins.aware_image(), &cut, &[]), None, "seed {seed}, after the cut");
        let repaired = repaired_ext4(&file, &cut, "4097");
        twins.put(&cut, &repaired);
        let (tools, _) = work_on_ext4(&mut twins, &file, repaired, &mut rng, 10);
        twins.settle();
        let left = twins.aware_image();
        assert_eq!(difference(&left, &tools, &[]), None, "seed {seed}: what the tools made");
        assert_eq!(difference(&left, &twins.bare_image(), &[]), None, "seed {seed}, at the end");
        assert_eq!(through(&file, &left, "e2fsck", &["-f", "-n"]).1, 0, "seed {seed}");
        assert_eq!(twins.counters().committed_clusters, 0);
    }
    std::fs::remove_file(&file).expect("it is there");
    assert!(cuts >= 3, "{cuts} of 4 were cut amid something");
}

/// The power fails while the volume is made, or while it is worked on, or not at all; the tools begin anew, or repair.
/// Returns the volume as the tools see it, and whether the power failed amid something.
fn ext4_over_exfat(mut twins: Twins, file: &Path, new: &[u8], rng: &mut Rng, seed: u64) -> (Twins, Vec<u8>, bool) {
    let old = twins.bare_image();
    let (amid_making, amid_work) = (seed % 3 == 1, seed % 3 == 2);
    if amid_making {
        twins.arm(rng);
    }
    let mut cut = twins.apply(&old, new).is_err();
    if amid_making {
        twins = twins.mount();
        twins.put(&old, new);
    }
    let (mut tools, _) = work_on_ext4(&mut twins, file, new.to_vec(), rng, 10);
    if amid_work {
        twins.arm(rng);
        (_, cut) = work_on_ext4(&mut twins, file, tools, rng, 20);
        twins = twins.mount();
        let found = twins.bare_image();
        assert_eq!(written_difference(&old, &twins.aware_image(), &found), None, "seed {seed}, after the cut");
        tools = repaired_ext4(file, &found, "1025");
        twins.put(&found, &tools);
    }
    let (tools, early) = work_on_ext4(&mut twins, file, tools, rng, 10);
    assert!(!early, "no cut is armed");
    (twins, tools, cut)
}

/// The first sector that differs, of those that do not hold what they held `before`.
fn written_difference(before: &[u8], here: &[u8], there: &[u8]) -> Option<u64> {
    let written: BTreeSet<u64> = changes(before, there).map(|(sector, _)| sector).collect();
    changes(here, there).map(|(sector, _)| sector).find(|sector| written.contains(sector))
}

/// A device that was exFAT becomes ext4: nothing may die for what the old tables say.
#[test]
fn ext4_made_over_exfat_is_left_alone() {
    let Some(old) = exfat("exfat-before") else { return };
    let file = temporary("ext4-over", 3);
    std::fs::write(&file, &old).expect("room in the temporary directory");
    let Some(new) = made(&file, "mkfs.ext4", "-q -F -b 1024 -g 1024 -O ^has_journal", &["debugfs", "e2fsck"]) else {
        return;
    };
    let mut cuts = 0;
    for seed in 0..9 {
        let mut rng = Rng::new(seed);
        let mut twins = Twins::new(&old, Config::DEFAULT, seed);
        work_on_exfat(&mut twins, &mut rng, 20).expect("no cut is armed");
        twins.settle();
        assert_eq!(twins.aware.disk.ftl.volumes().next().map(|volume| volume.width), Some(Width::ExFat));
        let before = twins.bare_image();
        let (mut twins, tools, cut) = ext4_over_exfat(twins, &file, &new, &mut rng, seed);
        cuts += u32::from(cut);
        twins.settle();
        let left = twins.aware_image();
        // `debugfs` may fail to extend the root directory, and then leaves a directory without a name: on both alike.
        let judged = through(&file, &left, "e2fsck", &["-f", "-n"]).1;
        assert_eq!(judged, through(&file, &tools, "e2fsck", &["-f", "-n"]).1, "seed {seed}");
        // What neither wrote is the old volume's, and free in the new one.
        assert_eq!(written_difference(&before, &left, &tools), None, "seed {seed}");
    }
    std::fs::remove_file(&file).expect("it is there");
    assert!(cuts >= 4, "{cuts} of 6 were cut amid something");
}
