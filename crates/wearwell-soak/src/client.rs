//! A client over a Unix socket, for tests.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::expect;

/// Request types of the protocol.
pub const READ: u16 = 0;
#[allow(missing_docs)]
pub const WRITE: u16 = 1;
#[allow(missing_docs)]
pub const DISC: u16 = 2;
#[allow(missing_docs)]
pub const FLUSH: u16 = 3;
#[allow(missing_docs)]
pub const TRIM: u16 = 4;
#[allow(missing_docs)]
pub const CACHE: u16 = 5;
#[allow(missing_docs)]
pub const WRITE_ZEROES: u16 = 6;
#[allow(missing_docs)]
pub const BLOCK_STATUS: u16 = 7;

/// Flags of requests.
pub const FUA: u16 = 1;
#[allow(missing_docs)]
pub const NO_HOLE: u16 = 2;
#[allow(missing_docs)]
pub const FAST_ZERO: u16 = 16;

/// The answer to a request: bytes, or the protocol's error number.
pub type Answer = Result<Vec<u8>, u32>;

/// A connection in the transmission phase.
#[derive(Debug)]
pub struct Client {
    /// The connection.
    pub stream: UnixStream,
    cookie: u64,
}

/// The server's description of an export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Export {
    /// Its size.
    pub bytes: u64,
    /// The preferred block size.
    pub page_bytes: u32,
}

/// Part of a structured reply.
#[derive(Debug, PartialEq, Eq)]
pub enum Chunk {
    /// Bytes at an offset.
    Data(u64, Vec<u8>),
    /// Zeros at an offset, and their number.
    Hole(u64, u32),
    /// Lengths and flags of extents.
    Status(Vec<(u32, u32)>),
    /// The protocol's error number.
    Error(u32),
}

impl Client {
    /// Connects and enters the transmission phase of an export, with simple replies. The export is chosen by its name
    /// only.
    ///
    /// # Errors
    /// Errors of the system; `InvalidData` for anything that is not NBD.
    pub fn connect(socket: &Path, export: &str) -> io::Result<Self> {
        let mut stream = greeted(socket)?;
        choose(&mut stream, export)?;
        Ok(Self { stream, cookie: 0 })
    }

    /// The same, and returns the server's description of the export.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_informed(socket: &Path, export: &str) -> io::Result<(Self, Export)> {
        let mut stream = greeted(socket)?;
        let name = [&(export.len() as u32).to_be_bytes(), export.as_bytes()].concat();
        // Asks for one information: block sizes.
        stream.write_all(&option(7, &[&name[..], &[0, 1, 0, 3]].concat()))?;
        let told = granted(&mut stream)?;
        Ok((Self { stream, cookie: 0 }, told))
    }

    /// Connects with structured replies and `base:allocation`.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_structured(socket: &Path, export: &str) -> io::Result<Self> {
        let mut stream = greeted(socket)?;
        let name = [&(export.len() as u32).to_be_bytes(), export.as_bytes()].concat();
        let context = b"base:allocation";
        let query = [&name[..], &[0, 0, 0, 1, 0, 0, 0, context.len() as u8], context].concat();
        let go = [&name[..], &[0, 0]].concat();
        // Structured replies, the context, and GO. Nothing in the replies to the first two is needed.
        stream.write_all(&[option(8, b""), option(10, &query), option(7, &go)].concat())?;
        granted(&mut stream)?;
        Ok(Self { stream, cookie: 0 })
    }

    /// Sends a request and returns its cookie.
    ///
    /// # Errors
    /// What the system says.
    pub fn send(&mut self, flags: u16, kind: u16, offset: u64, length: u32, data: &[u8]) -> io::Result<u64> {
        self.cookie += 1;
        let head = [&[0x25, 0x60, 0x95, 0x13], &flags.to_be_bytes()[..], &kind.to_be_bytes()].concat();
        let request = [&head[..], &self.cookie.to_be_bytes(), &offset.to_be_bytes(), &length.to_be_bytes(), data];
        self.stream.write_all(&request.concat())?;
        Ok(self.cookie)
    }

    /// Reads the next simple reply, with `length` bytes if it is not an error.
    ///
    /// # Errors
    /// As [`connect`](Self::connect); also if it answers another request.
    pub fn reply(&mut self, cookie: u64, length: u32) -> io::Result<Answer> {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head)?;
        expect(head[..4] == [0x67, 0x44, 0x66, 0x98], "the head of a simple reply")?;
        expect(head[8..] == cookie.to_be_bytes(), "the reply to the next request")?;
        let error = number(&head, 4);
        if error != 0 {
            return Ok(Err(error));
        }
        let mut data = vec![0; length as usize];
        self.stream.read_exact(&mut data)?;
        Ok(Ok(data))
    }

    /// Reads the next structured reply.
    ///
    /// # Errors
    /// As [`reply`](Self::reply).
    pub fn chunks(&mut self, cookie: u64) -> io::Result<Vec<Chunk>> {
        let mut chunks = Vec::new();
        loop {
            let mut head = [0; 20];
            self.stream.read_exact(&mut head)?;
            expect(head[..4] == [0x66, 0x8e, 0x33, 0xef], "the head of a structured reply")?;
            expect(head[8..16] == cookie.to_be_bytes(), "the reply to the next request")?;
            let mut payload = vec![0; number(&head, 16) as usize];
            self.stream.read_exact(&mut payload)?;
            let kind = u16::from_be_bytes([head[6], head[7]]);
            chunks.extend(chunk(kind, &payload)?);
            // The lower byte of the flags: this chunk is the last.
            if head[5] == 1 {
                return Ok(chunks);
            }
        }
    }
}

