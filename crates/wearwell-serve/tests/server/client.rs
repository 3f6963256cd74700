//! A client that does what it is told, also what no client should do.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const DISC: u16 = 2;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const TRIM: u16 = 4;
pub(crate) const CACHE: u16 = 5;
pub(crate) const WRITE_ZEROES: u16 = 6;
pub(crate) const BLOCK_STATUS: u16 = 7;

pub(crate) const FUA: u16 = 1;
pub(crate) const NO_HOLE: u16 = 2;
pub(crate) const FAST_ZERO: u16 = 16;

pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    cookie: u64,
}

/// Part of a structured reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chunk {
    Data(u64, Vec<u8>),
    Hole(u64, u32),
    Status(Vec<(u32, u32)>),
    Error(u32),
}

impl Client {
    /// In the transmission phase of an export, with simple replies.
    pub(crate) fn connect(socket: &Path, export: &str) -> Self {
        let mut stream = greeted(socket);
        stream.write_all(&option(1, export.as_bytes())).unwrap();
        let mut told = [0; 10];
        stream.read_exact(&mut told).unwrap();
        Self { stream, cookie: 0 }
    }

    /// With structured replies and `base:allocation`.
    pub(crate) fn connect_structured(socket: &Path, export: &str) -> Self {
        let mut stream = greeted(socket);
        let name = [&(export.len() as u32).to_be_bytes(), export.as_bytes()].concat();
        let context = b"base:allocation";
        let query = [&name[..], &[0, 0, 0, 1, 0, 0, 0, context.len() as u8], context].concat();
        stream
            .write_all(&[option(8, b""), option(10, &query), option(7, &[&name[..], &[0, 0]].concat())].concat())
            .unwrap();
        while option_reply(&mut stream) != (7, 1) {}
        Self { stream, cookie: 0 }
    }

    /// Sends a request and returns its cookie.
    pub(crate) fn send(&mut self, flags: u16, kind: u16, offset: u64, length: u32, data: &[u8]) -> u64 {
        self.cookie += 1;
        let head = [&[0x25, 0x60, 0x95, 0x13], &flags.to_be_bytes()[..], &kind.to_be_bytes()].concat();
        let request = [&head[..], &self.cookie.to_be_bytes(), &offset.to_be_bytes(), &length.to_be_bytes(), data];
        self.stream.write_all(&request.concat()).unwrap();
        self.cookie
    }

    /// The simple reply that comes next, with so many bytes if it is not an error.
    pub(crate) fn reply(&mut self, cookie: u64, length: u32) -> Result<Vec<u8>, u32> {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head).unwrap();
        assert_eq!(head[..4], [0x67, 0x44, 0x66, 0x98]);
        assert_eq!(u64::from_be_bytes(head[8..].try_into().unwrap()), cookie);
        let error = u32::from_be_bytes(head[4..8].try_into().unwrap());
        if error != 0 {
            return Err(error);
        }
        let mut data = vec![0; length as usize];
        self.stream.read_exact(&mut data).unwrap();
        Ok(data)
    }

    /// The structured reply that comes next.
    pub(crate) fn chunks(&mut self, cookie: u64) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        loop {
            let mut head = [0; 20];
            self.stream.read_exact(&mut head).unwrap();
            assert_eq!(head[..4], [0x66, 0x8e, 0x33, 0xef]);
            assert_eq!(u64::from_be_bytes(head[8..16].try_into().unwrap()), cookie);
            let mut payload = vec![0; u32::from_be_bytes(head[16..].try_into().unwrap()) as usize];
            self.stream.read_exact(&mut payload).unwrap();
            let number = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().unwrap());
            let offset = || u64::from_be_bytes(payload[..8].try_into().unwrap());
            match u16::from_be_bytes([head[6], head[7]]) {
                0 => assert!(payload.is_empty()),
                1 => chunks.push(Chunk::Data(offset(), payload[8..].to_vec())),
                2 => chunks.push(Chunk::Hole(offset(), number(8))),
                5 => {
                    let extents = (4..payload.len()).step_by(8).map(|at| (number(at), number(at + 4)));
                    chunks.push(Chunk::Status(extents.collect()));
                }
                0x8001 => chunks.push(Chunk::Error(number(0))),
                other => panic!("a chunk of type {other}"),
            }
            if head[5] == 1 {
                return chunks;
            }
        }
    }

    pub(crate) fn read(&mut self, offset: u64, length: u32) -> Result<Vec<u8>, u32> {
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
    let mut stream = UnixStream::connect(socket).unwrap();
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\0\x03");
    stream.write_all(&[0, 0, 0, 3]).unwrap();
    stream
}

pub(crate) fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [b"IHAVEOPT".as_slice(), &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
}

/// Option and type of the next option reply.
fn option_reply(stream: &mut UnixStream) -> (u32, u32) {
    let mut head = [0; 20];
    stream.read_exact(&mut head).unwrap();
    let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
    let mut data = vec![0; number(16) as usize];
    stream.read_exact(&mut data).unwrap();
    assert!(number(12) < 1 << 31, "option {} fails", number(8));
    (number(8), number(12))
}
