//! A disk: an emulated chip in an image file or in memory, or a real one, the engine on it, and byte-granular access to
//! both.
//!
//! [`Disk`] runs one command at a time; a server with several connections puts it behind a lock. An image has its
//! parameters in its header, so it opens without flags. [`wearwell_sim::engine`] builds the engine, as for simulated
//! runs.
//!
//! # Durability
//!
//! Written data is in the system's cache when a command returns. A crash of the machine can lose it, but a crash of
//! this process cannot. After [`Disk::flush`] it also survives a crash of the machine. A process that ends in the
//! middle of a command is a power cut, which the next [`Disk::open`] mounts like any other.

mod account;
mod check;
mod config;
mod engine;
mod error;
mod events;
mod handles;
mod header;
mod health;
mod held;
mod inspect;
mod life;
mod mtd;
mod open;
mod range;
mod reclaim_units;
mod record;
mod snapshot;
mod totals;

use std::path::{Path, PathBuf};

use wearwell::page::Policies;
use wearwell::{Limits, Lpn, SECTOR_BYTES, Sectors, Stats, WriteHint};
use wearwell_emu::{ChipProfile, EmuChip, Faults, ImageFile, PowerCut, PowerSwitch};
use wearwell_sim::engine::{EnginePlan, Layout};
use wearwell_sim::run::ReportConfig;

pub use check::{Checkup, Finding, check};
pub use config::DiskConfig;
pub use error::DiskError;
pub use events::{Deed, Event, KEPT_EVENTS};
pub use handles::{HandleDeed, HandleEvent, Watched};
pub use header::{EngineChoices, HeaderFault};
pub use health::{Condition, Health, SPARE_THRESHOLD_PERCENT};
pub use held::Held;
pub use inspect::{Capacity, ClassUse, Inspection, MapUse, StateUse, WearSpread};
pub use life::Life;
pub use mtd::{MtdLook, MtdPolicies};
pub use totals::Totals;
pub use wearwell::page::MountReport;
pub use wearwell_sim::engine::{SegmentRow, SegmentState};
pub use wearwell_sim::run::Report;

use crate::fdp::FdpSpec;
use account::Account;
use engine::DiskEngine;
use events::Events;
use health::Symptoms;
use life::{KeptHandles, LifeKeeper};
use range::{Bytes, Split};
use record::Recorder;

/// A sector of which a part is changed.
type Sector = [u8; SECTOR_BYTES as usize];

/// Zeros for one write.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// The first bytes of a range that are allocated alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The number of bytes: at least one, and at most the number in the request.
    pub bytes: u64,
    /// False if they read as zeros and take no flash.
    pub allocated: bool,
}

/// A disk on flash, mostly emulated.
pub struct Disk {
    engine: Box<dyn DiskEngine>,
    plan: EnginePlan,
    fdp: Option<FdpSpec>,
    /// The image file, or the flash's device; none for a disk in memory.
    path: Option<PathBuf>,
    /// The image, for mounting it again; none if changes do not go to a file.
    file: Option<ImageFile>,
    bytes: u64,
    page_bytes: u32,
    /// Bytes of the data pages of a segment.
    segment_bytes: u64,
    /// The chip's time when the disk was opened, in nanoseconds. The disk's times count from it.
    opened_ns: u64,
    account: Account,
    life: LifeKeeper,
    /// False for a disk that was just formatted.
    is_mounted: bool,
    symptoms: Symptoms,
    /// True once the power was cut between two commands. Nothing reaches the chip from then on.
    is_cut: bool,
    recorder: Option<Recorder>,
    events: Events,
    /// True if the host says that what it writes is read-only.
    is_read_only_data: bool,
}

impl Disk {
    /// Bytes that the host can address: whole sectors of 512.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of a page, the unit of mapping. Writes of whole pages are the most efficient. It is a multiple of 512, and
    /// a power of two unless the chip's spare is so small that a part of each page is used instead.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// The image, or the flash's device; none for a disk in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The chip, and every parameter that the disk was made with.
    pub fn plan(&self) -> &EnginePlan {
        &self.plan
    }

    /// True if a mount can tell a clean shutdown from a cut. On NOR every mount scans everything, and there is no mark.
    pub fn records_shutdowns(&self) -> bool {
        self.plan.layout != Layout::Nor
    }

    /// The chip.
    pub fn chip_profile(&self) -> &ChipProfile {
        &self.plan.spec.chip
    }

