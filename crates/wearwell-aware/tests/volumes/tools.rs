//! File systems that are made, changed and repaired by their own tools, on a device with inference and on one without.
//! The host holds writes back, and the power is cut at any sector.
//!
//! The tools need no mount: `debugfs -w` changes ext4, a writer of this test exFAT, and `e2fsck` and `fsck.exfat` check
//! and repair both. If a tool is missing, a test prints a message and does nothing (Debian: e2fsprogs, exfatprogs).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use wearwell::logblock::Scheme;
use wearwell::{Reclamation, Rng};
use wearwell_aware::{Config, Counters, Kind, Mode, Width};
use wearwell_sim::fat::Device;

use crate::engines::{Blocks, Make};
use crate::exfat_files::ExFat;
use crate::ext::{temporary, tool};
use crate::rig::{Chip, SECTOR, content};
use crate::twins::{Held, Twins, changes, difference};

/// A chip on which a volume just fits.
fn chip_for(image: &[u8]) -> Chip {
    Chip { page_bytes: 512, sectors: (image.len() / SECTOR) as u64 }
}

/// Runs a tool on an image. Returns the image and the exit code.
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

/// An exFAT volume with space for some files in its root directory.
fn exfat(name: &str) -> Option<Vec<u8>> {
    let file = temporary(name, 3);
    let image = made(&file, "mkfs.exfat", "-c 512", &["fsck.exfat"]);
    std::fs::remove_file(&file).expect("it is there");
    let mut held = Held(image?);
    ExFat::mount(&mut held).and_then(|mut volume| volume.grow_root(3)).expect("a fresh volume has room");
    Some(held.0)
}

/// A few operations on files, the same on both hosts. Few clusters are used, so that they are reused soon.
fn work_on_exfat<M: Make>(twins: &mut Twins<M>, rng: &mut Rng, steps: u32) -> std::io::Result<()> {
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

/// Compares the reachable content of an exFAT volume on both devices. Free clusters may differ, and so may clusters in
/// use whose content the host lost in a cut.
fn exfat_difference<M: Make>(twins: &mut Twins<M>) -> Option<String> {
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

/// Creates and removes files, cuts the power, repairs with `fsck.exfat`, and creates and removes files again. Returns
/// what differs as an error, and whether the power failed in the middle of a write.
fn exfat_life<M: Make>(make: M, image: &[u8], config: Config, seed: u64) -> (Result<(), String>, bool, Counters) {
    let file = temporary(&format!("exfat-life-{seed}-{:?}", config.mode), 0);
    let mut rng = Rng::new(seed ^ 0xE0F);
    let mut twins = Twins::new(make, image, config, seed);
    let life = |twins: Twins<M>, rng: &mut Rng| -> (Result<(), String>, bool, Twins<M>) {
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
        let (result, was_cut, counters) = exfat_life(chip_for(&image), &image, Config::DEFAULT, seed);
        assert_eq!(result, Ok(()), "seed {seed}");
        cuts += u32::from(was_cut);
        committed += counters.committed_clusters;
    }
    assert!(cuts >= 15, "{cuts} of 20 lives were cut amid something");
    assert!(committed > 20 * 1900, "{committed} clusters became dead");
    let paper = Config { mode: Mode::Paper, ..Config::DEFAULT };
    let failed = (0..20).filter(|&seed| exfat_life(chip_for(&image), &image, paper, seed).0.is_err()).count();
    assert!(failed >= 5, "paper loses data in {failed} of 20 lives");
}

#[test]
fn exfat_is_the_same_under_block_mapping() {
    let Some(image) = exfat("exfat-twin-blocks") else { return };
    let (chip, scheme) = (chip_for(&image), Scheme::PrimaryReplacement);
    let mut cuts = 0;
    for (seed, reclaim) in (100..).zip(["at-once", "proactive:0.1:0.3:0"].iter().cycle().take(8)) {
        let reclaim = Reclamation::parse(reclaim).expect("listed");
        let make = Blocks { chip, scheme, reclaim };
        let (result, was_cut, counters) = exfat_life(make, &image, Config::DEFAULT, seed);
        assert_eq!(result, Ok(()), "seed {seed}");
        assert!(counters.committed_clusters > 1900, "{} clusters became dead", counters.committed_clusters);
        cuts += u32::from(was_cut);
    }
    assert!(cuts >= 5, "{cuts} of 8 lives were cut amid something");
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

/// Applies the tool's changes to both devices. Returns the volume as the tool sees it.
fn work_on_ext4(twins: &mut Twins<Chip>, file: &Path, image: Vec<u8>, rng: &mut Rng, steps: u32) -> (Vec<u8>, bool) {
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

/// A volume repaired by `e2fsck`. If the cut has left half a superblock, the copy in block `copy` is used.
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
        // Nothing is inferred to be dead in ext4, so the riskiest mode is safe too.
        let mode = if seed % 2 == 0 { Mode::Strict } else { Mode::Paper };
        let mut rng = Rng::new(seed ^ 0xE44);
        let mut twins = Twins::new(chip_for(&image), &image, Config { mode, ..Config::DEFAULT }, seed);
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

/// The power fails while the volume is made, while files change, or not at all. Then the tools start again, or repair.
/// Returns the volume as the tools see it, and whether the power failed in the middle of a write.
fn ext4_over_exfat(
    mut twins: Twins<Chip>,
    file: &Path,
    new: &[u8],
    rng: &mut Rng,
    seed: u64,
) -> (Twins<Chip>, Vec<u8>, bool) {
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

/// The first sector that differs, among sectors that changed since `before`.
fn written_difference(before: &[u8], here: &[u8], there: &[u8]) -> Option<u64> {
    let written: BTreeSet<u64> = changes(before, there).map(|(sector, _)| sector).collect();
    changes(here, there).map(|(sector, _)| sector).find(|sector| written.contains(sector))
}

/// An exFAT device becomes ext4. The old tables must not make anything dead.
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
        let mut twins = Twins::new(chip_for(&old), &old, Config::DEFAULT, seed);
        work_on_exfat(&mut twins, &mut rng, 20).expect("no cut is armed");
        twins.settle();
        assert_eq!(twins.aware.disk.ftl.volumes().next().map(|volume| volume.width), Some(Width::ExFat));
        let before = twins.bare_image();
        let (mut twins, tools, cut) = ext4_over_exfat(twins, &file, &new, &mut rng, seed);
        cuts += u32::from(cut);
        twins.settle();
        let left = twins.aware_image();
        // `debugfs` may fail to extend the root directory, and then leaves a directory without a name, on both devices
        // alike.
        let judged = through(&file, &left, "e2fsck", &["-f", "-n"]).1;
        assert_eq!(judged, through(&file, &tools, "e2fsck", &["-f", "-n"]).1, "seed {seed}");
        // Sectors that neither tool wrote belong to the old volume, and are free in the new one.
        assert_eq!(written_difference(&before, &left, &tools), None, "seed {seed}");
    }
    std::fs::remove_file(&file).expect("it is there");
    assert!(cuts >= 4, "{cuts} of 6 were cut amid something");
}
