//! The messages of NVMe/TCP, as a host writes and reads them.

use crc::{CRC_32_ISCSI, Crc};

const CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);
/// Bytes of the common part of a message.
const COMMON_BYTES: usize = 8;

/// Kinds of messages.
pub(crate) mod kind {
    pub(crate) const IC_REQ: u8 = 0;
    pub(crate) const IC_RESP: u8 = 1;
    pub(crate) const CAPSULE_CMD: u8 = 4;
    pub(crate) const CAPSULE_RESP: u8 = 5;
    pub(crate) const H2C_DATA: u8 = 6;
    pub(crate) const C2H_DATA: u8 = 7;
    pub(crate) const R2T: u8 = 9;
}

/// The digests of a connection, as the first message names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digests(pub(crate) u8);

impl Digests {
    pub(crate) const NONE: Self = Self(0);

    fn has_header(self) -> bool {
        self.0 & 1 != 0
    }

    pub(crate) fn has_data(self) -> bool {
        self.0 & 2 != 0
    }
}

/// The place of a command's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataAt {
    Capsule,
    Transport,
}

/// The first message, which asks for digests.
pub(crate) fn first_message(digests: Digests) -> Vec<u8> {
    let mut message = vec![kind::IC_REQ, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, digests.0];
    message.resize(128, 0);
    message
}

/// A message: the header behind its common part, and its data.
pub(crate) fn message(kind: u8, flags: u8, header: &[u8], data: &[u8], digests: Digests) -> Vec<u8> {
    let header_bytes = COMMON_BYTES + header.len();
    let digest_bytes = |is_there| if is_there { 4 } else { 0 };
    let (has_data, header_end) = (!data.is_empty(), header_bytes + digest_bytes(digests.has_header()));
    let all = header_end + data.len() + digest_bytes(has_data && digests.has_data());
    let digest_flags = digests.0 & if has_data { 3 } else { 1 };
    let mut bytes = vec![kind, flags | digest_flags, header_bytes as u8, if has_data { header_end as u8 } else { 0 }];
    bytes.extend((all as u32).to_le_bytes());
    bytes.extend(header);
    if digests.has_header() {
        bytes.extend(CRC32C.checksum(&bytes).to_le_bytes());
    }
    bytes.extend(data);
    if has_data && digests.has_data() {
        bytes.extend(CRC32C.checksum(data).to_le_bytes());
    }
    bytes
}

/// A command's entry: its opcode, number and namespace (or kind, for one of Fabrics), where its bytes of data are, and
/// its dwords from the tenth on.
pub(crate) fn entry(opcode: u8, id: u16, namespace: u8, at: DataAt, bytes: u32, words: &[u32]) -> [u8; 64] {
    let mut entry = [0; 64];
    (entry[0], entry[1], entry[4]) = (opcode, 0x40, namespace);
    entry[2..4].copy_from_slice(&id.to_le_bytes());
    entry[32..36].copy_from_slice(&bytes.to_le_bytes());
    entry[39] = if at == DataAt::Capsule { 0x01 } else { 0x5a };
    for (place, word) in entry[40..].chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    entry
}

/// The command connect, with all its data.
pub(crate) fn connect(nqn: &str, queue: u16, controller: u16, words: [u32; 2], digests: Digests) -> Vec<u8> {
    let mut data = vec![0; 16];
    data.extend(controller.to_le_bytes());
    for (at, text) in [(256, nqn), (512, "nqn.host")] {
        data.resize(at, 0);
        data.extend(text.as_bytes());
    }
    data.resize(1024, 0);
    let words = [u32::from(queue) << 16, words[0], words[1]];
    message(kind::CAPSULE_CMD, 0, &entry(0x7f, 0, 1, DataAt::Capsule, 1024, &words), &data, digests)
}

/// A message of the controller's.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    /// Behind the common part.
    pub(crate) header: &'a [u8],
    pub(crate) data: &'a [u8],
}

impl<'a> Answer<'a> {
    /// Takes the first message from `bytes`, which must be whole, with the digests that it should have.
    pub(crate) fn take(bytes: &mut &'a [u8], digests: Digests) -> Self {
        let (kind, flags, header_bytes, data_at) = (bytes[0], bytes[1], usize::from(bytes[2]), usize::from(bytes[3]));
        let all = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) as usize;
        let message = bytes.split_off(..all).expect("a whole message");
        let digests = if kind == kind::IC_RESP { Digests::NONE } else { digests };
        let has_data = data_at > 0;
        assert_eq!(flags & 3, digests.0 & if has_data { 3 } else { 1 }, "digests that were agreed on");
        let (header, behind) = message.split_at(header_bytes);
        if digests.has_header() {
            assert_eq!(behind[..4], CRC32C.checksum(header).to_le_bytes(), "the header's digest");
        }
        let mut data: &[u8] = if has_data { &message[data_at..] } else { &[] };
        if has_data && digests.has_data() {
            let (covered, digest) = data.split_at(data.len() - 4);
            assert_eq!(digest, CRC32C.checksum(covered).to_le_bytes(), "the data's digest");
            data = covered;
        }
        Self { kind, flags, header: &header[COMMON_BYTES..], data }
    }

    /// A number of two bytes in the header.
    pub(crate) fn number(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.header[at], self.header[at + 1]])
    }
}
