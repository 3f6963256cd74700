//! Work off the interpreter's lock, watched by the thread that holds it: that hears signals, and tells how far the work
//! is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use wearwell_sim::run::Progress;

/// How often signals are looked for, and progress is told.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How far one of several pieces of work has come, and whether all of them are to stop.
pub(crate) struct Heard<'a> {
    stop: &'a AtomicBool,
    phase: Mutex<(&'static str, u64)>,
    done: AtomicU64,
}

impl<'a> Heard<'a> {
    pub(crate) fn new(stop: &'a AtomicBool) -> Self {
        Self { stop, phase: Mutex::new(("", 0)), done: AtomicU64::new(0) }
    }

    /// The phase, how much of it is done, and how much there is.
    pub(crate) fn now(&self) -> (&'static str, u64, u64) {
        let (phase, steps) = *self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        (phase, self.done.load(Ordering::Relaxed), steps)
    }
}

impl Progress for &Heard<'_> {
    fn begin(&mut self, phase: &'static str, steps: u64) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = (phase, steps);
        self.done.store(0, Ordering::Relaxed);
    }

    fn advance(&mut self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Does `work` on a thread of its own. Meanwhile this one lets others have the interpreter, looks for signals, and
/// calls `tell`. What either raises sets `stop`, and is raised when the work has ended.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    work: impl FnOnce() -> R + Send,
    mut tell: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<R> {
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(1);
        scope.spawn(move || sender.send(work()));
        // Behind a lock, since only that may go where the interpreter is let go of.
        let receiver = Mutex::new(receiver);
        let wait = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK_EVERY);
        let mut raised = None;
        loop {
            match py.detach(wait) {
                Ok(result) => return raised.map_or(Ok(result), Err),
                Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                    if let Err(error) = py.check_signals().and_then(|()| tell(py)) {
                        stop.store(true, Ordering::Relaxed);
                        raised = Some(error);
                    }
                }
                // The work has been told to stop. Its end is waited for, since it borrows from this function.
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let why = "the work ended without a result: a fault of wearwell's own";
                    return Err(raised.unwrap_or_else(|| crate::errors::RunError::new_err(why)));
                }
            }
        }
    })
}
