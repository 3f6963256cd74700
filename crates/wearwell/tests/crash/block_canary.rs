//! Canaries for block mapping: broken pages below the engine, each of which the proof must catch.
//!
//! While power is on, a broken engine works: what it has not programmed is served from memory.

use std::collections::HashMap;

use wearwell::logblock::{BlockFtl, Content, Pages, PagesShape, Role, Scheme, Tag, TagRead, TaggedPages};
use wearwell::page::{MountError, MountReport};
use wearwell::{Lpn, Ppn, Rng, Seg};
use wearwell_emu::EmuNand;
use wearwell_flash::{ErrorKind, ReadReport};

use crate::block::{BlockRig, block, log_block, proactive};
use crate::canary::{caught, caught_by, survives};
use crate::model::Command;
use crate::mount_storms::storm_of_mounts;
use crate::rig::Rig;

/// Nothing is broken: the control.
const NONE: u8 = 0;
/// The blocks that a merge or a migration replaces are erased before its copies have been programmed.
const ERASE_FIRST: u8 = 1;
/// A switch merge is committed, but its last page but one was never programmed.
const FORGETFUL_SWITCH: u8 = 2;
/// A migration copies the version before the newest of its first page.
const STALE_MIGRATION: u8 = 3;
/// A block that a merge has not filled is believed to be complete.
const TRUST_UNCOMMITTED: u8 = 4;
/// Of two committed data blocks, the older is believed.
const TRUST_OLDER_COMMIT: u8 = 5;
/// Discard records are not written.
const FORGET_DISCARDS: u8 = 6;
/// A cut is taken for a clean shutdown, so that torn log blocks are continued.
const CONTINUE_TORN: u8 = 7;
/// Records of dead logical blocks are not written.
const FORGET_DEAD: u8 = 8;
/// No page is taken to share cells with others: a flush fills no group up, and a mount looks at one page of it.
const PAGES_APART: u8 = 9;
/// What a cut has harmed is taken for erased, and nobody counts how many pages a data block with gaps has.
pub(crate) const HIDE_HARM: u8 = 10;

/// A page that is only in memory.
#[derive(Debug, Clone)]
struct Held {
    tag: Tag,
    data: Vec<u8>,
}

/// Pages with a defect.
#[derive(Debug)]
pub(crate) struct Broken<const DEFECT: u8> {
    pages: TaggedPages<EmuNand>,
    /// What is served from memory.
    held: HashMap<Ppn, Held>,
    /// Of these, the pages that are programmed in the end, in this order.
    owed: Vec<Ppn>,
    /// The newest version of each page, and the one before it.
    versions: HashMap<Lpn, [Vec<u8>; 2]>,
    /// All tags, as they were when the first was read.
    found: Vec<TagRead>,
}

impl<const DEFECT: u8> Broken<DEFECT> {
    fn new(pages: TaggedPages<EmuNand>) -> Self {
        let (held, versions) = (HashMap::new(), HashMap::new());
        Self { pages, held, owed: Vec::new(), versions, found: Vec::new() }
    }

    fn seg_of(&self, at: Ppn) -> Seg {
        Seg(at.0 / self.shape().pages)
    }

    fn hold(&mut self, at: Ppn, held: Held) {
        self.held.insert(at, held);
        self.owed.push(at);
    }

    /// Programs what was promised.
    fn pay(&mut self) -> Result<(), ErrorKind> {
        for at in std::mem::take(&mut self.owed) {
            if let Some(held) = self.held.remove(&at) {
                self.pages.program(at, &held.data, &held.tag)?;
            }
        }
        Ok(())
    }

    fn load(&mut self, at: Ppn) -> Result<Held, ErrorKind> {
        if let Some(held) = self.held.get(&at) {
            return Ok(held.clone());
        }
        let mut data = vec![0; self.shape().page_bytes as usize];
        self.pages.read(at, &mut data)?;
        match self.pages.tag(at)? {
            TagRead::Tag(tag) => Ok(Held { tag, data }),
            _ => Err(ErrorKind::Uncorrectable),
        }
    }

    fn program_loaded(&mut self, at: Ppn, held: Held) -> Result<(), ErrorKind> {
        if DEFECT == ERASE_FIRST {
            self.hold(at, held);
            return Ok(());
        }
        self.pages.program(at, &held.data, &held.tag)
    }

