//! Both directions of a connection: parses messages from the input, and writes messages to the output.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

use crate::output::Output;

use super::command::Sqe;
use super::pdu::{
    COMMON_BYTES, CapsuleCommand, CapsuleResponse, Common, DIGEST_BYTES, Fatal, InitializeConnection,
    TERMINATE_DATA_BYTES, Terminate, Transfer, flag, host_header_bytes, kind,
};
use super::status::Status;

/// Most data of a command in its own message. A page of 4 KiB must fit, so that small writes need one message.
pub(super) const IN_CAPSULE_BYTES: u32 = 16 << 10;
/// Most data that the host may put into one message.
pub(super) const H2C_BYTES: u32 = 128 << 10;
/// Most padding before a message's data. We ask for no alignment, so hosts need none.
const PADDING_BYTES: u32 = 128;
/// Alignments have 5 bits.
const ALIGNMENT_MAX: u8 = 31;

/// A complete message from the host with checked digests.
#[derive(Debug)]
pub(super) enum Message<'a> {
    /// The first message, and never a later one.
    Initialize,
    Command {
        entry: Sqe,
        data: &'a [u8],
        is_damaged: bool,
    },
    Data {
        header: Transfer,
        data: &'a [u8],
        is_damaged: bool,
    },
    /// The host terminates the connection.
    Terminated,
}

/// The first message in the input.
#[derive(Debug)]
pub(super) enum Received<'a> {
    Whole {
        message: Message<'a>,
        used_bytes: usize,
    },
    /// An incomplete message, and its length as far as known.
    Partial {
        needed_bytes: usize,
    },
}

/// The agreed format of messages on a connection.
#[derive(Debug, Clone, Copy)]
struct Agreed {
    has_header_digests: bool,
    has_data_digests: bool,
    /// The alignment of data to the host.
    alignment_bytes: usize,
}

/// The messages of a connection.
#[derive(Debug, Default)]
pub(super) struct Link {
    /// None until the first message.
    agreed: Option<Agreed>,
}

/// The lengths of a message.
#[derive(Debug, Clone, Copy)]
struct Frame {
    common: Common,
    header_bytes: usize,
    data_start: usize,
    data_end: usize,
    bytes: usize,
}

