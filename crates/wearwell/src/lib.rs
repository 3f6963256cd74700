//! Flash translation layers and their policies.
//!
//! [`Ftl`] is the contract that every engine keeps; [`PageFtl`] is the page-mapped engine, a log over flash, and
//! [`BlockFtl`] the block-mapped one, whose map is small, and [`InPlaceFtl`] the baseline that both are measured against.
//! Start with [`page`], then the three questions of cleaning: when ([`clean::when`]), which ([`clean::which`]) and where
//! ([`place`]); or with [`logblock`], whose question is how a full log block is recycled ([`logblock::recycle`]).
//!
//! # Example
//!
//! A driver implements [`Nand`](wearwell_flash::Nand); the engine makes a disk of it. Here the chip is an array.
//!
//! ```
//! use wearwell::page::log::NandLog;
//! use wearwell::page::{Config, Policies};
//! use wearwell::{Ftl, PageFtl, Sectors, WriteHint};
//! use wearwell_flash::{BlockAddr, ErrorKind, Nand, NandGeometry, PageAddr, ProgramOrder, ReadReport};
//!
//! const PAGE: usize = 512 + 16;
//!
//! struct Ram(Vec<[u8; PAGE]>);
//!
//! impl Nand for Ram {
//!     type Error = ErrorKind;
//!     fn geometry(&self) -> NandGeometry {
//!         NandGeometry {
//!             page_bytes: 512,
//!             spare_bytes: 16,
//!             pages_per_block: 32,
//!             blocks: 16,
//!             dies: 1,
//!             paired_pages: 1,
//!             program_order: ProgramOrder::Ascending,
//!         }
//!     }
//!     fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
//!         let stored = &self.0[page.0 as usize];
//!         data.copy_from_slice(&stored[..data.len()]);
//!         spare.copy_from_slice(&stored[512..512 + spare.len()]);
//!         Ok(ReadReport::default())
//!     }
//!     fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), ErrorKind> {
//!         let stored = &mut self.0[page.0 as usize];
//!         stored[..512].copy_from_slice(data);
//!         stored[512..512 + spare.len()].copy_from_slice(spare);
//!         Ok(())
//!     }
//!     fn copy(&mut self, from: PageAddr, to: PageAddr, spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
//!         self.0[to.0 as usize] = self.0[from.0 as usize];
//!         self.read(to, &mut [], spare)
//!     }
//!     fn erase(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
//!         self.0[block.0 as usize * 32..][..32].fill([0xFF; PAGE]);
//!         Ok(())
//!     }
//!     fn is_bad(&mut self, _: BlockAddr) -> Result<bool, ErrorKind> {
//!         Ok(false)
//!     }
//!     fn mark_bad(&mut self, _: BlockAddr) -> Result<(), ErrorKind> {
//!         Ok(())
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config { logical_pages: 300, policies: Policies::default(), seed: 1, endurance: 100_000 };
//! let log = NandLog::new(Ram(vec![[0xFF; PAGE]; 16 * 32]), 1)?;
//! let mut disk = PageFtl::format(log, (), config)?;
//! disk.write(Sectors { start: 7, count: 1 }, &[42; 512], WriteHint::NONE)?;
//! disk.flush()?;
//!
//! // The power fails: only the chip is left. What was flushed is there again.
//! let chip = disk.into_log().into_chip();
//! let (mut disk, report) = PageFtl::mount(NandLog::new(chip, 1)?, (), config)?;
//! let mut sector = [0; 512];
//! disk.read(Sectors { start: 7, count: 1 }, &mut sector)?;
//! assert_eq!(sector, [42; 512]);
//! assert!(!report.clean);
//! # Ok(())
//! # }
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod addr;
mod buffer;
pub mod clean;
mod dead;
mod free;
pub mod ftl;
pub mod inplace;
mod le;
pub mod logblock;
mod losses;
pub mod page;
mod pieces;
pub mod place;
mod random;
mod spread;
pub mod stats;
mod stripe;
pub mod wear;

pub use addr::{Class, Lpn, Ppn, SECTOR_BYTES, Sectors, Seg};
pub use clean::reclaim::ReclaimSpec;
pub use clean::when::WhenSpec;
pub use clean::which::WhichSpec;
pub use ftl::{Ftl, FtlError, Limits, Probe, WriteHint};
pub use inplace::InPlaceFtl;
pub use logblock::BlockFtl;
pub use page::PageFtl;
pub use place::PlaceSpec;
pub use random::Rng;
pub use stats::Stats;
pub use wear::WearSpec;
