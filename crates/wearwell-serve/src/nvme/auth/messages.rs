//! The messages of DH-HMAC-CHAP (Base 2.1, section 8.3.5.5).

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Types of messages: of any protocol, or of this one.
const COMMON: u8 = 0;
const DHCHAP: u8 = 1;
/// The protocol, in the list of those that a host speaks.
pub(super) const PROTOCOL: u8 = 1;

/// Type and number of each message.
pub(super) const NEGOTIATE: [u8; 2] = [COMMON, 0x00];
pub(super) const CHALLENGE: [u8; 2] = [DHCHAP, 0x01];
pub(super) const REPLY: [u8; 2] = [DHCHAP, 0x02];
pub(super) const SUCCESS_1: [u8; 2] = [DHCHAP, 0x03];
pub(super) const SUCCESS_2: [u8; 2] = [DHCHAP, 0x04];
pub(super) const FAILURE_1: [u8; 2] = [COMMON, 0xf1];

/// What all messages begin with.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Head {
    pub(super) kind: [u8; 2],
    pub(super) reserved: [u8; 2],
    /// The host's number for this authentication.
    pub(super) transaction: U16,
}

/// The host names what it can do.
#[derive(Debug, Clone, Copy, FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Negotiate {
    pub(super) head: Head,
    pub(super) secure_channel: u8,
    pub(super) protocols: u8,
    pub(super) protocol: u8,
    reserved: u8,
    hash_count: u8,
    group_count: u8,
    hashes: [u8; 30],
    groups: [u8; 30],
}

impl Negotiate {
    pub(super) fn hashes(&self) -> &[u8] {
        // The count is the host's. One that is greater than the list makes it empty, and the host is refused.
        self.hashes.get(..usize::from(self.hash_count)).unwrap_or_default()
    }

    pub(super) fn groups(&self) -> &[u8] {
        self.groups.get(..usize::from(self.group_count)).unwrap_or_default()
    }
}

/// The controller's challenge. Its value follows, and the public value of the group.
#[derive(Debug, Clone, Copy, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Challenge {
    pub(super) head: Head,
    pub(super) hash_bytes: u8,
    pub(super) reserved: u8,
    pub(super) hash: u8,
    pub(super) group: u8,
    pub(super) public_bytes: U16,
    pub(super) sequence: U32,
}

/// The host's reply. Its answer follows, then a challenge of its own, and its public value.
#[derive(Debug, Clone, Copy, FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Reply {
    pub(super) head: Head,
    pub(super) hash_bytes: u8,
    reserved: u8,
    /// Whether there is a challenge.
    pub(super) has_challenge: u8,
    reserved_too: u8,
    pub(super) public_bytes: U16,
    pub(super) sequence: U32,
}

/// The controller is content. Its answer to the host's challenge follows, if there was one.
#[derive(Debug, Clone, Copy, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Success {
    pub(super) head: Head,
    pub(super) hash_bytes: u8,
    pub(super) reserved: u8,
    pub(super) has_answer: u8,
    pub(super) reserved_too: [u8; 7],
}

/// It has failed.
#[derive(Debug, Clone, Copy, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Failure {
    pub(super) head: Head,
    /// Always 1: authentication failed.
    pub(super) reason: u8,
    pub(super) explanation: u8,
}

/// Why it has failed (Base 2.1, figure 738).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Why {
    Failed = 1,
    NotUsable = 2,
    SecureChannel = 3,
    Hash = 4,
    Group = 5,
    Payload = 6,
    Message = 7,
}