    /// Reads any bytes. Data that was never written, or was discarded, reads as zeros.
    ///
    /// # Errors
    /// `OutOfRange`; `Ftl` if the chip lost some of them. The content of `data` is then undefined.
    pub fn read(&mut self, offset: u64, data: &mut [u8]) -> Result<(), DiskError> {
        let bytes = self.begin(offset, data.len() as u64)?;
        self.account.reads(bytes.len());
        let read = self.read_range(bytes, data);
        self.account.ends(&mut *self.engine);
        read
    }

    fn read_range(&mut self, bytes: Bytes, data: &mut [u8]) -> Result<(), DiskError> {
        let Split { head, whole, tail } = bytes.split();
        let (head_data, rest) = data.split_at_mut(head.map_or(0, Bytes::len) as usize);
        let (whole_data, tail_data) = rest.split_at_mut(rest.len() - tail.map_or(0, Bytes::len) as usize);
        // The engine knows whole sectors only, so a part of one goes through a buffer.
        for (part, part_data) in [(head, head_data), (tail, tail_data)] {
            if let Some(part) = part {
                let mut sector: Sector = [0; _];
                let (at, place) = part.in_sector();
                self.engine_read(at, &mut sector)?;
                part_data.copy_from_slice(&sector[place]);
            }
        }
        if let Some(whole) = whole {
            self.engine_read(whole, whole_data)?;
        }
        Ok(())
    }

    /// Writes any bytes, as part of a stream; 0 is no stream. Sectors that are covered in part are read first.
    ///
    /// # Errors
    /// `OutOfRange`; `Ftl` if the engine fails, `NoRoom` if the file system is full. Some of the bytes may then be
    /// written.
    pub fn write(&mut self, offset: u64, data: &[u8], stream: u16) -> Result<(), DiskError> {
        let bytes = self.begin_change(offset, data.len() as u64)?;
        let written = self.write_range(bytes, data, stream);
        self.end_change();
        written
    }

    fn write_range(&mut self, bytes: Bytes, data: &[u8], stream: u16) -> Result<(), DiskError> {
        if bytes.len() == 0 {
            return Ok(());
        }
        // Clients of NVMe and file systems write like this. Nothing is read first, and the engine gets all of it in one
        // call.
        if bytes.is_of_sectors() {
            return self.write_counted(bytes, bytes.sectors(), data, stream);
        }
        // No two calls write to the same page, so that each page counts once.
        let (head, whole, tail) = bytes.around_pages(self.page_bytes);
        let mut rest = data;
        for part in [head, whole, tail].into_iter().flatten() {
            let (part_data, behind) = rest.split_at(part.len() as usize);
            self.write_part(part, part_data, stream)?;
            rest = behind;
        }
        Ok(())
    }

    /// Writes whole pages, or a part of one. Sectors that the part does not cover completely are read first.
    fn write_part(&mut self, part: Bytes, data: &[u8], stream: u16) -> Result<(), DiskError> {
        if part.is_of_sectors() {
            return self.write_counted(part, part.sectors(), data, stream);
        }
        let around = part.around_sectors();
        // A part is a page at most, or whole pages that begin and end with sectors and went the other way.
        let mut content = vec![0; around.len() as usize];
        self.engine_read(around.sectors(), &mut content)?;
        let from = (part.start - around.start) as usize;
        content[from..from + data.len()].copy_from_slice(data);
        self.write_counted(part, around.sectors(), &content, stream)
    }

    /// Writes sectors, for a host that wrote `bytes` of them.
    fn write_counted(&mut self, bytes: Bytes, at: Sectors, data: &[u8], stream: u16) -> Result<(), DiskError> {
        // The engine counts pages, also of a write that fails half way. Bytes count only if all of them were written.
        let before = *self.engine.stats();
        let mut hint = WriteHint::stream(stream);
        hint.read_only = self.is_read_only_data;
        let written = self.engine_write(at, data, hint);
        let host_pages = self.engine.stats().host_pages - before.host_pages;
        if written.is_ok() && self.engine.stats().host_programs > before.host_programs {
            self.symptoms.wrote();
        }
        self.account.writes(if written.is_ok() { bytes.len() } else { 0 }, stream, host_pages);
        written
    }

