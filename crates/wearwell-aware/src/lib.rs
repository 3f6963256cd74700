//! Inference from file systems: a [`BlockDevice`](wearwell::BlockDevice) in front of any other.
//!
//! A file system that deletes a file changes a few entries of a table, and tells the disk nothing. [`Aware`] reads the
//! writes, infers which sectors are dead, and tells the layer below with [`discard`](wearwell::BlockDevice::discard).
//! It also names the [`Kind`] of each written sector, so that streams can be used under a host that gives none. The
//! idea is from Mylavarapu et al., "FSAF: File System Aware Flash Translation Layer for NAND Flash Memories" (DATE
//! '09). This crate adds what makes it safe.
//!
//! ```
//! use wearwell::BlockDevice;
//! use wearwell_aware::{Aware, Config};
//!
//! fn with_inference<F: BlockDevice>(engine: F) -> Aware<F> {
//!     Aware::new(engine, Config::DEFAULT)
//! }
//! ```
//!
//! # What is understood
//!
//! - Partitions: MBR with extended partitions, GPT, or none. They are found from LBA 0 only, and only partitions of
//!   FAT's or Linux's types count. At most [`MAX_PARTITIONS`] partitions, [`MAX_EXTENDED`] tables of a chain and
//!   [`MAX_VOLUMES`] volumes are followed. A table that is damaged, loops, or could be something else gives no
//!   partitions. A partition does not count if it ends beyond the device, shares a sector with another one (counted
//!   or not), or has a partition table inside.
//! - Volumes: FAT12, FAT16 and FAT32, with one table or two, and exFAT by its bitmap; with sectors of 512 to 4096
//!   bytes. Nothing is inferred for a volume whose fields contradict each other, or whose tables do not begin like
//!   tables.
//! - Journals of ext3 and ext4, which are a [`Kind`] of their own. Nothing else of these volumes is read.
//!
//! [`Aware::not_understood`] says what was not understood. Anything else on the device passes unchanged.
//!
//! # When a cluster is dead
//!
//! Each cluster is [live, young, old or dead](State). An entry that is zero in all active tables makes a live cluster
//! young. An epoch ends with a flush, if the configured number of flushes and HOLD seconds of the time that
//! [`set_time_us`](wearwell::BlockDevice::set_time_us) sets have passed since the last one ended. Then old clusters
//! become dead, and young ones old. Any write to a cluster, and any active table that shows it in use, makes it live
//! again. At a mount, free clusters are young. [`Mode`] has the two other modes.
//!
//! These stop all inference until the next flush: a write to a partition table, a boot sector or its backup; a discard
//! of any of these or of an allocation table; and a write that fails. That flush reads everything again. Without
//! flushes nothing is inferred.
//!
//! # What holds
//!
//! 1. Nothing is discarded before the table that frees it is durable: a cluster becomes old only after a flush of the
//!    layer below that came after the table was written, and dead only later. (Not in [`Mode::Paper`].)
//! 2. The discards of an epoch are issued before its last flush goes to the layer below. When that flush returns they
//!    are durable. Before that the layer below keeps its own order: a discard is durable before anything is erased that
//!    relies on it. There is no other record of dead clusters. After a cut everything is inferred again, and free
//!    clusters are young.
//! 3. Dead sectors read as zeros. Pages that are dead as a whole are discarded. A page that is dead in part is not
//!    discarded: this layer blanks its dead sectors. They have their old content again after a mount, or when the
//!    cluster becomes live without being written. No file system sees the difference, because it has freed the cluster.
//! 4. Memory is two bits a cluster and less than 1 KiB, [`Aware::table_bytes`]; a call has a few sectors on its
//!    stack.
//!
//! What the inference cannot know, and what it assumes of the host, is in the documentation under "File systems
//! seen from below".
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod aware;
mod config;
mod directory;
mod ext;
mod fat;
mod list;
mod partition;
mod source;
mod states;

pub use aware::{Aware, Counters, Kind, NotUnderstood};
pub use config::{Config, Mode, Streams};
pub use ext::ExtError;
pub use fat::{BootError, Geometry, VolumeError, Width};
pub use partition::{MAX_EXTENDED, MAX_PARTITIONS, MAX_VOLUMES, PartitionError};
pub use states::State;
