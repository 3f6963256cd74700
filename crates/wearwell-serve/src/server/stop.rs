//! Stopping a server.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};

/// Tells a server to stop, from any thread.
#[derive(Debug, Clone)]
pub struct Stopper {
    wakes: Arc<UnixStream>,
}

impl Stopper {
    /// Stops the server: it accepts no more clients, answers what it received, flushes, and returns.
    pub fn stop(&self) {
        // The pipe is full, or the server has ended. In both cases it has been told already.
        let _ = (&*self.wakes).write(&[0]);
    }

    /// Lets SIGTERM and SIGINT stop the server.
    ///
    /// # Errors
    /// If the system refuses to deliver the signals.
    pub fn stop_on_signals(&self) -> io::Result<()> {
        for signal in [SIGTERM, SIGINT] {
            // The handler writes a byte and does nothing else, as a signal handler must.
            signal_hook::low_level::pipe::register(signal, self.wakes.try_clone()?)?;
        }
        Ok(())
    }
}

/// The server's end: readable once the server was told to stop.
#[derive(Debug)]
pub(super) struct StopWaiter {
    woken: UnixStream,
}

impl AsFd for StopWaiter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }
}

pub(super) fn pair() -> io::Result<(Stopper, StopWaiter)> {
    let (wakes, woken) = UnixStream::pair()?;
    // The waiter only polls, and never reads. So it stays woken, and a writer must not wait for room.
    wakes.set_nonblocking(true)?;
    Ok((Stopper { wakes: Arc::new(wakes) }, StopWaiter { woken }))
}

/// Whether the server stops, for its threads.
#[derive(Debug, Default)]
pub(super) struct Stopping {
    has_begun: Mutex<bool>,
    told: Condvar,
}

impl Stopping {
    fn lock(&self) -> MutexGuard<'_, bool> {
        // A panic cannot leave a boolean inconsistent.
        self.has_begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to stop, and wakes all sleeping threads.
    pub(super) fn begin(&self) {
        *self.lock() = true;
        self.told.notify_all();
    }

    pub(super) fn has_begun(&self) -> bool {
        *self.lock()
    }

    /// Sleeps for `time`, or until the server stops. Returns true if it stops.
    pub(super) fn sleep(&self, time: Duration) -> bool {
        // The condition is looked at under the lock, so that a stop just before the wait is not missed.
        let woken = self.told.wait_timeout_while(self.lock(), time, |has_begun| !*has_begun);
        *woken.unwrap_or_else(PoisonError::into_inner).0
    }
}
