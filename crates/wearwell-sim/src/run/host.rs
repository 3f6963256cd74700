//! The host: it fills the device, issues the requests of a workload or a trace, and reads everything back.

use std::ops::Range;

use wearwell::{Class, FtlError, Lpn, SECTOR_BYTES, Sectors, WriteHint};

use super::Progress;
use super::clock::Clock;
use super::config::{Pace, Plan};
use super::content::{Contents, Mismatch};
use super::error::RunError;
use super::meter::Meter;
use super::observe::{Observer, Sample};
use super::once::WrittenOnce;
use super::report::Requests;
use super::streams::{StreamCounts, WrongStreams};
use crate::engine::{AnyEngine, Batched, OnChip};
use crate::request::{Op, Request};

/// Units drawn at a time, so that the engine can fetch their map entries together.
pub(super) const BATCH: usize = 64;

/// Commands between two reports of progress.
const TICK_COMMANDS: u64 = 8192;

/// Sectors that pass through memory at a time; whole pages of every chip.
const PART_SECTORS: u64 = (1 << 20) / SECTOR_BYTES as u64;

/// Why a command failed.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Ftl(FtlError),
    Content(Mismatch),
}

impl From<FtlError> for Fault {
    fn from(error: FtlError) -> Self {
        Self::Ftl(error)
    }
}

impl From<Mismatch> for Fault {
    fn from(mismatch: Mismatch) -> Self {
        Self::Content(mismatch)
    }
}

/// A host and its engine.
pub(super) struct Host<'a, F> {
    ftl: &'a mut F,
    /// None if the chip has no times.
    pub(super) clock: Option<Clock>,
    /// The expected content of the device; none if the chip stores nothing.
    contents: Option<Contents>,
    /// True if the engine infers dead data, which may read as zeros. File systems read dead sectors too, to change part
    /// of a sector that has just become a file's.
    pub(super) infers: bool,
    /// True if the engine may clean in the time between commands.
    pub(super) cleans_when_idle: bool,
    /// When the current call was recorded, on the chip's timeline; none outside recordings.
    recorded_ns: Option<u64>,
    progress: &'a mut dyn Progress,
    phase: &'static str,
    /// Commands of this phase.
    commands: u64,
    pub(super) sectors_per_page: u64,
    buffer: Vec<u8>,
    /// Bytes that the host asked to write in this phase.
    pub(super) written_bytes: u64,
    /// Bytes that it asked to read.
    pub(super) read_bytes: u64,
    /// Pages that it wrote in this phase, by stream.
    pub(super) streams: StreamCounts,
    /// None for a host that always names the right stream.
    pub(super) wrong_streams: Option<WrongStreams>,
    /// None for a host that gives no hints.
    pub(super) written_once: Option<WrittenOnce>,
    /// Requests of this phase.
    pub(super) requests: Requests,
    /// Off before the counters start.
    pub(super) meter: Meter,
    /// None if nobody observes the run.
    pub(super) observer: Option<Observer>,
    /// A placement to which writes are announced before they are done.
    pub(super) announced_to: Option<Batched>,
}

impl<'a, F: AnyEngine + OnChip> Host<'a, F> {
    pub(super) fn new(ftl: &'a mut F, stores: bool, host_us_per_page: f64, progress: &'a mut dyn Progress) -> Self {
        let sectors_per_page = Plan::sectors_per_page(ftl.page_bytes());
        let sectors = ftl.sectors();
        let timeline = ftl.timeline();
        let timed = timeline.has_times() || host_us_per_page > 0.0;
        Self {
            clock: timed.then(|| Clock::new(timeline, host_us_per_page)),
            contents: stores.then(|| Contents::new(sectors)),
            ftl,
            infers: false,
            cleans_when_idle: false,
            recorded_ns: None,
            progress,
            phase: "",
            commands: 0,
            sectors_per_page,
            buffer: Vec::new(),
            written_bytes: 0,
            read_bytes: 0,
            streams: StreamCounts::default(),
            wrong_streams: None,
            written_once: None,
            requests: Requests::default(),
            meter: Meter::off(),
            observer: None,
            announced_to: None,
        }
    }

    /// The engine.
    pub(super) fn ftl(&mut self) -> &mut F {
        self.ftl
    }

    /// True if the chip keeps bytes, so that reads can be compared.
    pub(super) fn keeps_bytes(&self) -> bool {
        self.contents.is_some()
    }

    /// Notes that half of the workload is done.
    pub(super) fn halve(&mut self) {
        self.meter.halve(self.written_bytes, self.ftl.stats());
    }

