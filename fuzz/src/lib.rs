//! Fuzz targets. Each is a function that takes any bytes and must return.
//!
//! `src/bin` runs them under libFuzzer. `tests/corpus.rs` runs them with a blind mutator, for machines without
//! libFuzzer.

mod aware;
mod chip_image;
mod chip_profile;
mod device;
mod input;
mod mount;
mod mount_blocks;
mod mount_nor;
mod mount_paged;
mod nand;
mod nbd;
mod nor;
mod nvme;
mod nvme_disk;
mod nvme_requests;
mod nvme_session;
mod nvme_wire;
mod ram_disk;
mod trace;
mod workload_spec;

pub use aware::aware;
pub use chip_image::chip_image;
pub use chip_profile::chip_profile;
pub use mount::mount;
pub use mount_blocks::mount_blocks;
pub use mount_nor::mount_nor;
pub use mount_paged::mount_paged;
pub use nbd::nbd;
pub use nvme::nvme;
pub use nvme_session::nvme_session;
pub use trace::trace;
pub use workload_spec::workload_spec;

/// A target.
pub type Target = fn(&[u8]);

/// Every target, by the name of its program and of its folder in `corpus`.
pub const TARGETS: [(&str, Target); 12] = [
    ("trace", trace),
    ("workload_spec", workload_spec),
    ("chip_profile", chip_profile),
    ("mount", mount),
    ("mount_blocks", mount_blocks),
    ("mount_nor", mount_nor),
    ("mount_paged", mount_paged),
    ("chip_image", chip_image),
    ("aware", aware),
    ("nbd", nbd),
    ("nvme", nvme),
    ("nvme_session", nvme_session),
];
