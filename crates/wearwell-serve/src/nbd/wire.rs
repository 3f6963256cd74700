//! The numbers of the protocol. All are big-endian in messages.

pub(super) const NBDMAGIC: u64 = 0x4e42_444d_4147_4943;
pub(super) const IHAVEOPT: u64 = 0x4948_4156_454f_5054;
pub(super) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
pub(super) const REQUEST_MAGIC: u32 = 0x2560_9513;
pub(super) const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
pub(super) const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Flags of the greeting and of the client's answer; the same bits in both.
pub(super) mod handshake {
    pub(in crate::nbd) const FIXED_NEWSTYLE: u16 = 1 << 0;
    pub(in crate::nbd) const NO_ZEROES: u16 = 1 << 1;
}

pub(super) mod option {
    pub(in crate::nbd) const EXPORT_NAME: u32 = 1;
    pub(in crate::nbd) const ABORT: u32 = 2;
    pub(in crate::nbd) const LIST: u32 = 3;
    pub(in crate::nbd) const STARTTLS: u32 = 5;
    pub(in crate::nbd) const INFO: u32 = 6;
    pub(in crate::nbd) const GO: u32 = 7;
    pub(in crate::nbd) const STRUCTURED_REPLY: u32 = 8;
    pub(in crate::nbd) const LIST_META_CONTEXT: u32 = 9;
    pub(in crate::nbd) const SET_META_CONTEXT: u32 = 10;
}

pub(super) mod option_reply {
    pub(in crate::nbd) const ACK: u32 = 1;
    pub(in crate::nbd) const SERVER: u32 = 2;
    pub(in crate::nbd) const INFO: u32 = 3;
    pub(in crate::nbd) const META_CONTEXT: u32 = 4;
    const ERROR: u32 = 1 << 31;
    pub(in crate::nbd) const ERR_UNSUP: u32 = ERROR + 1;
    pub(in crate::nbd) const ERR_POLICY: u32 = ERROR + 2;
    pub(in crate::nbd) const ERR_INVALID: u32 = ERROR + 3;
    pub(in crate::nbd) const ERR_TLS_REQD: u32 = ERROR + 5;
    pub(in crate::nbd) const ERR_UNKNOWN: u32 = ERROR + 6;
    pub(in crate::nbd) const ERR_TOO_BIG: u32 = ERROR + 9;
}

pub(super) mod info {
    pub(in crate::nbd) const EXPORT: u16 = 0;
    pub(in crate::nbd) const NAME: u16 = 1;
    pub(in crate::nbd) const DESCRIPTION: u16 = 2;
    pub(in crate::nbd) const BLOCK_SIZE: u16 = 3;
}

/// What an export can do.
pub(super) mod transmission {
    pub(in crate::nbd) const HAS_FLAGS: u16 = 1 << 0;
    pub(in crate::nbd) const READ_ONLY: u16 = 1 << 1;
    pub(in crate::nbd) const SEND_FLUSH: u16 = 1 << 2;
    pub(in crate::nbd) const SEND_FUA: u16 = 1 << 3;
    pub(in crate::nbd) const SEND_TRIM: u16 = 1 << 5;
    pub(in crate::nbd) const SEND_WRITE_ZEROES: u16 = 1 << 6;
    pub(in crate::nbd) const SEND_DF: u16 = 1 << 7;
    pub(in crate::nbd) const CAN_MULTI_CONN: u16 = 1 << 8;
    pub(in crate::nbd) const SEND_CACHE: u16 = 1 << 10;
    pub(in crate::nbd) const SEND_FAST_ZERO: u16 = 1 << 11;
}

pub(super) mod command {
    pub(in crate::nbd) const READ: u16 = 0;
    pub(in crate::nbd) const WRITE: u16 = 1;
    pub(in crate::nbd) const DISC: u16 = 2;
    pub(in crate::nbd) const FLUSH: u16 = 3;
    pub(in crate::nbd) const TRIM: u16 = 4;
    pub(in crate::nbd) const CACHE: u16 = 5;
    pub(in crate::nbd) const WRITE_ZEROES: u16 = 6;
    pub(in crate::nbd) const BLOCK_STATUS: u16 = 7;
}

pub(super) mod command_flag {
    pub(in crate::nbd) const FUA: u16 = 1 << 0;
    pub(in crate::nbd) const NO_HOLE: u16 = 1 << 1;
    pub(in crate::nbd) const DF: u16 = 1 << 2;
    pub(in crate::nbd) const REQ_ONE: u16 = 1 << 3;
    pub(in crate::nbd) const FAST_ZERO: u16 = 1 << 4;
}

/// Types of the chunks of a structured reply.
pub(super) mod chunk {
    pub(in crate::nbd) const NONE: u16 = 0;
    pub(in crate::nbd) const OFFSET_DATA: u16 = 1;
    pub(in crate::nbd) const OFFSET_HOLE: u16 = 2;
    pub(in crate::nbd) const BLOCK_STATUS: u16 = 5;
    pub(in crate::nbd) const ERROR: u16 = (1 << 15) + 1;
    pub(in crate::nbd) const FLAG_DONE: u16 = 1 << 0;
}

/// States of the context `base:allocation`.
pub(super) mod allocation {
    pub(in crate::nbd) const HOLE: u32 = 1 << 0;
    pub(in crate::nbd) const ZERO: u32 = 1 << 1;
}

/// Reads numbers and bytes from the front of a message; none if it is too short.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    pub(super) fn is_empty(self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A string with its length of 32 bits before it.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let bytes = self.u32()?;
        self.bytes(usize::try_from(bytes).ok()?)
    }
}
