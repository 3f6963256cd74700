//! Notices of a running server to its caller.

use std::io;

use super::Role;
use super::end::ConnectionEnd;
use crate::disk::{DiskError, Health};

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice<'n> {
    /// A peer has connected.
    Came {
        /// The peer: an address, or the process at a Unix socket.
        peer: &'n str,
        /// The role of the socket.
        to: Role,
    },
    /// A connection has ended.
    Ended {
        /// The peer, as in `Came`.
        peer: &'n str,
        /// How it ended.
        end: &'n ConnectionEnd,
    },
    /// The disk's health has changed. It is also reported at the start, unless the disk is healthy.
    Health(&'n Health),
    /// There is room again, but the disk could not be mounted again. It has to be opened again.
    RemountFailed(&'n DiskError),
    /// The recording failed. The disk is served without it.
    RecordingFailed(&'n io::Error),
    /// The server was told to stop. Clients get the replies that they wait for.
    Stopping,
}
