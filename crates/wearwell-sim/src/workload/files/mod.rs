//! Workloads that are programs. They work on the files of a real FAT volume ([`crate::fat`]), whose file system makes
//! the requests.
//!
//! A program makes its first files, and then does transactions. [`FileWorkload`] runs a program on a volume in memory
//! and gives the requests of one transaction at a time.

mod embedded;
mod media;
mod postmark;

use std::{fmt, io};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub use embedded::Day;
pub use media::Sizes;
pub use postmark::{Bias, Dirs, Postmark, Sync};

use super::generator::below;
use crate::fat::{Device, FatError, Recorder, Volume, partition_table};
use crate::request::{Op, Request};

const SECTOR_BYTES: u64 = wearwell::SECTOR_BYTES as u64;

/// A program that works on files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesSpec {
    /// `postmark:…`: Katcher's benchmark of a mail server's files.
    Postmark(Postmark),
    /// `fax`: pages that are received, and deleted when they are printed.
    Fax,
    /// `cell-phone`, `cell-phone:…`: calls, messages, appointments and addresses.
    CellPhone(Day),
    /// `event-recorder`: small records in a cyclic file.
    EventRecorder,
    /// `files:…`: files of one size class are created and deleted on a FAT32 volume that is 80 % full.
    Media(media::Sizes),
    /// `camera`: photos until the card is full; then some of them are deleted.
    Camera,
}

impl FilesSpec {
    /// Transactions of a run without `--write`.
    pub fn transactions(&self) -> u64 {
        match self {
            Self::Postmark(postmark) => postmark.transactions,
            Self::Fax => embedded::FAX_TRANSACTIONS,
            Self::CellPhone(_) => embedded::CELL_PHONE_TRANSACTIONS,
            Self::EventRecorder => embedded::EVENT_RECORDER_TRANSACTIONS,
            Self::Media(sizes) => sizes.transactions(),
            Self::Camera => media::CAMERA_TRANSACTIONS,
        }
    }

    /// True if the volume is FAT32 with clusters of one sector whatever its size, as in the program's original
    /// experiment. Otherwise the type of FAT follows from the size.
    fn wants_fat32(&self) -> bool {
        matches!(self, Self::Media(_) | Self::Camera)
    }

    fn program(&self) -> Box<dyn Program> {
        match self {
            Self::Postmark(postmark) => Box::new(postmark::Pool::new(*postmark)),
            Self::Fax => Box::new(embedded::Fax::default()),
            Self::CellPhone(day) => Box::new(embedded::CellPhone::new(*day)),
            Self::EventRecorder => Box::new(embedded::EventRecorder::default()),
            Self::Media(sizes) => Box::new(media::Media::new(*sizes)),
            Self::Camera => Box::new(media::Camera::default()),
        }
    }
}

impl fmt::Display for FilesSpec {
    /// The name as on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postmark(postmark) => write!(f, "postmark:{postmark}"),
            Self::Fax => f.write_str("fax"),
            Self::CellPhone(day) => write!(f, "cell-phone{day}"),
            Self::EventRecorder => f.write_str("event-recorder"),
            Self::Media(sizes) => write!(f, "files:{sizes}"),
            Self::Camera => f.write_str("camera"),
        }
    }
}

/// File operations of a program.
trait Files {
    fn set_block_bytes(&mut self, bytes: usize);
    fn set_syncs_blocks(&mut self, syncs_blocks: bool);
    fn make_dir(&mut self, path: &str) -> Result<(), FatError>;
    fn remove(&mut self, path: &str) -> Result<(), FatError>;
    fn create(&mut self, path: &str, data: &[u8]) -> Result<(), FatError>;
    fn append(&mut self, path: &str, data: &[u8]) -> Result<(), FatError>;
    fn overwrite(&mut self, path: &str, offset_bytes: u64, data: &[u8]) -> Result<(), FatError>;
    fn read(&mut self, path: &str) -> Result<(), FatError>;
    fn free_bytes(&mut self) -> Result<u64, FatError>;
    fn footprint_bytes(&self, bytes: u64) -> u64;

