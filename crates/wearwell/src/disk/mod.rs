//! A disk on a chip: the interface for firmware.

mod config;
mod engine;
mod error;
mod medium;
mod memory;

pub use config::Config;
pub use engine::EngineChoice;
use engine::Served;
pub use error::{Error, ShapeError};
use medium::OverDriver;
pub use medium::{Medium, OnNor};

use alloc::boxed::Box;
use core::ops::Range;

use wearwell_flash::ErrorKind;

use crate::addr::{Lpn, SECTOR_BYTES, Sectors};
use crate::clean::which::VictimChoice;
use crate::ftl::{BlockDevice, FtlError, Inspect, Limits, Probe, WriteHint};
use crate::page::{MountError, MountReport};
use crate::place::PlaceChoice;
use crate::stats::Stats;

/// A disk on a flash chip: pages that are read, written and discarded in any order, and that survive power cuts from a
/// flush on.
///
/// `C` is your driver, any [`Nand`](crate::flash::Nand); or [`OnNor`] around a [`Nor`](crate::flash::Nor). `S` is the
/// type of the configuration, which chooses the engine: [`Config`] the one with its map in memory, and
/// [`PagedConfig`](crate::PagedConfig) the one with its map on flash. A chip is mounted with the map that it was
/// formatted with; with the other one it is refused ([`MountError::OtherMap`]).
///
/// # Example
///
/// ```
/// use wearwell::flash::RamNand;
/// use wearwell::{Config, Disk};
///
/// let mut disk = Disk::format(RamNand::new(RamNand::SMALL), Config::new(300))?;
/// disk.write(7, &[42; 512])?;
/// disk.flush()?;
///
/// // The power fails: only the chip is left. What was flushed is still there.
/// let (mut disk, report) = Disk::mount(disk.into_chip(), Config::new(300))?;
/// assert!(!report.clean);
/// let mut page = [0; 512];
/// disk.read(7, &mut page)?;
/// assert_eq!(page, [42; 512]);
/// # Ok::<(), wearwell::Error<wearwell::flash::RamNandError>>(())
/// ```
///
/// # Promises
///
/// The promises are those of [`BlockDevice`]. In short: flushed data stays, other data is old or new and never torn,
/// and readable data stays readable after any error.
///
/// # The engine below
///
/// The disk is a [`PageFtl`](crate::PageFtl) over a [`NandLog`](crate::page::log::NandLog) or a
/// [`NorLog`](crate::page::log::NorLog), or a [`PagedFtl`](crate::PagedFtl) over a
/// [`MapLog`](crate::page::log::MapLog). They can also be used directly.
/// [`device`](Self::device) gives access by sectors of 512 bytes, for file systems and for layers in front of it.
pub struct Disk<C: Medium, S: EngineChoice<C> = Config> {
    engine: Box<S::Engine>,
}

/// A mounted disk and the report of the mount; or the chip and the error.
pub type MountOrReturn<C, S, Back> = Result<(Disk<C, S>, MountReport), (Back, Error<<C as Medium>::Error>)>;

impl<C: Medium, S: EngineChoice<C>> Disk<C, S> {
    /// Bytes of memory for the engine itself, with the driver in it. `arena_bytes` of the configuration does not count
    /// them.
    pub const ENGINE_BYTES: usize = size_of::<S::Engine>();

    /// Makes an empty disk on a chip. Everything on the chip is erased. Erase counts that an earlier disk recorded are
    /// kept.
    ///
    /// After a power cut during the format, [`mount`](Self::mount) refuses the chip, or mounts a disk on which any part
    /// of the old content may be missing. Format it again.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`MountError::Config`] if the disk does not fit the chip; [`Error::Driver`].
    pub fn format(chip: C, config: S) -> Result<Self, Error<C::Error>> {
        let mut log = None;
        Self::place_log(&mut log, chip, &config)?;
        let engine = config.format(&mut log);
        engine.map(|engine| Self { engine }).map_err(|error| Self::unmounted(&mut log, error))
    }

