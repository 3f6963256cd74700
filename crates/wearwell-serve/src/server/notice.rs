//! What a server tells whoever started it, while it serves.

use std::io;

use super::connection::ConnectionEnd;
use crate::disk::Health;

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice<'n> {
    /// A connection has ended.
    Ended {
        /// Who was at the other end: an address, or the process at a Unix socket.
        peer: &'n str,
        /// How.
        end: &'n ConnectionEnd,
    },
    /// The disk is not as it was; told at the start, too, unless it is healthy then.
    Health(&'n Health),
    /// The recording failed: the disk goes on without.
    RecordingFailed(&'n io::Error),
}
