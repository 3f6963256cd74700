//! Real volumes on the layer, over real engines on an emulated chip.

mod cuts;
mod differential;
mod engines;
mod exfat;
mod exfat_files;
mod ext;
mod host;
mod partitions;
mod rig;
mod rules;
mod spy;
mod tools;
mod twin;
mod twins;
