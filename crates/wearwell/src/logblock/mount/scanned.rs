//! What the pages of a block say of it.

use alloc::vec::Vec;

use crate::addr::Seg;
use crate::logblock::addr::Lbn;
use crate::logblock::map::BlockMap;
use crate::logblock::pages::TagRead;
use crate::logblock::tag::{Role, Tag};

/// A block whose pages were all looked at.
#[derive(Debug, Clone)]
pub(super) struct Scanned {
    pub(super) seg: Seg,
    pub(super) what: Block,
    pub(super) tags: Vec<TagRead>,
    /// Greatest number in it.
    pub(super) newest: u64,
}

impl Scanned {
    /// The logical blocks that its tags name, page by page. What is damaged on flash may name one beyond the last.
    pub(super) fn lbns(&self, map: &BlockMap) -> impl Iterator<Item = Lbn> {
        let named = |tag: &TagRead| if let TagRead::Tag(tag) = tag { Some(map.split(tag.lpn).0) } else { None };
        self.tags.iter().filter_map(named).filter(|lbn| lbn.0 < map.blocks())
    }

    /// True if the first logical block that it names is `lbn`. A merge names no other.
    pub(super) fn is_of(&self, lbn: Lbn, map: &BlockMap) -> bool {
        self.lbns(map).next() == Some(lbn)
    }

    /// True if a page of it is of `lbn`.
    pub(super) fn has_page_of(&self, lbn: Lbn, map: &BlockMap) -> bool {
        self.lbns(map).any(|of| of == lbn)
    }

    /// True if a primary block that was replaced has lost this page of its logical block. Its erase has begun, so what
    /// it was merged to lasts.
    pub(super) fn has_lost(&self, lbn: Lbn, page: u32, map: &BlockMap) -> bool {
        let is_gone = self.tags.get(page as usize) == Some(&TagRead::Unreadable);
        self.what == Block::Replaced && is_gone && self.has_page_of(lbn, map)
    }

    /// A tag with the block's own erase count.
    pub(super) fn own_tag(&self) -> Option<Tag> {
        self.tags.iter().find_map(|tag| match tag {
            TagRead::Tag(tag) if tag.says_erases() => Some(*tag),
            _ => None,
        })
    }

    /// The tag of a commit in its last page.
    pub(super) fn commit(&self) -> Option<Tag> {
        match self.tags.last() {
            Some(TagRead::Tag(tag)) if tag.role.is_commit() => Some(*tag),
            _ => None,
        }
    }

    /// True if a merge filled the block.
    pub(super) fn is_merge(&self) -> bool {
        matches!(self.tags.first(), Some(TagRead::Tag(tag)) if tag.role == Role::MergeHead)
            || self.what == Block::Undone
    }

    /// True if nothing says what the block is, since its first page cannot be read.
    pub(super) fn is_headless(&self) -> bool {
        self.what == Block::Doubtful && self.tags.first() == Some(&TagRead::Unreadable)
    }

    /// True if a block was being erased: its first page reads as erased, and something behind it was programmed. In a
    /// primary block that proves nothing.
    pub(super) fn is_erased_in_part(&self) -> bool {
        self.what == Block::Doubtful && self.tags.first() == Some(&TagRead::Erased)
    }

    /// True if it holds a copy of a page.
    pub(super) fn has_copy_of(&self, tag: &Tag) -> bool {
        self.tags.iter().any(|read| matches!(read, TagRead::Tag(copy) if copy.is_copy_of(tag)))
    }

    /// Pages that cannot be read.
    pub(super) fn unreadable(&self) -> usize {
        self.tags.iter().filter(|&tag| *tag == TagRead::Unreadable).count()
    }

    /// True if pages were being appended to the block, as far as anybody can tell, or a merge was ending it.
    pub(super) fn may_be_open(&self) -> bool {
        matches!(self.what, Block::Log | Block::Primary) || self.is_headless() || self.lacks_commit()
    }

    /// True if pages of a data block read as erased that were there when it got its commit (Spec B8.2): it was being
    /// erased. A primary block may have got others since.
    pub(super) fn lacks_held(&self, held: usize, commit_seq: u64) -> bool {
        self.tags.first() == Some(&TagRead::Erased) || self.held(commit_seq) < held
    }

    /// Pages that may have been there when the block got its commit.
    fn held(&self, commit_seq: u64) -> usize {
        let was_held = |read: &TagRead| match read {
            TagRead::Tag(tag) => tag.seq < commit_seq,
            read => *read == TagRead::Unreadable,
        };
        self.tags.iter().filter(|read| was_held(read)).count()
    }

    /// True if its commit says that nothing was programmed where its pages read as erased. One that lacks none has all
    /// `pages` of the logical block.
    pub(super) fn has_all_held(&self, pages: usize) -> bool {
        match self.commit().map(|tag| (tag.role, tag.seq)) {
            Some((Role::CommitHoles { held }, seq)) => self.held(seq) == usize::from(held),
            _ => !self.tags[..pages].contains(&TagRead::Erased),
        }
    }

    /// True if a merge filled the block, and the page with its commit cannot be read.
    pub(super) fn lacks_commit(&self) -> bool {
        self.what == Block::Doubtful && self.is_merge() && self.tags.last() == Some(&TagRead::Unreadable)
    }

    /// Takes back a tag that an earlier read of this mount has shown. It says what the block is, and so counts also if
    /// its page has faded since (Spec B1): the page is fragile then, and whoever copies it finds out.
    pub(super) fn keep(&mut self, page: u32, tag: Tag) {
        self.tags[page as usize] = TagRead::Tag(tag);
        self.newest = self.newest.max(tag.seq);
    }

    /// Pages up to the last that was programmed; at least one was.
    pub(super) fn programmed(&self) -> u32 {
        self.tags.iter().rposition(|tag| *tag != TagRead::Erased).map_or(1, |last| last as u32 + 1)
    }
}

/// What a scanned block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// A log block.
    Log,
    /// A primary block that has no commit yet.
    Primary,
    /// A primary block in whose place a merge has put another.
    Replaced,
    /// A block that a merge filled, but whose commit cannot be trusted: its pages count where no other has them.
    Doubtful,
    /// The same, and a cut hit that commit: what the merge has copied is still there, whatever its numbers are.
    Undone,
    /// A data block that lacks pages.
    Holes,
    /// A data block that lacked none, beside a merge whose commit does not count: it may be erased in part.
    Whole,
}

impl Block {
    pub(super) fn is_trusted(self) -> bool {
        !matches!(self, Self::Doubtful | Self::Undone)
    }
}
