//! Requests and replies of both protocols as bytes, without input or output.

use std::io;

use wearwell_soak::expect;
use wearwell_soak::nvme::{Command, put_capsule};

/// The block of an NVMe namespace.
const BLOCK_BYTES: u64 = 512;

/// A protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// NBD with simple replies.
    Nbd,
    /// An I/O queue without flow control and digests.
    Nvme,
}

/// What all requests of a measurement do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
}

impl Dialect {
    /// Adds a request for as many bytes as `data` has. What a write writes is `data`.
    pub(crate) fn put(self, out: &mut Vec<u8>, kind: Kind, id: u16, offset: u64, data: &[u8]) {
        let length = data.len() as u32;
        let data = if kind == Kind::Write { data } else { &[] };
        match self {
            Self::Nbd => {
                let number = u16::from(kind == Kind::Write);
                out.extend([0x25, 0x60, 0x95, 0x13, 0, 0]);
                out.extend(number.to_be_bytes());
                out.extend(u64::from(id).to_be_bytes());
                out.extend(offset.to_be_bytes());
                out.extend(length.to_be_bytes());
                out.extend(data);
            }
            Self::Nvme => {
                let opcode = if kind == Kind::Write { 1 } else { 2 };
                // The number of blocks counts from 0.
                let (first, last) = (offset / BLOCK_BYTES, length / BLOCK_BYTES as u32 - 1);
                let words = [first as u32, (first >> 32) as u32, last, 0, 0, 0];
                put_capsule(out, Command { opcode, namespace: 1, words }, id, data, length);
            }
        }
    }

    /// The length of the reply at the front of `input`, which must say that all is well; none if it is not complete.
    pub(crate) fn take(self, input: &[u8], kind: Kind, length: usize) -> io::Result<Option<usize>> {
        let head_bytes = match self {
            Self::Nbd => 16,
            Self::Nvme => 24,
        };
        let Some(head) = input.get(..head_bytes) else { return Ok(None) };
        let is_well = match (self, kind) {
            (Self::Nbd, _) => head[..8] == [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0],
            // Data that stands for its completion, too.
            (Self::Nvme, Kind::Read) => head[..4] == [7, 0b1100, 24, 24],
            (Self::Nvme, Kind::Write) => head[..4] == [5, 0, 24, 0] && head[22..] == [0, 0],
        };
        expect(is_well, "a reply without an error")?;
        let bytes = head_bytes + if kind == Kind::Read { length } else { 0 };
        Ok((input.len() >= bytes).then_some(bytes))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_taken_whole_and_without_errors() {
        let taken = |dialect: Dialect, kind, reply: &[u8]| dialect.take(reply, kind, 4);
        let nbd = [&[0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0][..], &[9; 12]].concat();
        assert_eq!(taken(Dialect::Nbd, Kind::Read, &nbd).unwrap(), Some(20));
        assert_eq!(taken(Dialect::Nbd, Kind::Read, &nbd[..19]).unwrap(), None);
        let mut failed = nbd;
        failed[7] = 5;
        assert!(taken(Dialect::Nbd, Kind::Write, &failed).is_err());
        let mut completion = [vec![5, 0, 24, 0, 24], vec![0; 19]].concat();
        assert_eq!(taken(Dialect::Nvme, Kind::Write, &completion).unwrap(), Some(24));
        assert!(taken(Dialect::Nvme, Kind::Read, &completion).is_err(), "a refusal");
        completion[23] = 1;
        assert!(taken(Dialect::Nvme, Kind::Write, &completion).is_err());
    }
}
