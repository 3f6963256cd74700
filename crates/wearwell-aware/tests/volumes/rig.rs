//! Engines, formatted images, and a disk whose time the test sets.

use std::io;

use fatfs::{FatType, FormatVolumeOptions, format_volume};
use wearwell::page::log::NandLog;
use wearwell::page::{PageConfig, PageFtl, Policies};
use wearwell::{BlockDevice, Lookup, Rng, Sectors, WriteHint};
use wearwell_aware::Geometry;
use wearwell_emu::{ChipProfile, EmuNand, Faults};
use wearwell_sim::fat::Device;

/// An engine of any type on a chip.
pub(crate) trait OnNand: BlockDevice + Lookup {
    fn chip_mut(&mut self) -> &mut EmuNand;
    fn into_chip(self: Box<Self>) -> EmuNand;
}

/// In a box, so that what stands in front of it is compiled once.
pub(crate) type Engine = Box<dyn OnNand>;

/// Page mapping.
impl OnNand for PageFtl<NandLog<EmuNand>> {
    fn chip_mut(&mut self) -> &mut EmuNand {
        self.log_mut().chip_mut()
    }
    fn into_chip(self: Box<Self>) -> EmuNand {
        self.into_log().into_chip()
    }
}

pub(crate) const SECTOR: usize = 512;
pub(crate) const SECOND_US: u64 = 1_000_000;

/// A chip and the engine on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chip {
    pub(crate) page_bytes: u32,
    pub(crate) sectors: u64,
}

impl Chip {
    pub(crate) fn config(self) -> PageConfig {
        let logical_pages = (self.sectors * 512 / u64::from(self.page_bytes)) as u32;
        PageConfig { logical_pages, policies: Policies::default(), seed: 1, endurance: 100_000 }
    }

    /// An eighth and twelve blocks more than the host sees. Two pages of a block belong to the layout.
    pub(crate) fn nand(self) -> EmuNand {
        let blocks = self.config().logical_pages.div_ceil(14) * 9 / 8 + 12;
        let text = format!("geometry:{}:16:{blocks}:1", self.page_bytes);
        let profile = ChipProfile::from_geometry_str(&text).expect("a geometry");
        EmuNand::in_memory(&profile, Faults::default()).expect("a valid profile")
    }

    pub(crate) fn format(self) -> Engine {
        let log = NandLog::new(self.nand(), 1).expect("room for tags");
        Box::new(PageFtl::format(log, (), self.config()).expect("a fresh chip"))
    }
}

/// The format of a volume.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    pub(crate) fat_type: FatType,
    pub(crate) sectors: u32,
    pub(crate) cluster_bytes: u32,
    pub(crate) fats: u8,
    /// The only table in use, for FAT32.
    pub(crate) only_table: Option<u8>,
}

impl Format {
    pub(crate) const fn new(fat_type: FatType, sectors: u32, cluster_bytes: u32) -> Self {
        Self { fat_type, sectors, cluster_bytes, fats: 2, only_table: None }
    }

    pub(crate) fn image(self) -> Vec<u8> {
        let mut image = vec![0; self.sectors as usize * SECTOR];
        let options = FormatVolumeOptions::new()
            .fat_type(self.fat_type)
            .fats(self.fats)
            .max_root_dir_entries(64)
            .bytes_per_cluster(self.cluster_bytes);
        format_volume(io::Cursor::new(&mut image), options).expect("a size that FAT fits");
        if let Some(only) = self.only_table {
            // ExtFlags, in the boot sector and its backup.
            image[40] = 0x80 | only;
            image[6 * SECTOR + 40] = 0x80 | only;
            let g = geometry_of(&image);
            let bytes = g.table_sectors as usize * SECTOR;
            // The other table is out of date and does not count.
            let other = g.table_start as usize * SECTOR + usize::from(1 - only) * bytes;
            image[other + 12..other + bytes].fill(0x55);
        }
        image
    }
}

pub(crate) fn geometry_of(image: &[u8]) -> Geometry {
    let boot: &[u8; SECTOR] = image[..SECTOR].try_into().expect("512 bytes");
    Geometry::parse(boot, 0, (image.len() / SECTOR) as u64).expect("a FAT volume")
}

/// A device that begins at a sector of a [`BlockDevice`], whose time the test sets.
pub(crate) struct Disk<F> {
    pub(crate) ftl: F,
    pub(crate) now_us: u64,
    first: u64,
    sectors: u64,
}

impl<F: BlockDevice> Disk<F> {
    /// The sectors behind `first`.
    pub(crate) fn behind(ftl: F, first: u64) -> Self {
        let sectors = ftl.sectors() - first;
        Self { ftl, now_us: 0, first, sectors }
    }

    /// Writes an image, except sectors that are all zeros, and flushes.
    pub(crate) fn put_image(&mut self, image: &[u8]) {
        for (sector, bytes) in image.chunks(SECTOR).enumerate() {
            if bytes.iter().any(|&byte| byte != 0) {
                self.write(sector as u64, bytes).expect("the chip does not fail");
            }
        }
        self.flush().expect("the chip does not fail");
        self.sectors = (image.len() / SECTOR) as u64;
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, seconds: u64) {
        self.now_us += seconds * SECOND_US;
        self.ftl.set_time_us(self.now_us);
    }

    /// Ends `epochs` epochs of the default configuration.
    pub(crate) fn pass_epochs(&mut self, epochs: u32) -> io::Result<()> {
        for _ in 0..epochs {
            self.pass(60);
            self.flush()?;
        }
        Ok(())
    }
}

impl<F: BlockDevice> Device for Disk<F> {
    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn read(&mut self, sector: u64, data: &mut [u8]) -> io::Result<()> {
        let at = Sectors { start: self.first + sector, count: (data.len() / SECTOR) as u64 };
        self.ftl.read(at, data).map_err(io::Error::other)
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> io::Result<()> {
        let at = Sectors { start: self.first + sector, count: (data.len() / SECTOR) as u64 };
        self.ftl.write(at, data, WriteHint::NONE).map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.ftl.flush().map_err(io::Error::other)
    }
}

/// Bytes that identify a file and a version.
pub(crate) fn content(rng: &mut Rng, bytes: u32) -> Vec<u8> {
    let tag = rng.below(u32::MAX).to_le_bytes();
    (0..bytes).map(|i| tag[i as usize % 4] ^ (i / 64) as u8 | 1).collect()
}

/// The used clusters by the volume's own active tables, read by a decoder that does not work by sectors.
pub(crate) fn used_clusters(ftl: &mut impl BlockDevice, g: &Geometry) -> Vec<bool> {
    let mut used = vec![false; g.clusters as usize + 2];
    let tables = g.only_table.map_or(0..g.tables, |only| only..only + 1);
    for table in tables {
        let start = g.table_start + u64::from(table) * g.table_sectors;
        let mut bytes = vec![0; g.table_sectors as usize * SECTOR];
        ftl.read(Sectors { start, count: g.table_sectors }, &mut bytes).expect("the tables can be read");
        for (cluster, used) in used.iter_mut().enumerate().skip(2) {
            let bits = g.width.bits() as usize;
            let nibbles = (cluster * bits / 4..(cluster + 1) * bits / 4).take(if bits == 32 { 7 } else { 8 });
            *used |= nibbles.into_iter().any(|n| bytes[n / 2] >> (n % 2 * 4) & 0xF != 0);
        }
    }
    used
}
