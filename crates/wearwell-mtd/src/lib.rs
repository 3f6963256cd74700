//! A NAND driver over Linux's MTD character device, `/dev/mtdN`.
//!
//! [`open`] looks at a device and refuses what cannot hold a disk. [`MtdNand`] is the driver: it implements the
//! [`Nand`](wearwell_flash::Nand) trait over the system calls in [`Calls`], which a test may stand in for.
//!
//! The kernel's driver knows the chip: its code, its bad blocks, and which spare bytes are free. Free spare bytes are
//! often not covered by the chip's code, so that this driver protects what it puts there ([`spare`]).
#![cfg(target_os = "linux")]
#![deny(unsafe_code)]

mod calls;
mod error;
mod ioctl;
mod nand;
mod open;
pub mod spare;

pub use calls::{Calls, EccStats, Info, MtdKind};
pub use error::{MtdError, OpenError};
pub use nand::MtdNand;
pub use open::{Access, MtdFile, open};
pub use rustix::io::Errno;
