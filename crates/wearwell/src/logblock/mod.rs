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
//!   record of dead blocks that has a segment of its own (`merger/dropping`).
//!
//! # Files
//!
//! | file | subject |
//! | --- | --- |
//! | `host` | host commands |
//! | `writer` | where a page of the host's goes, scheme by scheme, and where a discard is recorded |
//! | `recycler` | when room is made, and what is due; asks a [policy](recycle) |
//! | `merger` | how blocks are filled, padded, merged, emptied and dropped |
//! | `discards`, `dead_blocks` | discards that are not durable; logical blocks that hold nothing |
//! | `index` | the map, the log blocks, places and losses, changed together |
//! | `map`, `logs`, `in_place` | where every page is; the log blocks; which places can still be programmed |
//! | `store` | blocks: taken, programmed, erased, retired; their wear; the mark of a clean shutdown |
//! | `pages`, `tag` | how pages lie on flash |
//! | `addr` | the numbers of logical blocks and of log blocks |
//! | `mount` | finds everything again |
//! | `fragile` | what a mount tells the copies that it makes |
//! | `view` | the segments, seen from outside |
//!
//! Each file except the last three owns its state and calls only files below it in this list. The index and the store
//! do not know each other: the merger programs a page, and then points the index at it. The mount is above the
//! recycler, since it ends with the reserve restored, and what only it needs is gone when it ends.

mod addr;
mod config;
mod dead_blocks;
mod discards;
mod fragile;
mod host;
mod in_place;
mod index;
mod logs;
mod map;
mod merger;
mod mount;
mod pages;
pub mod recycle;
mod recycler;
mod store;
mod tag;
#[cfg(test)]
mod tests;
mod view;
mod writer;

pub use config::{BlockConfig, LOG_BLOCKS, Scheme};
pub use pages::{Pages, PagesShape, TagRead, TaggedPages};
pub use recycle::{Costs, Recycling};
pub use tag::{Content, Role, Tag};
pub use view::{BlockSegment, BlockUse};

use alloc::vec;
use alloc::vec::Vec;

use crate::Reclamation;
use crate::addr::{Lpn, Ppn};
use crate::buffer::WriteBuffer;
use crate::ftl::{FtlError, Probe};
use crate::page::{ConfigError, MountError};
use index::BlockIndex;
use merger::Merger;
use recycler::Recycler;
use store::BlockStore;
use writer::Writer;

/// The block-mapped engine over [`Pages`].
///
/// Invariant: if `writable` is an error, no command changes anything on flash.
#[derive(Debug)]
pub struct BlockFtl<M, P = ()> {
    writer: Writer<M, P>,
    config: BlockConfig,
    /// The error that every write and discard gets, if none is taken any more: what a power cut may have hit finds no
    /// place to be copied to.
    writable: Result<(), FtlError>,
    /// Where that is so: other pages that hold the same as one that a cut may have hit, and that is served.
    same: Vec<(Lpn, Ppn)>,
    buffer: WriteBuffer,
    /// A page of working memory for a host command; empty if bytes are only counted.
    scratch: Vec<u8>,
}

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// The engine's tables, for a device of which nothing is known yet.
    fn empty(mut pages: M, probe: P, config: BlockConfig) -> Result<Self, (M, ConfigError)> {
        let shape = pages.shape();
        if let Err(error) = config.check(&shape) {
            return Err((pages, error));
        }
        pages.set_capacity(config.logical_pages);
        let store = BlockStore::new(pages, probe, config.rules(&shape));
        let index = BlockIndex::new(&config, shape, M::TAGGED);
        let merger = Merger::new(store, index, config.reclaim != Reclamation::AtOnce);
        Ok(Self {
            writer: Writer::new(Recycler::new(merger, &config), &config),
            config,
            writable: Ok(()),
            same: Vec::new(),
            buffer: WriteBuffer::new(shape.page_bytes, M::STORES),
            scratch: vec![0; if M::STORES { shape.page_bytes as usize } else { 0 }],
        })
    }

    /// Makes an empty device of a chip. All that is on it is erased; erase counts begin at zero.
    ///
    /// # Errors
    /// [`MountError::Config`] if the capacity does not fit; [`MountError::Chip`] if the chip fails.
    pub fn format(pages: M, probe: P, config: BlockConfig) -> Result<Self, MountError> {
        let mut ftl = Self::empty(pages, probe, config).map_err(|(_, error)| error)?;
        ftl.merger_mut().store.format()?;
        Ok(ftl)
    }

    /// The pages below, to look at the chip.
    pub fn pages(&self) -> &M {
        self.merger().store.pages()
    }

    /// The pages below, to reach the chip's clock or faults. The engine does not notice what is written behind it.
    pub fn pages_mut(&mut self) -> &mut M {
        self.merger_mut().store.pages_mut()
    }

    /// Gives the pages back and forgets everything else, as a power cut would.
    pub fn into_pages(self) -> M {
        self.into_parts().0
    }

    fn into_parts(self) -> (M, P) {
        self.writer.recycler.merger.store.into_parts()
    }

    fn merger(&self) -> &Merger<M, P> {
        &self.writer.recycler.merger
    }

    fn merger_mut(&mut self) -> &mut Merger<M, P> {
        &mut self.writer.recycler.merger
    }
}
