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

/// What broken pages do wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defect {
    /// Nothing is broken: the control.
    None,
    /// The blocks that a merge or a migration replaces are erased before its copies have been programmed.
    EraseFirst,
    /// A switch merge is committed, but its last page but one was never programmed.
    ForgetfulSwitch,
    /// A migration copies the version before the newest of its first page.
    StaleMigration,
    /// A block that a merge has not filled is believed to be complete.
    TrustUncommitted,
    /// Of two committed data blocks, the older is believed.
    TrustOlderCommit,
    /// Discard records are not written.
    ForgetDiscards,
    /// A cut is taken for a clean shutdown, so that torn log blocks are continued.
    ContinueTorn,
    /// Records of dead logical blocks are not written.
    ForgetDead,
    /// No page is taken to share cells with others: a flush fills no group up, and a mount looks at one page of it.
    PagesApart,
    /// What a cut has harmed is taken for erased, and nobody counts how many pages a data block with gaps has.
    HideHarm,
}

/// A page that is only in memory.
#[derive(Debug, Clone)]
struct Held {
    tag: Tag,
    data: Vec<u8>,
}

/// Pages with a defect.
#[derive(Debug)]
pub(crate) struct Broken {
    defect: Defect,
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

impl Broken {
    fn new(pages: TaggedPages<EmuNand>, defect: Defect) -> Self {
        let (held, versions) = (HashMap::new(), HashMap::new());
        Self { defect, pages, held, owed: Vec::new(), versions, found: Vec::new() }
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
        if self.defect == Defect::EraseFirst {
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
        Ok(match (self.defect, self.found[first], read) {
            (Defect::TrustUncommitted, TagRead::Tag(head), TagRead::Erased)
                if is_last && head.role == Role::MergeHead =>
            {
                let lpn = Lpn(head.lpn.0 + pages - 1);
                TagRead::Tag(Tag { lpn, seq: newest + 1, role: Role::Commit, ..head })
            }
            (Defect::TrustOlderCommit, _, TagRead::Tag(tag)) if tag.role.is_commit() => {
                let is_other = |other: &&TagRead| {
                    matches!(other, TagRead::Tag(other)
                        if other.role.is_commit() && other.lpn == tag.lpn && other.seq != tag.seq)
                };
                let other = self.found.iter().skip(pages as usize - 1).step_by(pages as usize).find(is_other);
                let seq = if let Some(TagRead::Tag(other)) = other { other.seq } else { tag.seq };
                TagRead::Tag(Tag { seq, ..tag })
            }
            (Defect::ContinueTorn, _, TagRead::Erased) if self.is_first_blank(at) => {
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

impl Pages for Broken {
    const STORES: bool = true;
    const TAGGED: bool = true;

    fn shape(&self) -> PagesShape {
        let shape = self.pages.shape();
        PagesShape { group: if self.defect == Defect::PagesApart { 1 } else { shape.group }, ..shape }
    }

    fn set_capacity(&mut self, logical_pages: u32) {
        self.pages.set_capacity(logical_pages);
    }

    fn program(&mut self, at: Ppn, data: &[u8], tag: &Tag) -> Result<(), ErrorKind> {
        let pages = self.shape().pages;
        let mut page = data.to_vec();
        page.resize(self.shape().page_bytes as usize, 0);
        if self.defect == Defect::EraseFirst && self.owed.iter().any(|&owed| self.seg_of(owed) == self.seg_of(at)) {
            self.hold(at, Held { tag: *tag, data: page });
            return Ok(());
        }
        if self.defect == Defect::ForgetfulSwitch {
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
        if self.defect == Defect::StaleMigration && tag.kind == Content::Data {
            let previous = self.versions.remove(&tag.lpn).map_or_else(|| vec![0; page.len()], |[newest, _]| newest);
            self.versions.insert(tag.lpn, [page, previous]);
        }
        let kind = match (self.defect, tag.kind) {
            (Defect::ForgetDiscards, Content::Trim) | (Defect::ForgetDead, Content::Dead) => Content::Pad,
            (_, kind) => kind,
        };
        self.pages.program(at, data, &Tag { kind, ..*tag })
    }

    fn copy(&mut self, from: Ppn, to: Ppn) -> Result<(), ErrorKind> {
        if self.defect != Defect::EraseFirst && !self.held.contains_key(&from) {
            return self.pages.copy(from, to);
        }
        let held = self.load(from)?;
        self.program_loaded(to, held)
    }

    fn copy_as(&mut self, from: Ppn, to: Ppn, tag: &Tag, own_seq: bool) -> Result<(), ErrorKind> {
        if matches!(
            self.defect,
            Defect::None
                | Defect::TrustUncommitted
                | Defect::TrustOlderCommit
                | Defect::ForgetDiscards
                | Defect::ContinueTorn
                | Defect::ForgetDead
                | Defect::PagesApart
                | Defect::HideHarm
        ) {
            return self.pages.copy_as(from, to, tag, own_seq);
        }
        let mut held = self.load(from)?;
        held.tag = Tag { kind: held.tag.kind, seq: if own_seq { tag.seq } else { held.tag.seq }, ..*tag };
        // Only a migration copies to the head of a log block.
        if self.defect == Defect::StaleMigration
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
        if matches!(self.defect, Defect::TrustUncommitted | Defect::TrustOlderCommit | Defect::ContinueTorn) {
            return self.misread(at, read);
        }
        Ok(match read {
            TagRead::Unreadable if self.defect == Defect::HideHarm => TagRead::Erased,
            TagRead::Tag(tag @ Tag { role: Role::CommitHoles { .. }, .. }) if self.defect == Defect::HideHarm => {
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
pub(crate) struct BrokenRig(pub(crate) BlockRig, pub(crate) Defect);

impl Rig for BrokenRig {
    type Chip = EmuNand;
    type Ftl = BlockFtl<Broken>;
    fn format(&self) -> Self::Ftl {
        let pages = Broken::new(self.0.pages(self.0.chip()), self.1);
        BlockFtl::format(pages, (), self.0.config).expect("a fresh chip can be formatted")
    }
    fn mount_or_return(&self, chip: EmuNand) -> Result<(Self::Ftl, MountReport), (EmuNand, MountError)> {
        let mounted = BlockFtl::mount_or_return(Broken::new(self.0.pages(chip), self.1), (), self.0.config);
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
        let flushes = self.1 == Defect::StaleMigration && rng.below(3) == 0;
        if flushes { Command::Flush } else { self.0.command(rng, sectors_per_page) }
    }
}

fn canary(defect: Defect, scheme: Scheme) -> usize {
    caught(&BrokenRig(block([512, 8, 14, 1], 1, 48, scheme), defect))
}

/// As `canary`, with dead blocks that are kept for a while.
fn canary_of_dead(defect: Defect) -> usize {
    caught(&BrokenRig(proactive(block([512, 8, 14, 1], 1, 48, Scheme::PrimaryReplacement)), defect))
}

/// A stale page is seen only if nothing supersedes it before a mount: so each seed stands for several runs.
fn canary_of_migration() -> usize {
    let rig = BrokenRig(block([512, 8, 14, 1], 1, 32, log_block("periodic:3")), Defect::StaleMigration);
    caught_by(&rig, |seed| (0..8).try_for_each(|run| survives(&rig, seed * 8 + run)))
}

/// On a chip whose pages share cells, where mounts are cut as well.
fn canary_of_shared_cells(defect: Defect, scheme: Scheme) -> usize {
    let rig = BrokenRig(block([512, 6, 14, 1], 3, 40, scheme), defect);
    caught_by(&rig, |seed| {
        storm_of_mounts(&rig, seed, 90);
        Ok(())
    })
}

#[test]
fn the_canaries_of_block_mapping_are_caught_and_the_control_is_not() {
    let migrating = log_block("periodic:3");
    for scheme in [migrating, Scheme::PrimaryReplacement, Scheme::Fast] {
        assert_eq!(canary(Defect::None, scheme), 0, "the wrapper itself breaks nothing");
    }
    assert_eq!(canary_of_dead(Defect::None), 0, "the wrapper itself breaks nothing");
    assert_eq!(canary_of_shared_cells(Defect::None, Scheme::Fast), 0, "the wrapper itself breaks nothing");
    let caught = [
        ("erases before merges are complete", canary(Defect::EraseFirst, migrating)),
        ("erases before folds are complete", canary(Defect::EraseFirst, Scheme::PrimaryReplacement)),
        ("erases before merges of shared log blocks are complete", canary(Defect::EraseFirst, Scheme::Fast)),
        ("forgets a page in a switch merge", canary(Defect::ForgetfulSwitch, migrating)),
        ("keeps a stale page in a migration", canary_of_migration()),
        ("trusts an uncommitted merge", canary(Defect::TrustUncommitted, migrating)),
        ("trusts an older commit", canary(Defect::TrustOlderCommit, migrating)),
        ("forgets discards", canary(Defect::ForgetDiscards, migrating)),
        ("forgets what is dead", canary_of_dead(Defect::ForgetDead)),
        ("continues torn log blocks", canary(Defect::ContinueTorn, migrating)),
        ("takes pages that share cells for apart", canary_of_shared_cells(Defect::PagesApart, Scheme::Fast)),
        ("does not see what a cut has harmed", canary_of_shared_cells(Defect::HideHarm, Scheme::Fast)),
        ("does not see it in primary blocks", canary_of_shared_cells(Defect::HideHarm, Scheme::PrimaryReplacement)),
    ];
    for (what, seeds) in caught {
        println!("an engine that {what}: caught by {seeds} of 20 seeds");
    }
    for (what, seeds) in caught {
        assert!(seeds >= 5, "an engine that {what} is caught by only {seeds} of 20 seeds");
    }
}