    /// Opens the disk on a chip that was [formatted](Self::format) with the same capacity, after any number of power
    /// cuts.
    ///
    /// A chip that reads as erased throughout is mounted as an empty disk. The report says that it was [never
    /// formatted](MountReport::never_formatted).
    ///
    /// # Errors
    /// [`MountError::Foreign`] if the chip holds only foreign data: format it if that data may be lost.
    /// [`MountError::OtherMap`], [`MountError::OtherCapacity`], [`MountError::OtherVersion`]; [`Error::Driver`].
    pub fn mount(chip: C, config: S) -> Result<(Self, MountReport), Error<C::Error>> {
        let mut log = None;
        Self::place_log(&mut log, chip, &config)?;
        Self::mount_log(&mut log, config)
    }

    /// As [`mount`](Self::mount), but gives the chip back if it is not mounted, so that it can be
    /// [formatted](Self::format). (It is not given back if its shape does not fit, because it cannot be formatted
    /// either.)
    ///
    /// # Errors
    /// As [`mount`](Self::mount).
    pub fn mount_or_return(chip: C, config: S) -> MountOrReturn<C, S, Option<C::Chip>> {
        let mut log = None;
        Self::place_log(&mut log, chip, &config).map_err(|error| (None, error))?;
        // An engine that fails puts the log back, and the driver is in it.
        Self::mount_log(&mut log, config).map_err(|error| (log.map(OverDriver::into_driver), error))
    }

    /// Puts the log where the engine takes it from. Not inline: on the way it lies on the stack more than once.
    #[inline(never)]
    fn place_log(log: &mut Option<S::Log>, chip: C, config: &S) -> Result<(), Error<C::Error>> {
        *log = Some(config.log(chip).map_err(Error::Shape)?);
        Ok(())
    }

    fn mount_log(log: &mut Option<S::Log>, config: S) -> Result<(Self, MountReport), Error<C::Error>> {
        let mounted = config.mount(log).map(|(engine, report)| (Self { engine }, report));
        mounted.map_err(|error| Self::unmounted(log, error))
    }

    /// Reads page `page` into `data`, [`page_bytes`](Self::page_bytes) long. A page that was never written, or was
    /// discarded, reads as zeros.
    ///
    /// # Errors
    /// [`Error::Command`] with [`FtlError::Unreadable`] if the chip lost the page; [`Error::Driver`].
    pub fn read(&mut self, page: u32, data: &mut [u8]) -> Result<(), Error<C::Error>> {
        let at = self.sectors_of(page);
        let read = self.engine.read(at, data);
        self.told(read)
    }

    /// Writes page `page`, whose `data` is [`page_bytes`](Self::page_bytes) long. It is durable from the next
    /// [`flush`](Self::flush) on.
    ///
    /// # Errors
    /// [`Error::Command`] with [`FtlError::WornOut`] once the disk is read-only; [`Error::Driver`].
    pub fn write(&mut self, page: u32, data: &[u8]) -> Result<(), Error<C::Error>> {
        self.write_hinted(page, data, WriteHint::NONE)
    }