    /// True if a new file of `bytes` bytes fits, or `bytes` more bytes in an existing one.
    fn has_room(&mut self, bytes: u64) -> Result<bool, FatError> {
        Ok(self.footprint_bytes(bytes) <= self.free_bytes()?)
    }
}

/// Refuses a program whose first files do not fit.
fn need_room(files: &mut dyn Files, bytes: u64, what: impl FnOnce() -> String) -> Result<(), FatError> {
    if files.has_room(bytes)? {
        return Ok(());
    }
    let needed_bytes = files.footprint_bytes(bytes);
    Err(FatError::NoRoom { what: what(), free_bytes: files.free_bytes()?, needed_bytes })
}

impl<D: Device> Files for Volume<D> {
    fn set_block_bytes(&mut self, bytes: usize) {
        Volume::set_block_bytes(self, bytes);
    }

    fn set_syncs_blocks(&mut self, syncs_blocks: bool) {
        Volume::set_syncs_blocks(self, syncs_blocks);
    }

    fn make_dir(&mut self, path: &str) -> Result<(), FatError> {
        Volume::make_dir(self, path)
    }

    fn remove(&mut self, path: &str) -> Result<(), FatError> {
        Volume::remove(self, path)
    }

    fn create(&mut self, path: &str, data: &[u8]) -> Result<(), FatError> {
        Volume::create(self, path, data)
    }

    fn append(&mut self, path: &str, data: &[u8]) -> Result<(), FatError> {
        Volume::append(self, path, data)
    }

    fn overwrite(&mut self, path: &str, offset_bytes: u64, data: &[u8]) -> Result<(), FatError> {
        Volume::overwrite(self, path, offset_bytes, data)
    }

    fn read(&mut self, path: &str) -> Result<(), FatError> {
        Volume::read(self, path).map(|_| ())
    }

    fn free_bytes(&mut self) -> Result<u64, FatError> {
        Volume::free_bytes(self)
    }

    fn footprint_bytes(&self, bytes: u64) -> u64 {
        Volume::footprint_bytes(self, bytes)
    }
}

/// A program over files. Everything it draws comes from the generator it is given.
trait Program {
    /// Makes its first files.
    fn set_up(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError>;
    /// Does one transaction.
    fn transact(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError>;
}

/// The random draws of a program: numbers, and content for files.
struct Draw {
    rng: Xoshiro256PlusPlus,
    content: Vec<u8>,
}

impl Draw {
    fn new(seed: u64) -> Self {
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed), content: Vec::new() }
    }

    /// A number below `bound`.
    fn below(&mut self, bound: u32) -> u32 {
        below(self.rng.next_u64(), bound)
    }

    /// A number from `min` to `max`, both included.
    fn between(&mut self, min: u32, max: u32) -> u32 {
        min + self.below(max - min + 1)
    }

    /// New content: each 512 bytes repeat a word of their own, and the volume in memory stores only that word.
    fn content(&mut self, bytes: u32) -> &[u8] {
        let first = self.rng.next_u64();
        self.content.resize(bytes as usize, 0);
        for (part, place) in self.content.chunks_mut(512).zip(0..) {
            let word = first.wrapping_add(place).to_le_bytes();
            for out in part.chunks_mut(word.len()) {
                out.copy_from_slice(&word[..out.len()]);
            }
        }
        &self.content
    }
}

/// A program on a volume in memory, whose requests are queued.
pub struct FileWorkload {
    program: Box<dyn Program>,
    volume: Volume<Recorder>,
    draw: Draw,
    transactions: u64,
    /// The first sector of the volume on the device.
    first_sector: u64,
    /// The partition table, which is written before anything else: its request, and its bytes if bytes are kept.
    table_request: Option<Request>,
    table: Vec<u8>,
    keeps_bytes: bool,
}

