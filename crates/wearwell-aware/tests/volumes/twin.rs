//! The same operations with the layer and without it, under a host that holds writes back: every byte is the same.

use std::io;

use fatfs::FatType;
use wearwell::logblock::Scheme;
use wearwell::{BlockDevice, Reclamation, Rng};
use wearwell_aware::{Aware, Config, Counters, Mode};
use wearwell_sim::fat::{Device, Volume};

use crate::differential::Script;
use crate::engines::{Blocks, Make};
use crate::host::CachingHost;
use crate::rig::{Chip, Disk, Format, SECTOR, content, geometry_of, used_clusters};
use crate::twins::{Held, Twins, changes, difference, is_same_to_the_end};

/// Small, so that clusters are reused soon after they were freed.
const FORMAT: Format = Format::new(FatType::Fat12, 230, 512);
const CHIP: Chip = Chip { page_bytes: 512, sectors: 230 };
const STEPS: u32 = 300;

/// A host that is checked after each flush.
struct Watched<'a, F, A> {
    host: &'a mut CachingHost<F>,
    after: A,
}

impl<F: BlockDevice, A: FnMut(&mut CachingHost<F>)> Device for Watched<'_, F, A> {
    fn sectors(&self) -> u64 {
        self.host.sectors()
    }
    fn read(&mut self, sector: u64, data: &mut [u8]) -> io::Result<()> {
        self.host.read(sector, data)
    }
    fn write(&mut self, sector: u64, data: &[u8]) -> io::Result<()> {
        self.host.write(sector, data)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.host.flush()?;
        (self.after)(self.host);
        Ok(())
    }
}

