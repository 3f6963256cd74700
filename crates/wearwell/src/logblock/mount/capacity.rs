//! A chip that another version wrote, or that was formatted for another capacity, is refused before anything on it
//! changes.
//!
//! Not every tag says the capacity, and of most data blocks a mount reads one page only. So where no tag that it has
//! read says it, the mount looks for one. If there is none on the whole chip, what is there is right under any capacity
//! that has all the pages that tags name.

use super::{Mount, Recovery};
use crate::addr::{Lpn, Seg};
use crate::ftl::Probe;
use crate::logblock::map::BlockMap;
use crate::logblock::pages::{Pages, TagRead};
use crate::page::MountError;

/// What tags have said of the capacity so far.
#[derive(Debug, Default)]
pub(super) struct CapacityCheck {
    /// One has said the right one.
    is_sure: bool,
    /// One names a page that lies in no logical block.
    beyond: Option<(Seg, Lpn)>,
}

impl CapacityCheck {
    /// Takes note of a tag. One of another version or capacity is an error.
    pub(super) fn look_at(&mut self, tag: &TagRead, segment: Seg, map: &BlockMap) -> Result<(), MountError> {
        match *tag {
            // Spec B2.
            TagRead::OtherVersion(version) => return Err(MountError::OtherVersion { segment, version }),
            // Spec B3.
            TagRead::OtherCapacity(logical_pages) => return Err(MountError::OtherCapacity { segment, logical_pages }),
            TagRead::Tag(tag) if tag.says_capacity() => self.is_sure = true,
            TagRead::Tag(tag) if map.split(tag.lpn).0.0 >= map.blocks() => self.beyond = Some((segment, tag.lpn)),
            TagRead::Tag(_) | TagRead::Erased | TagRead::Unreadable => {}
        }
        Ok(())
    }
}

impl<M: Pages, P: Probe> Mount<'_, M, P> {
    /// Fails if the chip holds a device of another capacity. Every tag read so far was compared.
    pub(super) fn check_capacity(&mut self, recovery: &mut Recovery) -> Result<(), MountError> {
        // Spec B4.
        for index in 0..recovery.commits.len() {
            let seg = recovery.commits[index].seg;
            // The first and the last page of a data block never say the capacity.
            for page in 1..self.shape().pages - 1 {
                if recovery.capacity.is_sure {
                    return Ok(());
                }
                // `read_tag` has each tag looked at, and fails at one of another capacity.
                self.read_tag(self.page_in(seg, page), recovery)?;
            }
        }
        // Spec B5.
        match recovery.capacity.beyond {
            Some((segment, lpn)) if !recovery.capacity.is_sure => {
                // A damaged tag can name the last page number there is.
                Err(MountError::OtherCapacity { segment, logical_pages: lpn.0.saturating_add(1) })
            }
            _ => Ok(()),
        }
    }
}
