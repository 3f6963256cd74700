//! Requests of the transmission phase, read from their bytes and checked against the export.

use super::error::{Errno, ProtocolError};
use super::export::MAX_PAYLOAD_BYTES;
use super::handshake::Session;
use super::wire::{REQUEST_MAGIC, Reader, command, command_flag};

const HEADER_BYTES: usize = 28;

/// A request with its cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Chosen by the client.
    pub cookie: u64,
    /// What to do.
    pub command: Command<'a>,
}

/// A command. Ranges lie within the disk, and writes come only if the disk may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// Send `length` bytes, [`MAX_PAYLOAD_BYTES`] at most.
    Read {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// In one piece.
        is_whole: bool,
    },
    /// Write bytes.
    Write {
        /// First byte.
        offset: u64,
        /// The bytes, [`MAX_PAYLOAD_BYTES`] at most.
        data: &'a [u8],
        /// Durable before the reply.
        is_durable: bool,
    },
    /// Make everything durable whose request was answered before.
    Flush,
    /// The content is no longer needed.
    Trim {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// Durable before the reply.
        is_durable: bool,
    },
    /// The content is zeros from now on.
    WriteZeroes {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// Durable before the reply.
        is_durable: bool,
        /// The range must not become a hole.
        keeps_allocated: bool,
        /// Refuse if it would be no faster than writing zeros.
        is_fast_only: bool,
    },
    /// The range will be read soon.
    Cache,
    /// Say what is allocated.
    BlockStatus {
        /// First byte.
        offset: u64,
        /// Bytes, not 0.
        length: u32,
        /// The first extent is enough.
        is_one: bool,
    },
    /// The client disconnects. There is no reply.
    Disconnect,
    /// A request that was refused before it reached the disk.
    Refused {
        /// Why.
        error: Errno,
        /// True if the refusal must be a structured reply.
        is_chunked: bool,
    },
}

/// The content of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestStep<'a> {
    /// A request.
    Whole {
        /// The request.
        request: Request<'a>,
        /// Bytes of the input that were used, including skipped ones.
        used_bytes: usize,
    },
    /// No complete request.
    Partial {
        /// Bytes of the input that were skipped.
        used_bytes: usize,
        /// Bytes that the next request needs, as far as known.
        needed_bytes: usize,
    },
}

/// Splits the input of a session into requests.
#[derive(Debug)]
pub struct Requests {
    session: Session,
    /// Bytes of a refused payload that are still to come.
    skipped_bytes: u32,
}

struct Header {
    flags: u16,
    kind: u16,
    cookie: u64,
    offset: u64,
    length: u32,
}

impl Requests {
    /// For the session that a handshake agreed on.
    pub fn new(session: Session) -> Self {
        Self { session, skipped_bytes: 0 }
    }

    /// What the handshake agreed on.
    pub fn session(&self) -> Session {
        self.session
    }

