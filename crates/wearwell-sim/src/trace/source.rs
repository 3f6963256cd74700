//! The bytes of a trace: decompressed if needed, in lines of bounded length.

use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::thread::Scope;

use super::ahead::Ahead;
use super::error::{Fault, Position, TraceError};

/// The longest line that is read. The longest real lines, fio's with a path in each, are far shorter.
const MAX_LINE_BYTES: usize = 4096;

/// Bytes that are read or decompressed at a time.
const BLOCK_BYTES: usize = 1 << 17;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Bytes for a trace's reader, which may be another thread than the caller's.
pub(super) type Bytes<'a> = Box<dyn Read + Send + 'a>;

/// Reads up to four bytes from the front of `bytes`. Returns them, and a reader of all bytes including them.
pub(super) fn peek<'a>(mut bytes: impl Read + Send + 'a) -> io::Result<(Vec<u8>, Bytes<'a>)> {
    let mut prefix = Vec::with_capacity(4);
    bytes.by_ref().take(4).read_to_end(&mut prefix)?;
    Ok((prefix.clone(), Box::new(Cursor::new(prefix).chain(bytes))))
}

/// The content of `bytes`: itself, or what it decompresses to if it starts like gzip or Zstandard. It is read ahead.
pub(super) fn content<'s>(scope: &'s Scope<'s, '_>, bytes: &'s mut (dyn BufRead + Send)) -> io::Result<Bytes<'s>> {
    let (prefix, whole) = peek(bytes)?;
    let content: Bytes<'s> = if prefix.starts_with(&GZIP_MAGIC) {
        // Several members, or frames, one behind the other are one content.
        Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(whole)))
    } else if prefix == ZSTD_MAGIC {
        Box::new(zstd::stream::read::Decoder::new(whole)?)
    } else {
        whole
    };
    let is_full = |block: &io::Result<Vec<u8>>| block.as_ref().is_ok_and(|block| block.len() == BLOCK_BYTES);
    let blocks = Ahead::new(scope, Blocks(content), is_full);
    Ok(Box::new(Joined { blocks, block: Cursor::default() }))
}

/// The blocks of a content, each as long as one call gives it. An error is the last one.
struct Blocks<'a>(Bytes<'a>);

impl Iterator for Blocks<'_> {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut block = vec![0; BLOCK_BYTES];
        match read_some(&mut self.0, &mut block) {
            Ok(0) => None,
            Ok(length) => {
                block.truncate(length);
                Some(Ok(block))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// A content that is put together from its blocks.
struct Joined<B> {
    blocks: B,
    block: Cursor<Vec<u8>>,
}

impl<B: Iterator<Item = io::Result<Vec<u8>>>> Read for Joined<B> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.block.position() == self.block.get_ref().len() as u64 {
            let Some(block) = self.blocks.next().transpose()? else { return Ok(0) };
            self.block = Cursor::new(block);
        }
        self.block.read(out)
    }
}

/// Reads what one call gives.
fn read_some(bytes: &mut dyn Read, out: &mut [u8]) -> io::Result<usize> {
    loop {
        match bytes.read(out) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The error of a read that failed at `at`. Only decompressors report an unexpected end, for a stream that stops early.
pub(super) fn read_error(name: &str, at: Position, source: io::Error) -> TraceError {
    if source.kind() == ErrorKind::UnexpectedEof {
        return TraceError::Truncated { name: name.to_owned(), at, what: "the compressed stream" };
    }
    TraceError::Read { name: name.to_owned(), at, source }
}

/// Lines without their ends (`\n` or `\r\n`), each at most [`MAX_LINE_BYTES`] long.
pub(super) struct Lines<'a> {
    name: &'a str,
    bytes: Bytes<'a>,
    buffer: Vec<u8>,
    /// How much of the buffer is filled.
    filled: usize,
    /// The current line in the buffer. Invariant: `start <= end <= next <= filled`, and the next line begins at `next`.
    start: usize,
    end: usize,
    next: usize,
    number: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(name: &'a str, bytes: Bytes<'a>) -> Self {
        Self { name, bytes, buffer: vec![0; BLOCK_BYTES], filled: 0, start: 0, end: 0, next: 0, number: 0 }
    }

    /// The position of the current line.
    #[inline]
    pub(super) fn position(&self) -> Position {
        Position::Line(self.number)
    }

    /// The line that [`advance`](Self::advance) read last.
    #[inline]
    pub(super) fn line(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Reads the next line; `false` at the end of the trace.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<bool, TraceError> {
        self.number += 1;
        (self.start, self.end) = (self.next, self.next);
        match memchr::memchr(b'\n', &self.buffer[self.start..self.filled]) {
            Some(length) => {
                self.end = self.start + length;
                self.next = self.end + 1;
            }
            None => {
                if !self.advance_by_reading()? {
                    return Ok(false);
                }
            }
        }
        if self.line().last() == Some(&b'\r') {
            self.end -= 1;
        }
        if self.end - self.start > MAX_LINE_BYTES {
            let fault = Fault::LineTooLong { limit_bytes: MAX_LINE_BYTES };
            return Err(TraceError::Malformed { name: self.name.to_owned(), at: self.position(), fault });
        }
        Ok(true)
    }

    /// [`advance`](Self::advance) for a line whose end is not in the buffer. Of a line that is too long, some more than
    /// the longest is read.
    #[cold]
    fn advance_by_reading(&mut self) -> Result<bool, TraceError> {
        // What there is of the line moves to the front. The buffer is far longer than a line, so the rest fits behind
        // it.
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        let mut searched = self.filled;
        // The longest line may have a `\r` behind it.
        while self.filled <= MAX_LINE_BYTES + 1 {
            let read = read_some(&mut *self.bytes, &mut self.buffer[self.filled..]);
            let read = read.map_err(|source| read_error(self.name, self.position(), source))?;
            if read == 0 {
                break;
            }
            self.filled += read;
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[searched..self.filled]) {
                self.end = searched + length;
                self.next = self.end + 1;
                return Ok(true);
            }
            searched = self.filled;
        }
        // The last line may lack its end.
        (self.end, self.next) = (self.filled, self.filled);
        Ok(self.filled > 0)
    }
}
