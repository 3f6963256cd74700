//! A layer that records what reaches it.

use wearwell::{BlockDevice, FtlError, Inspect, Limits, Lookup, Lpn, Ppn, Sectors, Stats, WriteHint};

/// A command that changes something: first sector, sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    Write { start: u64, count: u64, stream: u16 },
    Discard { start: u64, count: u64 },
    Flush,
}

/// The treatment of discards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Discards {
    PassedOn,
    Forgotten,
    /// Passed on after the next flush, so that the flush does not make them durable.
    Late,
}

/// Passes everything on, except discards if told so.
pub(crate) struct Spy<F> {
    pub(crate) inner: F,
    discards: Discards,
    late: Vec<Sectors>,
    seen: Vec<Seen>,
}

impl<F> Spy<F> {
    pub(crate) fn new(inner: F) -> Self {
        Self::that(inner, Discards::PassedOn)
    }

    /// A spy with this treatment of discards.
    pub(crate) fn that(inner: F, discards: Discards) -> Self {
        Self { inner, discards, late: Vec::new(), seen: Vec::new() }
    }

    /// The commands since the last call.
    pub(crate) fn take(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.seen)
    }
}

impl<F: BlockDevice> BlockDevice for Spy<F> {
    fn sectors(&self) -> u64 {
        self.inner.sectors()
    }
    fn page_bytes(&self) -> u32 {
        self.inner.page_bytes()
    }
    fn read(&mut self, at: Sectors, data: &mut [u8]) -> Result<(), FtlError> {
        self.inner.read(at, data)
    }
    fn write(&mut self, at: Sectors, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        self.seen.push(Seen::Write { start: at.start, count: at.count, stream: hint.stream });
        self.inner.write(at, data, hint)
    }
    fn discard(&mut self, at: Sectors) -> Result<(), FtlError> {
        self.seen.push(Seen::Discard { start: at.start, count: at.count });
        match self.discards {
            Discards::PassedOn => self.inner.discard(at)?,
            Discards::Forgotten => {}
            Discards::Late => self.late.push(at),
        }
        Ok(())
    }
    fn flush(&mut self) -> Result<(), FtlError> {
        self.seen.push(Seen::Flush);
        self.inner.flush()?;
        self.late.drain(..).try_for_each(|at| self.inner.discard(at))
    }
    fn clean(&mut self, budget_pages: u32) -> Result<bool, FtlError> {
        self.inner.clean(budget_pages)
    }
    fn set_time_us(&mut self, now_us: u64) {
        self.inner.set_time_us(now_us);
    }
    fn shutdown(&mut self) -> Result<(), FtlError> {
        self.inner.shutdown()
    }
}

impl<F: Inspect> Inspect for Spy<F> {
    fn stats(&self) -> &Stats {
        self.inner.stats()
    }
    fn reset_stats(&mut self) {
        self.inner.reset_stats();
    }
    fn erase_counts(&self) -> Vec<u32> {
        self.inner.erase_counts()
    }
    fn limits(&self) -> Limits {
        self.inner.limits()
    }
}

impl<F: Lookup> Lookup for Spy<F> {
    fn lookup(&self, lpn: Lpn) -> Ppn {
        self.inner.lookup(lpn)
    }
}