    /// Takes the next request from `input`.
    ///
    /// # Errors
    /// A [`ProtocolError`] if what stands there is no request.
    pub fn receive<'a>(&mut self, input: &'a [u8]) -> Result<RequestStep<'a>, ProtocolError> {
        // The payload of a refused write comes all the same. It is dropped as it arrives, so it takes no memory.
        let skipped = input.len().min(self.skipped_bytes as usize);
        self.skipped_bytes -= skipped as u32;
        let input = &input[skipped..];
        let mut reader = Reader::new(input);
        let partial = |needed_bytes| Ok(RequestStep::Partial { used_bytes: skipped, needed_bytes });
        let Some(found) = reader.u32() else { return partial(HEADER_BYTES) };
        // From here on the stream cannot be understood: no later place in it is known to begin a request.
        if found != REQUEST_MAGIC {
            return Err(ProtocolError::RequestMagic { found });
        }
        let Some(header) = Header::read(&mut reader) else { return partial(HEADER_BYTES) };
        let whole = |command, payload_bytes| {
            let request = Request { cookie: header.cookie, command };
            Ok(RequestStep::Whole { request, used_bytes: skipped + HEADER_BYTES + payload_bytes })
        };
        if header.kind != command::WRITE {
            return whole(self.without_payload(&header).unwrap_or_else(|error| self.refused(&header, error)), 0);
        }
        // Before its data is waited for: the length is the client's, and may be up to 4 GiB.
        if let Err(error) = self.check_write(&header) {
            self.skipped_bytes = header.length;
            return whole(self.refused(&header, error), 0);
        }
        let Some(data) = reader.bytes(header.length as usize) else {
            return partial(HEADER_BYTES + header.length as usize);
        };
        let is_durable = header.flags & command_flag::FUA != 0;
        whole(Command::Write { offset: header.offset, data, is_durable }, data.len())
    }

    fn refused<'a>(&self, header: &Header, error: Errno) -> Command<'a> {
        // A read must get a structured reply even if it fails early (proto.md, "Structured reply chunk message"). Other
        // refusals may be simple.
        let is_read = matches!(header.kind, command::READ | command::BLOCK_STATUS);
        Command::Refused { error, is_chunked: is_read && self.session.has_structured_replies }
    }

    fn check_write(&self, header: &Header) -> Result<(), Errno> {
        self.check_flags(header, 0)?;
        self.check_writable()?;
        if header.length > MAX_PAYLOAD_BYTES {
            return Err(Errno::Inval);
        }
        // A write beyond the end would need a larger disk. Reads and trims beyond it are invalid ("Error values").
        self.check_range(header, Errno::NoSpace)
    }

    fn without_payload(&self, header: &Header) -> Result<Command<'static>, Errno> {
        let &Header { flags, kind, offset, length, .. } = header;
        let is_durable = flags & command_flag::FUA != 0;
        match kind {
            command::READ => self.read(header),
            // Nothing is checked, since nothing is answered.
            command::DISC => Ok(Command::Disconnect),
            command::FLUSH => {
                self.check_flags(header, 0)?;
                // The fields are reserved, and all clients send zeros. A flush is not refused for fields that it does
                // not use.
                Ok(Command::Flush)
            }
            command::TRIM => {
                self.check_flags(header, 0)?;
                self.check_writable()?;
                self.check_range(header, Errno::Inval)?;
                Ok(Command::Trim { offset, length, is_durable })
            }
            command::WRITE_ZEROES => {
                self.check_flags(header, command_flag::NO_HOLE | command_flag::FAST_ZERO)?;
                self.check_writable()?;
                self.check_range(header, Errno::NoSpace)?;
                let keeps_allocated = flags & command_flag::NO_HOLE != 0;
                let is_fast_only = flags & command_flag::FAST_ZERO != 0;
                Ok(Command::WriteZeroes { offset, length, is_durable, keeps_allocated, is_fast_only })
            }
            // There is no cache to fill. A server may offer the command without an effect, but must then refuse flags
            // that it does not know.
            command::CACHE => {
                self.check_flags(header, 0)?;
                self.check_range(header, Errno::Inval)?;
                Ok(Command::Cache)
            }
            command::BLOCK_STATUS => {
                self.check_flags(header, command_flag::REQ_ONE)?;
                // No extent may be empty, and an empty answer would leave the client where it was.
                if !self.session.has_allocation || length == 0 {
                    return Err(Errno::Inval);
                }
                self.check_range(header, Errno::Inval)?;
                Ok(Command::BlockStatus { offset, length, is_one: flags & command_flag::REQ_ONE != 0 })
            }
            _ => Err(Errno::Inval),
        }
    }

    fn read(&self, header: &Header) -> Result<Command<'static>, Errno> {
        // Clients must not set DF where it was not offered, and it was offered only with structured replies.
        let may_be_whole = if self.session.has_structured_replies { command_flag::DF } else { 0 };
        self.check_flags(header, may_be_whole)?;
        let is_whole = header.flags & command_flag::DF != 0;
        self.check_range(header, Errno::Inval)?;
        if header.length > MAX_PAYLOAD_BYTES {
            // EOVERFLOW is for reads with DF alone: it tells the client to ask for less ("Error values").
            return Err(if is_whole { Errno::Overflow } else { Errno::Inval });
        }
        Ok(Command::Read { offset: header.offset, length: header.length, is_whole })
    }

    /// FUA may be set on every command, other flags only where they have a meaning.
    fn check_flags(&self, header: &Header, allowed: u16) -> Result<(), Errno> {
        if header.flags & !(allowed | command_flag::FUA) == 0 { Ok(()) } else { Err(Errno::Inval) }
    }

    fn check_writable(&self) -> Result<(), Errno> {
        if self.session.is_read_only { Err(Errno::Perm) } else { Ok(()) }
    }

    fn check_range(&self, header: &Header, beyond: Errno) -> Result<(), Errno> {
        // The offset has 64 bits and is the client's, so the sum may overflow.
        let end = header.offset.checked_add(u64::from(header.length));
        if end.is_some_and(|end| end <= self.session.size_bytes) { Ok(()) } else { Err(beyond) }
    }
}

impl Header {
    /// What follows the magic number.
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            flags: reader.u16()?,
            kind: reader.u16()?,
            cookie: reader.u64()?,
            offset: reader.u64()?,
            length: reader.u32()?,
        })
    }
}
