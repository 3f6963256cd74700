//! A connected socket of either kind.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::sockopt;

/// The other end of a connection.
#[derive(Debug)]
pub(super) enum Peer {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Peer {
    /// A readable name: an address, or the process at a Unix socket.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Unix(stream) => match sockopt::socket_peercred(stream) {
                Ok(who) => format!("process {}", who.pid.as_raw_nonzero()),
                Err(_) => "a Unix socket".to_owned(),
            },
            Self::Tcp(stream) => stream.peer_addr().map_or_else(|_| "TCP".to_owned(), |address| address.to_string()),
        }
    }

    /// Sets the longest time in which the peer may read nothing of what is sent.
    pub(super) fn set_send_patience(&self, patience: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_write_timeout(Some(patience)),
            Self::Tcp(stream) => stream.set_write_timeout(Some(patience)),
        }
    }

    /// Sets the longest time that a read waits.
    pub(super) fn set_receive_patience(&self, patience: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(Some(patience)),
            Self::Tcp(stream) => stream.set_read_timeout(Some(patience)),
        }
    }

    /// Lets the system find out if the peer's machine is no longer reachable.
    pub(super) fn watch(&self) -> io::Result<()> {
        match self {
            // Both ends are on this machine: if the other one ends, the socket does.
            Self::Unix(_) => Ok(()),
            Self::Tcp(stream) => Ok(sockopt::set_socket_keepalive(stream, true)?),
        }
    }

    /// Ends waits for the peer. An error means that it has closed the connection already.
    pub(super) fn shut(&self, how: Shutdown) {
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(how),
            Self::Tcp(stream) => stream.shutdown(how),
        };
    }
}

impl AsFd for Peer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Peer {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Peer::Unix(stream) => (&mut &*stream).read(bytes),
            Peer::Tcp(stream) => (&mut &*stream).read(bytes),
        }
    }
}

impl Write for &Peer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Peer::Unix(stream) => (&mut &*stream).write(bytes),
            Peer::Tcp(stream) => (&mut &*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