    fn tags_found(&mut self) -> Result<&[TagRead], ErrorKind> {
        if self.found.is_empty() {
            let pages = self.shape().segments * self.shape().pages;
            self.found = (0..pages).map(|page| self.pages.tag(Ppn(page))).collect::<Result<_, _>>()?;
        }
        Ok(&self.found)
    }

    fn newest_seq(&mut self) -> Result<u64, ErrorKind> {
        let seqs = self.tags_found()?.iter().map(|tag| if let TagRead::Tag(tag) = tag { tag.seq } else { 0 });
        Ok(seqs.max().unwrap_or(0))
    }

    /// The tag that a broken mount believes to have read.
    fn misread(&mut self, at: Ppn, read: TagRead) -> Result<TagRead, ErrorKind> {
        let pages = self.shape().pages;
        let first = (at.0 / pages * pages) as usize;
        let newest = self.newest_seq()?;
        let is_last = at.0 % pages + 1 == pages;
        Ok(match (DEFECT, self.found[first], read) {
            (TRUST_UNCOMMITTED, TagRead::Tag(head), TagRead::Erased) if is_last && head.role == Role::MergeHead => {
                let lpn = Lpn(head.lpn.0 + pages - 1);
                TagRead::Tag(Tag { lpn, seq: newest + 1, role: Role::Commit, ..head })
            }
            (TRUST_OLDER_COMMIT, _, TagRead::Tag(tag)) if tag.role.is_commit() => {
                let is_other = |other: &&TagRead| {
                    matches!(other, TagRead::Tag(other)
                        if other.role.is_commit() && other.lpn == tag.lpn && other.seq != tag.seq)
                };
                let other = self.found.iter().skip(pages as usize - 1).step_by(pages as usize).find(is_other);
                let seq = if let Some(TagRead::Tag(other)) = other { other.seq } else { tag.seq };
                TagRead::Tag(Tag { seq, ..tag })
            }
            (CONTINUE_TORN, _, TagRead::Erased) if self.is_first_blank(at) => {
                let (kind, role) = (Content::CleanMark, Role::LogHead);
                TagRead::Tag(Tag { lpn: Lpn(0), seq: newest + 1, erases: 0, kind, role })
            }
            _ => read,
        })
    }

    /// True for the first page of the first block that reads as erased.
    fn is_first_blank(&self, at: Ppn) -> bool {
        let pages = self.pages.shape().pages as usize;
        let blank = self.found.chunks(pages).position(|tags| tags.iter().all(|tag| *tag == TagRead::Erased));
        blank.is_some_and(|seg| seg * pages == at.0 as usize)
    }
}

impl<const DEFECT: u8> Pages for Broken<DEFECT> {
    const STORES: bool = true;
    const TAGGED: bool = true;

    fn shape(&self) -> PagesShape {
        let shape = self.pages.shape();
        PagesShape { group: if DEFECT == PAGES_APART { 1 } else { shape.group }, ..shape }
    }

    fn set_capacity(&mut self, logical_pages: u32) {
        self.pages.set_capacity(logical_pages);
    }

    fn program(&mut self, at: Ppn, data: &[u8], tag: &Tag) -> Result<(), ErrorKind> {
        let pages = self.shape().pages;
        let mut page = data.to_vec();
        page.resize(self.shape().page_bytes as usize, 0);
        if DEFECT == ERASE_FIRST && self.owed.iter().any(|&owed| self.seg_of(owed) == self.seg_of(at)) {
            self.hold(at, Held { tag: *tag, data: page });
            return Ok(());
        }
        if DEFECT == FORGETFUL_SWITCH {
            if tag.role == Role::Commit && self.owed == [Ppn(at.0 - 1)] {
                self.owed.clear();
            }
            self.pay()?;
            if tag.kind == Content::Data
                && tag.role == Role::Plain
                && [at.0 % pages, tag.lpn.0 % pages] == [pages - 2; 2]
            {
                self.hold(at, Held { tag: *tag, data: page });
                return Ok(());
            }
        }
        if DEFECT == STALE_MIGRATION && tag.kind == Content::Data {
            let previous = self.versions.remove(&tag.lpn).map_or_else(|| vec![0; page.len()], |[newest, _]| newest);
            self.versions.insert(tag.lpn, [page, previous]);
        }
        let kind = match (DEFECT, tag.kind) {
            (FORGET_DISCARDS, Content::Trim) | (FORGET_DEAD, Content::Dead) => Content::Pad,
            (_, kind) => kind,
        };
        self.pages.program(at, data, &Tag { kind, ..*tag })
    }