/// The chunk of a type; none for one that only ends a reply.
fn chunk(kind: u16, payload: &[u8]) -> io::Result<Option<Chunk>> {
    // What each type of chunk is decoded from below; other types are errors, with a number of four bytes.
    let least = [0, 8, 12, 0, 0, 4].get(usize::from(kind)).copied().unwrap_or(4);
    expect(payload.len() >= least, "a whole chunk")?;
    let offset = || u64::from(number(payload, 0)) << 32 | u64::from(number(payload, 4));
    Ok(Some(match kind {
        0 => return Ok(None),
        1 => Chunk::Data(offset(), payload[8..].to_vec()),
        2 => Chunk::Hole(offset(), number(payload, 8)),
        5 => {
            let extents = payload[4..].chunks_exact(8).map(|extent| (number(extent, 0), number(extent, 4)));
            Chunk::Status(extents.collect())
        }
        0x8001 => Chunk::Error(number(payload, 0)),
        _ => return expect(false, "a chunk of a known type").map(|()| None),
    }))
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Connects and completes the greeting.
///
/// # Errors
/// As [`Client::connect`].
pub fn greeted(socket: &Path) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(socket)?;
    greet(&mut stream)?;
    Ok(stream)
}

/// Completes the greeting on a connection of any kind.
///
/// # Errors
/// As [`Client::connect`].
pub fn greet(stream: &mut (impl Read + Write)) -> io::Result<()> {
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting)?;
    expect(&greeting == b"NBDMAGICIHAVEOPT\0\x03", "the greeting of fixed newstyle")?;
    // Fixed newstyle, without the 124 zeros behind a size.
    stream.write_all(&[0, 0, 0, 3])
}

/// Enters the transmission phase of an export, with simple replies.
///
/// # Errors
/// As [`Client::connect`].
pub fn choose(stream: &mut (impl Read + Write), export: &str) -> io::Result<()> {
    stream.write_all(&option(1, export.as_bytes()))?;
    // The size and the flags.
    stream.read_exact(&mut [0; 10])
}

/// The bytes of an option.
pub fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [b"IHAVEOPT".as_slice(), &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
}

/// Reads replies to options until OPT_GO is granted.
fn granted(stream: &mut UnixStream) -> io::Result<Export> {
    let mut export = Export::default();
    loop {
        let mut head = [0; 20];
        stream.read_exact(&mut head)?;
        let (option, kind) = (number(&head, 8), number(&head, 12));
        let mut data = vec![0; number(&head, 16) as usize];
        stream.read_exact(&mut data)?;
        // Errors have the highest bit set.
        expect(kind < 1 << 31, "what an option asked for")?;
        match (kind, data.as_slice()) {
            (1, _) if option == 7 => return Ok(export),
            (3, [0, 0, size @ ..]) if size.len() == 10 => {
                export.bytes = u64::from(number(size, 0)) << 32 | u64::from(number(size, 4));
            }
            // The preferred size is the second of three.
            (3, [0, 3, sizes @ ..]) if sizes.len() == 12 => export.page_bytes = number(sizes, 4),
            _ => {}
        }
    }
}
