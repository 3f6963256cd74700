//! How a server is told to stop.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use signal_hook::consts::{SIGINT, SIGTERM};

/// Tells a server to stop, from any thread.
#[derive(Debug, Clone)]
pub struct Stopper {
    wakes: Arc<UnixStream>,
}

impl Stopper {
    /// Stops the server: it accepts no more clients, answers what it received, flushes, and returns.
    pub fn stop(&self) {
        // A full pipe, or a server that has gone: both have been told already.
        let _ = (&*self.wakes).write(&[0]);
    }

    /// Lets SIGTERM and SIGINT stop the server.
    ///
    /// # Errors
    /// If the system refuses to hand over the signals.
    pub fn stop_on_signals(&self) -> io::Result<()> {
        for signal in [SIGTERM, SIGINT] {
            signal_hook::low_level::pipe::register(signal, self.wakes.try_clone()?)?;
        }
        Ok(())
    }
}

/// The server's end of it: readable once it was told.
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
    wakes.set_nonblocking(true)?;
    Ok((Stopper { wakes: Arc::new(wakes) }, StopWaiter { woken }))
}
