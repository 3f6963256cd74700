//! The client of `wearwell-soak`, for servers that do not go away: what is no NBD ends the test.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;

use wearwell_soak::client;
pub(crate) use wearwell_soak::client::{
    BLOCK_STATUS, CACHE, Chunk, DISC, FAST_ZERO, FLUSH, FUA, NO_HOLE, READ, TRIM, WRITE, WRITE_ZEROES, option,
};

pub(crate) struct Client {
    client: client::Client,
    pub(crate) stream: UnixStream,
}

impl Client {
    fn new(client: client::Client) -> Self {
        let stream = client.stream.try_clone().unwrap();
        Self { client, stream }
    }

    /// In the transmission phase of an export, with simple replies.
    pub(crate) fn connect(socket: &Path, export: &str) -> Self {
        Self::new(client::Client::connect(socket, export).unwrap())
    }

    /// With structured replies and `base:allocation`.
    pub(crate) fn connect_structured(socket: &Path, export: &str) -> Self {
        Self::new(client::Client::connect_structured(socket, export).unwrap())
    }

    /// Sends a request and returns its cookie.
    pub(crate) fn send(&mut self, flags: u16, kind: u16, offset: u64, length: u32, data: &[u8]) -> u64 {
        self.client.send(flags, kind, offset, length, data).unwrap()
    }

    /// The simple reply that comes next, with so many bytes if it is not an error.
    pub(crate) fn reply(&mut self, cookie: u64, length: u32) -> client::Answer {
        self.client.reply(cookie, length).unwrap()
    }

    /// The structured reply that comes next.
    pub(crate) fn chunks(&mut self, cookie: u64) -> Vec<Chunk> {
        self.client.chunks(cookie).unwrap()
    }

    pub(crate) fn read(&mut self, offset: u64, length: u32) -> client::Answer {
        let cookie = self.send(0, READ, offset, length, b"");
        self.reply(cookie, length)
    }

    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), u32> {
        let cookie = self.send(0, WRITE, offset, data.len() as u32, data);
        self.reply(cookie, 0).map(drop)
    }

    /// A command without data in either direction.
    pub(crate) fn command(&mut self, flags: u16, kind: u16, offset: u64, length: u32) -> Result<(), u32> {
        let cookie = self.send(flags, kind, offset, length, b"");
        self.reply(cookie, 0).map(drop)
    }

    /// Waits until the server closes the connection, and returns what it still sent.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Err(error) if error.kind() != std::io::ErrorKind::ConnectionReset => panic!("{error}"),
            _ => rest,
        }
    }
}

/// Connected, with the greeting over.
pub(crate) fn greeted(socket: &Path) -> UnixStream {
    client::greeted(socket).unwrap()
}
