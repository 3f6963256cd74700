//! The block-mapped engine: a map of blocks, and a few log blocks that take what is written.
//!
//! Most flash in cards and sticks works like this, because its map is small: a data block holds a logical block's
//! pages in order, so that one number finds them all. What is written goes to log blocks, in whatever order it comes;
//! only pages that lie there have an entry of their own. A full log block is *recycled*: merged with its data block, or
//! migrated (Lee '07). [`Scheme`] says which logical blocks share log blocks:
//!
//! | scheme | a page goes to | a full log block is |
//! | --- | --- | --- |
//! | `log-block` | the log block of its logical block | merged or migrated, as a [policy](recycle) says |
//! | `primary-replacement` | its place in the primary block, else the replacement block | folded |
//! | `fast` | one log block for a sequential stream, else a shared one | merged with every block it has pages of |
//! | `fast-by-stream` | the same, but a shared one for each ID that the host gives | the same |
//!
//! # On flash
//!
//! Every page has a [`Tag`]: logical page, sequence number, what it holds, and in the first and the last page of a
//! block what the block is and how often it was erased. So a mount reads the last page of each block; it finds a data
//! block complete, or looks at the first page and, in log blocks, at all of them. There are no maps on flash.
//!
//! - Of all copies of a page the one with the greatest number wins, but pages of log blocks older than the *commit* of
//!   their data block, its last page, are stale.
//! - A block is erased as soon as it is superseded, so a mount finds no stale blocks but those whose erase was cut.
//!   Only log blocks that are shared stay until they are the oldest.
//! - Discards are durable once a record of them (a bitmap of what is unmapped in the logical block) is in a log block,
//!   or the block was merged without the pages. A logical block of which nothing is left is erased, or named in a
//!   record of dead blocks that has a segment of its own (`dead_blocks`).
//!
//! # Files
//!
//! `map` and `logs` are the tables; `append`, `primary` and `shared` say where a page goes, `merge` how blocks are
//! recycled, `durable` what a flush does, `dead_blocks` what becomes of blocks that hold nothing, `blocks` which
//! segments are free; `host` takes the commands and `mount` finds everything again.

mod append;
mod blocks;
mod config;
mod dead_blocks;
mod discards;
mod dropping;
mod durable;
mod fragile;
mod host;
mod in_place;
mod index;
mod logs;
mod map;
mod merge;
mod mount;
mod pages;
mod primary;
pub mod recycle;
mod shared;
mod store;
mod tag;
#[cfg(test)]
mod tests;
mod view;

pub use config::{BlockConfig, LOG_BLOCKS, Scheme};
pub use pages::{Pages, PagesShape, TagRead, TaggedPages};
pub use recycle::{Costs, Recycling};
pub use tag::{Content, Role, Tag};
pub use view::{BlockSegment, BlockUse};

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::{Lpn, Ppn, Seg};
use crate::buffer::WriteBuffer;
use crate::ftl::{FtlError, Probe};
use crate::page::{ConfigError, MountError};
use dead_blocks::DeadBlocks;
use discards::Discards;
use index::BlockIndex;
use map::Lbn;
use store::BlockStore;

/// The block-mapped engine over [`Pages`].
///
/// Invariants, each kept in one place:
/// - `live` of a log block is the number of entries in overlays that point into it (`append`, `unmap`,
///   `forget_overlay`, `point_at_moved`);
/// - a segment is erased only when a commit, or a complete migration, has made what it holds stale (`adopt`,
///   `migrate`), or when its logical block holds nothing (`drop_block`);
/// - a logical block that is dead holds nothing, and is erased before a page of it is written again (`revive`);
/// - three segments, or up to five, are free when a log block has been opened (`reserve`); `keep_up` restores them.
#[derive(Debug)]
pub struct BlockFtl<M, P = ()> {
    store: BlockStore<M, P>,
    config: BlockConfig,
    index: BlockIndex,
    /// Logical blocks of pages that get weak.
    weak: Vec<Lbn>,
    /// Between the marks of `primary-replacement`.
    folding: bool,
    discards: Discards,
    /// The error that every write and discard gets, if none is taken any more: what a power cut may have hit finds no
    /// place to be copied to.
    writable: Result<(), FtlError>,
    /// Where that is so: other pages that hold the same as one that a cut may have hit, and that is served.
    same: Vec<(Lpn, Ppn)>,
    /// A write of the host's failed: of a page that the map does not know there may be a copy on flash.
    has_failed_writes: bool,
    /// Logical blocks that hold nothing but discarded pages.
    dead: DeadBlocks,
    buffer: WriteBuffer,
    /// A page of bytes to work in; empty where none are stored.
    scratch: Vec<u8>,
    /// Another one for discard records.
    record: Vec<u8>,
    /// Pages that a migration has moved.
    moving: Vec<Lpn>,
}

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// The engine's tables, for a device of which nothing is known yet.
    fn empty(mut pages: M, probe: P, config: BlockConfig) -> Result<Self, (M, ConfigError)> {
        let shape = pages.shape();
        if let Err(error) = config.check(&shape) {
            return Err((pages, error));
        }
        pages.set_capacity(config.logical_pages);
        let index = BlockIndex::new(&config, shape, M::TAGGED);
        let blocks = index.map().blocks();
        let bytes = if M::STORES { shape.page_bytes as usize } else { 0 };
        Ok(Self {
            weak: Vec::new(),
            folding: false,
            discards: Discards::new(blocks),
            writable: Ok(()),
            same: Vec::new(),
            has_failed_writes: false,
            dead: DeadBlocks::default(),
            buffer: WriteBuffer::new(shape.page_bytes, M::STORES),
            scratch: vec![0; bytes],
            record: vec![0; bytes],
            moving: Vec::with_capacity(shape.pages as usize),
            store: BlockStore::new(pages, probe, config.rules(&shape)),
            index,
            config,
        })
    }

    /// Makes an empty device of a chip. All that is on it is erased; erase counts begin at zero.
    ///
    /// # Errors
    /// [`MountError::Config`] if the capacity does not fit; [`MountError::Chip`] if the chip fails.
    pub fn format(pages: M, probe: P, config: BlockConfig) -> Result<Self, MountError> {
        let mut ftl = Self::empty(pages, probe, config).map_err(|(_, error)| error)?;
        ftl.store.format()?;
        Ok(ftl)
    }

    /// The pages below, to look at the chip.
    pub fn pages(&self) -> &M {
        self.store.pages()
    }

    /// The pages below, to reach the chip's clock or faults. The engine does not notice what is written behind it.
    pub fn pages_mut(&mut self) -> &mut M {
        self.store.pages_mut()
    }

    /// Gives the pages back and forgets everything else, as a power cut would.
    pub fn into_pages(self) -> M {
        self.store.into_parts().0
    }

    fn page_in(&self, seg: Seg, page: u32) -> Ppn {
        self.store.page_in(seg, page)
    }

    fn segment_of(&self, at: Ppn) -> Seg {
        self.store.segment_of(at)
    }

    /// What the chip is.
    fn shape(&self) -> &PagesShape {
        self.store.shape()
    }

    /// True if pages of several logical blocks lie in one log block.
    fn shares_logs(&self) -> bool {
        self.config.shares_logs()
    }

    /// Bytes of all tables, the bitmaps among them.
    fn table_bytes(&self) -> u64 {
        self.index.table_bytes() + self.store.table_bytes() + self.dead.table_bytes()
    }
}