    /// As [`write`](Self::write), with a hint about the data for placement policies.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_hinted(&mut self, page: u32, data: &[u8], hint: WriteHint) -> Result<(), Error<C::Error>> {
        let at = self.sectors_of(page);
        let written = self.engine.write(at, data, hint);
        self.told(written)
    }

    /// Discards the content of these pages. They read as zeros, and cleaning becomes cheaper. Durable from the next
    /// [`flush`](Self::flush) on.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn discard(&mut self, pages: Range<u32>) -> Result<(), Error<C::Error>> {
        let first = self.sectors_of(pages.start);
        // A range that ends before it begins is empty.
        let count = first.count * u64::from(pages.end.saturating_sub(pages.start));
        let discarded = self.engine.discard(Sectors { count, ..first });
        self.told(discarded)
    }

    /// Makes everything written or discarded so far durable.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn flush(&mut self) -> Result<(), Error<C::Error>> {
        let flushed = self.engine.flush();
        self.told(flushed)
    }

    /// Cleans in idle time, moving at most `budget_pages` pages. True if there is more to do.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn clean(&mut self, budget_pages: u32) -> Result<bool, Error<C::Error>> {
        let cleaned = self.engine.clean(budget_pages);
        self.told(cleaned)
    }

    /// Flushes and leaves a mark, so that the next mount knows that nothing was cut. Commands may follow.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn shutdown(&mut self) -> Result<(), Error<C::Error>> {
        let shut = self.engine.shutdown();
        self.told(shut)
    }

    /// Sets the time, in microseconds since any fixed moment, for policies that age data in seconds. It must not go
    /// back.
    pub fn set_time_us(&mut self, now_us: u64) {
        self.engine.set_time_us(now_us);
    }

    /// Pages of the disk.
    pub fn pages(&self) -> u32 {
        (self.engine.sectors() / u64::from(self.page_bytes() / SECTOR_BYTES)) as u32
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u32 {
        self.engine.page_bytes()
    }

    /// The counters since the disk was made or mounted.
    pub fn stats(&self) -> &Stats {
        self.engine.stats()
    }

    /// Sizes, bounds and memory.
    pub fn limits(&self) -> Limits {
        self.engine.limits()
    }

    /// How often each good segment was erased.
    pub fn erase_counts(&self) -> alloc::vec::Vec<u32> {
        self.engine.erase_counts()
    }

    /// The disk by sectors of 512 bytes. Its errors have only the kind of a driver's error.
    pub fn device(&mut self) -> &mut dyn BlockDevice {
        &mut *self.engine
    }

    /// The driver.
    pub fn chip(&self) -> &C::Chip {
        &self.engine.below().kept().chip
    }

    /// The driver. The disk does not notice changes made through it.
    pub fn chip_mut(&mut self) -> &mut C::Chip {
        &mut self.engine.below_mut().kept_mut().chip
    }

    /// Gives the driver back and drops everything else, like a power cut. Call [`flush`](Self::flush) or
    /// [`shutdown`](Self::shutdown) first.
    pub fn into_chip(self) -> C::Chip {
        self.engine.end().into_driver()
    }

    fn sectors_of(&self, page: u32) -> Sectors {
        Lpn(page).sectors(self.page_bytes())
    }

    /// Replaces the kind of a driver's error by the error itself.
    fn told<T>(&mut self, done: Result<T, FtlError>) -> Result<T, Error<C::Error>> {
        done.map_err(|error| match Self::drivers_own(self.engine.below_mut(), chip_kind(error)) {
            Some(own) => Error::Driver(own),
            None => Error::Command(error),
        })
    }

    fn unmounted(log: &mut Option<S::Log>, error: MountError) -> Error<C::Error> {
        let kind = match error {
            MountError::Chip(kind) => Some(kind),
            MountError::Ftl(error) => chip_kind(error),
            _ => None,
        };
        log.as_mut().and_then(|log| Self::drivers_own(log, kind)).map_or(Error::Mount(error), Error::Driver)
    }

    fn drivers_own(log: &mut S::Log, kind: Option<ErrorKind>) -> Option<C::Error> {
        log.kept_mut().take_error(kind?)
    }
}

impl<C: Medium, V: VictimChoice, W: PlaceChoice> Disk<C, Config<V, W>> {
    /// Reports erases and victims to `probe` from now on.
    pub fn listen(&mut self, probe: Box<dyn Probe + Send>) {
        engine::listen(&mut self.engine, probe);
    }
}

/// The kind of the chip's error that a command ended with.
fn chip_kind(error: FtlError) -> Option<ErrorKind> {
    if let FtlError::Chip(kind) = error { Some(kind) } else { None }
}

impl<C: Medium, S: EngineChoice<C>> core::fmt::Debug for Disk<C, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Disk").field("limits", &self.limits()).finish_non_exhaustive()
    }
}
