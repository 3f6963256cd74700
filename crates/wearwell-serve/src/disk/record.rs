//! The disk's calls of its engine for the host, all of which are made here, and the recording of these calls.
//!
//! A simulated run replays a recording call by call, at the same times of the engine's clock. So it repeats the
//! victims, the copies and the erases, and ends with the same map.

use std::io::{self, Write};
use std::sync::Arc;

use wearwell::{Class, FtlError, SECTOR_BYTES, Sectors, WriteHint};
use wearwell_sim::engine::AwareMode;
use wearwell_sim::trace;
use wearwell_sim::{Op, Request};

use super::{Disk, DiskError, SegmentState};

/// The recording of calls.
pub(super) struct Recorder {
    out: Box<dyn Write + Send>,
    /// The last time that was set in the engine.
    pub(super) clock_us: u64,
    /// Rows written, without the header.
    rows: u64,
    /// The error that ended the recording. Nothing is written after it.
    failed: Option<Arc<io::Error>>,
}

impl Recorder {
    fn begin(mut out: Box<dyn Write + Send>, is_mounted: bool) -> io::Result<Self> {
        trace::begin_recording(&mut out)?;
        let mut recorder = Self { out, clock_us: 0, rows: 0, failed: None };
        if is_mounted {
            // The image was shut down when it was made, and then mounted. The replay does the same.
            recorder.row(Op::Mount, 0, 0, 0);
        }
        Ok(recorder)
    }

    fn row(&mut self, op: Op, offset_bytes: u64, length_bytes: u64, stream: u16) {
        // A gap would make a replay end with another map, and nobody would see why.
        if self.failed.is_some() {
            return;
        }
        let call = Request { time_us: self.clock_us, op, offset_bytes, length_bytes, stream };
        match trace::write_recorded(&mut self.out, &call) {
            Ok(()) => self.rows += 1,
            Err(error) => self.fail(error),
        }
    }

    /// Ends the recording, because later calls could not be replayed. The first error is kept.
    fn fail(&mut self, error: io::Error) {
        self.failed.get_or_insert_with(|| Arc::new(error));
    }

    /// Writes the buffered rows. Returns how many rows there are.
    fn flush(&mut self) -> Result<u64, DiskError> {
        if self.failed.is_none()
            && let Err(error) = self.out.flush()
        {
            self.fail(error);
        }
        self.failed.clone().map_or(Ok(self.rows), |error| Err(DiskError::Recording(error)))
    }
}

impl Disk {
    /// Records every call of the engine from now on, to be replayed as a trace of the format
    /// [`Recording`](wearwell_sim::trace::TraceFormat::Recording). To be called before the first command. A replay
    /// begins with an empty disk on a new chip, so one that was written to before cannot be recorded.
    ///
    /// # Errors
    /// `NotRecordable`, `NotNew`; `Recording` if the first line could not be written.
    pub fn record(&mut self, out: Box<dyn Write + Send>) -> Result<(), DiskError> {
        if self.plan.spec.aware != AwareMode::Off {
            return Err(DiskError::NotRecordable);
        }
        if self.is_mounted && !self.is_as_made() {
            return Err(DiskError::NotNew);
        }
        let begun = Recorder::begin(out, self.is_mounted);
        self.recorder = Some(begun.map_err(|error| DiskError::Recording(Arc::new(error)))?);
        Ok(())
    }

    /// True if nothing was ever written to the disk: its chip is as the format left it, except for a mark of a clean
    /// shutdown. A mount does not change this.
    fn is_as_made(&self) -> bool {
        let (limits, erases) = (self.engine.limits(), self.engine.erase_counts());
        // One segment may be in use: that of the mark.
        let used = self.engine.segment_rows().iter().filter(|row| row.state != SegmentState::Free).count();
        let is_empty = limits.live_pages == 0 && limits.dead_pages == 0 && used <= 1;
        is_empty && erases.len() == limits.segments as usize && erases.iter().all(|&erases| erases == 0)
    }

    /// Writes the buffered part of the recording. Returns the number of rows after the header; none if nothing is
    /// recorded.
    ///
    /// # Errors
    /// `Recording` if some of it could not be written, now or before.
    pub fn flush_recording(&mut self) -> Result<Option<u64>, DiskError> {
        self.recorder.as_mut().map(Recorder::flush).transpose()
    }

    /// The error that ended the recording, if it failed.
    pub fn recording_failure(&self) -> Option<Arc<io::Error>> {
        self.recorder.as_ref().and_then(|recorder| recorder.failed.clone())
    }

    /// True while calls are recorded.
    pub fn is_recorded(&self) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| recorder.failed.is_none())
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// As [`flush_recording`](Self::flush_recording).
    pub fn end_recording(&mut self) -> Result<Option<u64>, DiskError> {
        let flushed = self.flush_recording();
        self.recorder = None;
        flushed
    }

    fn records(&mut self, op: Op, at: Sectors, stream: u16) {
        if let Some(recorder) = &mut self.recorder {
            let bytes = u64::from(SECTOR_BYTES);
            recorder.row(op, at.start * bytes, at.count * bytes, stream);
        }
    }

    pub(super) fn engine_read(&mut self, at: Sectors, data: &mut [u8]) -> Result<(), DiskError> {
        self.records(Op::Read, at, 0);
        let read = self.engine.read(at, data);
        self.noted(read)
    }

    pub(super) fn engine_write(&mut self, at: Sectors, data: &[u8], hint: WriteHint) -> Result<(), DiskError> {
        self.records(Op::Write, at, hint.stream);
        // Also if the write fails: a part of it may have been taken.
        self.symptoms.is_unflushed = true;
        let written = self.engine.write(at, data, hint);
        self.noted(written)
    }

    pub(super) fn engine_discard(&mut self, at: Sectors) -> Result<(), DiskError> {
        self.records(Op::Discard, at, 0);
        self.symptoms.is_unflushed = true;
        let discarded = self.engine.discard(at);
        self.noted(discarded)
    }

    pub(super) fn engine_flush(&mut self) -> Result<(), DiskError> {
        self.records(Op::Flush, Sectors { start: 0, count: 0 }, 0);
        let flushed = self.engine.flush();
        self.noted(flushed)
    }

    pub(super) fn engine_clean(&mut self, budget_pages: u32) -> Result<bool, DiskError> {
        if let Some(recorder) = &mut self.recorder {
            recorder.row(Op::Clean, 0, u64::from(budget_pages), 0);
        }
        let cleaned = self.engine.clean(budget_pages);
        self.noted(cleaned)
    }

    /// Ends the open segment of a handle's class.
    pub(super) fn engine_end_segment(&mut self, handle: u16, class: Class) {
        // A replay knows the class by the handle, and by the placement that it runs under.
        self.records(Op::EndSegment, Sectors { start: 0, count: 0 }, handle);
        self.engine.end_segment_of(class.0);
    }

    pub(super) fn engine_shutdown(&mut self) -> Result<(), DiskError> {
        // Not recorded: a replay ends with what clients saw.
        let shut = self.engine.shutdown();
        self.noted(shut)
    }

    /// Notes what the result of a call says about the disk.
    fn noted<T>(&mut self, done: Result<T, FtlError>) -> Result<T, DiskError> {
        let done = done.map_err(DiskError::from);
        self.symptoms.notes(&done);
        if matches!(done, Err(DiskError::NoRoom))
            && let Some(recorder) = &mut self.recorder
        {
            // A call that stopped in the middle cannot be replayed.
            recorder.fail(io::Error::other("the file system had no room for the image"));
        }
        done
    }
}
