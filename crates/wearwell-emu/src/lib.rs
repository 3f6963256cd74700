//! Emulated flash chips: profiles of real parts, simulated time, wear, faults and power cuts.
//!
//! - [`ChipProfile`]: what a chip is, as data; by name, from a TOML file, or from a bare geometry.
//! - [`CountChip`]: keeps no bytes and never fails; for the simulator's speed.
//! - [`EmuNand`]: stores, wears and fails by [`Faults`], and takes a [`PowerCut`] at any operation with
//!   any outcome that the contract of [`wearwell_flash::Nand`] allows.
//! - [`Timeline`]: simulated time per bank and channel, which every chip here carries.
#![deny(unsafe_code)]

mod count;
mod error;
mod faults;
mod layout;
mod nand;
mod power;
mod profile;
mod store;
mod timeline;

pub use count::{CountChip, Counts};
pub use error::{EmuError, ImageFault, SetupError};
pub use faults::{BitErrors, Endurance, FactoryBad, Faults};
pub use nand::{BlockCounts, EmuNand};
pub use power::{CutOutcome, OpKind, PowerCut};
pub use profile::{ChipKind, ChipProfile, ProfileError, Times};
pub use store::{MemStore, Store};
pub use timeline::Timeline;
