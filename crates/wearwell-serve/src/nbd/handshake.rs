//! From the greeting to the transmission phase.

use super::error::ProtocolError;
use super::export::{Export, MAX_PAYLOAD_BYTES};
use super::options::{ClientOption, Malformed, Selection, Wanted};
use super::wire::{IHAVEOPT, NBDMAGIC, OPTION_REPLY_MAGIC, Reader, handshake, info, option, option_reply};
use crate::output::Output;

/// Most bytes of an option's data. Longer options are refused and skipped.
const MAX_OPTION_BYTES: u32 = 64 << 10;
/// Most bytes of data that are skipped.
const MAX_SKIPPED_BYTES: u32 = 32 << 20;
/// Most options of a handshake.
const MAX_OPTIONS: u32 = 1024;
const OPTION_HEADER_BYTES: usize = 16;
/// The only metadata context's number.
pub(super) const ALLOCATION_CONTEXT: u32 = 1;

/// What the handshake agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// Bytes of the disk.
    pub size_bytes: u64,
    /// True if writes are refused.
    pub is_read_only: bool,
    /// The stream that writes carry; 0 is none.
    pub stream: u16,
    /// True if reads are answered in chunks.
    pub has_structured_replies: bool,
    /// True if the client may ask what is allocated.
    pub has_allocation: bool,
}

/// The progress of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the input that were used. The caller gives the rest again, with more bytes after it. 0 while the input
    /// holds no complete message.
    pub used_bytes: usize,
    /// The state of the connection.
    pub state: HandshakeState,
}

/// The state of a connection after a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeState {
    /// The handshake continues.
    Open,
    /// The plain phase is over. From the next byte on both sides speak TLS. Inside TLS the handshake continues as if
    /// the client had only been greeted.
    StartTls,
    /// In the transmission phase.
    Ready(Session),
    /// The client asked to close the connection.
    Aborted,
}

/// How a handshake treats TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// There is no TLS.
    Plain,
    /// A client may ask for TLS.
    TlsOffered,
    /// A client must ask for TLS first.
    TlsRequired,
    /// This is inside TLS.
    Tls,
}

/// The server's side of a handshake.
#[derive(Debug)]
pub struct Handshake<'e> {
    export: &'e Export,
    security: Security,
    /// The client's answer to the greeting; none before it.
    client: Option<ClientFlags>,
    has_structured_replies: bool,
    /// The name for which `base:allocation` was selected: it holds only for an export entered by that name.
    allocation_of: Option<Vec<u8>>,
    options: u32,
    /// Bytes of a refused option that are still to come.
    skipped_bytes: u32,
}

#[derive(Debug, Clone, Copy)]
struct ClientFlags {
    is_fixed: bool,
    wants_no_zeroes: bool,
}