    fn copy(&mut self, from: Ppn, to: Ppn) -> Result<(), ErrorKind> {
        if DEFECT != ERASE_FIRST && !self.held.contains_key(&from) {
            return self.pages.copy(from, to);
        }
        let held = self.load(from)?;
        self.program_loaded(to, held)
    }

    fn copy_as(&mut self, from: Ppn, to: Ppn, tag: &Tag, own_seq: bool) -> Result<(), ErrorKind> {
        if matches!(
            DEFECT,
            NONE | TRUST_UNCOMMITTED
                | TRUST_OLDER_COMMIT
                | FORGET_DISCARDS
                | CONTINUE_TORN
                | FORGET_DEAD
                | PAGES_APART
                | HIDE_HARM
        ) {
            return self.pages.copy_as(from, to, tag, own_seq);
        }
        let mut held = self.load(from)?;
        held.tag = Tag { kind: held.tag.kind, seq: if own_seq { tag.seq } else { held.tag.seq }, ..*tag };
        // Only a migration copies to the head of a log block.
        if DEFECT == STALE_MIGRATION
            && tag.role == Role::LogHead
            && let Some([_, previous]) = self.versions.get(&tag.lpn)
        {
            self.pages.program(to, previous, &held.tag)?;
            self.held.insert(to, held);
            return Ok(());
        }
        self.program_loaded(to, held)
    }

    fn read(&mut self, at: Ppn, data: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        match self.held.get(&at) {
            Some(held) => {
                data.copy_from_slice(&held.data[..data.len()]);
                Ok(ReadReport::default())
            }
            None => self.pages.read(at, data),
        }
    }

    fn is_blank(&mut self, at: Ppn) -> Result<Option<bool>, ErrorKind> {
        self.pages.is_blank(at)
    }

    fn tag(&mut self, at: Ppn) -> Result<TagRead, ErrorKind> {
        let read = self.pages.tag(at)?;
        if matches!(DEFECT, TRUST_UNCOMMITTED | TRUST_OLDER_COMMIT | CONTINUE_TORN) {
            return self.misread(at, read);
        }
        Ok(match read {
            TagRead::Unreadable if DEFECT == HIDE_HARM => TagRead::Erased,
            TagRead::Tag(tag @ Tag { role: Role::CommitHoles { .. }, .. }) if DEFECT == HIDE_HARM => {
                TagRead::Tag(Tag { role: Role::CommitHoles { held: 0 }, ..tag })
            }
            read => read,
        })
    }

    fn erase(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        let pages = self.shape().pages;
        self.held.retain(|at, _| Seg(at.0 / pages) != seg);
        self.pages.erase(seg)?;
        self.pay()
    }

    fn is_bad(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.pages.is_bad(seg)
    }

    fn retire(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        self.pages.retire(seg)
    }
}

/// A rig whose pages have a defect.
pub(crate) struct BrokenRig<const DEFECT: u8>(pub(crate) BlockRig);

impl<const DEFECT: u8> Rig for BrokenRig<DEFECT> {
    type Chip = EmuNand;
    type Ftl = BlockFtl<Broken<DEFECT>>;
    fn format(&self) -> Self::Ftl {
        let pages = Broken::new(self.0.pages(self.0.chip()));
        BlockFtl::format(pages, (), self.0.config).expect("a fresh chip can be formatted")
    }
    fn mount_or_return(&self, chip: EmuNand) -> Result<(Self::Ftl, MountReport), (EmuNand, MountError)> {
        let mounted = BlockFtl::mount_or_return(Broken::new(self.0.pages(chip)), (), self.0.config);
        mounted.map_err(|(broken, error)| (broken.pages.into_chip(), error))
    }
    fn chip_of(ftl: &Self::Ftl) -> &EmuNand {
        ftl.pages().pages.chip()
    }
    fn chip_of_mut(ftl: &mut Self::Ftl) -> &mut EmuNand {
        ftl.pages_mut().pages.chip_mut()
    }
    fn into_chip(ftl: Self::Ftl) -> EmuNand {
        ftl.into_pages().pages.into_chip()
    }
    fn logical_pages(&self) -> u32 {
        self.0.config.logical_pages
    }
    fn paired_pages(&self) -> u32 {
        self.0.profile.paired_pages
    }
    /// A stale copy is legal unless a flush came between the last two writes.
    fn command(&self, rng: &mut Rng, sectors_per_page: u32) -> Command {
        let flushes = DEFECT == STALE_MIGRATION && rng.below(3) == 0;
        if flushes { Command::Flush } else { self.0.command(rng, sectors_per_page) }
    }
}

