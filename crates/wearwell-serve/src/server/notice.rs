//! Notices of a running server to its caller.

use std::io;

use super::Role;
use super::connection::ConnectionEnd;
use crate::disk::Health;

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice<'n> {
    /// Somebody has come.
    Came {
        /// Who is at the other end: an address, or the process at a Unix socket.
        peer: &'n str,
        /// To what.
        to: Role,
    },
    /// A connection has ended.
    Ended {
        /// As when it came.
        peer: &'n str,
        /// How it ended.
        end: &'n ConnectionEnd,
    },
    /// The disk's health has changed. It is also reported at the start, unless the disk is healthy.
    Health(&'n Health),
    /// The recording failed: the disk goes on without.
    RecordingFailed(&'n io::Error),
    /// The server was told to stop: clients get the replies that they wait for.
    Stopping,
}
