//! The submission queue entry: 64 bytes of a command.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::status::Status;

/// A command as it is on the wire (Base 2.1, figures 90 and 92).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Sqe {
    pub(super) opcode: u8,
    /// Bits 1:0: fused; 7:6: how data is described.
    pub(super) flags: u8,
    pub(super) command_id: U16,
    /// The namespace. In a Fabrics command the lowest byte is its type.
    pub(super) namespace: U32,
    pub(super) reserved: [U32; 2],
    pub(super) metadata: U64,
    pub(super) data: Sgl,
    /// Dwords 10 to 15.
    pub(super) words: [U32; 6],
}

/// The data descriptor. A command over TCP has one.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Sgl {
    pub(super) address: U64,
    pub(super) length: U32,
    pub(super) reserved: [u8; 3],
    /// Type and sub type.
    pub(super) kind: u8,
}

/// The place of a command's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataAt {
    /// In the capsule, at an offset after the entry.
    Capsule { offset: u64 },
    /// In messages of its own.
    Transport,
}

/// A data block descriptor whose address is an offset in the capsule.
const SGL_IN_CAPSULE: u8 = 0x01;
/// A transport's own data block descriptor.
const SGL_TRANSPORT: u8 = 0x5a;
const FUSED: u8 = 0b11;
const PSDT: u8 = 0b11 << 6;
/// Data is described by an SGL, metadata by an address.
const PSDT_SGL: u8 = 0b01 << 6;

/// The direction of a command's data, from the two lowest bits of its opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    None,
    FromHost,
    ToHost,
}

pub(super) mod admin {
    pub(in crate::nvme) const GET_LOG_PAGE: u8 = 0x02;
    pub(in crate::nvme) const IDENTIFY: u8 = 0x06;
    pub(in crate::nvme) const ABORT: u8 = 0x08;
    pub(in crate::nvme) const SET_FEATURES: u8 = 0x09;
    pub(in crate::nvme) const GET_FEATURES: u8 = 0x0a;
    pub(in crate::nvme) const ASYNC_EVENT: u8 = 0x0c;
    pub(in crate::nvme) const KEEP_ALIVE: u8 = 0x18;
    pub(in crate::nvme) const DIRECTIVE_SEND: u8 = 0x19;
    pub(in crate::nvme) const DIRECTIVE_RECEIVE: u8 = 0x1a;
}

pub(super) mod io {
    pub(in crate::nvme) const FLUSH: u8 = 0x00;
    pub(in crate::nvme) const WRITE: u8 = 0x01;
    pub(in crate::nvme) const READ: u8 = 0x02;
    pub(in crate::nvme) const COMPARE: u8 = 0x05;
    pub(in crate::nvme) const WRITE_ZEROES: u8 = 0x08;
    pub(in crate::nvme) const DATASET_MANAGEMENT: u8 = 0x09;
    pub(in crate::nvme) const VERIFY: u8 = 0x0c;
    pub(in crate::nvme) const MANAGEMENT_RECEIVE: u8 = 0x12;
    pub(in crate::nvme) const COPY: u8 = 0x19;
    pub(in crate::nvme) const MANAGEMENT_SEND: u8 = 0x1d;
}

pub(super) const FABRICS: u8 = 0x7f;

pub(super) mod fabrics {
    pub(in crate::nvme) const PROPERTY_SET: u8 = 0x00;
    pub(in crate::nvme) const CONNECT: u8 = 0x01;
    pub(in crate::nvme) const PROPERTY_GET: u8 = 0x04;
    pub(in crate::nvme) const AUTHENTICATION_SEND: u8 = 0x05;
    pub(in crate::nvme) const AUTHENTICATION_RECEIVE: u8 = 0x06;
    pub(in crate::nvme) const DISCONNECT: u8 = 0x08;
}

impl Sqe {
    pub(super) fn is_fabrics(&self) -> bool {
        self.opcode == FABRICS
    }

    /// True for the commands of in-band authentication.
    pub(super) fn is_authentication(&self) -> bool {
        let kinds = [fabrics::AUTHENTICATION_SEND, fabrics::AUTHENTICATION_RECEIVE];
        self.is_fabrics() && kinds.contains(&self.fabrics_type())
    }

    /// The type of a Fabrics command.
    pub(super) fn fabrics_type(&self) -> u8 {
        self.namespace.get() as u8
    }

    pub(super) fn direction(&self) -> Direction {
        // All Fabrics commands share one opcode, whose bits say nothing. Their types follow the same rule.
        let opcode = if self.is_fabrics() { self.fabrics_type() } else { self.opcode };
        match opcode & 0b11 {
            0b01 => Direction::FromHost,
            0b10 => Direction::ToHost,
            _ => Direction::None,
        }
    }

    /// Dword 10 to 15.
    pub(super) fn word(&self, number: usize) -> u32 {
        self.words[number - 10].get()
    }

    /// Two dwords as one number.
    pub(super) fn words(&self, low: usize) -> u64 {
        u64::from(self.word(low)) | u64::from(self.word(low + 1)) << 32
    }

    /// Where the data is.
    pub(super) fn data_at(&self) -> Result<DataAt, Status> {
        match self.data.kind {
            SGL_IN_CAPSULE => Ok(DataAt::Capsule { offset: self.data.address.get() }),
            SGL_TRANSPORT => Ok(DataAt::Transport),
            _ => Err(Status::SGL_TYPE_INVALID),
        }
    }

    /// Refuses fused commands, and data that is described by memory pages.
    pub(super) fn check_flags(&self) -> Result<(), Status> {
        if self.flags & FUSED != 0 || self.flags & PSDT != PSDT_SGL { Err(Status::INVALID_FIELD) } else { Ok(()) }
    }

    /// Checks that `bytes` bytes of data fit where the host wants them.
    pub(super) fn check_room(&self, bytes: usize) -> Result<(), Status> {
        match self.data_at()? {
            // Data to the host never comes in a capsule over TCP.
            DataAt::Capsule { .. } => Err(Status::SGL_TYPE_INVALID),
            DataAt::Transport if u64::from(self.data.length.get()) >= bytes as u64 => Ok(()),
            DataAt::Transport => Err(Status::SGL_LENGTH_INVALID),
        }
    }
}