impl Link {
    /// Parses the first message of `input`.
    ///
    /// # Errors
    /// Why there is no valid message. The connection is over, and [`terminate`](Self::terminate) writes the last
    /// message.
    pub(super) fn receive<'a>(&mut self, input: &'a [u8]) -> Result<Received<'a>, Fatal> {
        let Ok((common, _)) = Common::read_from_prefix(input) else {
            return Ok(Received::Partial { needed_bytes: COMMON_BYTES });
        };
        // Before the rest has come: nobody waits for, or keeps, a message of an impossible length.
        let frame = self.frame(common)?;
        let Some(bytes) = input.get(..frame.bytes) else {
            return Ok(Received::Partial { needed_bytes: frame.bytes });
        };
        // A wrong digest of the header ends the connection: the length may be wrong as well, so that nobody knows where
        // the next message begins.
        self.check_header_digest(&frame, bytes)?;
        let data = &bytes[frame.data_start..frame.data_end];
        // What is behind the data is its digest. Damaged data fails the command, not the connection. For messages
        // without data the result means nothing.
        let is_damaged = frame.bytes > frame.data_end && {
            crc32c::crc32c(data).to_le_bytes() != bytes[frame.data_end..frame.bytes]
        };
        let message = match common.kind {
            kind::IC_REQ => {
                self.agree(&read::<InitializeConnection>(bytes))?;
                Message::Initialize
            }
            kind::CAPSULE_CMD => Message::Command { entry: read::<CapsuleCommand>(bytes).command, data, is_damaged },
            kind::H2C_DATA => {
                let header = read::<Transfer>(bytes);
                // The length is told twice, here and by the message.
                if header.length.get() as usize != data.len() {
                    return Err(Fatal::Header { at: 16 });
                }
                Message::Data { header, data, is_damaged }
            }
            // A termination is not answered.
            _ => Message::Terminated,
        };
        Ok(Received::Whole { message, used_bytes: frame.bytes })
    }

    /// Checks the lengths of a message against each other and against what its type may have.
    fn frame(&self, common: Common) -> Result<Frame, Fatal> {
        // Faults are told by the first byte of the field: 0 is the type, 1 flags, 2 the header's length, 3 the data's
        // offset, 4 the length of all.
        let header_bytes = host_header_bytes(common.kind).ok_or(Fatal::Header { at: 0 })?;
        let is_first = self.agreed.is_none();
        // A host may terminate the connection at any time, also instead of its first message.
        if is_first != (common.kind == kind::IC_REQ) && common.kind != kind::H2C_TERM {
            return Err(Fatal::Sequence { kind: common.kind });
        }
        if usize::from(common.header_bytes) != header_bytes {
            return Err(Fatal::Header { at: 2 });
        }
        let bytes = common.bytes.get();
        let without_data = Frame { common, header_bytes, data_start: 0, data_end: 0, bytes: bytes as usize };
        let (Some(agreed), true) = (self.agreed, matches!(common.kind, kind::CAPSULE_CMD | kind::H2C_DATA)) else {
            let most = header_bytes + if common.kind == kind::H2C_TERM { TERMINATE_DATA_BYTES } else { 0 };
            // Neither the first message nor a termination has digests, or data of a command.
            let fits = (header_bytes..=most).contains(&(bytes as usize));
            return if fits { Ok(without_data) } else { Err(Fatal::Header { at: 4 }) };
        };
        if (common.flags & flag::HEADER_DIGEST != 0) != agreed.has_header_digests {
            return Err(Fatal::Header { at: 1 });
        }
        // Digests are agreed on for the connection, and not chosen by message.
        let header_end = header_bytes + if agreed.has_header_digests { DIGEST_BYTES } else { 0 };
        // A command without data has no digest of data either.
        if bytes as usize == header_end && common.kind == kind::CAPSULE_CMD {
            return Ok(Frame { data_start: header_end, data_end: header_end, ..without_data });
        }
        let limit = if common.kind == kind::H2C_DATA { H2C_BYTES } else { IN_CAPSULE_BYTES };
        let trailer = if agreed.has_data_digests { DIGEST_BYTES } else { 0 };
        if (common.flags & flag::DATA_DIGEST != 0) != agreed.has_data_digests {
            return Err(Fatal::Header { at: 1 });
        }
        // The offset counts from the message's beginning, in bytes, and has to be a multiple of 4.
        let data_start = usize::from(common.data_offset);
        if data_start < header_end || data_start > header_end + PADDING_BYTES as usize || !data_start.is_multiple_of(4)
        {
            return Err(Fatal::Header { at: 3 });
        }
        // The length is the host's, and may be shorter than the parts that it must have.
        let data_end = (bytes as usize).checked_sub(trailer).filter(|&end| end > data_start);
        let data_end = data_end.ok_or(Fatal::Header { at: 4 })?;
        if data_end - data_start > limit as usize {
            // MAXH2CDATA was told to the host by the answer to its first message; the capsule's limit by Identify.
            return Err(Fatal::DataLimit);
        }
        Ok(Frame { data_start, data_end, ..without_data })
    }

    fn check_header_digest(&self, frame: &Frame, bytes: &[u8]) -> Result<(), Fatal> {
        let is_covered = matches!(frame.common.kind, kind::CAPSULE_CMD | kind::H2C_DATA);
        if !is_covered || !self.agreed.is_some_and(|agreed| agreed.has_header_digests) {
            return Ok(());
        }
        let (header, rest) = bytes.split_at(frame.header_bytes);
        let found = U32::read_from_prefix(rest).map_or(0, |(digest, _)| digest.get());
        if crc32c::crc32c(header) == found { Ok(()) } else { Err(Fatal::HeaderDigest { found }) }
    }

    fn agree(&mut self, wanted: &InitializeConnection) -> Result<(), Fatal> {
        // The fields of the first message: 8 is the version, 10 the alignment of data, 11 the digests.
        if wanted.version.get() != 0 {
            return Err(Fatal::Unsupported { at: 8 });
        }
        if wanted.alignment > ALIGNMENT_MAX {
            return Err(Fatal::Header { at: 10 });
        }
        if wanted.digests & !(flag::HEADER_DIGEST | flag::DATA_DIGEST) != 0 {
            return Err(Fatal::Unsupported { at: 11 });
        }
        self.agreed = Some(Agreed {
            has_header_digests: wanted.digests & flag::HEADER_DIGEST != 0,
            has_data_digests: wanted.digests & flag::DATA_DIGEST != 0,
            // 0's based, in units of 4 bytes.
            alignment_bytes: (usize::from(wanted.alignment) + 1) * 4,
        });
        Ok(())
    }

    /// Answers the first message.
    pub(super) fn accept(&self, output: &mut Output) {
        let mut answer = InitializeConnection::new_zeroed();
        answer.common = common::<InitializeConnection>(kind::IC_RESP);
        if let Some(agreed) = self.agreed {
            answer.digests = u8::from(agreed.has_header_digests) | u8::from(agreed.has_data_digests) << 1;
        }
        // The alignment that we ask for stays 0, so that hosts send no padding.
        answer.most = H2C_BYTES.into();
        output.put(answer.as_bytes());
    }

    /// Sends the completion of a command.
    pub(super) fn respond(&self, output: &mut Output, completion: Completion) {
        let message = CapsuleResponse {
            common: common::<CapsuleResponse>(kind::CAPSULE_RESP),
            result: U64::new(completion.result),
            queue_head: U16::new(completion.queue_head),
            // Over fabrics the connection says which queue it is, and the field is reserved.
            queue_id: U16::new(0),
            command_id: completion.command_id,
            status: U16::new(completion.status.field()),
        };
        self.put_header(output, &message);
    }

    /// Asks for a command's data.
    pub(super) fn grant(&self, output: &mut Output, command_id: U16, tag: u16, bytes: u32) {
        let message = Transfer {
            common: common::<Transfer>(kind::R2T),
            command_id,
            tag: U16::new(tag),
            // One message asks for all data of the command.
            offset: U32::new(0),
            length: U32::new(bytes),
            reserved: [0; 4],
        };
        self.put_header(output, &message);
    }

    /// Sends a command's data, which `fill` writes. `is_all` is set if the data also stands for the completion. If
    /// `fill` fails, nothing is sent.
    pub(super) fn send_data(
        &self,
        output: &mut Output,
        command_id: U16,
        bytes: usize,
        is_all: bool,
        fill: impl FnOnce(&mut [u8]) -> Result<(), Status>,
    ) -> Result<(), Status> {
        let started = output.len();
        let agreed =
            self.agreed.unwrap_or(Agreed { has_header_digests: false, has_data_digests: false, alignment_bytes: 4 });
        let header_end = size_of::<Transfer>() + if agreed.has_header_digests { DIGEST_BYTES } else { 0 };
        let data_offset = header_end.next_multiple_of(agreed.alignment_bytes);
        let trailer = if agreed.has_data_digests { DIGEST_BYTES } else { 0 };
        let mut common = common::<Transfer>(kind::C2H_DATA);
        common.flags = flag::LAST
            | if is_all { flag::SUCCESS } else { 0 }
            | if agreed.has_data_digests { flag::DATA_DIGEST } else { 0 };
        // At most 128: a header with its digest has 28 bytes, and alignments end at 128.
        common.data_offset = data_offset as u8;
        common.bytes = U32::new((data_offset + bytes + trailer) as u32);
        let header = Transfer {
            common,
            command_id,
            tag: U16::new(0),
            offset: U32::new(0),
            length: U32::new(bytes as u32),
            reserved: [0; 4],
        };
        self.put_header(output, &header);
        output.room(data_offset - header_end).fill(0);
        let data = output.room(bytes);
        if let Err(status) = fill(data) {
            // The completion then tells of the error, and nothing of the data has left.
            output.cut_to(started);
            return Err(status);
        }
        if agreed.has_data_digests {
            let digest = crc32c::crc32c(data);
            output.put(&digest.to_le_bytes());
        }
        Ok(())
    }

    /// Ends the connection for a fault of the host. `input` begins with the host's message.
    pub(super) fn terminate(output: &mut Output, fatal: Fatal, input: &[u8]) {
        // A fault in the first bytes ends the connection before the others have arrived.
        let whole = host_header_bytes(input.first().copied().unwrap_or(0)).unwrap_or(COMMON_BYTES);
        let header = if fatal.is_seen_at_once() { COMMON_BYTES } else { whole };
        let offending = &input[..header.min(input.len()).min(TERMINATE_DATA_BYTES)];
        let (status, information) = fatal.fields();
        let mut message = Terminate::new_zeroed();
        message.common = common::<Terminate>(kind::C2H_TERM);
        message.common.bytes = U32::new((size_of::<Terminate>() + offending.len()) as u32);
        message.status = U16::new(status);
        message.information = U32::new(information);
        output.put(message.as_bytes());
        output.put(offending);
    }

    /// Writes a header, with its digest if digests are used.
    fn put_header(&self, output: &mut Output, header: &(impl IntoBytes + Immutable)) {
        let started = output.len();
        output.put(header.as_bytes());
        if !self.agreed.is_some_and(|agreed| agreed.has_header_digests) {
            return;
        }
        let bytes = header.as_bytes();
        let mut common = read::<Common>(bytes);
        common.flags |= flag::HEADER_DIGEST;
        // A message with data has the digest in its length already: it is a part of the data's offset.
        if common.bytes.get() as usize == bytes.len() {
            common.bytes = U32::new((bytes.len() + DIGEST_BYTES) as u32);
        }
        // Before the digest, which is of these bytes as they are sent.
        output.patch(started, common.as_bytes());
        let digest = crc32c::crc32c(&output.filled()[started..]);
        output.put(&digest.to_le_bytes());
    }
}

