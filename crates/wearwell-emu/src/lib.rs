//! Emulated flash chips: profiles of real parts, simulated time, wear, faults and power cuts.
//!
//! - [`ChipProfile`]: what a chip is, as data; by name, from a TOML file, or from a bare geometry.
//! - [`CountChip`]: keeps no bytes and never fails; for the simulator's speed.
//! - [`Timeline`]: simulated time per bank and channel, which every chip here carries.
#![deny(unsafe_code)]

mod count;
mod profile;
mod timeline;

pub use count::{CountChip, Counts};
pub use profile::{ChipKind, ChipProfile, ProfileError, Times};
pub use timeline::Timeline;
