//! The pages that an engine is asked to write, in the order in which it places them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wearwell::place::{ClassCount, ClassPlacement, Copied, HostWrite};
use wearwell::{Class, Lpn};

use crate::engine::OwnPolicies;
use crate::run::{Progress, RunConfig, RunError, run_by};
use crate::trace::Trace;

/// Page writes and discards, in order. The number of a write is the clock of the engine: host pages written before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    writes: Vec<u32>,
    /// The clock at which a page was discarded, and the page. Clocks never fall.
    discards: Vec<(u32, u32)>,
    /// The write that the counters start with: those before it fill the device.
    first: usize,
}

impl Recording {
    /// A recording of given pages, of which the first `first` fill the device.
    pub fn new(writes: Vec<u32>, discards: Vec<(u32, u32)>, first: usize) -> Self {
        assert!(discards.is_sorted_by_key(|&(clock, _)| clock), "clocks never fall");
        Self { first: first.min(writes.len()), writes, discards }
    }

    /// The pages of a run. The configuration says how they are placed, which does not change what they are.
    pub(super) fn of(config: &RunConfig, trace: Option<&Trace>, progress: &mut dyn Progress) -> Result<Self, RunError> {
        let shared = Shared::default();
        let own = OwnPolicies::default().placement("single", ClassCount::ONE, Recorder { shared: shared.clone() });
        let report = run_by(config, trace, own, progress)?;
        // The recorder went into the engine, so what it wrote down is read through what both share.
        let Recording { writes, discards, .. } = std::mem::take(&mut *shared.lock());
        // The counters start when the fill is done.
        let first = writes.len().saturating_sub(report.counters.host_programs as usize);
        Ok(Self::new(writes, discards, first))
    }

    /// The pages written, in order.
    pub fn writes(&self) -> &[u32] {
        &self.writes
    }

    /// What was discarded: the number of writes before, and the page.
    pub fn discards(&self) -> &[(u32, u32)] {
        &self.discards
    }

    /// Writes behind the fill.
    pub fn counted_pages(&self) -> usize {
        self.writes.len() - self.first
    }

    /// The write that the second half begins with.
    pub fn half(&self) -> usize {
        self.first + self.counted_pages() / 2
    }

    /// One more than the greatest page.
    pub(super) fn pages(&self) -> usize {
        self.writes.iter().max().map_or(0, |&page| page as usize + 1)
    }
}

/// What is recorded while the engine has the recorder.
#[derive(Debug, Clone, Default)]
struct Shared(Arc<Mutex<Recording>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Recording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A placement that writes down what it is asked, and puts everything into one class.
#[derive(Debug)]
struct Recorder {
    shared: Shared,
}

impl ClassPlacement for Recorder {
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        self.shared.lock().writes.push(write.lpn.0);
        Class(0)
    }

    fn copied(&mut self, _copy: Copied) -> Class {
        Class(0)
    }

    fn class_of_copies(&self) -> Option<Class> {
        Some(Class(0))
    }

    fn discarded(&mut self, lpn: Lpn) {
        let mut recording = self.shared.lock();
        let clock = u32::try_from(recording.writes.len()).unwrap_or(u32::MAX);
        recording.discards.push((clock, lpn.0));
    }
}