/// Does operations until one fails. The files never hold more bytes than fit. Now and then the host pauses for some
/// minutes, so that free clusters become dead and are reused later.
fn work<F: BlockDevice>(
    host: &mut CachingHost<F>,
    script: &mut Script,
    steps: u32,
    after: impl FnMut(&mut CachingHost<F>),
) -> Result<(), String> {
    let mut volume = Volume::mount(Watched { host, after }).map_err(|error| error.to_string())?;
    for step in 0..steps {
        if step % 25 == 24 {
            (0..150).try_for_each(|_| volume.device().flush()).map_err(|error| error.to_string())?;
        }
        while script.files.values().map(Vec::len).sum::<usize>() > 74_000 {
            let path = script.files.keys().next().cloned().expect("it holds bytes");
            script.files.remove(&path);
            volume.remove(&path).map_err(|error| error.to_string())?;
        }
        script.step(&mut volume, |_| {}).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Runs operations of a seed, and reads everything back.
fn run<F: BlockDevice>(host: &mut CachingHost<F>, seed: u64) -> Result<(), String> {
    let mut script = Script::new(seed, 12_000, 12);
    work(host, &mut script, STEPS, |_| {})?;
    let failed = |error: std::io::Error| error.to_string();
    host.drain().map_err(failed)?;
    host.disk.pass_epochs(3).map_err(failed)?;
    let mut volume = Volume::mount(&mut *host).map_err(|error| error.to_string())?;
    for (path, data) in &script.files {
        let found = volume.read(path).map_err(|error| error.to_string())?;
        if found != *data {
            return Err(format!("{path} holds something else"));
        }
    }
    let listed = volume.files().map_err(|error| error.to_string())?.len();
    if listed == script.files.len() { Ok(()) } else { Err(format!("{listed} files are listed")) }
}

/// Runs a seed with the layer and without it. Returns what differs as an error, and the counters.
fn twin(config: Config, seed: u64) -> (Result<(), String>, Counters) {
    let image = FORMAT.image();
    let mut bare = Disk::behind(CHIP.format(), 0);
    bare.put_image(&image);
    let mut bare = CachingHost::new(bare, seed);
    run(&mut bare, seed).expect("without the layer nothing is lost");
    let mut disk = Disk::behind(Aware::new(CHIP.format(), config), 0);
    disk.put_image(&image);
    let mut host = CachingHost::new(disk, seed);
    let result = run(&mut host, seed).and_then(|()| compare(&mut host, &mut bare));
    (result, host.disk.ftl.counters())
}

/// Compares boot sector, tables and root directory, sector by sector. The files themselves have been compared with what
/// was written to them. The bytes behind the end of a file in its last cluster do not matter.
fn compare<F: BlockDevice, G: BlockDevice>(host: &mut CachingHost<F>, bare: &mut CachingHost<G>) -> Result<(), String> {
    for lba in 0..geometry_of(&FORMAT.image()).data_start {
        let (mut here, mut there) = ([0; SECTOR], [0; SECTOR]);
        host.disk.read(lba, &mut here).map_err(|error| error.to_string())?;
        bare.disk.read(lba, &mut there).map_err(|error| error.to_string())?;
        if here != there {
            return Err(format!("sector {lba} differs"));
        }
    }
    Ok(())
}

#[test]
fn strict_loses_nothing_and_infers_much() {
    let mut committed = 0;
    for seed in 0..60 {
        let (result, counters) = twin(Config::DEFAULT, seed);
        assert_eq!(result, Ok(()), "seed {seed}");
        committed += counters.committed_clusters;
        assert!(counters.cancelled_clusters > 0, "seed {seed}: no cluster was in use again before it was dead");
        assert!(counters.revived_clusters > 0, "seed {seed}: no cluster was in use again after it was dead");
    }
    assert!(committed > 60 * 80, "{committed} clusters became dead");
}

#[test]
fn paper_loses_data_to_the_same_host() {
    let config = Config { mode: Mode::Paper, ..Config::DEFAULT };
    let failed = (0..40).filter(|&seed| twin(config, seed).0.is_err()).count();
    assert!(failed >= 5, "{failed} of 40 seeds");
}

#[test]
fn strict_needs_a_hold_longer_than_what_the_host_keeps_back() {
    let config = Config { hold_us: 0, ..Config::DEFAULT };
    let failed = (0..20).filter(|&seed| twin(config, seed).0.is_err()).count();
    assert!(failed > 0, "flushes alone do not help");
}

/// A FAT16 volume with as little free space as in [`FORMAT`], so that clusters are reused soon.
fn nearly_full_fat16() -> Vec<u8> {
    let mut held = Held(Format::new(FatType::Fat16, 4200, 512).image());
    let mut volume = Volume::mount(&mut held).expect("a volume");
    let free = volume.free_bytes().expect("no faults");
    let data = content(&mut Rng::new(16), (free - 110_000) as u32);
    volume.create("FULL", &data).expect("there is room");
    drop(volume);
    held.0
}

/// Lets both hosts work until the power fails, or to the end.
fn work_on_both<M: Make>(twins: &mut Twins<M>, script: &mut Script, steps: u32) -> Result<(), String> {
    let mut again = script.clone();
    twins.note_dead();
    let mut dead = std::mem::take(&mut twins.dead);
    let done = work(&mut twins.aware, script, steps, |host| crate::twins::note_dead(host, &mut dead));
    twins.dead = dead;
    twins.bare.fuse = done.is_err().then_some(twins.aware.written);
    let _ = work(&mut twins.bare, &mut again, steps, |_| {});
    done
}

/// Compares the clusters in use on both devices. Two differences are allowed: clusters whose content the host lost in a
/// cut, and bytes behind the end of a file, where the host keeps what it read, zeros or the old content.
fn fat_difference<M: Make>(twins: &mut Twins<M>) -> Option<String> {
    let (bare, aware) = (twins.bare_image(), twins.aware_image());
    let g = geometry_of(&bare);
    let used = used_clusters(&mut twins.bare.disk.ftl, &g);
    let cluster_of = |lba: u64| 2 + ((lba - g.data_start) / u64::from(g.cluster_sectors)) as usize;
    let mut may_differ: Vec<u64> = (g.data_start..g.data_end()).filter(|&lba| !used[cluster_of(lba)]).collect();
    let zeros = |sector: &u64| aware[*sector as usize * SECTOR..][..SECTOR].iter().all(|&byte| byte == 0);
    may_differ.extend(twins.lost.iter().filter(|sector| zeros(sector)));
    let is_behind_end = |sector: &u64| {
        let bytes = *sector as usize * SECTOR..(*sector as usize + 1) * SECTOR;
        is_same_to_the_end(&aware[bytes.clone()], &bare[bytes])
    };
    may_differ.extend(changes(&bare, &aware).map(|(sector, _)| sector).filter(is_behind_end));
    may_differ.sort_unstable();
    let sector = difference(&aware, &bare, &may_differ)?;
    let held = |image: &[u8]| image[sector as usize * SECTOR..][..8].to_vec();
    Some(format!("sector {sector} differs, which is in use: {:?}, {:?} without inference", held(&aware), held(&bare)))
}

/// Creates and removes files, cuts the power, and lets free clusters become dead. Returns what differs as an error, and
/// whether the power failed in the middle of a write.
fn fat_life<M: Make>(make: M, image: &[u8], config: Config, seed: u64) -> (Result<(), String>, bool, Counters) {
    let mut script = Script::new(seed, 12_000, 12);
    let mut rng = Rng::new(seed ^ 0xFA7);
    let mut twins = Twins::new(make, image, config, seed);
    work_on_both(&mut twins, &mut script, 200).expect("no cut is armed");
    let before = twins.counters();
    twins.arm(&mut rng);
    let was_cut = work_on_both(&mut twins, &mut script, 60).is_err();
    let mut twins = twins.mount();
    let mut result = fat_difference(&mut twins).map_or(Ok(()), |what| Err(format!("after the cut: {what}")));
    twins.settle();
    result = result.and(fat_difference(&mut twins).map_or(Ok(()), |what| Err(format!("epochs later: {what}"))));
    (result, was_cut, before)
}

fn fat_lives<M: Make>(make: M, image: &[u8], seeds: u64) {
    let (mut cuts, mut committed, mut revived) = (0, 0, 0);
    for seed in 0..seeds {
        let (result, was_cut, counters) = fat_life(make, image, Config::DEFAULT, seed);
        assert_eq!(result, Ok(()), "seed {seed}");
        cuts += u64::from(was_cut);
        committed += counters.committed_clusters;
        revived += counters.revived_clusters;
    }
    assert!(cuts >= seeds * 3 / 4, "{cuts} of {seeds} lives were cut amid something");
    assert!(revived > seeds * 50, "{committed} clusters became dead, {revived} were in use again");
}

#[test]
fn a_cut_and_a_host_that_keeps_back_lose_nothing_together() {
    let primary = |chip, reclaim| {
        let reclaim = Reclamation::parse(reclaim).expect("listed");
        Blocks { chip, scheme: Scheme::PrimaryReplacement, reclaim }
    };
    let image = FORMAT.image();
    fat_lives(CHIP, &image, 40);
    fat_lives(primary(CHIP, "proactive:0.1:0.3:0"), &image, 20);
    let image = nearly_full_fat16();
    let chip = Chip { sectors: 4200, ..CHIP };
    fat_lives(chip, &image, 12);
    fat_lives(primary(chip, "at-once"), &image, 8);
    let paper = Config { mode: Mode::Paper, ..Config::DEFAULT };
    let failed = (0..12).filter(|&seed| fat_life(chip, &image, paper, seed).0.is_err()).count();
    assert!(failed > 0, "the test can see it");
}
