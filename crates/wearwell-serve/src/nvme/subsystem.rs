//! A disk, as hosts see it.

use std::net::SocketAddr;

use crate::fdp::FdpSpec;

/// Most bytes of a qualified name, without padding.
const NQN_BYTES: usize = 223;

/// A disk, as hosts see it. It does not change while it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subsystem {
    /// Its qualified name.
    pub nqn: String,
    /// A unique and stable number of the disk.
    pub unique: u128,
    /// Where it is reached.
    pub address: SocketAddr,
    /// Bytes of the disk.
    pub size_bytes: u64,
    /// Bytes of a page, the preferred unit of writes.
    pub page_bytes: u32,
    /// Bytes of a segment, the unit of erasing.
    pub segment_bytes: u64,
    /// Whether writes are refused.
    pub is_read_only: bool,
    /// Reclaim unit handles, if the disk has some.
    pub fdp: Option<FdpSpec>,
    /// Whether the disk keeps what hosts enable for its handles.
    pub keeps_events: bool,
}

/// Why a name is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a qualified name: up to {NQN_BYTES} printable characters that begin with 'nqn.'")]
pub struct NqnError;

impl Subsystem {
    /// The default name of a disk: `unique` as a UUID.
    pub fn default_nqn(unique: u128) -> String {
        // Version 8 (vendor-specific), and the variant of RFC 9562.
        let uuid = unique & !(0xf << 76) & !(0b11 << 62) | 8 << 76 | 0b10 << 62;
        let hex = format!("{uuid:032x}");
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        format!("nqn.2014-08.org.nvmexpress:uuid:{}", parts.join("-"))
    }

    /// Checks that a text can be a qualified name.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check_nqn(text: &str) -> Result<(), NqnError> {
        let is_printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.starts_with("nqn.") && text.len() <= NQN_BYTES && is_printable { Ok(()) } else { Err(NqnError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_uuids_unless_given() {
        let nqn = Subsystem::default_nqn(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        assert_eq!(nqn, "nqn.2014-08.org.nvmexpress:uuid:01234567-89ab-8def-8123-456789abcdef");
        assert_eq!(Subsystem::check_nqn(&nqn), Ok(()));
        for wrong in ["", "disk", "nqn.a b", "nqn.\n", &format!("nqn.{}", "x".repeat(220))] {
            assert_eq!(Subsystem::check_nqn(wrong), Err(NqnError), "{wrong}");
        }
    }
}
