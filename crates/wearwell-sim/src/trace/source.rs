//! The bytes of a trace: decompressed if needed, in lines of bounded length.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use super::error::{Fault, Position, TraceError};

/// The longest line that is read. The longest real lines, fio's with a path in each, are far shorter.
const MAX_LINE_BYTES: usize = 4096;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Reads up to four bytes from the front of `bytes`. Returns them, and a reader of all bytes including them.
pub(super) fn peek<'a>(bytes: &'a mut dyn BufRead) -> io::Result<(Vec<u8>, Box<dyn BufRead + 'a>)> {
    let mut prefix = Vec::with_capacity(4);
    bytes.take(4).read_to_end(&mut prefix)?;
    Ok((prefix.clone(), Box::new(Cursor::new(prefix).chain(bytes))))
}

/// The content of `bytes`: itself, or what it decompresses to if it starts like gzip or Zstandard.
pub(super) fn decompress<'a>(bytes: &'a mut dyn BufRead) -> io::Result<Box<dyn BufRead + 'a>> {
    let (prefix, whole) = peek(bytes)?;
    if prefix.starts_with(&GZIP_MAGIC) {
        return Ok(Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(whole))));
    }
    if prefix == ZSTD_MAGIC {
        return Ok(Box::new(BufReader::new(zstd::stream::read::Decoder::with_buffer(whole)?)));
    }
    Ok(whole)
}

/// The error of a read that failed at `at`. Only decompressors report an unexpected end, for a stream that stops early.
pub(super) fn read_error(name: &str, at: Position, source: io::Error) -> TraceError {
    if source.kind() == io::ErrorKind::UnexpectedEof {
        return TraceError::Truncated { name: name.to_owned(), at, what: "the compressed stream" };
    }
    TraceError::Read { name: name.to_owned(), at, source }
}

/// Lines without their ends (`\n` or `\r\n`), each at most [`MAX_LINE_BYTES`] long.
pub(super) struct Lines<'a> {
    name: &'a str,
    bytes: Box<dyn BufRead + 'a>,
    line: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(name: &'a str, bytes: Box<dyn BufRead + 'a>) -> Self {
        Self { name, bytes, line: Vec::with_capacity(256), number: 0 }
    }

    /// The position of the current line.
    pub(super) fn position(&self) -> Position {
        Position::Line(self.number)
    }

    /// The line that [`advance`](Self::advance) read last.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Reads the next line; `false` at the end of the trace.
    pub(super) fn advance(&mut self) -> Result<bool, TraceError> {
        self.number += 1;
        self.line.clear();
        // Includes the end of the line, and one more byte that shows that a line is too long.
        let limit = MAX_LINE_BYTES as u64 + 2;
        let result = self.bytes.by_ref().take(limit).read_until(b'\n', &mut self.line);
        if result.map_err(|source| read_error(self.name, self.position(), source))? == 0 {
            return Ok(false);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        if self.line.len() > MAX_LINE_BYTES {
            let fault = Fault::LineTooLong { limit_bytes: MAX_LINE_BYTES };
            return Err(TraceError::Malformed { name: self.name.to_owned(), at: self.position(), fault });
        }
        Ok(true)
    }
}
