//! Flash translation layers and their policies.
//!
//! [`Ftl`] is the contract that every engine keeps; [`PageFtl`] is the page-mapped engine, a log over flash.
//! Start with [`page`], then the three questions of cleaning: when ([`clean::when`]), which
//! ([`clean::which`]) and where ([`place`]).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod addr;
pub mod clean;
pub mod ftl;
pub mod inplace;
pub mod page;
mod pieces;
pub mod place;
mod random;
pub mod stats;
pub mod wear;

pub use addr::{Class, Lpn, Ppn, SECTOR_BYTES, Sectors, Seg};
pub use clean::when::WhenSpec;
pub use clean::which::WhichSpec;
pub use ftl::{Ftl, FtlError, Limits, Probe, WriteHint};
pub use inplace::InPlaceFtl;
pub use page::PageFtl;
pub use place::PlaceSpec;
pub use random::Rng;
pub use stats::Stats;
pub use wear::WearSpec;
