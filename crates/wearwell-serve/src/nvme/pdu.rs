//! The messages of NVMe over TCP ("PDUs") on the wire, all little-endian. Sections and figures are those of the
//! NVMe/TCP Transport Specification.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a digest.
pub(super) const DIGEST_BYTES: usize = 4;
/// Bytes of the common part of every message.
pub(super) const COMMON_BYTES: usize = size_of::<Common>();

/// Types of messages.
pub(super) mod kind {
    pub(in crate::nvme) const IC_REQ: u8 = 0x00;
    pub(in crate::nvme) const IC_RESP: u8 = 0x01;
    pub(in crate::nvme) const H2C_TERM: u8 = 0x02;
    pub(in crate::nvme) const C2H_TERM: u8 = 0x03;
    pub(in crate::nvme) const CAPSULE_CMD: u8 = 0x04;
    pub(in crate::nvme) const CAPSULE_RESP: u8 = 0x05;
    pub(in crate::nvme) const H2C_DATA: u8 = 0x06;
    pub(in crate::nvme) const C2H_DATA: u8 = 0x07;
    pub(in crate::nvme) const R2T: u8 = 0x09;
}

/// Flags of messages.
pub(super) mod flag {
    pub(in crate::nvme) const HEADER_DIGEST: u8 = 1 << 0;
    pub(in crate::nvme) const DATA_DIGEST: u8 = 1 << 1;
    pub(in crate::nvme) const LAST: u8 = 1 << 2;
    pub(in crate::nvme) const SUCCESS: u8 = 1 << 3;
}

/// The common part of every message.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Common {
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// Bytes of the header, without its digest.
    pub(super) header_bytes: u8,
    /// Where the data begins; 0 without.
    pub(super) data_offset: u8,
    /// Bytes of the whole message.
    pub(super) bytes: U32,
}

/// The host's first message, and the controller's answer: they agree on digests and sizes.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct InitializeConnection {
    pub(super) common: Common,
    /// 0.
    pub(super) version: U16,
    /// The alignment of data to the sender, in units of 4 bytes, minus one.
    pub(super) alignment: u8,
    /// Bit 0: header digests; bit 1: data digests.
    pub(super) digests: u8,
    /// From the host: most grants for one command at a time, minus one. From the controller: most bytes of data in one
    /// message from the host.
    pub(super) most: U32,
    pub(super) reserved: [u8; 112],
}

/// A command.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct CapsuleCommand {
    pub(super) common: Common,
    pub(super) command: super::command::Sqe,
}

/// The completion of a command.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct CapsuleResponse {
    pub(super) common: Common,
    pub(super) result: U64,
    /// Commands that were taken from the queue, modulo its size.
    pub(super) queue_head: U16,
    pub(super) queue_id: U16,
    pub(super) command_id: U16,
    /// Status shifted by one; the lowest bit is not used over fabrics.
    pub(super) status: U16,
}

/// Data of a command in either direction, and the permission to send data. All have the same fields.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Transfer {
    pub(super) common: Common,
    pub(super) command_id: U16,
    /// The controller's name for the transfer; 0 in data that it sends.
    pub(super) tag: U16,
    pub(super) offset: U32,
    pub(super) length: U32,
    pub(super) reserved: [u8; 4],
}

/// The termination of a connection, with its reason. At most [`TERMINATE_DATA_BYTES`] of the offending header follow.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Terminate {
    pub(super) common: Common,
    pub(super) status: U16,
    /// The specification has two halves because of alignment. Here it is one number.
    pub(super) information: U32,
    pub(super) reserved: [u8; 10],
}

/// Most bytes of a header that are sent back.
pub(super) const TERMINATE_DATA_BYTES: usize = 128;

/// Bytes of the header of a message that a host may send, without its digest; none for other kinds.
pub(super) fn host_header_bytes(kind: u8) -> Option<usize> {
    Some(match kind {
        kind::IC_REQ => size_of::<InitializeConnection>(),
        kind::H2C_TERM => size_of::<Terminate>(),
        kind::CAPSULE_CMD => size_of::<CapsuleCommand>(),
        kind::H2C_DATA => size_of::<Transfer>(),
        _ => return None,
    })
}

/// Why a connection cannot continue: the status of a termination request (figure 20 of version 1.1), and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fatal {
    /// A field of a header has an impossible value.
    #[error("a message's header has a wrong value at byte {at}")]
    Header {
        /// Where the field begins.
        at: u32,
    },
    /// A message of a kind that is not allowed now.
    #[error("a message of type {kind:#x} is not allowed here")]
    Sequence {
        /// Its type.
        kind: u8,
    },
    /// The header's digest does not match.
    #[error("a header does not match its digest {found:#010x}")]
    HeaderDigest {
        /// The digest that came.
        found: u32,
    },
    /// Data for bytes that the command does not have, or that were not requested.
    #[error("data for byte {at} of a command, which was not asked for")]
    DataOutOfRange {
        /// The first of them.
        at: u32,
    },
    /// More data in a message than allowed.
    #[error("more data in a message than is allowed")]
    DataLimit,
    /// A parameter is not supported.
    #[error("a parameter at byte {at} is not supported")]
    Unsupported {
        /// Where the parameter is in the header.
        at: u32,
    },
}

impl Fatal {
    /// True if the fault is in the common part of a message.
    pub(super) fn is_seen_at_once(self) -> bool {
        match self {
            Self::Header { at } => (at as usize) < COMMON_BYTES,
            Self::Sequence { .. } | Self::DataLimit => true,
            Self::HeaderDigest { .. } | Self::DataOutOfRange { .. } | Self::Unsupported { .. } => false,
        }
    }

    /// Status and information for a termination request.
    pub(super) fn fields(self) -> (u16, u32) {
        match self {
            Self::Header { at } => (1, at),
            Self::Sequence { .. } => (2, 0),
            Self::HeaderDigest { found } => (3, found),
            Self::DataOutOfRange { at } => (4, at),
            Self::DataLimit => (5, 0),
            Self::Unsupported { at } => (6, at),
        }
    }
}