    /// Starts a phase of `steps` steps. The host's own counters start again.
    pub(super) fn begin_phase(&mut self, phase: &'static str, steps: u64) {
        self.phase = phase;
        self.commands = 0;
        self.written_bytes = 0;
        self.read_bytes = 0;
        self.streams.clear();
        self.requests = Requests::default();
        if let Some(clock) = &mut self.clock {
            clock.reset();
        }
        self.progress.begin(phase, steps);
        // Behind the reset, so that the first sample is the start of the phase.
        if self.observer.is_some() {
            self.observe();
        }
    }

    /// Writes the first pages in sequence.
    pub(super) fn fill(&mut self, pages: u32) -> Result<(), RunError> {
        self.begin_phase("fill", u64::from(pages));
        let mut next = 0;
        let mut in_sequence = |out: &mut [u32]| {
            for unit in out {
                *unit = next;
                next += 1;
            }
        };
        self.draw(&mut in_sequence, u64::from(pages), self.sectors_per_page)
    }

    /// Writes `units` units of `unit_sectors` sectors, whose numbers `source` gives.
    pub(super) fn write_units(
        &mut self,
        source: &mut dyn FnMut(&mut [u32]),
        units: u64,
        unit_sectors: u64,
    ) -> Result<(), RunError> {
        self.begin_phase("workload", units);
        self.draw(source, units, unit_sectors)
    }

    fn draw(&mut self, source: &mut dyn FnMut(&mut [u32]), units: u64, unit_sectors: u64) -> Result<(), RunError> {
        // Without time, bytes and announcements nothing comes between two writes, and batches go down as they are.
        let is_bare = self.clock.is_none() && self.contents.is_none() && self.announced_to.is_none();
        let bare_pages = is_bare && unit_sectors == self.sectors_per_page;
        let mut batch = vec![0; self.units_at_a_time(unit_sectors)];
        let mut left = units;
        while left > 0 {
            // A batch ends where a window of the report does, or the first half.
            let until_mark = self.meter.units_left(self.written_bytes, unit_sectors * u64::from(SECTOR_BYTES));
            let count = left.min(batch.len() as u64).min(until_mark);
            let drawn = &mut batch[..count as usize];
            source(drawn);
            // All of them before the first write, because the engine asks for classes page by page.
            self.announce_units(drawn, unit_sectors);
            if bare_pages {
                self.write_bare_pages(drawn)?;
            } else {
                for &unit in drawn.iter() {
                    let at = Sectors { start: u64::from(unit) * unit_sectors, count: unit_sectors };
                    let hint = self.hint(at, WriteHint::NONE);
                    self.command(at.count, |host| host.write(at, hint))?;
                }
            }
            self.written_bytes += count * unit_sectors * u64::from(SECTOR_BYTES);
            self.requests.served += count;
            left -= count;
            self.tick(units - left, count)?;
        }
        Ok(())
    }

    /// Writes whole pages, without bytes and without time: the simulator's fastest path.
    #[inline]
    fn write_bare_pages(&mut self, numbers: &[u32]) -> Result<(), RunError> {
        // A batch is longer only for a placement to which writes are announced.
        let mut pages = [Lpn(0); BATCH];
        let pages = &mut pages[..numbers.len()];
        for (page, &number) in pages.iter_mut().zip(numbers) {
            *page = Lpn(number);
        }
        // The engine fetches all map entries of the batch, so that their cache misses overlap.
        self.ftl.expect_writes(pages);
        self.streams.add(WriteHint::NONE.stream, pages.len() as u64);
        if let Some(observer) = &mut self.observer {
            pages.iter().for_each(|page| observer.touch(u64::from(page.0)..u64::from(page.0) + 1));
        }
        for &page in pages.iter() {
            self.commands += 1;
            let hint = self.hint_of(u64::from(page.0), u64::from(page.0) + 1, WriteHint::NONE);
            if let Err(error) = self.ftl.write_page(page, &[], hint) {
                return Err(self.failed(error.into()));
            }
        }
        Ok(())
    }

    /// The host's hint on a write of these sectors.
    fn hint(&self, at: Sectors, hint: WriteHint) -> WriteHint {
        let (first, end) = (at.start / self.sectors_per_page, (at.start + at.count).div_ceil(self.sectors_per_page));
        self.hint_of(first, end, hint)
    }

    #[inline]
    fn hint_of(&self, first: u64, end: u64, hint: WriteHint) -> WriteHint {
        self.written_once.as_ref().map_or(hint, |once| once.hint(first, end, hint))
    }

