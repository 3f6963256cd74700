//! Traces in Parquet: the columns `time_us`, `op`, `offset`, `length`, and maybe `stream` and `device`. Others are left
//! alone.

mod read;
mod write;

pub(super) use read::{MAGIC, ParquetReader};
pub use write::{ParquetWriter, convert};

#[cfg(test)]
mod tests;

/// The columns, in the order in which they are written.
const COLUMNS: [&str; 6] = ["time_us", "op", "offset", "length", "stream", "device"];

/// Which of them are texts.
const OP: usize = 1;
const DEVICE: usize = 5;

/// How many of them there must be.
const REQUIRED: usize = 4;
