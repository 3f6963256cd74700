//! Files on a volume: whole operations, each durable when it returns.

use std::cell::{Cell, RefCell, RefMut};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

use fatfs::{Date, DateTime, FatType, FileSystem, FormatVolumeOptions, FsOptions, Time, TimeProvider};

use super::window::Window;
use super::{Device, FatError, SECTOR};

/// Seconds between two operations: the resolution of FAT's times.
const OPERATION_S: u64 = 2;

/// A volume with fewer clusters is mounted as FAT16.
const FAT32_LEAST_CLUSTERS: u32 = 65_525;

/// The year in which every volume's time begins.
const FIRST_YEAR: u16 = 2007;

thread_local! {
    /// The time of the volume that does an operation on this thread; set at the beginning of each.
    static NOW_S: Cell<u64> = const { Cell::new(0) };
}

/// Gives the file system the time of the current operation. A month has 28 days, a year 12 months.
#[derive(Debug)]
struct VolumeTime;

static VOLUME_TIME: VolumeTime = VolumeTime;

impl TimeProvider for VolumeTime {
    fn get_current_date(&self) -> Date {
        let days = NOW_S.get() / 86_400;
        // FAT's years end in 2107, so a hundred from the first one on fit.
        let (year, month, day) = (days / 336 % 100, days / 28 % 12, days % 28);
        Date { year: FIRST_YEAR + year as u16, month: month as u16 + 1, day: day as u16 + 1 }
    }

    fn get_current_date_time(&self) -> DateTime {
        let second = NOW_S.get() % 86_400;
        let (hour, min, sec) = (second / 3600, second / 60 % 60, second % 60);
        let time = Time { hour: hour as u16, min: min as u16, sec: sec as u16, millis: 0 };
        DateTime { date: self.get_current_date(), time }
    }
}

/// The window, as the file system and the volume share it.
struct Handle<D>(Rc<RefCell<Window<D>>>);

impl<D: Device> Read for Handle<D> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(out)
    }
}

impl<D: Device> Write for Handle<D> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().flush()
    }
}

impl<D: Device> Seek for Handle<D> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.borrow_mut().seek(to)
    }
}

/// A mounted FAT volume.
///
/// Names are separated by `/`. Every operation ends with a sync; see the [module](super).
pub struct Volume<D: Device> {
    window: Rc<RefCell<Window<D>>>,
    fs: FileSystem<Handle<D>>,
    now_s: u64,
    block_bytes: usize,
    syncs_blocks: bool,
}

impl<D: Device> Volume<D> {
    /// Formats a device, all of it, and mounts the new volume.
    ///
    /// # Errors
    /// A device size that FAT does not fit, and errors of the device.
    pub fn format(device: D) -> Result<Self, FatError> {
        Self::format_with(device, FormatVolumeOptions::new())
    }

    /// As [`format`](Self::format), as FAT32 with clusters of one sector.
    ///
    /// # Errors
    /// As [`format`](Self::format), and a device with too few sectors for FAT32.
    pub fn format_fat32(device: D) -> Result<Self, FatError> {
        let sectors = device.sectors();
        let options = FormatVolumeOptions::new().fat_type(FatType::Fat32).bytes_per_cluster(SECTOR as u32);
        let volume = Self::format_with(device, options)?;
        let clusters = volume.fs.stats().map_err(FatError::Mount)?.total_clusters();
        if clusters < FAT32_LEAST_CLUSTERS {
            let reason = format!("FAT32 has at least {FAT32_LEAST_CLUSTERS} clusters, and these make {clusters}");
            return Err(FatError::Format { sectors, reason: io::Error::other(reason) });
        }
        Ok(volume)
    }

    fn format_with(mut device: D, options: FormatVolumeOptions) -> Result<Self, FatError> {
        let sectors = device.sectors();
        let total_sectors = u32::try_from(sectors).map_err(|_| FatError::TooLarge { sectors })?;
        let options = options.total_sectors(total_sectors);
        let mut window = Window::new(&mut device);
        // The mount has a window of its own, so nothing may stay in this one.
        fatfs::format_volume(&mut window, options)
            .and_then(|()| window.sync())
            .map_err(|reason| FatError::Format { sectors, reason })?;
        Self::mount(device)
    }

    /// Mounts what was formatted before.
    ///
    /// # Errors
    /// A device without a FAT volume, and errors of the device.
    pub fn mount(device: D) -> Result<Self, FatError> {
        let window = Rc::new(RefCell::new(Window::new(device)));
        let options = FsOptions::new().time_provider(&VOLUME_TIME);
        let fs = FileSystem::new(Handle(Rc::clone(&window)), options).map_err(FatError::Mount)?;
        // The roots of FAT12 and FAT16 cannot grow.
        if fs.fat_type() == FatType::Fat32 {
            window.borrow_mut().watch_root().map_err(FatError::Mount)?;
        }
        Ok(Self { window, fs, now_s: 0, block_bytes: 512, syncs_blocks: false })
    }

    /// Unmounts, so that the volume is marked clean.
    ///
    /// # Errors
    /// The device's own.
    pub fn unmount(self) -> Result<(), FatError> {
        self.fs.unmount().and_then(|()| self.window.borrow_mut().sync()).map_err(FatError::Unmount)
    }

    /// Sets the block size for reading and writing files, at least one byte. It is 512 at first.
    pub fn set_block_bytes(&mut self, bytes: usize) {
        self.block_bytes = bytes.max(1);
    }

    /// Sets whether the tables are written after every block of a file, as in a file system that holds nothing back. At
    /// first tables wait for the end of the operation.
    pub fn set_syncs_blocks(&mut self, syncs_blocks: bool) {
        self.syncs_blocks = syncs_blocks;
    }