impl<'e> Handshake<'e> {
    /// Starts a handshake, and puts the greeting into `output`.
    pub fn greet(export: &'e Export, security: Security, output: &mut Output) -> Self {
        output.put_u64(NBDMAGIC);
        output.put_u64(IHAVEOPT);
        output.put_u16(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
        Self {
            export,
            security,
            client: None,
            has_structured_replies: false,
            allocation_of: None,
            options: 0,
            skipped_bytes: 0,
        }
    }

    /// Takes the next message from `input`, at most one, and puts its answer into `output`.
    ///
    /// # Errors
    /// A [`ProtocolError`] if the connection cannot go on. What is in `output` is still worth sending.
    pub fn receive(&mut self, input: &[u8], output: &mut Output) -> Result<Progress, ProtocolError> {
        if self.skipped_bytes > 0 {
            let skipped = input.len().min(self.skipped_bytes as usize);
            self.skipped_bytes -= skipped as u32;
            return Ok(Progress { used_bytes: skipped, state: HandshakeState::Open });
        }
        let Some(client) = self.client else { return self.client_flags(input) };
        let mut reader = Reader::new(input);
        let waiting = Progress { used_bytes: 0, state: HandshakeState::Open };
        let Some(found) = reader.u64() else { return Ok(waiting) };
        // It is looked at before the rest has come: a peer that speaks something else is not waited for.
        if found != IHAVEOPT {
            return Err(ProtocolError::OptionMagic { found });
        }
        let (Some(number), Some(length_bytes)) = (reader.u32(), reader.u32()) else { return Ok(waiting) };
        // Without fixed newstyle a client cannot parse replies to options, so there is no way to refuse one.
        if number != option::EXPORT_NAME && !client.is_fixed {
            return Err(ProtocolError::NotFixed { option: number });
        }
        if length_bytes > MAX_OPTION_BYTES {
            // Before its data has arrived: a client gets no memory for what it only announces.
            self.refuse_long(number, length_bytes, output)?;
            return Ok(Progress { used_bytes: OPTION_HEADER_BYTES, state: HandshakeState::Open });
        }
        let Some(data) = reader.bytes(length_bytes as usize) else { return Ok(waiting) };
        // Counted once it is complete, since this function is called again for each part of it that comes.
        self.count_option()?;
        let used_bytes = OPTION_HEADER_BYTES + data.len();
        // proto.md, "FORCEDTLS mode": every other option is refused, also one that nobody knows. EXPORT_NAME cannot be
        // refused, so it ends the connection.
        if self.security == Security::TlsRequired && !matches!(number, option::STARTTLS | option::ABORT) {
            if number == option::EXPORT_NAME {
                return Err(ProtocolError::WithoutTls);
            }
            refuse(output, number, option_reply::ERR_TLS_REQD, "this server wants TLS first");
            return Ok(Progress { used_bytes, state: HandshakeState::Open });
        }
        let state = match ClientOption::parse(number, data) {
            Ok(option) => self.answer(number, &option, client, output)?,
            // It has no error replies.
            Err(_) if number == option::EXPORT_NAME => return Err(ProtocolError::UnknownExport),
            Err(malformed) => {
                self.malformed(number, &malformed, output);
                HandshakeState::Open
            }
        };
        // A client waits for the answer before it goes on, so an honest one has sent nothing behind the option.
        if state == HandshakeState::StartTls && input.len() > used_bytes {
            return Err(ProtocolError::BehindStartTls);
        }
        Ok(Progress { used_bytes, state })
    }

    fn client_flags(&mut self, input: &[u8]) -> Result<Progress, ProtocolError> {
        let Some(flags) = Reader::new(input).u32() else {
            return Ok(Progress { used_bytes: 0, state: HandshakeState::Open });
        };
        let known = u32::from(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
        // The protocol wants the connection dropped ("Client flags"): a flag may change what the following bytes mean.
        if flags & !known != 0 {
            return Err(ProtocolError::ClientFlags { flags, known });
        }
        self.client = Some(ClientFlags {
            is_fixed: flags & u32::from(handshake::FIXED_NEWSTYLE) != 0,
            wants_no_zeroes: flags & u32::from(handshake::NO_ZEROES) != 0,
        });
        Ok(Progress { used_bytes: 4, state: HandshakeState::Open })
    }

    fn count_option(&mut self) -> Result<(), ProtocolError> {
        self.options += 1;
        if self.options > MAX_OPTIONS { Err(ProtocolError::TooManyOptions { max: MAX_OPTIONS }) } else { Ok(()) }
    }

    fn refuse_long(&mut self, number: u32, length_bytes: u32, output: &mut Output) -> Result<(), ProtocolError> {
        // Skipping takes no memory, but a client could keep the server busy with it, up to 4 GiB for each option.
        if length_bytes > MAX_SKIPPED_BYTES || number == option::EXPORT_NAME {
            let max_bytes = if number == option::EXPORT_NAME { MAX_OPTION_BYTES } else { MAX_SKIPPED_BYTES };
            return Err(ProtocolError::OptionLength { option: number, length_bytes, max_bytes });
        }
        self.count_option()?;
        self.malformed(number, &Malformed::TooBig, output);
        self.skipped_bytes = length_bytes;
        Ok(())
    }

    fn malformed(&mut self, number: u32, malformed: &Malformed, output: &mut Output) {
        // This option replaces what was selected before, even if it fails.
        if number == option::SET_META_CONTEXT {
            self.allocation_of = None;
        }
        match malformed {
            Malformed::Invalid => {
                refuse(output, number, option_reply::ERR_INVALID, "the option's data has not its form")
            }
            Malformed::TooBig => refuse(output, number, option_reply::ERR_TOO_BIG, "too long"),
        }
    }

    fn answer(
        &mut self,
        number: u32,
        option: &ClientOption<'_>,
        client: ClientFlags,
        output: &mut Output,
    ) -> Result<HandshakeState, ProtocolError> {
        match *option {
            ClientOption::ExportName(name) => {
                return self.enter_by_name(name, client, output).map(HandshakeState::Ready);
            }
            ClientOption::Abort => {
                acknowledge(output, number);
                return Ok(HandshakeState::Aborted);
            }
            ClientOption::Info { name, wants, goes } => {
                // An unknown name leaves the handshake open: the client may ask for another one.
                if let Some(session) = self.inform(number, name, wants, output)
                    && goes
                {
                    return Ok(HandshakeState::Ready(session));
                }
            }
            ClientOption::List => self.list(number, output),
            ClientOption::StructuredReply => {
                self.has_structured_replies = true;
                acknowledge(output, number);
            }
            ClientOption::MetaContext { name, selection, sets } => {
                self.select_contexts(number, name, selection, sets, output);
            }
            ClientOption::StartTls => return Ok(self.start_tls(number, output)),
            ClientOption::Unknown => refuse(output, number, option_reply::ERR_UNSUP, "unknown option"),
        }
        Ok(HandshakeState::Open)
    }

    /// Agreements in plain text are dropped, because anybody could have sent them.
    fn start_tls(&mut self, number: u32, output: &mut Output) -> HandshakeState {
        match self.security {
            Security::Plain => refuse(output, number, option_reply::ERR_POLICY, "this server does without TLS"),
            Security::Tls => refuse(output, number, option_reply::ERR_INVALID, "this is TLS already"),
            Security::TlsOffered | Security::TlsRequired => {
                acknowledge(output, number);
                // The flags of the client stay: inside TLS there is no second greeting.
                self.security = Security::Tls;
                (self.has_structured_replies, self.allocation_of) = (false, None);
                return HandshakeState::StartTls;
            }
        }
        HandshakeState::Open
    }

    fn session(&self, name: &[u8], stream: u16) -> Session {
        Session {
            size_bytes: self.export.size_bytes,
            is_read_only: self.export.is_read_only,
            stream,
            has_structured_replies: self.has_structured_replies,
            // An alias is another name, although it is the same disk. So a client selects the context for the name that
            // it enters.
            has_allocation: self.allocation_of.as_deref() == Some(name),
        }
    }

    /// The oldest way into transmission, which has no error replies.
    fn enter_by_name(&self, name: &[u8], client: ClientFlags, output: &mut Output) -> Result<Session, ProtocolError> {
        let stream = self.export.stream_of(name).ok_or(ProtocolError::UnknownExport)?;
        output.put_u64(self.export.size_bytes);
        output.put_u16(self.export.flags(self.has_structured_replies));
        if !client.wants_no_zeroes {
            // Reserved bytes of the oldest handshakes. Clients that do not refuse them expect them.
            output.put(&[0; 124]);
        }
        Ok(self.session(name, stream))
    }

    /// INFO and GO. The session is none if the export does not exist.
    fn inform(&self, number: u32, name: &[u8], wants: Wanted, output: &mut Output) -> Option<Session> {
        let Some(stream) = self.export.stream_of(name) else {
            refuse(output, number, option_reply::ERR_UNKNOWN, "there is no such export");
            return None;
        };
        // Its type, the size and the flags. This one is sent whether it was asked for or not.
        reply_header(output, number, option_reply::INFO, 12);
        output.put_u16(info::EXPORT);
        output.put_u64(self.export.size_bytes);
        output.put_u16(self.export.flags(self.has_structured_replies));
        if wants.name {
            reply_header(output, number, option_reply::INFO, 2 + name.len());
            output.put_u16(info::NAME);
            output.put(name);
        }
        if wants.description {
            let description = self.export.description.as_bytes();
            reply_header(output, number, option_reply::INFO, 2 + description.len());
            output.put_u16(info::DESCRIPTION);
            output.put(description);
        }
        if wants.block_size {
            reply_header(output, number, option_reply::INFO, 14);
            output.put_u16(info::BLOCK_SIZE);
            // The minimum is a byte: parts of sectors are read, changed and written here.
            output.put_u32(1);
            output.put_u32(self.export.preferred_bytes());
            output.put_u32(MAX_PAYLOAD_BYTES);
        }
        acknowledge(output, number);
        Some(self.session(name, stream))
    }

    /// Lists the export without its aliases.
    fn list(&self, number: u32, output: &mut Output) {
        // There are 65,536 aliases. A client that wants one makes its name itself.
        let name = self.export.name.as_bytes();
        reply_header(output, number, option_reply::SERVER, 4 + name.len());
        output.put_u32(name.len() as u32);
        output.put(name);
        acknowledge(output, number);
    }

    fn select_contexts(&mut self, number: u32, name: &[u8], selection: Selection, sets: bool, output: &mut Output) {
        if sets {
            self.allocation_of = None;
        }
        // The answer to BLOCK_STATUS is a chunk, so there is nothing to select without chunks (proto.md,
        // NBD_OPT_SET_META_CONTEXT).
        if !self.has_structured_replies {
            return refuse(output, number, option_reply::ERR_INVALID, "structured replies come first");
        }
        if self.export.stream_of(name).is_none() {
            return refuse(output, number, option_reply::ERR_UNKNOWN, "there is no such export");
        }
        if selection == Selection::Allocation {
            let context = b"base:allocation";
            reply_header(output, number, option_reply::META_CONTEXT, 4 + context.len());
            // A list names contexts and selects none, so its field for the number is reserved.
            output.put_u32(if sets { ALLOCATION_CONTEXT } else { 0 });
            output.put(context);
            if sets {
                self.allocation_of = Some(name.to_vec());
            }
        }
        acknowledge(output, number);
    }
}

fn reply_header(output: &mut Output, number: u32, kind: u32, data_bytes: usize) {
    output.put_u64(OPTION_REPLY_MAGIC);
    output.put_u32(number);
    output.put_u32(kind);
    output.put_u32(data_bytes as u32);
}

fn acknowledge(output: &mut Output, number: u32) {
    reply_header(output, number, option_reply::ACK, 0);
}

fn refuse(output: &mut Output, number: u32, kind: u32, message: &str) {
    reply_header(output, number, kind, message.len());
    output.put(message.as_bytes());
}