impl FileWorkload {
    /// Formats a volume of `sectors` sectors and makes the program's first files. The requests of both are the first to
    /// be taken. With `keeps_bytes`, the written bytes can be [taken](Self::take_written) too.
    ///
    /// # Errors
    /// A volume that cannot be formatted, or that is too small for these files.
    pub fn new(spec: &FilesSpec, sectors: u64, keeps_bytes: bool, seed: u64) -> Result<Self, FatError> {
        let recorder = if keeps_bytes { Recorder::keeping_bytes(sectors) } else { Recorder::new(sectors) };
        let mut volume = if spec.wants_fat32() { Volume::format_fat32(recorder) } else { Volume::format(recorder) }?;
        let mut draw = Draw::new(seed);
        let mut program = spec.program();
        program.set_up(&mut volume, &mut draw)?;
        let transactions = spec.transactions();
        Ok(Self {
            program,
            volume,
            draw,
            transactions,
            first_sector: 0,
            table_request: None,
            table: Vec::new(),
            keeps_bytes,
        })
    }

    /// Moves the volume to `first_sector`, with a partition table in sector 0. The table is the first request. If
    /// `first_sector` is 0, nothing changes.
    ///
    /// # Errors
    /// Sector numbers that do not fit a partition table.
    pub fn behind_table(mut self, first_sector: u64) -> Result<Self, FatError> {
        if first_sector > 0 {
            let table = partition_table(self.volume.fat_type(), first_sector, self.volume.device().sectors())?;
            let length_bytes = table.len() as u64;
            self.table_request = Some(Request { time_us: 0, op: Op::Write, offset_bytes: 0, length_bytes, stream: 0 });
            self.table = if self.keeps_bytes { table.to_vec() } else { Vec::new() };
            self.first_sector = first_sector;
        }
        Ok(self)
    }

    /// Transactions of a run without `--write`.
    pub fn transactions(&self) -> u64 {
        self.transactions
    }

    /// Does the next transaction.
    ///
    /// # Errors
    /// The file system's own.
    pub fn transact(&mut self) -> Result<(), FatError> {
        self.program.transact(&mut self.volume, &mut self.draw)
    }

    /// The requests since they were last taken.
    pub fn take_requests(&mut self) -> Vec<Request> {
        let mut requests = self.volume.device().take_requests();
        // A flush has no range that could move.
        for request in requests.iter_mut().filter(|request| request.op != Op::Flush) {
            request.offset_bytes += self.first_sector * SECTOR_BYTES;
        }
        // The bytes of the table come first in `take_written`, too.
        requests.splice(0..0, self.table_request.take());
        requests
    }

    /// Mounts a device that has executed the requests so far, and compares all files with those of the volume in
    /// memory. Returns their number.
    ///
    /// # Errors
    /// The first file that differs, and errors of reading.
    pub fn check(&mut self, device: impl Device) -> Result<u64, FatError> {
        let mut found = Volume::mount(Behind { device, first_sector: self.first_sector })?;
        let paths = self.volume.files()?;
        let there = found.files()?;
        for path in &paths {
            if !there.contains(path) || found.read(path)? != self.volume.read(path)? {
                return Err(FatError::Differs { path: path.clone() });
            }
        }
        // Comparing has read the volume in memory, too. These requests are not the workload's.
        self.volume.device().take_requests();
        match there.into_iter().find(|path| !paths.contains(path)) {
            Some(path) => Err(FatError::Differs { path }),
            None => Ok(paths.len() as u64),
        }
    }

    /// The bytes that these requests write, one after the other; empty if no bytes are kept.
    pub fn take_written(&mut self) -> Vec<u8> {
        let mut written = std::mem::take(&mut self.table);
        written.extend(self.volume.device().take_written());
        written
    }
}

/// A device from one of its sectors on.
struct Behind<D> {
    device: D,
    first_sector: u64,
}

impl<D: Device> Device for Behind<D> {
    fn sectors(&self) -> u64 {
        self.device.sectors() - self.first_sector
    }

    fn read(&mut self, sector: u64, data: &mut [u8]) -> io::Result<()> {
        self.device.read(self.first_sector + sector, data)
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> io::Result<()> {
        self.device.write(self.first_sector + sector, data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.device.flush()
    }
}

#[cfg(test)]
mod tests;
