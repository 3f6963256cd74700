//! Emulated flash chips: profiles of real parts, simulated time, wear, faults and power cuts.
//!
//! - [`ChipProfile`]: the description of a chip, by name, from a TOML file, or from a bare geometry.
//! - [`CountChip`]: keeps no bytes and never fails. It makes the simulator fast.
//! - [`EmuNand`] and [`EmuNor`]: store, wear and fail by [`Faults`], and take a [`PowerCut`] at any operation with any
//!   outcome that the contracts of [`wearwell_flash::Nand`] and [`wearwell_flash::Nor`] allow; in memory, or on Linux
//!   in an image file that survives the process. [`EmuChip`] is their common interface: power, counters, faults.
//! - [`Held`]: what a disk on such a chip may hold after a cut. The demo, the crash tests and the soak check by it.
//! - [`Timeline`]: simulated time per bank and channel, which every chip here carries.
#![deny(unsafe_code)]
#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only image files use all of it"))]

mod any;
mod chip;
mod count;
mod error;
mod faults;
mod held;
#[cfg(target_os = "linux")]
mod image;
#[cfg(all(test, target_os = "linux"))]
mod killed;
mod layout;
mod nand;
mod nor;
mod page_record;
mod power;
mod profile;
#[cfg(target_os = "linux")]
mod room;
mod store;
mod timeline;

pub use any::AnyStore;
pub use chip::{BlockCounts, Body, Damage, Damaged, EmuChip};
pub use count::{CountChip, Counts};
pub use error::{EmuError, ImageFault, SetupError};
pub use faults::{BitErrors, Endurance, FactoryBad, Faults};
pub use held::{Held, Kept, Seq, Wrong};
#[cfg(target_os = "linux")]
pub use image::{ImageFile, ImageHead, ImageStore};
pub use nand::EmuNand;
pub use nor::EmuNor;
pub use power::{CutOutcome, OpKind, PowerCut, PowerSwitch};
pub use profile::{ChipKind, ChipProfile, ProfileError, Times};
pub use store::{MemStore, Store};
pub use timeline::Timeline;
