//! What is served, and under which names.

use super::wire::transmission;

/// Between an export's name and the number of a stream.
const STREAM_SUFFIX: &str = "@stream=";

/// Bytes of the largest payload of a request or a reply.
pub const MAX_PAYLOAD_BYTES: u32 = 32 << 20;

/// A disk as clients see it.
///
/// The protocol has no field for a stream, so each export NAME has the aliases `NAME@stream=N`, for N of 16 bits: what
/// is written through one of them carries the stream N.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its name; empty is the default one.
    pub name: String,
    /// A line for people.
    pub description: String,
    /// Bytes of the disk.
    pub size_bytes: u64,
    /// Bytes of a page: what clients do best to read and write, though a byte is enough.
    pub page_bytes: u32,
    /// True if writes are refused.
    pub is_read_only: bool,
}

impl Export {
    /// The stream that writes through this name carry; none if the name is not this export's.
    pub fn stream_of(&self, name: &[u8]) -> Option<u16> {
        let rest = name.strip_prefix(self.name.as_bytes())?;
        if rest.is_empty() {
            return Some(0);
        }
        let digits = str::from_utf8(rest.strip_prefix(STREAM_SUFFIX.as_bytes())?).ok()?;
        if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
    }

    /// The preferred block size: a power of two, 512 or more.
    pub(super) fn preferred_bytes(&self) -> u32 {
        self.page_bytes.clamp(512, MAX_PAYLOAD_BYTES).next_power_of_two()
    }

    /// The transmission flags. Connections share one disk and a flush covers it all, hence the flag for several.
    pub(super) fn flags(&self, has_structured_replies: bool) -> u16 {
        use transmission::*;
        let mut flags = HAS_FLAGS | SEND_FLUSH | SEND_FUA | CAN_MULTI_CONN | SEND_CACHE;
        flags |= if self.is_read_only { READ_ONLY } else { SEND_TRIM | SEND_WRITE_ZEROES | SEND_FAST_ZERO };
        if has_structured_replies {
            flags |= SEND_DF;
        }
        flags
    }
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
    fn the_preferred_block_is_a_power_of_two() {
        for (page_bytes, preferred) in [(512, 512), (256, 512), (3000, 4096), (16_384, 16_384)] {
            assert_eq!(Export { page_bytes, ..export("") }.preferred_bytes(), preferred);
        }
    }
}