    pub(super) fn tick(&mut self, done: u64, step: u64) -> Result<(), RunError> {
        if self.observer.as_ref().is_some_and(|observer| observer.is_due(self.written_bytes)) {
            self.observe();
        }
        self.meter.look(self.written_bytes, self.ftl.stats());
        // Once in so many commands, even if a step goes beyond that number.
        if done % TICK_COMMANDS < step { self.advance(done) } else { Ok(()) }
    }

    /// Reports the progress of this phase.
    fn advance(&mut self, done: u64) -> Result<(), RunError> {
        self.progress.advance(done);
        if self.progress.is_stopped() {
            return Err(RunError::Stopped { phase: self.phase, command: self.commands });
        }
        Ok(())
    }

    fn observe(&mut self) {
        let sample = self.sample();
        if let Some(observer) = &mut self.observer {
            observer.add(sample);
        }
    }

    /// The counters as they are now.
    pub(super) fn sample(&self) -> Sample {
        let stats = self.ftl.stats();
        Sample {
            host_bytes: self.written_bytes,
            sim_ns: self.clock.as_ref().map_or(0, Clock::now_ns),
            host_pages: stats.host_pages,
            programmed_pages: stats.programmed_pages(),
            copied_pages: stats.copied_pages,
            erases: stats.erases,
            free_segments: self.ftl.limits().free_segments,
        }
    }

    fn failed(&self, fault: Fault) -> RunError {
        let (phase, command) = (self.phase, self.commands);
        match fault {
            Fault::Ftl(error) => RunError::Command { phase, command, error },
            Fault::Content(mismatch) => RunError::Mismatch { phase, command, mismatch },
        }
    }

    /// Does one command on `sectors` sectors, at its time.
    fn command(&mut self, sectors: u64, act: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), RunError> {
        self.commands += 1;
        let pages = sectors.div_ceil(self.sectors_per_page);
        // Before the command begins: cleaning uses the host's own time in front of it.
        if self.cleans_when_idle {
            self.idle(pages).map_err(|fault| self.failed(fault))?;
        }
        if let Some(now_ns) = self.recorded_ns {
            let timeline = self.ftl.timeline();
            match &mut self.clock {
                Some(clock) => clock.begin_at(timeline, now_ns),
                None => timeline.begin_command(now_ns),
            }
            self.ftl.set_time_us(now_ns / 1000);
        } else if let Some(clock) = &mut self.clock {
            let now_us = clock.begin(self.ftl.timeline(), pages);
            self.ftl.set_time_us(now_us);
        }
        // Pages are counted by the engine. Commands that write none, as reads and flushes, stay out of the time for a
        // page.
        let before_pages = self.ftl.stats().host_pages;
        act(self).map_err(|fault| self.failed(fault))?;
        if let Some(clock) = &mut self.clock {
            let written_pages = self.ftl.stats().host_pages - before_pages;
            clock.end(self.ftl.timeline(), written_pages);
        }
        Ok(())
    }

    /// Cleans during the host's own time before a command on `pages` pages. A step that has begun in time is completed.
    fn idle(&mut self, pages: u64) -> Result<(), Fault> {
        let Some(clock) = &self.clock else { return Ok(()) };
        let until_ns = clock.next_ns(pages);
        // A page at a time, so that cleaning ends soon after the host's own time is over.
        while self.ftl.timeline().idle_ns() < until_ns && self.ftl.clean(1)? {}
        Ok(())
    }

    /// Most sectors of a call. Recorded calls are not split.
    fn part_sectors(&self) -> u64 {
        if self.recorded_ns.is_some() { u64::MAX } else { PART_SECTORS }
    }

    fn count(&mut self, at: Sectors, stream: u16) {
        let Range { start: first, end } = self.pages_of(at);
        self.streams.add(stream, end - first);
        // Before the write: the answers have to be there when the engine asks for them.
        if let Some(batched) = &self.announced_to {
            batched.begin(first..end, stream);
        }
        if let Some(observer) = &mut self.observer {
            observer.touch(first..end);
        }
    }

    /// The pages that a range touches.
    pub(super) fn pages_of(&self, at: Sectors) -> Range<u64> {
        at.start / self.sectors_per_page..(at.start + at.count).div_ceil(self.sectors_per_page)
    }

    fn write(&mut self, at: Sectors, hint: WriteHint) -> Result<(), Fault> {
        self.count(at, hint.stream);
        let part_sectors = self.part_sectors();
        // Without bytes nothing has to fit into memory, so the write goes down whole.
        let Some(contents) = &mut self.contents else { return Ok(self.ftl.write(at, &[], hint)?) };
        contents.next_version();
        for part in parts(at, part_sectors) {
            self.ftl.write(part, contents.write(part), hint)?;
        }
        Ok(())
    }

