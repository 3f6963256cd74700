//! After every operation and enough epochs, the inferred state agrees with the file system's own tables.

use std::collections::BTreeMap;

use fatfs::FatType;
use wearwell::{BlockDevice, Lookup, Rng, Sectors};
use wearwell_aware::{Aware, Config, State};
use wearwell_sim::fat::Volume;

use crate::rig::{Chip, Disk, Engine, Format, content, geometry_of, used_clusters};

/// Random operations on files, with a model of what they hold.
#[derive(Clone)]
pub(crate) struct Script {
    pub(crate) rng: Rng,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) dirs: Vec<String>,
    pub(crate) made: u32,
    pub(crate) largest_bytes: u32,
    pub(crate) most_files: usize,
}

impl Script {
    pub(crate) fn new(seed: u64, largest_bytes: u32, most_files: usize) -> Self {
        let rng = Rng::new(seed);
        Self { rng, files: BTreeMap::new(), dirs: vec![String::new()], made: 0, largest_bytes, most_files }
    }

    fn name(&mut self) -> String {
        self.made += 1;
        let dir = &self.dirs[self.rng.below(self.dirs.len() as u32) as usize];
        format!("{dir}F{}", self.made)
    }

    /// Does one operation. The model has its outcome at once. The file's name is passed on first, because a cut may
    /// come before the end.
    pub(crate) fn step<D: wearwell_sim::fat::Device>(
        &mut self,
        volume: &mut Volume<D>,
        mut begins: impl FnMut(&str),
    ) -> Result<(), wearwell_sim::fat::FatError> {
        let bytes = 1 + self.rng.below(self.largest_bytes);
        let choice = if self.files.len() >= self.most_files { 0 } else { self.rng.below(10) };
        let existing = (!self.files.is_empty())
            .then(|| self.files.keys().nth(self.rng.below(self.files.len() as u32) as usize).cloned())
            .flatten();
        match (choice, existing) {
            (0..3, Some(path)) => {
                begins(&path);
                self.files.remove(&path);
                volume.remove(&path)
            }
            (3, Some(path)) => {
                begins(&path);
                let data = content(&mut self.rng, bytes.min(3000));
                self.files.entry(path.clone()).or_default().extend_from_slice(&data);
                volume.append(&path, &data)
            }
            (4, Some(path)) => {
                begins(&path);
                let held = self.files.entry(path.clone()).or_default();
                let data = content(&mut self.rng, (held.len() as u32).div_ceil(2));
                held[..data.len()].copy_from_slice(&data);
                volume.overwrite(&path, 0, &data)
            }
            (5, _) if self.dirs.len() < 4 => {
                let path = self.name();
                begins(&path);
                self.dirs.push(format!("{path}/"));
                volume.make_dir(&path)
            }
            _ => {
                let path = self.name();
                begins(&path);
                let data = content(&mut self.rng, bytes);
                self.files.insert(path.clone(), data.clone());
                volume.create(&path, &data)
            }
        }
    }
}

fn check(aware: &mut Aware<Engine>, free_clusters: u64) {
    let g = *aware.volumes().next().expect("the volume is known");
    let used = used_clusters(aware, &g);
    for (cluster, &used) in used.iter().enumerate().skip(2) {
        let lba = g.data_start + (cluster as u64 - 2) * u64::from(g.cluster_sectors);
        let expected = if used { State::Live } else { State::Dead };
        assert_eq!(aware.state_at(lba), Some(expected), "cluster {cluster}");
    }
    let free = used[2..].iter().filter(|&&used| !used).count() as u64;
    assert_eq!(free, free_clusters, "the other side agrees");
    assert_eq!(aware.counters().dead_clusters, free);
}

