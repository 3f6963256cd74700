//! The disk behind its lock, which is the only access to it.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use wearwell::FtlError;
use wearwell_emu::PowerSwitch;
use wearwell_sim::run::LatencyUs;

use super::Timing;
use super::errors::{Errors, Poisoned};
use super::history::{Counted, History};
use super::latency::Latencies;
use crate::disk::{Disk, DiskError, Report};
use crate::nbd::Errno;

/// A disk that several connections share.
#[derive(Debug)]
pub struct Engine {
    disk: Mutex<Disk>,
    /// The power switch of the current chip.
    switch: Mutex<Option<PowerSwitch>>,
    page_bytes: u32,
    segment_bytes: u64,
    timing: Timing,
    started: Instant,
    /// Counts batches of requests before they wait for the lock.
    arrivals: AtomicU64,
    latencies: Latencies,
    errors: Errors,
    history: History,
}

impl Engine {
    /// Takes a disk, at time 0.
    pub fn new(mut disk: Disk, timing: Timing) -> Self {
        // These are kept beside the lock: nobody should wait for a command to learn a size, or to cut the power.
        let (page_bytes, switch) = (disk.page_bytes(), disk.power_switch());
        let segment_bytes = u64::from(page_bytes) * u64::from(disk.limits().pages_per_segment);
        Self {
            disk: Mutex::new(disk),
            switch: Mutex::new(switch),
            page_bytes,
            segment_bytes,
            timing,
            started: Instant::now(),
            arrivals: AtomicU64::new(0),
            latencies: Latencies::default(),
            errors: Errors::default(),
            history: History::default(),
        }
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Bytes of data in a segment.
    pub fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Whether replies wait for the chip's timeline.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Microseconds since the start, on a clock that never goes back.
    pub(super) fn now_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    /// The wall-clock times of requests.
    pub(super) fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// What clients were told instead.
    pub(super) fn errors(&self) -> &Errors {
        &self.errors
    }

    /// What the disk did in each of the last seconds.
    pub(super) fn history(&self) -> &History {
        &self.history
    }

    /// Notes what the disk did since the last time, if that was a second ago.
    pub(super) fn note_history(&self) {
        let now_us = self.now_us();
        if self.history.is_due(now_us)
            && let Ok(access) = self.access()
        {
            // The history has a lock of its own. Clients wait only while the counters are copied.
            let totals = access.disk.totals();
            drop(access);
            self.history.add(now_us, Counted::new(&totals, self.latencies.all()));
        }
    }

    /// Notes that requests have come, so that idle cleaning lets them pass.
    pub(super) fn announce(&self) {
        self.arrivals.fetch_add(1, Ordering::Relaxed);
    }

    /// Changes whenever requests come.
    pub(super) fn arrivals(&self) -> u64 {
        self.arrivals.load(Ordering::Relaxed)
    }

    /// Cuts the power now. If another thread is in the middle of a command, the chip's next operation is torn. An idle
    /// disk loses only data that was not flushed. Every later command fails.
    ///
    /// # Errors
    /// [`Poisoned`] if a thread panicked while it held the lock.
    pub fn cut(&self) -> Result<(), Poisoned> {
        // The switch works without the disk's lock. Its own lock is let go of before the disk's is taken, because
        // `remount` takes them the other way round.
        if let Some(switch) = &*self.switch.lock().unwrap_or_else(PoisonError::into_inner) {
            switch.cut();
        }
        // An idle chip begins no operation that could be torn, so the disk itself has to refuse commands.
        self.access()?.disk.cut_power();
        Ok(())
    }

    /// Waits for the lock.
    ///
    /// # Errors
    /// [`Poisoned`] if a thread panicked while it held the lock.
    pub fn access(&self) -> Result<Access<'_>, Poisoned> {
        let disk = self.disk.lock().map_err(|_| Poisoned)?;
        Ok(Access { engine: self, disk })
    }
}

/// The disk, while the lock is held. Each [command](Self::command) first tells the disk the time, so that equal calls
/// at equal times have equal effects.
#[derive(Debug)]
pub struct Access<'e> {
    engine: &'e Engine,
    disk: MutexGuard<'e, Disk>,
}

impl Access<'_> {
    /// The disk, for reading its state.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// The disk with its clock set, for a command.
    pub fn command(&mut self) -> &mut Disk {
        let now_us = self.engine.now_us();
        self.disk.set_time_us(now_us);
        &mut self.disk
    }

    /// The disk without setting its clock, for work that takes no time on the chip.
    pub fn disk_mut(&mut self) -> &mut Disk {
        &mut self.disk
    }

    /// Mounts the disk again if the file system has room again; see [`Disk::remount`].
    ///
    /// # Errors
    /// As there.
    pub fn remount(&mut self) -> Result<(), DiskError> {
        if self.disk.remount()?.is_some() {
            // The disk has a new chip, and the old switch would cut nothing.
            let switch = self.disk.power_switch();
            *self.engine.switch.lock().unwrap_or_else(PoisonError::into_inner) = switch;
        }
        Ok(())
    }

    /// The time at which the last command is complete on the chip's timeline, in microseconds since the start.
    pub fn complete_us(&mut self) -> u64 {
        self.disk.sim_us() as u64
    }

    /// Microseconds that the chip still needs for all its operations, erases included.
    pub fn busy_us(&mut self) -> u64 {
        self.disk.idle_us().saturating_sub(self.engine.now_us())
    }

    /// The disk's counters since it was opened, and how many of its calls are recorded, if recording did not fail; see
    /// [`Disk::report`] and [`Disk::flush_recording`]. There are latencies only if replies wait for the chip's
    /// timeline. Otherwise commands come by the wall clock, however far behind the chip is. Their latencies would be
    /// its backlog, which no client waits for.
    pub fn report(&mut self) -> (Report, Result<Option<u64>, DiskError>) {
        let recorded = self.disk.flush_recording();
        let mut report = self.disk.report();
        if self.engine.timing == Timing::Off {
            (report.latency_us, report.write_us_per_page) = (None, None);
        }
        (report, recorded)
    }

    /// The latencies of commands on the chip's timeline, if replies wait for it.
    pub fn latency_us(&self) -> Option<LatencyUs> {
        if self.engine.timing == Timing::Real { self.disk.latency_us() } else { None }
    }
}

/// The error number that a client gets for a disk's error.
pub(super) fn errno(error: &DiskError) -> Errno {
    match error {
        DiskError::Ftl(FtlError::WornOut { .. }) | DiskError::NoRoom => Errno::NoSpace,
        DiskError::Sync(error) if error.kind() == io::ErrorKind::StorageFull => Errno::NoSpace,
        DiskError::OutOfRange { .. } | DiskError::Ftl(FtlError::OutOfRange { .. }) => Errno::Inval,
        // What the chip lost, what is not durable, a power that is off: nothing that another request could change.
        _ => Errno::Io,
    }
}