    /// Writes given bytes.
    fn write_given(&mut self, at: Sectors, data: &[u8], hint: WriteHint) -> Result<(), Fault> {
        self.count(at, hint.stream);
        if let Some(contents) = &mut self.contents {
            contents.give(at, data);
        }
        Ok(self.ftl.write(at, data, hint)?)
    }

    fn read(&mut self, at: Sectors, or_zeros: bool) -> Result<(), Fault> {
        let Some(contents) = &self.contents else { return Ok(self.ftl.read(at, &mut [])?) };
        for part in parts(at, self.part_sectors()) {
            self.buffer.resize((part.count * u64::from(SECTOR_BYTES)) as usize, 0);
            self.ftl.read(part, &mut self.buffer)?;
            contents.check(part, &self.buffer, or_zeros)?;
        }
        Ok(())
    }

    fn discard(&mut self, at: Sectors) -> Result<(), Fault> {
        // The engine takes only whole pages of a discard. The rest keeps its content.
        let (_, whole, _) = self.split(at);
        if let (Some(contents), Some(whole)) = (&mut self.contents, whole) {
            contents.clear(whole);
        }
        Ok(self.ftl.discard(at)?)
    }

    /// Discards whole pages, so that they read as zeros. Writes zeros to pages that are covered in part.
    fn write_zeroes(&mut self, at: Sectors) -> Result<(), Fault> {
        let (head, whole, tail) = self.split(at);
        if let Some(whole) = whole {
            self.discard(whole)?;
        }
        for part in [head, tail].into_iter().flatten() {
            let bytes = if self.contents.is_some() { (part.count * u64::from(SECTOR_BYTES)) as usize } else { 0 };
            self.buffer.clear();
            self.buffer.resize(bytes, 0);
            if let Some(contents) = &mut self.contents {
                // These zeros need no version of their own: version 0 reads as zeros.
                contents.clear(part);
            }
            self.count(part, WriteHint::NONE.stream);
            self.ftl.write(part, &self.buffer, WriteHint::NONE)?;
        }
        Ok(())
    }

    /// Splits a range into the part before its first whole page, the whole pages, and the part after them.
    fn split(&self, at: Sectors) -> (Option<Sectors>, Option<Sectors>, Option<Sectors>) {
        let per_page = self.sectors_per_page;
        let end = at.start + at.count;
        let (first, last) = (at.start.next_multiple_of(per_page), end / per_page * per_page);
        let some = |start: u64, end: u64| (start < end).then(|| Sectors { start, count: end - start });
        if first >= last {
            // No whole page: one part, or two that meet at a page's edge.
            return (some(at.start, first.min(end)), None, some(first.min(end), end));
        }
        (some(at.start, first), some(first, last), some(last, end))
    }

    /// Replays recorded requests one after the other. Each begins when the previous one is complete and, depending on
    /// `pace`, when it has arrived. Ends after `write_bytes`, if given.
    pub(super) fn replay(
        &mut self,
        requests: &[Request],
        pace: Pace,
        write_bytes: Option<u64>,
    ) -> Result<(), RunError> {
        self.begin_phase("trace", requests.len() as u64);
        // Recorded times count from the end of the fill.
        let began_ns = self.clock.as_ref().map_or(0, Clock::now_ns);
        for (done, request) in requests.iter().enumerate() {
            if write_bytes.is_some_and(|limit| self.written_bytes >= limit) {
                break;
            }
            if let (Some(clock), Some(since_ns)) = (&mut self.clock, pace.arrival_ns(request.time_us)) {
                clock.set_arrival(began_ns.saturating_add(since_ns));
            }
            // The placement sees all requests that are left, since a batch may go over many of them.
            self.announce_requests(&requests[done..]);
            self.request(request, &[])?;
            self.tick(done as u64 + 1, 1)?;
        }
        Ok(())
    }

    /// Replays a recording: every call as it was, at its recorded engine clock. Nothing else is done, because idle
    /// cleaning was recorded too. Ends after `write_bytes`, if given.
    pub(super) fn replay_recording(&mut self, calls: &[Request], write_bytes: Option<u64>) -> Result<(), RunError> {
        self.begin_phase("recording", calls.len() as u64);
        self.cleans_when_idle = false;
        let opened_ns = self.ftl.timeline().now_ns();
        for (done, call) in calls.iter().enumerate() {
            if write_bytes.is_some_and(|limit| self.written_bytes >= limit) {
                break;
            }
            self.recorded_ns = Some(opened_ns.saturating_add(call.time_us.saturating_mul(1000)));
            self.request(call, &[])?;
            self.tick(done as u64 + 1, 1)?;
        }
        self.recorded_ns = None;
        Ok(())
    }