fn run(format: Format, page_bytes: u32, first: u64, operations: u32) {
    let image = format.image();
    let pages = (u64::from(format.sectors) + first).next_multiple_of(u64::from(page_bytes / 512));
    let engine = Chip { page_bytes, sectors: pages }.format();
    let mut disk = Disk::behind(Aware::new(engine, Config::DEFAULT), first);
    if first > 0 {
        let mut table = [0; 512];
        table[446 + 4] = 0x0C;
        table[446 + 8..][..4].copy_from_slice(&(first as u32).to_le_bytes());
        table[446 + 12..][..4].copy_from_slice(&format.sectors.to_le_bytes());
        table[510..].copy_from_slice(&[0x55, 0xAA]);
        disk.ftl.write(Sectors { start: 0, count: 1 }, &table, wearwell::WriteHint::NONE).expect("room");
        disk.ftl.flush().expect("no faults");
    }
    disk.put_image(&image);
    assert_eq!(disk.ftl.not_understood(), None);
    let expected = geometry_of(&image);
    let found = *disk.ftl.volumes().next().expect("the volume is known");
    assert_eq!((found.start, found.clusters, found.width), (first, expected.clusters, expected.width));

    let mut script = Script::new(u64::from(format.sectors), found.clusters * found.cluster_sectors * 512 / 12, 9);
    script.largest_bytes = script.largest_bytes.min(200_000);
    let mut volume = Volume::mount(disk).expect("a volume");
    for _ in 0..operations {
        script.step(&mut volume, |_| {}).expect("no faults");
        volume.device().pass_epochs(3).expect("no faults");
        let free = volume.free_bytes().expect("no faults") / u64::from(found.cluster_sectors) / 512;
        check(&mut volume.device().ftl, free);
    }
    for (path, data) in &script.files {
        assert_eq!(&volume.read(path).expect("it is there"), data);
    }
    check_dead_pages(&mut volume.device().ftl);
}

/// Dead clusters read as zeros, and their pages are gone from the engine's map.
fn check_dead_pages(aware: &mut Aware<Engine>) {
    let page_sectors = u64::from(aware.page_bytes() / 512);
    let pages = aware.sectors() / page_sectors;
    let reads = aware.counters().dead_sector_reads;
    let mut dead_sectors = 0;
    for page in 0..pages {
        let lbas = page * page_sectors..(page + 1) * page_sectors;
        let dead = lbas.clone().filter(|&lba| aware.state_at(lba) == Some(State::Dead)).count() as u64;
        dead_sectors += dead;
        if dead == page_sectors {
            assert!(!aware.lookup(wearwell::Lpn(page as u32)).is_some(), "page {page} is dead and still mapped");
        }
        let mut data = vec![1; page_sectors as usize * 512];
        aware.read(Sectors { start: page * page_sectors, count: page_sectors }, &mut data).expect("no faults");
        for (lba, sector) in lbas.zip(data.chunks(512)) {
            assert!(aware.state_at(lba) != Some(State::Dead) || sector.iter().all(|&byte| byte == 0), "sector {lba}");
        }
    }
    assert!(dead_sectors > 0);
    assert_eq!(aware.counters().dead_sector_reads - reads, dead_sectors);
}

#[test]
fn fat12_with_entries_that_straddle_sectors() {
    run(Format::new(FatType::Fat12, 4000, 512), 512, 0, 60);
}

#[test]
fn fat12_whose_clusters_are_less_than_pages() {
    run(Format { fats: 1, ..Format::new(FatType::Fat12, 3000, 1024) }, 4096, 0, 60);
}

#[test]
fn fat16_in_a_partition_that_is_not_aligned_to_pages() {
    run(Format::new(FatType::Fat16, 20_000, 2048), 2048, 63, 40);
}

#[test]
fn fat32_with_tables_kept_equal() {
    run(Format::new(FatType::Fat32, 70_000, 512), 2048, 0, 12);
}

#[test]
fn fat32_with_one_active_table() {
    run(Format { only_table: Some(1), ..Format::new(FatType::Fat32, 70_000, 512) }, 2048, 64, 12);
}
