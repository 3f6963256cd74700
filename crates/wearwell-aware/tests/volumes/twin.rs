//! The same operations with the layer and without it, under a host that keeps writes back: every byte is the same.

use fatfs::FatType;
use wearwell::Ftl;
use wearwell_aware::{Aware, Config, Counters, Mode};
use wearwell_sim::fat::{Device, Volume};

use crate::differential::Script;
use crate::host::CachingHost;
use crate::rig::{Chip, Disk, Format, SECTOR, geometry_of};

/// Small, so that clusters are in use again soon after they were freed.
const FORMAT: Format = Format::new(FatType::Fat12, 230, 512);
const CHIP: Chip = Chip { page_bytes: 512, sectors: 230 };
const STEPS: u32 = 300;

/// Runs operations of a seed, and reads everything back.
fn run<F: Ftl>(host: &mut CachingHost<F>, seed: u64) -> Result<(), String> {
    let mut script = Script::new(seed, 12_000, 12);
    let mut volume = Volume::mount(&mut *host).map_err(|error| error.to_string())?;
    for _ in 0..STEPS {
        // There is room for the next step.
        while script.files.values().map(Vec::len).sum::<usize>() > 74_000 {
            let path = script.files.keys().next().cloned().expect("it holds bytes");
            script.files.remove(&path);
            volume.remove(&path).map_err(|error| error.to_string())?;
        }
        script.step(&mut volume, |_| {}).map_err(|error| error.to_string())?;
    }
    drop(volume);
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

/// A seed on the layer and without it. What differs, if anything; and what was inferred.
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

/// Compares boot sector, tables and root directory, sector by sector. The files themselves have been compared with
/// what was written to them; what lies behind the end of a file in its last cluster is nobody's.
fn compare<F: Ftl, G: Ftl>(host: &mut CachingHost<F>, bare: &mut CachingHost<G>) -> Result<(), String> {
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
