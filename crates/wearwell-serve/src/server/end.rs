//! How connections end.

use std::io;

use crate::nbd::ProtocolError;
use crate::nvme::SessionEnd;

/// How a connection ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionEnd {
    /// The client disconnected, or closed the connection between two messages.
    #[error("the client has gone")]
    Left,
    /// The server stops.
    #[error("the server stops")]
    Stopped,
    /// The server has as many clients as it takes. This connection was closed before any message.
    #[error("refused, since there are {max} already")]
    TooMany {
        /// The most that there may be.
        max: usize,
    },
    /// Too many connections were in the handshake, or at the page, and this was the oldest.
    #[error("closed for a newer one, since {max} kept the server waiting")]
    Displaced {
        /// The most that there may be.
        max: usize,
    },
    /// The client closed the connection in the middle of a message.
    #[error("the client disappeared in the middle of a message")]
    Vanished,
    /// The TLS handshake failed.
    #[error("no TLS: {0}")]
    Tls(String),
    /// The client sent something that is not a message.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// A control client or a browser sent something that is not a request.
    #[error("{0}")]
    NotUnderstood(String),
    /// An NVMe host sent something that is not a message, or did not keep its controller alive.
    #[error(transparent)]
    Nvme(SessionEnd),
    /// The client did not finish the handshake in time, or stopped reading.
    #[error("the client took too long")]
    TooSlow,
    /// The socket failed.
    #[error("the socket failed: {0}")]
    Socket(io::Error),
    /// The disk failed in the middle of a command.
    #[error("the disk failed in the middle of a command")]
    Panicked,
}

impl ConnectionEnd {
    /// The same of a server that was stopping: it closed the connection itself, whatever the client was at.
    pub(super) fn without_blame(self) -> Self {
        match self {
            Self::Left | Self::Panicked | Self::Protocol(_) | Self::TooMany { .. } | Self::Displaced { .. } => self,
            _ => Self::Stopped,
        }
    }
}

impl From<io::Error> for ConnectionEnd {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Sockets have a time limit for sending, which the system reports in one of these ways.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::TooSlow,
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Self::Vanished,
            _ => Self::Socket(error),
        }
    }
}