    /// Which FAT it is.
    pub(crate) fn fat_type(&self) -> FatType {
        self.fs.fat_type()
    }

    /// The device below.
    pub fn device(&self) -> RefMut<'_, D> {
        RefMut::map(self.window.borrow_mut(), Window::device)
    }

    /// Bytes in free clusters.
    ///
    /// # Errors
    /// The device's own.
    pub fn free_bytes(&mut self) -> Result<u64, FatError> {
        let stats = self.operation("counting free clusters of", "/", |fs| fs.stats())?;
        Ok(u64::from(stats.free_clusters()) * u64::from(stats.cluster_size()))
    }

    /// Bytes of the clusters that a new file of `bytes` bytes takes, with one cluster for a directory of its own and
    /// one for growth of the parent directory.
    pub fn footprint_bytes(&self, bytes: u64) -> u64 {
        let cluster_bytes = u64::from(self.fs.cluster_size());
        bytes.next_multiple_of(cluster_bytes) + 2 * cluster_bytes
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// The file system's and the device's own, as with all operations.
    pub fn make_dir(&mut self, path: &str) -> Result<(), FatError> {
        self.operation("making directory", path, |fs| fs.root_dir().create_dir(path).map(|_| ()))
    }

    /// Removes a file, or a directory that is empty.
    ///
    /// # Errors
    /// As with all operations.
    pub fn remove(&mut self, path: &str) -> Result<(), FatError> {
        self.operation("removing", path, |fs| fs.root_dir().remove(path))
    }

    /// Makes a file and fills it.
    ///
    /// # Errors
    /// As with all operations.
    pub fn create(&mut self, path: &str, data: &[u8]) -> Result<(), FatError> {
        let blocks = self.blocks();
        self.operation("creating", path, |fs| {
            let mut file = fs.root_dir().create_file(path)?;
            blocks.write(&mut file, data)
        })
    }

    /// Writes behind the end of a file.
    ///
    /// # Errors
    /// As with all operations.
    pub fn append(&mut self, path: &str, data: &[u8]) -> Result<(), FatError> {
        self.write_at("appending to", path, SeekFrom::End(0), data)
    }

    /// Writes over a part of a file.
    ///
    /// # Errors
    /// As with all operations.
    pub fn overwrite(&mut self, path: &str, offset_bytes: u64, data: &[u8]) -> Result<(), FatError> {
        self.write_at("overwriting", path, SeekFrom::Start(offset_bytes), data)
    }

    fn write_at(&mut self, what: &'static str, path: &str, at: SeekFrom, data: &[u8]) -> Result<(), FatError> {
        let blocks = self.blocks();
        self.operation(what, path, |fs| {
            let mut file = fs.root_dir().open_file(path)?;
            file.seek(at)?;
            blocks.write(&mut file, data)
        })
    }

    fn blocks(&self) -> Blocks<D> {
        let window = self.syncs_blocks.then(|| Rc::clone(&self.window));
        Blocks { bytes: self.block_bytes, window }
    }

    /// Reads a file whole.
    ///
    /// # Errors
    /// As with all operations.
    pub fn read(&mut self, path: &str) -> Result<Vec<u8>, FatError> {
        let block_bytes = self.block_bytes;
        self.operation("reading", path, |fs| {
            let mut file = fs.root_dir().open_file(path)?;
            let (mut content, mut block) = (Vec::new(), vec![0; block_bytes]);
            loop {
                let count = file.read(&mut block)?;
                if count == 0 {
                    return Ok(content);
                }
                content.extend_from_slice(&block[..count]);
            }
        })
    }

    /// The paths of all files, in the order of their directories.
    ///
    /// # Errors
    /// As with all operations.
    pub fn files(&mut self) -> Result<Vec<String>, FatError> {
        self.operation("listing", "/", |fs| {
            let mut files = Vec::new();
            let mut dirs = vec![(String::new(), fs.root_dir())];
            while let Some((above, dir)) = dirs.pop() {
                for entry in dir.iter() {
                    let entry = entry?;
                    let path = format!("{above}{}", entry.file_name());
                    match entry.file_name().as_str() {
                        "." | ".." => {}
                        _ if entry.is_dir() => dirs.push((format!("{path}/"), entry.to_dir())),
                        _ => files.push(path),
                    }
                }
            }
            Ok(files)
        })
    }

    /// Does one operation at its own time, and syncs.
    fn operation<T>(
        &mut self,
        operation: &'static str,
        path: &str,
        act: impl FnOnce(&FileSystem<Handle<D>>) -> io::Result<T>,
    ) -> Result<T, FatError> {
        // Also for operations that only read: the time depends on nothing but their number.
        self.now_s += OPERATION_S;
        NOW_S.set(self.now_s);
        let failed = |reason| FatError::Operation { operation, path: path.to_owned(), reason };
        let result = act(&self.fs).map_err(failed)?;
        self.window.borrow_mut().sync().map_err(failed)?;
        Ok(result)
    }
}

/// Settings for writing a file.
struct Blocks<D> {
    /// Bytes of a block.
    bytes: usize,
    /// The window to sync after each block, if any.
    window: Option<Rc<RefCell<Window<D>>>>,
}

impl<D: Device> Blocks<D> {
    /// Writes block by block. Then it writes the directory entry, while errors can still be reported.
    fn write(&self, file: &mut impl Write, data: &[u8]) -> io::Result<()> {
        for block in data.chunks(self.bytes) {
            file.write_all(block)?;
            if let Some(window) = &self.window {
                window.borrow_mut().sync()?;
            }
        }
        file.flush()
    }
}