fn canary<const DEFECT: u8>(scheme: Scheme) -> usize {
    caught(&BrokenRig::<DEFECT>(block([512, 8, 14, 1], 1, 48, scheme)))
}

/// As `canary`, with dead blocks that are kept for a while.
fn canary_of_dead<const DEFECT: u8>() -> usize {
    caught(&BrokenRig::<DEFECT>(proactive(block([512, 8, 14, 1], 1, 48, Scheme::PrimaryReplacement))))
}

/// A stale page is seen only if nothing supersedes it before a mount: so each seed stands for several runs.
fn canary_of_migration() -> usize {
    let rig = BrokenRig::<STALE_MIGRATION>(block([512, 8, 14, 1], 1, 32, log_block("periodic:3")));
    caught_by(&rig, |seed| (0..8).try_for_each(|run| survives(&rig, seed * 8 + run)))
}

/// On a chip whose pages share cells, where mounts are cut as well.
fn canary_of_shared_cells<const DEFECT: u8>(scheme: Scheme) -> usize {
    let rig = BrokenRig::<DEFECT>(block([512, 6, 14, 1], 3, 40, scheme));
    caught_by(&rig, |seed| {
        storm_of_mounts(&rig, seed, 90);
        Ok(())
    })
}

#[test]
fn the_canaries_of_block_mapping_are_caught_and_the_control_is_not() {
    let migrating = log_block("periodic:3");
    for scheme in [migrating, Scheme::PrimaryReplacement, Scheme::Fast] {
        assert_eq!(canary::<NONE>(scheme), 0, "the wrapper itself breaks nothing");
    }
    assert_eq!(canary_of_dead::<NONE>(), 0, "the wrapper itself breaks nothing");
    assert_eq!(canary_of_shared_cells::<NONE>(Scheme::Fast), 0, "the wrapper itself breaks nothing");
    let caught = [
        ("erases before merges are complete", canary::<ERASE_FIRST>(migrating)),
        ("erases before folds are complete", canary::<ERASE_FIRST>(Scheme::PrimaryReplacement)),
        ("erases before merges of shared log blocks are complete", canary::<ERASE_FIRST>(Scheme::Fast)),
        ("forgets a page in a switch merge", canary::<FORGETFUL_SWITCH>(migrating)),
        ("keeps a stale page in a migration", canary_of_migration()),
        ("trusts an uncommitted merge", canary::<TRUST_UNCOMMITTED>(migrating)),
        ("trusts an older commit", canary::<TRUST_OLDER_COMMIT>(migrating)),
        ("forgets discards", canary::<FORGET_DISCARDS>(migrating)),
        ("forgets what is dead", canary_of_dead::<FORGET_DEAD>()),
        ("continues torn log blocks", canary::<CONTINUE_TORN>(migrating)),
        ("takes pages that share cells for apart", canary_of_shared_cells::<PAGES_APART>(Scheme::Fast)),
        ("does not see what a cut has harmed", canary_of_shared_cells::<HIDE_HARM>(Scheme::Fast)),
        ("does not see it in primary blocks", canary_of_shared_cells::<HIDE_HARM>(Scheme::PrimaryReplacement)),
    ];
    for (what, seeds) in caught {
        println!("an engine that {what}: caught by {seeds} of 20 seeds");
    }
    for (what, seeds) in caught {
        assert!(seeds >= 5, "an engine that {what} is caught by only {seeds} of 20 seeds");
    }
}
