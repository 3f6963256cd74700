//! The export, and its names.

use super::wire::transmission;

/// The separator between an export's name and the number of a stream.
const STREAM_SUFFIX: &str = "@stream=";

/// Bytes of the longest name that the protocol allows.
const MAX_NAME_BYTES: usize = 4096;

/// Bytes of the largest payload of a request or a reply.
pub const MAX_PAYLOAD_BYTES: u32 = 32 << 20;

/// Why a name cannot be an export's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// It is the name of an alias.
    #[error("a name that ends in {STREAM_SUFFIX}N is an alias of another export's")]
    Alias,
    /// It is longer than the protocol allows.
    #[error("a name of {bytes} bytes, of {MAX_NAME_BYTES} at most")]
    TooLong {
        /// Its bytes.
        bytes: usize,
    },
}

/// A disk, as clients see it.
///
/// The protocol has no field for a stream, so each export NAME has the aliases `NAME@stream=N`, for N of 16 bits:
/// writes through one of them carry the stream N.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its name; empty is the default one.
    pub name: String,
    /// A line for people.
    pub description: String,
    /// Bytes of the disk.
    pub size_bytes: u64,
    /// Bytes of a page, the preferred unit of reads and writes. The minimum is a byte.
    pub page_bytes: u32,
    /// True if writes are refused.
    pub is_read_only: bool,
}

impl Export {
    /// Checks that an export can have this name.
    ///
    /// # Errors
    /// See [`NameError`].
    pub fn check_name(name: &str) -> Result<(), NameError> {
        if name.len() > MAX_NAME_BYTES {
            return Err(NameError::TooLong { bytes: name.len() });
        }
        match name.rsplit_once(STREAM_SUFFIX) {
            Some((_, digits)) if stream_number(digits.as_bytes()).is_some() => Err(NameError::Alias),
            _ => Ok(()),
        }
    }

    /// The stream of writes through this name; none if the name is not this export's.
    pub fn stream_of(&self, name: &[u8]) -> Option<u16> {
        let rest = name.strip_prefix(self.name.as_bytes())?;
        if rest.is_empty() {
            return Some(0);
        }
        stream_number(rest.strip_prefix(STREAM_SUFFIX.as_bytes())?)
    }

    /// The preferred block size: a power of two, 512 or more.
    pub(super) fn preferred_bytes(&self) -> u32 {
        // proto.md, "Size constraints": it must be a power of two, and a page need not be one. The greatest payload is
        // one, so the result is no larger than it.
        self.page_bytes.clamp(512, MAX_PAYLOAD_BYTES).next_power_of_two()
    }

    /// The transmission flags. Connections share one disk and a flush covers all of it, so the flag for several
    /// connections is set.
    pub(super) fn flags(&self, has_structured_replies: bool) -> u16 {
        use transmission::*;
        // HAS_FLAGS is always set. FUA is a flush of everything, so whoever offers one can offer the other.
        let mut flags = HAS_FLAGS | SEND_FLUSH | SEND_FUA | CAN_MULTI_CONN | SEND_CACHE;
        flags |= if self.is_read_only { READ_ONLY } else { SEND_TRIM | SEND_WRITE_ZEROES | SEND_FAST_ZERO };
        if has_structured_replies {
            // A client without structured replies gets each read in one piece, and must not be offered the flag
            // (proto.md, "Transmission flags").
            flags |= SEND_DF;
        }
        flags
    }
}

/// The number after the suffix of an alias.
fn stream_number(digits: &[u8]) -> Option<u16> {
    let digits = str::from_utf8(digits).ok()?;
    // `parse` alone would also take "+5", so that two names would mean one stream.
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export(name: &str) -> Export {
        Export {
            name: name.to_owned(),
            description: String::new(),
            size_bytes: 1 << 20,
            page_bytes: 2048,
            is_read_only: false,
        }
    }

    #[test]
    fn aliases_name_a_stream() {
        let disk = export("disk");
        assert_eq!(disk.stream_of(b"disk"), Some(0));
        assert_eq!(disk.stream_of(b"disk@stream=7"), Some(7));
        assert_eq!(export("").stream_of(b"@stream=65535"), Some(65_535));
        for other in [
            "",
            "dis",
            "disks",
            "disk@stream=",
            "disk@stream=65536",
            "disk@stream=+1",
            "disk@stream=1 ",
            "disk@Stream=1",
        ] {
            assert_eq!(disk.stream_of(other.as_bytes()), None, "{other}");
        }
        assert_eq!(disk.stream_of(b"disk@stream=\xff"), None);
    }

    #[test]
    fn no_export_is_called_like_an_alias_or_too_long() {
        for name in ["@stream=0", "a@stream=3", "a@stream=3@stream=65535"] {
            assert_eq!(Export::check_name(name), Err(NameError::Alias), "{name}");
        }
        for name in ["", "a", "@stream=", "a@stream=x", "a@stream=65536", "a@stream=3b", &"x".repeat(4096)] {
            assert_eq!(Export::check_name(name), Ok(()), "{name}");
        }
        assert_eq!(Export::check_name(&"x".repeat(4097)), Err(NameError::TooLong { bytes: 4097 }));
    }

    #[test]
    fn the_preferred_block_is_a_power_of_two() {
        for (page_bytes, preferred) in [(512, 512), (256, 512), (3000, 4096), (16_384, 16_384)] {
            assert_eq!(Export { page_bytes, ..export("") }.preferred_bytes(), preferred);
        }
    }
}
