//! A disk on raw flash: a translation layer for firmware, `no_std`, without unsafe code.
//!
//! Flash cannot be overwritten in place, wears out, and may hold anything after a power cut. Implement [`Nand`] (or
//! [`Nor`]) for your chip. [`Disk`] turns it into pages that can be read and written in any order. What was flushed
//! survives every power cut, and blocks wear evenly.
//!
//! # A disk in five lines
//!
//! [`RamNand`] is a chip in memory. Use your driver in its place.
//!
//! ```
//! use wearwell::{Config, Disk, RamNand};
//!
//! # let chip = RamNand::new(RamNand::SMALL);
//! # let data = [42; 512];
//! let mut disk = Disk::format(chip, Config::new(300))?;
//! disk.write(7, &data)?;
//! disk.flush()?;
//! let (mut disk, report) = Disk::mount(disk.into_chip(), Config::new(300))?;
//! # let mut again = [0; 512];
//! # disk.read(7, &mut again)?;
//! # assert_eq!(again, data);
//! # assert!(!report.clean);
//! # Ok::<(), wearwell::Error<wearwell::RamNandError>>(())
//! ```
//!
//! The disk has 300 pages of the chip's size. [`Config`] holds its policies; the defaults level wear. [`Error`] keeps
//! your driver's own error.
//!
//! # Your driver
//!
//! A driver has six functions. [`Nand`] says what each may assume and must promise. `examples/array_driver.rs` is a
//! complete driver for an array:
//!
//! ```
#![doc = include_str!("../examples/array_driver.rs")]
//! ```
//!
//! # What to decide
//!
//! - **How many pages?** Fewer than the chip has. The rest is spare space for cleaning and for blocks that go bad. With
//!   12 % to spare, each random write costs several programs. `format` refuses a number that is too large, and
//!   [`ConfigError::TooLarge`](page::ConfigError::TooLarge) says what fits.
//! - **When is it durable?** After [`flush`](Disk::flush). A page that was not flushed is old or new after a cut.
//! - **What happens at the first start?** [`Disk::mount`] reports a blank chip with [`MountReport::never_formatted`],
//!   and refuses a chip that holds something else ([`MountError::Foreign`]).
//! - **What is idle time for?** [`clean`](Disk::clean) in idle time makes later writes shorter. A write is bounded
//!   without it too ([`Limits::max_ops_per_host_page`]).
//! - **How much memory?** 4 bytes for each page of the chip and 4 for each page of the disk, and some tens of bytes
//!   for each block ([`Limits::table_bytes`]). Buffers come on top. With a [`PagedConfig`] in
//!   place of the `Config` the map is on flash, and a disk of 100 MB takes about 16 KiB ([`paged`]).
//! - **NOR?** [`OnNor`] around the driver: `Disk::format(OnNor(chip), config)`.
//!
//! # The engines
//!
//! There are three, and [`BlockDevice`] is the contract of each. [`PageFtl`] maps pages, and [`Disk`] uses it.
//! [`paged::PagedFtl`] does, too, with its map on flash. [`BlockFtl`] maps blocks, so its map is small. Each tells its
//! counters, wear and sizes by [`Inspect`]. The two with a map in memory say by [`Lookup`] where a page lies. To see
//! how page mapping works, begin with [`page`], and then read the three questions of cleaning: when ([`clean::when`]),
//! which ([`clean::which`]) and where ([`place`]). For block mapping, begin with [`logblock`]; its question is how a
//! full log block is recycled ([`logblock::recycle`]).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[macro_use]
mod policies;

mod addr;
mod bits;
mod boxed;
mod buffer;
mod checksum;
mod chip_error;
pub mod clean;
mod dead;
mod disk;
mod fetch;
mod free;
pub mod ftl;
mod le;
pub mod logblock;
mod losses;
#[cfg(feature = "names")]
mod names;
pub mod page;
pub mod paged;
pub mod pieces;
pub mod place;
mod random;
mod segments;
mod spread;
pub mod stats;
mod stripe;
mod tournament;
pub mod wear;

pub use addr::{Class, Lpn, Ppn, SECTOR_BYTES, Sectors, Seg};
pub use clean::reclaim::Reclamation;
pub use clean::when::CleaningTrigger;
pub use clean::which::VictimPolicy;
pub use disk::{Config, Disk, EngineChoice, Error, Medium, MountOrReturn, OnNor, ShapeError};
pub use ftl::{BlockDevice, FtlError, Inspect, Limits, Lookup, Probe, WriteHint};
pub use logblock::BlockFtl;
pub use page::{MountError, MountReport, PageFtl, Policies};
pub use paged::{PagedConfig, PagedFtl};
pub use place::Placement;
pub use random::Rng;
pub use stats::Stats;
pub use stripe::Stripe;
pub use wear::WearLeveling;
pub use wearwell_flash as flash;
pub use wearwell_flash::{
    BlockAddr, ChipError, ErrorKind, Nand, NandGeometry, Nor, NorGeometry, PageAddr, ProgramOrder, RamNand,
    RamNandError, ReadReport,
};
