//! In-band authentication of hosts: DH-HMAC-CHAP (Base 2.1, section 8.3.5.5).

mod exchange;
mod group;
mod hash;
mod messages;
mod secret;
#[cfg(test)]
mod tests;

pub(super) use exchange::{Exchange, Outcome};
pub use secret::{Hosts, HostsError};

use super::command::{Direction, Sqe};
use super::status::Status;

/// What commands of authentication name: the security protocol of NVMe, and DH-HMAC-CHAP in it.
const PROTOCOL: u32 = 0xe901_0100;
/// Most bytes that a host may send, or fetch, at once.
const MOST_BYTES: u32 = 4096;
/// The longest message that a host fetches: the challenge of the longest hash, with a public value.
const LEAST_ROOM_BYTES: u32 = 16 + 64 + group::BYTES as u32;

/// Bytes of the message that a command of authentication brings.
pub(super) fn plan(entry: &Sqe) -> Result<u32, Status> {
    // The lowest byte is not a part of the protocol's name.
    let (bytes, is_ours) = (entry.word(11), entry.word(10) & !0xff == PROTOCOL);
    match entry.direction() {
        Direction::FromHost if is_ours && (1..=MOST_BYTES).contains(&bytes) => Ok(bytes),
        Direction::ToHost if is_ours && (LEAST_ROOM_BYTES..=MOST_BYTES).contains(&bytes) => Ok(0),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Fills a buffer with bytes that nobody can guess. False if the system has none.
pub type Entropy = fn(&mut [u8]) -> bool;

/// Who may connect, and what authentication needs.
#[derive(Debug, Clone)]
pub struct Admission {
    /// The hosts, with their secrets.
    pub hosts: Hosts,
    /// Where challenges come from.
    pub entropy: Entropy,
}