    /// Issues a request, and counts it as served, or as refused if it is a discard that covers no whole page: the
    /// engine takes nothing of it.
    pub(super) fn request(&mut self, request: &Request, data: &[u8]) -> Result<(), RunError> {
        self.issue_one(request, data)?;
        // Behind the request, so that one which fails counts neither way.
        let page_bytes = self.sectors_per_page * u64::from(SECTOR_BYTES);
        let is_refused =
            request.op == Op::Discard && request.offset_bytes.div_ceil(page_bytes) >= request.end_bytes() / page_bytes;
        self.requests.served += u64::from(!is_refused);
        self.requests.refused += u64::from(is_refused);
        Ok(())
    }

    /// A write has the bytes in `data`, or generated content if `data` is empty.
    fn issue_one(&mut self, request: &Request, data: &[u8]) -> Result<(), RunError> {
        let sector_bytes = u64::from(SECTOR_BYTES);
        let at = sectors_of(request);
        match request.op {
            Op::Read => {
                self.read_bytes += request.length_bytes;
                self.command(at.count, |host| host.read(at, host.infers))
            }
            Op::Write => {
                self.written_bytes += request.length_bytes;
                let stream = self.wrong_streams.as_mut().map_or(request.stream, |wrong| wrong.given(request.stream));
                let hint = self.hint(at, WriteHint::stream(stream));
                self.command(at.count, |host| match data {
                    [] => host.write(at, hint),
                    data => host.write_given(at, data, hint),
                })
            }
            // Commands without data take none of the host's own time.
            Op::WriteZeroes => self.command(0, |host| host.write_zeroes(at)),
            // The reader of traces refuses a number of pages beyond 32 bits.
            Op::Clean => self.command(0, |host| Ok(host.ftl.clean(request.length_bytes as u32).map(drop)?)),
            Op::EndSegment => {
                // The first of a stream's classes takes its writes. Where streams are not kept apart, no segment is one
                // stream's.
                let mut classes = 0..Class::COUNT as u8;
                if let Some(class) = classes.find(|&class| self.ftl.streams_of(class).contains(&request.stream)) {
                    self.ftl.end_segment_of(class);
                }
                Ok(())
            }
            // The mount was done before the host existed.
            Op::Mount => Ok(()),
            Op::Flush => self.command(0, |host| Ok(host.ftl.flush()?)),
            Op::Discard => {
                // Sectors that a discard covers in part keep their content.
                let start = request.offset_bytes.div_ceil(sector_bytes);
                let count = (request.end_bytes() / sector_bytes).saturating_sub(start);
                self.command(0, |host| if count > 0 { host.discard(Sectors { start, count }) } else { Ok(()) })
            }
        }
    }

    /// Reads and compares every sector, if the chip stores any.
    pub(super) fn verify(&mut self) -> Result<(), RunError> {
        if !self.keeps_bytes() {
            return Ok(());
        }
        let sectors = self.ftl.sectors();
        // This resets the host's counters. The report has them already.
        self.begin_phase("verify", sectors);
        let mut start = 0;
        while start < sectors {
            let at = Sectors { start, count: PART_SECTORS.min(sectors - start) };
            self.command(at.count, |host| host.read(at, host.infers))?;
            start += at.count;
            self.advance(start)?;
        }
        Ok(())
    }
}

/// The sectors that a request touches.
pub(super) fn sectors_of(request: &Request) -> Sectors {
    let sector_bytes = u64::from(SECTOR_BYTES);
    let (start, end) = (request.offset_bytes / sector_bytes, request.end_bytes().div_ceil(sector_bytes));
    Sectors { start, count: end - start }
}

/// Splits a range into parts that fit into memory, only between pages.
fn parts(at: Sectors, part_sectors: u64) -> impl Iterator<Item = Sectors> {
    let end = at.start + at.count;
    let mut start = at.start;
    std::iter::from_fn(move || {
        // Every part but the first begins at a multiple of the size, which is the edge of a page.
        let next = end.min((start / part_sectors + 1) * part_sectors);
        let part = (start < end).then(|| Sectors { start, count: next - start });
        start = next;
        part
    })
}