/// The completion of a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Completion {
    pub(super) command_id: U16,
    pub(super) status: Status,
    pub(super) result: u64,
    pub(super) queue_head: u16,
}

/// The common part of a message without data.
fn common<T>(kind: u8) -> Common {
    let bytes = size_of::<T>();
    Common { kind, flags: 0, header_bytes: bytes as u8, data_offset: 0, bytes: U32::new(bytes as u32) }
}

/// Reads the structure at the front of `bytes`. Lengths were checked before. Missing bytes read as zeros.
fn read<T: FromBytes>(bytes: &[u8]) -> T {
    T::read_from_prefix(bytes).map_or_else(|_| T::new_zeroed(), |(found, _)| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(digests: u8, alignment: u8) -> Vec<u8> {
        let mut message = InitializeConnection::new_zeroed();
        message.common = common::<InitializeConnection>(kind::IC_REQ);
        (message.digests, message.alignment) = (digests, alignment);
        message.as_bytes().to_vec()
    }

    fn agreed(digests: u8, alignment: u8) -> Link {
        let mut link = Link::default();
        let Ok(Received::Whole { message: Message::Initialize, .. }) = link.receive(&first(digests, alignment)) else {
            panic!("not agreed")
        };
        link
    }

    #[test]
    fn structures_have_the_sizes_of_the_specification() {
        let sizes = [
            size_of::<Common>(),
            size_of::<InitializeConnection>(),
            size_of::<CapsuleCommand>(),
            size_of::<CapsuleResponse>(),
            size_of::<Transfer>(),
            size_of::<Terminate>(),
        ];
        assert_eq!(sizes, [8, 128, 72, 24, 24, 24]);
    }

    #[test]
    fn the_first_message_agrees_or_ends_it() {
        let refused = |message: &[u8]| Link::default().receive(message).unwrap_err();
        let mut wrong = first(0, 0);
        wrong[8] = 1;
        assert_eq!(refused(&wrong), Fatal::Unsupported { at: 8 });
        assert_eq!(refused(&first(4, 0)), Fatal::Unsupported { at: 11 });
        assert_eq!(refused(&first(0, 32)), Fatal::Header { at: 10 });
        assert_eq!(refused(&[kind::CAPSULE_CMD, 0, 72, 0, 72, 0, 0, 0]), Fatal::Sequence { kind: 4 });
        assert_eq!(refused(&[0x0a; 8]), Fatal::Header { at: 0 });
        assert_eq!(refused(&[kind::IC_REQ, 0, 127, 0, 128, 0, 0, 0]), Fatal::Header { at: 2 });
        assert_eq!(refused(&[kind::IC_REQ, 0, 128, 0, 129, 0, 0, 0]), Fatal::Header { at: 4 });
        let again = agreed(0, 0).receive(&first(0, 0)).unwrap_err();
        assert_eq!(again, Fatal::Sequence { kind: 0 });
    }

    #[test]
    fn data_is_aligned_and_has_its_digests() {
        let mut output = Output::default();
        let filled = agreed(3, 3).send_data(&mut output, U16::new(7), 5, true, |data| {
            data.copy_from_slice(b"12345");
            Ok(())
        });
        assert_eq!(filled, Ok(()));
        let sent = output.filled();
        assert_eq!((sent.len(), sent[3], &sent[32..37]), (41, 32, &b"12345"[..]));
        assert_eq!(sent[24..28], crc32c::crc32c(&sent[..24]).to_le_bytes());
        assert_eq!(sent[37..], crc32c::crc32c(b"12345").to_le_bytes());
        assert_eq!((sent[0], sent[1], sent[4]), (kind::C2H_DATA, 0b1111, 41));
        let failed = agreed(3, 3).send_data(&mut output, U16::new(7), 5, true, |_| Err(Status::READ_ERROR));
        assert_eq!((failed, output.len()), (Err(Status::READ_ERROR), 41), "nothing is left of it");
    }

    #[test]
    fn damage_is_found_by_digests() {
        let mut message = vec![kind::CAPSULE_CMD, 3, 72, 76, 84, 0, 0, 0];
        message.resize(72, 9);
        message.extend(crc32c::crc32c(&message).to_le_bytes());
        message.extend(b"data");
        message.extend(crc32c::crc32c(b"data").to_le_bytes());
        let damaged = |message: &[u8]| match agreed(3, 0).receive(message) {
            Ok(Received::Whole { message: Message::Command { data: b"data" | b"dat0", is_damaged, .. }, .. }) => {
                is_damaged
            }
            other => panic!("{other:?}"),
        };
        assert!(!damaged(&message));
        let mut other = message.clone();
        other[79] = b'0';
        assert!(damaged(&other));
        message[20] ^= 1;
        assert!(matches!(agreed(3, 0).receive(&message), Err(Fatal::HeaderDigest { .. })));
        assert!(matches!(agreed(0, 0).receive(&other), Err(Fatal::Header { at: 1 })), "digests nobody wanted");
    }
}
