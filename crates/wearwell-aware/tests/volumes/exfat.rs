//! exFAT: volumes made by the real tool, if it is installed, and one made by hand.

use std::collections::BTreeMap;

use wearwell::{BlockDevice, Rng};
use wearwell_aware::{Aware, BootError, Config, Counters, Kind, Mode, NotUnderstood, State, VolumeError, Width};
use wearwell_sim::fat::Device;

use crate::ext::{temporary, tool};
use crate::host::CachingHost;
use crate::rig::{Chip, Disk, Engine, SECTOR};

/// Sectors of the volume made by hand, and the places of its parts.
pub(crate) const SECTORS: u32 = 700;
const FAT: u32 = 24;
const HEAP: u32 = 40;
pub(crate) const CLUSTERS: u32 = 600;
/// The clusters of the bitmap and of the root directory.
const BITMAP: u32 = 2;
const ROOT: u32 = 4;

/// A volume with clusters of one sector, of which four are in use.
pub(crate) fn by_hand() -> Vec<u8> {
    let mut image = vec![0; SECTORS as usize * SECTOR];
    image[..11].copy_from_slice(b"\xEB\x76\x90EXFAT   ");
    for (at, value) in [(72, SECTORS), (80, FAT), (84, 8), (88, HEAP), (92, CLUSTERS), (96, ROOT), (104, 0x0100)] {
        image[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    (image[108], image[109], image[110], image[510], image[511]) = (9, 0, 1, 0x55, 0xAA);
    seal(&mut image);
    let fat = [0xFFFF_FFF8, u32::MAX, u32::MAX, u32::MAX, u32::MAX];
    for (cluster, next) in fat.into_iter().enumerate() {
        image[FAT as usize * SECTOR + cluster * 4..][..4].copy_from_slice(&u32::to_le_bytes(next));
    }
    // The volume's label, then the bitmap.
    let root = &mut image[sector_of(ROOT) as usize * SECTOR..][..SECTOR];
    (root[0], root[32]) = (0x83, 0x81);
    root[32 + 20..32 + 24].copy_from_slice(&BITMAP.to_le_bytes());
    root[32 + 24..32 + 32].copy_from_slice(&u64::from(CLUSTERS.div_ceil(8)).to_le_bytes());
    image[sector_of(BITMAP) as usize * SECTOR] = 0b0000_0111;
    image
}

/// Gives the boot region and its backup the right checksum.
fn seal(image: &mut [u8]) {
    let mut sum = 0_u32;
    for (_, &byte) in image[..11 * SECTOR].iter().enumerate().filter(|(at, _)| !matches!(at, 106 | 107 | 112)) {
        sum = sum.rotate_right(1).wrapping_add(u32::from(byte));
    }
    for word in image[11 * SECTOR..12 * SECTOR].chunks_mut(4) {
        word.copy_from_slice(&sum.to_le_bytes());
    }
    image.copy_within(..12 * SECTOR, 12 * SECTOR);
}

fn sector_of(cluster: u32) -> u64 {
    u64::from(HEAP + cluster - 2)
}

fn on_disk(image: &[u8], config: Config) -> Disk<Aware<Engine>> {
    let chip = Chip { page_bytes: 512, sectors: (image.len() / SECTOR) as u64 };
    let mut disk = Disk::behind(Aware::new(chip.format(), config), 0);
    disk.put_image(image);
    disk.pass(0);
    disk
}

fn state<F: BlockDevice>(disk: &Disk<Aware<F>>, cluster: u32) -> State {
    disk.ftl.state_at(sector_of(cluster)).expect("a cluster")
}

/// Sets the bit of a cluster in the bitmap, through a device.
fn mark(device: &mut impl Device, cluster: u32, is_used: bool) {
    let (bit, mut sector) = ((cluster - 2) as usize, [0; SECTOR]);
    let lba = sector_of(BITMAP) + (bit / 8 / SECTOR) as u64;
    device.read(lba, &mut sector).expect("no faults");
    let byte = &mut sector[bit / 8 % SECTOR];
    *byte = if is_used { *byte | 1 << (bit % 8) } else { *byte & !(1 << (bit % 8)) };
    device.write(lba, &sector).expect("no faults");
}

#[test]
fn the_bitmap_says_what_is_dead() {
    let mut disk = on_disk(&by_hand(), Config::DEFAULT);
    let g = *disk.ftl.volumes().next().expect("the volume is known");
    assert_eq!((g.width, g.clusters, g.table_start), (Width::ExFat, CLUSTERS, sector_of(BITMAP)));
    for cluster in 2..CLUSTERS + 2 {
        assert_eq!(state(&disk, cluster), if cluster < 5 { State::Live } else { State::Young }, "{cluster}");
    }
    disk.write(sector_of(50), &[7; SECTOR]).expect("no faults");
    mark(&mut disk, 50, true);
    disk.pass_epochs(3).expect("no faults");
    assert_eq!((state(&disk, 50), state(&disk, 51)), (State::Live, State::Dead));
    mark(&mut disk, 50, false);
    assert_eq!(state(&disk, 50), State::Young);
    disk.pass_epochs(1).expect("no faults");
    mark(&mut disk, 50, true);
    assert_eq!(state(&disk, 50), State::Live, "in use again in time");
    mark(&mut disk, 50, false);
    disk.pass_epochs(2).expect("no faults");
    let mut sector = [1; SECTOR];
    disk.read(sector_of(50), &mut sector).expect("no faults");
    assert_eq!((state(&disk, 50), sector), (State::Dead, [0; SECTOR]));
    assert_eq!(disk.ftl.counters().dead_clusters, u64::from(CLUSTERS) - 3);
    let mut paper = on_disk(&by_hand(), Config { mode: Mode::Paper, ..Config::DEFAULT });
    mark(&mut paper, 60, true);
    mark(&mut paper, 60, false);
    assert_eq!(state(&paper, 60), State::Dead, "at once");
}

#[test]
fn kinds_are_known() {
    let mut disk = on_disk(&by_hand(), Config::DEFAULT);
    let mut root = [0; SECTOR];
    disk.read(sector_of(ROOT), &mut root).expect("no faults");
    (root[96], root[96 + 4], root[128]) = (0x85, 0x10, 0xC0);
    root[128 + 20] = 70;
    disk.write(sector_of(ROOT), &root).expect("no faults");
    let places = [1, 13, u64::from(FAT), sector_of(BITMAP), sector_of(ROOT), sector_of(70), sector_of(71)];
    let kinds = [Kind::Boot, Kind::Boot, Kind::Table, Kind::Table, Kind::Directory, Kind::Directory, Kind::Data];
    assert_eq!(places.map(|lba| disk.ftl.kind_at(lba)), kinds.map(Some));
}

#[test]
fn the_boot_sector_freezes_unless_it_only_says_that_the_volume_is_in_use() {
    let image = by_hand();
    let mut disk = on_disk(&image, Config::DEFAULT);
    let rebuilds = disk.ftl.counters().rebuilds;
    let mut boot = image[..SECTOR].to_vec();
    (boot[106], boot[112]) = (0b10, 30);
    disk.write(0, &boot).expect("no faults");
    assert_eq!(disk.ftl.volumes().count(), 1, "in use, and 30 % full");
    boot[106] |= 1;
    disk.write(0, &boot).expect("no faults");
    assert_eq!(disk.ftl.volumes().count(), 0, "another bitmap");
    disk.flush().expect("no faults");
    assert_eq!((disk.ftl.volumes().count(), disk.ftl.counters().rebuilds), (0, rebuilds + 1));
    disk.write(0, &image[..SECTOR]).expect("no faults");
    disk.flush().expect("no faults");
    assert_eq!(disk.ftl.volumes().count(), 1);
    disk.write(12, &image[..SECTOR]).expect("no faults");
    assert_eq!(disk.ftl.volumes().count(), 0, "the backup");
}

#[test]
fn what_makes_no_sense_is_left_alone() {
    let field = |field, value| BootError::Field { field, value };
    let bitmap = sector_of(ROOT) as usize * SECTOR + 32;
    let cases: [(usize, u8, BootError); 9] = [
        (64 + 7 - 60, 1, BootError::NoBootSector),
        (108, 8, field("logarithm of a sector's bytes", 8)),
        (109, 17, field("logarithm of a cluster's sectors", 17)),
        (105, 2, field("version", 0x200)),
        (110, 3, field("number of tables", 3)),
        (96, 1, field("root cluster", 1)),
        (84, 1, BootError::ShortTable { entries: 128, clusters: CLUSTERS.into() }),
        (bitmap + 24, 1, BootError::Bitmap),
        (FAT as usize * SECTOR + 8, 3, BootError::Bitmap),
    ];
    for (at, value, error) in cases {
        let mut image = by_hand();
        image[at] = value;
        seal(&mut image);
        let disk = on_disk(&image, Config::DEFAULT);
        let expected = NotUnderstood::Volume(VolumeError::Boot { lba: 0, error });
        assert_eq!((disk.ftl.volumes().count(), disk.ftl.not_understood()), (0, Some(expected)), "{at}");
    }
    let mut image = by_hand();
    image[3 * SECTOR] = 1;
    let error = on_disk(&image, Config::DEFAULT).ftl.not_understood();
    let is_checksum =
        |error| matches!(error, NotUnderstood::Volume(VolumeError::Boot { error: BootError::Checksum { .. }, .. }));
    assert!(error.is_some_and(is_checksum), "{error:?}");
}

/// Creates and removes files of a cluster or more under a host that holds writes back. The error is what differs at the
/// end.
fn run<F: BlockDevice>(host: &mut CachingHost<F>, seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let mut files: BTreeMap<u32, [u8; SECTOR]> = BTreeMap::new();
    for _ in 0..400 {
        // Few clusters, so that they are reused soon.
        let cluster = 5 + rng.below(30);
        if files.remove(&cluster).is_none() {
            let content = [1 + rng.below(255) as u8; SECTOR];
            host.write(sector_of(cluster), &content).map_err(|error| error.to_string())?;
            files.insert(cluster, content);
        }
        mark(host, cluster, files.contains_key(&cluster));
        host.flush().map_err(|error| error.to_string())?;
    }
    host.drain().map_err(|error| error.to_string())?;
    host.disk.pass_epochs(3).map_err(|error| error.to_string())?;
    for (cluster, content) in files {
        let mut found = [0; SECTOR];
        host.read(sector_of(cluster), &mut found).map_err(|error| error.to_string())?;
        if found != content {
            return Err(format!("cluster {cluster} holds something else"));
        }
    }
    Ok(())
}

fn twin(config: Config, seed: u64) -> (Result<(), String>, Counters) {
    let mut host = CachingHost::new(on_disk(&by_hand(), config), seed);
    let result = run(&mut host, seed);
    (result, host.disk.ftl.counters())
}

#[test]
fn strict_loses_nothing_and_paper_does() {
    let mut committed = 0;
    for seed in 0..40 {
        let (result, counters) = twin(Config::DEFAULT, seed);
        assert_eq!(result, Ok(()), "seed {seed}");
        committed += counters.committed_clusters;
    }
    assert!(committed > 40 * 570, "{committed}: more than what was free from the beginning");
    let paper = Config { mode: Mode::Paper, ..Config::DEFAULT };
    let failed = (0..20).filter(|&seed| twin(paper, seed).0.is_err()).count();
    assert!(failed > 0, "the test can see it");
}

#[test]
fn volumes_are_those_that_the_tools_make() {
    for (options, mib) in [("", 16), ("-c 4096", 8), ("-c 512", 40), ("-c 65536", 64)] {
        let (Some(mut mkfs), Some(mut dump)) = (tool("mkfs.exfat"), tool("dump.exfat")) else { return };
        let file = temporary(&format!("exfat-{}-{mib}", options.replace(' ', "")), mib);
        let made = mkfs.args(options.split_whitespace()).arg(&file).output().expect("it runs");
        assert!(made.status.success(), "{options}: {}", String::from_utf8_lossy(&made.stderr));
        let dumped = dump.arg(&file).output().expect("it runs");
        let image = std::fs::read(&file).expect("it was made");
        std::fs::remove_file(&file).expect("it is there");
        let dumped = String::from_utf8(dumped.stdout).expect("text");
        let number = |name: &str| {
            let line = dumped.lines().find(|line| line.trim_start().starts_with(name)).expect(name);
            let value = line.rsplit([':', ' ', '\t']).find(|word| !word.is_empty()).expect(name);
            value.trim_start_matches("0x").parse::<u64>().unwrap_or_else(|_| panic!("{line}"))
        };
        let disk = on_disk(&image, Config::DEFAULT);
        assert_eq!(disk.ftl.not_understood(), None, "{options}");
        let g = *disk.ftl.volumes().next().expect("the volume is known");
        assert_eq!(g.width, Width::ExFat);
        assert_eq!(g.data_start, number("Cluster Heap Offset"), "{options}\n{dumped}");
        assert_eq!(u64::from(g.clusters), number("Cluster Count"), "{options}");
        assert_eq!(u64::from(g.root_cluster), number("Root Cluster"), "{options}");
        assert_eq!(u64::from(g.cluster_sectors) * 512, number("Cluster size"), "{options}");
        assert_eq!(disk.ftl.counters().pending_clusters, number("Free Clusters"), "{options}");
        assert!(disk.ftl.table_bytes() < u64::from(g.clusters) / 4 + 1024);
    }
}
