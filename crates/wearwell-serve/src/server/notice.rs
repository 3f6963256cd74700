//! What a server tells whoever started it, while it serves.

use std::io;

use super::Role;
use super::connection::ConnectionEnd;
use crate::disk::{DiskError, Health};

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
        /// How.
        end: &'n ConnectionEnd,
    },
    /// The disk is not as it was; told at the start, too, unless it is healthy then.
    Health(&'n Health),
    /// There is room again, but the disk could not be mounted anew: it has to be opened again.
    RemountFailed(&'n DiskError),
    /// The recording failed: the disk goes on without.
    RecordingFailed(&'n io::Error),
    /// The server was told to stop: clients get the replies that they wait for.
    Stopping,
}
