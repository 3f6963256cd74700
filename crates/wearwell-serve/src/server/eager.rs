//! Busy waiting for a request that is likely to come at once.
//!
//! A client with one request at a time sends the next as soon as it has the reply. Sleeping until then costs more than
//! the request, because the core goes idle and has to be woken, on a virtual machine by the host. So after a short
//! wait, the next wait begins with busy waiting. After a long wait it does not, until a wait is short again.

use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;

use super::peer::Peer;

/// The longest wait that counts as short.
const SHORT: Duration = Duration::from_micros(50);
/// The bytes of a long message that are worth a read. They fit every socket's buffer.
const WORTH_A_READ_BYTES: usize = 64 << 10;

/// Whether the last wait for input was short.
#[derive(Debug, Default)]
pub(super) struct Eager {
    was_short: bool,
}

impl Eager {
    /// Waits by `receive`, which sleeps. If the last wait was short, it first waits busily until `wanted_bytes` have
    /// come.
    pub(super) fn wait<T>(&mut self, peer: &Peer, wanted_bytes: usize, receive: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        // The whole message, up to what is worth a read: each part of it that is read alone costs a system call.
        while self.was_short && !has_come(peer, wanted_bytes.min(WORTH_A_READ_BYTES)) {
            // Other threads with work go first.
            std::thread::yield_now();
            self.was_short = began.elapsed() < SHORT;
        }
        let received = receive();
        self.was_short = began.elapsed() < SHORT;
        received
    }
}

/// True if the socket holds `bytes` bytes, or if their number is unknown.
fn has_come(peer: &Peer, bytes: usize) -> bool {
    // Then the read, which sleeps, finds out.
    ioctl_fionread(peer).map_or(true, |come| come >= bytes as u64)
}
