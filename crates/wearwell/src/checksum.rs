//! How fast checksums are computed, and how much memory their tables take. The codes themselves are the same.

/// Rows of 256 entries. A tag is checked with every page that a mount scans, so hosts take the fastest way.
#[cfg(not(any(feature = "small-crc", feature = "tiny-crc")))]
pub(crate) type Rows = crc::Table<16>;
/// One row: 1 KiB.
#[cfg(all(feature = "small-crc", not(feature = "tiny-crc")))]
pub(crate) type Rows = crc::Table<1>;
/// No table: bit by bit.
#[cfg(feature = "tiny-crc")]
pub(crate) type Rows = crc::NoTable;

/// Rows for records of a few bytes.
#[cfg(not(feature = "tiny-crc"))]
pub(crate) type FewRows = crc::Table<1>;
#[cfg(feature = "tiny-crc")]
pub(crate) type FewRows = crc::NoTable;