    /// Discards bytes. Whole pages among them read as zeros from now on. Pages that are covered in part keep their
    /// content.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn discard(&mut self, offset: u64, bytes: u64) -> Result<(), DiskError> {
        let bytes = self.begin_change(offset, bytes)?;
        // A discard may do less than asked. The engine itself leaves pages alone that are covered in part.
        let discarded = bytes.split().whole.map_or(Ok(()), |whole| self.engine_discard(whole));
        self.end_change();
        discarded
    }

    /// Sets bytes to zero. Whole pages are discarded, unless their flash is to stay allocated.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_zeroes(
        &mut self,
        offset: u64,
        bytes: u64,
        stream: u16,
        keep_allocated: bool,
    ) -> Result<(), DiskError> {
        let bytes = self.begin_change(offset, bytes)?;
        let zeroed = if keep_allocated { self.fill_zeros(bytes, stream) } else { self.clear(bytes, stream) };
        self.end_change();
        zeroed
    }

    /// Discards whole pages, and writes zeros to pages that are covered in part.
    fn clear(&mut self, bytes: Bytes, stream: u16) -> Result<(), DiskError> {
        // Unlike a discard, this must leave zeros everywhere.
        let (head, whole, tail) = bytes.around_pages(self.page_bytes);
        if let Some(head) = head {
            self.fill_zeros(head, stream)?;
        }
        if let Some(whole) = whole {
            self.engine_discard(whole.sectors())?;
        }
        tail.map_or(Ok(()), |tail| self.fill_zeros(tail, stream))
    }

    /// Writes zeros, in parts that end with pages.
    fn fill_zeros(&mut self, bytes: Bytes, stream: u16) -> Result<(), DiskError> {
        // No page is larger than 64 KiB.
        let page_bytes = u64::from(self.page_bytes);
        let step = ZEROS.len() as u64 / page_bytes * page_bytes;
        let mut start = bytes.start;
        while start < bytes.end {
            let end = ((start / step + 1) * step).min(bytes.end);
            self.write_range(Bytes { start, end }, &ZEROS[..(end - start) as usize], stream)?;
            start = end;
        }
        Ok(())
    }

    /// Whether the first of these bytes are allocated on flash, and how many bytes are so; in whole pages, except where
    /// the range begins or ends inside a page. An empty range, or one beyond the disk's end, is an extent of no bytes.
    pub fn extent(&mut self, offset: u64, bytes: u64) -> Extent {
        let page_bytes = u64::from(self.page_bytes);
        let end = offset.saturating_add(bytes).min(self.bytes);
        if offset >= end {
            return Extent { bytes: 0, allocated: false };
        }
        let page = |at: u64| Lpn((at / page_bytes) as u32);
        let allocated = self.engine.holds(page(offset));
        let mut next = (offset / page_bytes + 1) * page_bytes;
        // Each page is a look into the map. Callers bound the range.
        while next < end && self.engine.holds(page(next)) == allocated {
            next += page_bytes;
        }
        Extent { bytes: next.min(end) - offset, allocated }
    }

    /// Makes everything durable that was written or discarded so far, on the chip and in the image.
    ///
    /// # Errors
    /// `Ftl`; `Sync` if the system could not write the image; `Remounted`, once, after the disk was mounted again.
    /// After the last two, nothing since the last flush can be relied on.
    pub fn flush(&mut self) -> Result<(), DiskError> {
        self.check_changeable()?;
        let flushed = self.engine_flush();
        self.end_change();
        // Also if a page was lost. Everything else is then durable.
        let synced = self.sync();
        flushed.and(synced)?;
        // Not after a failure: what was written since the last good flush may still be lost.
        self.symptoms.is_unflushed = false;
        if std::mem::take(&mut self.symptoms.owes_loss) { Err(DiskError::Remounted) } else { Ok(()) }
    }

    /// An engine without work would not notice that its chip is off.
    fn check_power(&mut self) -> Result<(), DiskError> {
        if self.is_off() {
            Err(DiskError::PowerOff)
        } else if self.symptoms.is_unmounted {
            Err(DiskError::NoRoom)
        } else {
            Ok(())
        }
    }

    fn check_changeable(&mut self) -> Result<(), DiskError> {
        self.check_power()?;
        if self.symptoms.is_out_of_room { Err(DiskError::NoRoom) } else { Ok(()) }
    }

    /// Gives some of the space of the image back to its file system that was erased before the last flush. True if
    /// there is more. The chip has no part in it.
    pub fn give_back(&mut self) -> bool {
        self.engine.chip().emulated().is_some_and(EmuChip::give_back)
    }

    fn sync(&mut self) -> Result<(), DiskError> {
        // On real flash, what was programmed is durable.
        self.engine.chip().emulated().map_or(Ok(()), EmuChip::sync).map_err(DiskError::Sync)
    }

    /// Cleans in the background, moving at most `budget_pages` pages. Returns true if there is more to do.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn clean(&mut self, budget_pages: u32) -> Result<bool, DiskError> {
        self.check_changeable()?;
        let cleaned = self.engine_clean(budget_pages);
        self.keep_life();
        cleaned
    }

    /// Sets the disk's time, in microseconds since it was opened. To be called before each command, with its arrival.
    /// The time never goes back.
    pub fn set_time_us(&mut self, now_us: u64) {
        // The chip's clock went on over all earlier openings. Callers count from this one.
        let now_ns = self.opened_ns.saturating_add(now_us.saturating_mul(1000));
        self.engine.chip().time().begin_command(now_ns);
        self.account.arrives(now_ns);
        self.engine.set_time_us(now_ns / 1000);
        self.events.set_time_us(now_us);
        if let Some(recorder) = &mut self.recorder {
            recorder.clock_us = now_us;
        }
    }

    /// The time at which the command after the last [`set_time_us`](Self::set_time_us) is complete on the chip's
    /// timeline, in microseconds since the disk was opened. It includes waiting for earlier operations. A chip without
    /// times takes none.
    pub fn sim_us(&mut self) -> f64 {
        let done_ns = self.engine.chip().time().completion_ns();
        done_ns.saturating_sub(self.opened_ns) as f64 / 1e3
    }

    /// The time at which the chip has finished all its operations, erases included, in microseconds since the disk was
    /// opened.
    pub fn idle_us(&mut self) -> u64 {
        let idle_ns = self.engine.chip().time().idle_ns();
        idle_ns.saturating_sub(self.opened_ns).div_ceil(1000)
    }

    /// Flushes, and writes a mark of a clean shutdown. Commands may follow; they remove the mark.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn shutdown(&mut self) -> Result<(), DiskError> {
        self.check_changeable()?;
        // The engine ends its segments here, and the next process finds that it cannot go on with them.
        let begun = self.begun_handles();
        let shut = self.engine_shutdown();
        // Also if the disk is worn out, because its data is to be durable.
        let synced = self.sync();
        self.keep_life_with(begun);
        // Counters come last, since they are worth less than data.
        let kept = self.life.sync().map_err(DiskError::Sync);
        shut.and(synced).and(kept)
    }

    /// The disk's counters since it was opened, in the fields of a simulated run's report. Reads the whole map.
    pub fn report(&mut self) -> Report {
        let timed = self.plan.spec.chip.times.is_some();
        let sim_seconds = timed.then(|| self.sim_us() / 1e6);
        let config = ReportConfig::new(&*self.engine, &self.plan, &Account::host());
        let mut report = Report::new(&*self.engine, config, &self.account.measured(sim_seconds));
        if let Some(now) = self.engine.policies() {
            report.config.when = Some(now.when.to_string());
            report.config.which = Some(now.which.to_string());
            report.config.r#where = Some(now.place.to_string());
            report.config.wear = now.wear.to_string();
        }
        report
    }

    /// The engine's counters since the disk was opened.
    pub fn counters(&self) -> Stats {
        *self.engine.stats()
    }

    /// Counters over the life of the disk.
    pub fn life(&self) -> Life {
        self.life.life(self.since_opened())
    }

    /// Numbers that describe the engine: capacity, free segments, live pages.
    pub fn limits(&self) -> Limits {
        self.engine.limits()
    }

    /// Every segment. With block-mapped engines, this reads the whole map.
    pub fn segments(&self) -> Vec<SegmentRow> {
        let limits = self.engine.limits();
        let per_bank = (limits.segments * self.plan.spec.chip.stripe / self.plan.spec.chip.banks).max(1);
        let mut rows = self.engine.segment_rows();
        for row in &mut rows {
            // For a stripe over several banks, the first of them.
            row.bank = row.segment / per_bank * self.plan.spec.chip.stripe;
        }
        rows
    }

    /// The streams that write to segments of a class, in ascending order; none if placement does not keep streams
    /// apart. The chip records only classes. So data that was written before the disk was opened belongs to a class,
    /// but to no stream.
    pub fn streams_of(&self, class: u8) -> Vec<u16> {
        self.engine.streams_of(class)
    }

    /// The events of cleaning after event number `seen`, of which the last [`KEPT_EVENTS`] are kept. Each victim, each
    /// erase and each migration of a log block is an event.
    pub fn events_after(&self, seen: u64) -> Vec<Event> {
        self.events.after(seen)
    }

    /// The policies in force; none for engines without a choice.
    pub fn policies(&self) -> Option<Policies> {
        self.engine.policies()
    }

    /// Changes the policies, until the disk is opened again.
    ///
    /// # Errors
    /// `Policies` if the engine has none, or if these do not fit; `PlacedByHandle` if another placement would come to
    /// reclaim unit handles. Nothing has then changed.
    pub fn set_policies(&mut self, policies: Policies) -> Result<(), DiskError> {
        // A handle is known by its class. Under another placement its status, its updates and its events would be those
        // of other data, and what is written meanwhile would stay in the classes of other handles.
        if let Some(needed) = self.fdp.map(FdpSpec::place).filter(|needed| *needed != policies.place) {
            return Err(DiskError::PlacedByHandle { asked: policies.place, needed });
        }
        Ok(self.engine.set_policies(policies)?)
    }

    /// Says whether the host promises not to change again what it writes from now on (Chiang '97, section 3.5). Until
    /// the disk is opened again.
    pub fn hint_read_only(&mut self, is_read_only: bool) {
        self.is_read_only_data = is_read_only;
    }

    /// Changes the faults of the chip from now on.
    ///
    /// # Errors
    /// `RealChip`, which has only faults of its own.
    pub fn inject(&mut self, faults: Faults) -> Result<(), DiskError> {
        self.engine.chip().emulated().ok_or(DiskError::RealChip)?.set_faults(faults);
        Ok(())
    }

    /// Schedules a power cut at an operation of the chip, by the numbers of [`chip_ops`](Self::chip_ops), or cancels
    /// one. After the cut, every command fails until the disk is opened again.
    ///
    /// # Errors
    /// `RealChip`, whose power is elsewhere.
    pub fn arm_cut(&mut self, cut: Option<PowerCut>) -> Result<(), DiskError> {
        self.engine.chip().emulated().ok_or(DiskError::RealChip)?.arm(cut);
        Ok(())
    }

    /// A switch that cuts the power while another thread may be in the middle of a command. The chip's next operation
    /// is torn. A real chip has none.
    pub fn power_switch(&mut self) -> Option<PowerSwitch> {
        self.engine.chip().emulated().map(|chip| chip.power_switch())
    }

    /// Cuts the power between two commands. Every command fails until the disk is opened again. The chip is then idle,
    /// except for background erases of NOR, which are torn when the image is opened again.
    pub fn cut_power(&mut self) {
        self.is_cut = true;
    }

    /// The number of the chip's next operation that a cut can hit; 0 on a real chip.
    pub fn chip_ops(&mut self) -> u64 {
        self.engine.chip().emulated().map_or(0, |chip| chip.ops())
    }

    /// True after a power cut.
    pub fn is_off(&mut self) -> bool {
        self.is_cut || self.engine.chip().emulated().is_some_and(|chip| chip.is_off())
    }

    /// Ends a command that may have changed something. Reads do not store what they count: they would make the system
    /// write to the image.
    fn end_change(&mut self) {
        self.account.ends(&mut *self.engine);
        self.keep_life();
    }

    /// Keeps the life up to now in the image.
    fn keep_life(&mut self) {
        self.keep_life_with(self.begun_handles());
    }

    fn keep_life_with(&mut self, begun: u16) {
        let handles = KeptHandles { watched: self.events.handles().all_watched(), begun };
        let since_opened = self.since_opened();
        self.life.keep(since_opened, handles);
    }

    /// The part of the life that the engine's counters have.
    fn since_opened(&self) -> Life {
        let stats = self.engine.stats();
        Life {
            opens: 0,
            read_bytes: self.account.read_bytes(),
            written_bytes: self.account.written_bytes(),
            programmed_bytes: stats.programmed_pages() * u64::from(self.page_bytes),
            erased_bytes: stats.erases * self.segment_bytes,
        }
    }

    /// The bytes of a command that changes data, if the command can begin.
    fn begin_change(&mut self, offset: u64, bytes: u64) -> Result<Bytes, DiskError> {
        let bytes = self.begin(offset, bytes)?;
        self.check_changeable().map(|()| bytes)
    }

    /// The bytes of a command, if it can begin.
    fn begin(&mut self, offset: u64, bytes: u64) -> Result<Bytes, DiskError> {
        self.check_power()?;
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(Bytes { start: offset, end }),
            _ => Err(DiskError::OutOfRange { offset, bytes, capacity: self.bytes }),
        }
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("path", &self.path).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
