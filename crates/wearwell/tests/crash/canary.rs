//! Canaries: engines broken on purpose, each of which the proof must catch.
//!
//! What is broken is the log below the engine, by a wrapper that does one thing wrong.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::HashMap;

use wearwell::page::PageConfig;
use wearwell::page::log::{Discards, EraseProgress, Kind, Log, LogShape, NandLog, NorLog, SegmentScan, Source, Tag};
use wearwell::{BlockDevice, Class, Lpn, Ppn, Rng, Seg};
use wearwell_emu::{ChipProfile, CutOutcome, EmuChip, EmuNand, EmuNor, PowerCut};
use wearwell_flash::{ErrorKind, ReadReport};

use crate::model::{Command, Model};
use crate::rig::{NandRig, NorRig, PageRig, Rig, nand, nor};
use crate::storm::storm;

/// What a broken log does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defect {
    /// Nothing: the control.
    None,
    /// A victim is erased before its copies have been programmed.
    EraseFirst,
    /// What reads as erased after a cut is programmed again without an erase.
    ReuseTorn,
    /// Of two copies, the older is believed.
    TrustStale,
    /// The old copy is flagged invalid before the new one is complete.
    SkipFlagOrder,
    /// Pages that a cut may have hit are served as they are.
    ServeSuspects,
    /// What a mount copied before it was cut is believed.
    BelieveRescue,
    /// A segment is retired in memory only.
    KeepRetired,
    /// Of slots that cannot be read nothing is said.
    ForgetGaps,
    /// The last checkpoint is believed, whether its mark is there or not.
    BelieveCheckpoint,
    /// A page is what a summary calls it, also where it reads as ones.
    BelieveSummaries,
    /// What was superseded is believed where nothing newer is found.
    BelieveSuperseded,
    /// No tag page is written unless a group is full.
    ForgetTagPages,
    /// Pages whose tag page cannot be written stay where they are.
    ForgetUnsettled,
}

/// A copy that the broken log has promised, but not made yet.
#[derive(Debug)]
struct Owed {
    at: Ppn,
    lpn: Lpn,
    class: Class,
    seq: u64,
    data: Vec<u8>,
}

std::thread_local! {
    /// The page of the last mark of a clean shutdown, and its number.
    static LAST_MARK: Cell<Option<(Vec<u8>, u64)>> = const { Cell::new(None) };
    /// Copies that were superseded and have not been erased.
    static SUPERSEDED: RefCell<HashMap<Ppn, Tag>> = RefCell::default();
    /// The defect of the last log: numbers are compared without one.
    static DEFECT: Cell<Defect> = const { Cell::new(Defect::None) };
}

/// A log with a defect. The defect is no parameter of the type, as whether discards are forgotten has to be: for each
/// one a whole engine would be compiled.
#[derive(Debug)]
pub(crate) struct Broken<L, const FORGETS: bool> {
    log: L,
    defect: Defect,
    owed: Vec<Owed>,
    claimed_clean: bool,
}

impl<L: Log, const FORGETS: bool> Broken<L, FORGETS> {
    fn new(log: L, defect: Defect) -> Self {
        DEFECT.set(defect);
        Self { log, defect, owed: Vec::new(), claimed_clean: false }
    }

    fn pay(&mut self) -> Result<(), ErrorKind> {
        for owed in std::mem::take(&mut self.owed) {
            let source = Source::Host(&owed.data, owed.seq);
            self.log.append(owed.at, owed.lpn, owed.class, Kind::Data, source, Ppn::NONE)?;
        }
        Ok(())
    }

    /// The tag in a slot of a layout with records.
    fn tag(&mut self, at: Ppn) -> Result<Option<Tag>, ErrorKind> {
        let slots = self.log.shape().slots;
        let scan = self.log.scan(Seg(at.0 / slots))?.expect("a layout with records");
        Ok(scan.tags.get((at.0 % slots) as usize).copied().flatten())
    }
}

impl<L: Log, const FORGETS: bool> Log for Broken<L, FORGETS> {
    const STORES: bool = true;
    const DISCARDS: Discards = if FORGETS { Discards::Forgotten } else { L::DISCARDS };

    fn shape(&self) -> LogShape {
        self.log.shape()
    }
    fn set_capacity(&mut self, logical_pages: u32) {
        self.log.set_capacity(logical_pages);
    }
    fn forget(&mut self) {
        self.log.forget();
    }
    fn open(&mut self, seg: Seg, class: Class, age_clock: u64) -> Result<u32, ErrorKind> {
        self.log.open(seg, class, age_clock)
    }
    fn append(
        &mut self,
        at: Ppn,
        lpn: Lpn,
        class: Class,
        kind: Kind,
        source: Source<'_>,
        replaces: Ppn,
    ) -> Result<(), ErrorKind> {
        if self.defect == Defect::EraseFirst {
            if let Source::Copy(from) = source {
                let mut data = vec![0; self.log.shape().page_bytes as usize];
                self.log.read(from, lpn, &mut data)?;
                let seq = self.tag(from)?.map_or(1, |tag| tag.seq);
                self.owed.push(Owed { at, lpn, class, seq, data });
                return Ok(());
            }
            self.pay()?;
        }
        if self.defect == Defect::SkipFlagOrder && replaces.is_some() {
            self.log.invalidate(replaces)?;
        }
        if self.defect == Defect::BelieveSuperseded
            && replaces.is_some()
            && let Some(tag) = self.tag(replaces)?
        {
            SUPERSEDED.with_borrow_mut(|superseded| superseded.insert(replaces, tag));
        }
        if self.defect == Defect::BelieveCheckpoint
            && let (Kind::CleanMark, Source::Host(data, seq)) = (kind, source)
        {
            LAST_MARK.set(Some((data.to_vec(), seq)));
        }
        self.log.append(at, lpn, class, kind, source, replaces)
    }
    fn doubts_sources(&self) -> bool {
        self.log.doubts_sources()
    }
    fn checkpoint_pages(&self) -> u32 {
        self.log.checkpoint_pages()
    }
    fn clear_checkpoint(&mut self, pages: u32, most_erases: u32, mean_erases: u32) -> Result<bool, ErrorKind> {
        self.log.clear_checkpoint(pages, most_erases, mean_erases)
    }
    fn program_checkpoint(&mut self, page: u32, data: &[u8], seq: u64) -> Result<(), ErrorKind> {
        self.log.program_checkpoint(page, data, seq)
    }
    fn read_checkpoint(&mut self, page: u32, data: &mut [u8]) -> Result<Option<u64>, ErrorKind> {
        self.log.read_checkpoint(page, data)
    }
    fn read_mark(&mut self, seg: Seg, kind: Kind, data: &mut [u8]) -> Result<Option<u64>, ErrorKind> {
        let read = self.log.read_mark(seg, kind, data)?;
        if self.defect == Defect::BelieveCheckpoint
            && kind == Kind::CleanMark
            && let Some((mark, seq)) = LAST_MARK.take()
        {
            data[..mark.len()].copy_from_slice(&mark);
            return Ok(Some(seq));
        }
        Ok(read)
    }
    fn padding(&self, seg: Seg, next: u32) -> u32 {
        if self.defect == Defect::ForgetTagPages { 0 } else { self.log.padding(seg, next) }
    }
    fn has_tag_pages(&self) -> bool {
        self.log.has_tag_pages()
    }
    fn stop_at(&self, seg: Seg, next: u32) -> u32 {
        self.log.stop_at(seg, next)
    }
    fn slot_of(&self, page: u32) -> u32 {
        self.log.slot_of(page)
    }
    fn collides(&mut self, at: Ppn, source: Source<'_>) -> Result<bool, ErrorKind> {
        self.log.collides(at, source)
    }
    fn unsettled(&self) -> Option<(Seg, u32)> {
        if self.defect == Defect::ForgetUnsettled { None } else { self.log.unsettled() }
    }
    fn settle(&mut self, seg: Seg) {
        self.log.settle(seg);
    }
    fn suspect_from(&self, seg: Seg, programmed: u32) -> u32 {
        self.log.suspect_from(seg, programmed)
    }
    fn pad(&mut self, at: Ppn) -> Result<(), ErrorKind> {
        self.log.pad(at)
    }
    fn seal(&mut self, seg: Seg, erases: u32, opened: u64, class: Class) -> Result<u32, ErrorKind> {
        self.pay()?;
        self.log.seal(seg, erases, opened, class)
    }
    fn abandon(&mut self, seg: Seg) {
        self.log.abandon(seg);
    }
    fn erase(&mut self, seg: Seg, erases: u32) -> Result<(EraseProgress, u32), ErrorKind> {
        let erased = self.log.erase(seg, erases)?;
        let slots = self.log.shape().slots;
        SUPERSEDED.with_borrow_mut(|superseded| superseded.retain(|at, _| at.0 / slots != seg.0));
        self.pay()?;
        Ok(erased)
    }
    fn poll_erase(&mut self) -> Option<(Seg, Result<(), ErrorKind>)> {
        self.log.poll_erase()
    }
    fn wait_erase(&mut self) -> Option<(Seg, Result<(), ErrorKind>)> {
        self.log.wait_erase()
    }
    fn is_erasing(&mut self, bank: u32) -> bool {
        self.log.is_erasing(bank)
    }
    fn read(&mut self, at: Ppn, lpn: Lpn, data: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        if let Some(owed) = self.owed.iter().find(|o| o.at == at) {
            data.copy_from_slice(&owed.data);
            return Ok(ReadReport::default());
        }
        let read = self.log.read(at, lpn, data);
        if self.defect == Defect::BelieveSummaries && read == Err(ErrorKind::Uncorrectable) {
            data.fill(0xFF);
            return Ok(ReadReport::default());
        }
        read
    }
    fn doubt_sources(&mut self) {
        self.log.doubt_sources();
    }
    fn invalidate(&mut self, at: Ppn) -> Result<(), ErrorKind> {
        self.log.invalidate(at)
    }
    fn take_failed(&mut self) -> Option<Seg> {
        self.log.take_failed()
    }
    fn is_bad(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.log.is_bad(seg)
    }
    fn retire(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        if self.defect == Defect::KeepRetired { Ok(()) } else { self.log.retire(seg) }
    }
    fn has_traces(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.log.has_traces(seg)
    }
    fn is_blank(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.log.is_blank(seg)
    }
    fn is_half_erased(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.log.is_half_erased(seg)
    }

    fn shows_erase(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.log.shows_erase(seg)
    }
    fn scan(&mut self, seg: Seg) -> Result<Option<SegmentScan>, ErrorKind> {
        let mut scan = self.log.scan(seg)?;
        if let Some(scan) = &mut scan {
            match self.defect {
                // Believing that nothing was cut is what lets torn pages be used again.
                Defect::ReuseTorn => {
                    scan.needs_erase = false;
                    if scan.empty && !scan.bad && !std::mem::replace(&mut self.claimed_clean, true) {
                        let mark = Tag { lpn: Lpn(0), seq: 0, class: Class(0), kind: Kind::CleanMark };
                        scan.empty = false;
                        scan.tags = vec![Some(mark)];
                    }
                }
                Defect::ForgetGaps => scan.gone.clear(),
                Defect::BelieveSuperseded => SUPERSEDED.with_borrow(|superseded| {
                    let first = seg.0 * self.log.shape().slots;
                    for (at, tag) in (first..).map(Ppn).zip(&mut scan.tags) {
                        *tag = tag.or(superseded.get(&at).copied());
                    }
                }),
                Defect::ServeSuspects => scan.suspect_from = u32::MAX,
                Defect::BelieveRescue if matches!(scan.tags.first(), Some(Some(tag)) if tag.kind == Kind::RescueMark) =>
                {
                    scan.suspect_from = u32::MAX;
                }
                _ => {}
            }
        }
        Ok(scan)
    }
    fn newer(a: u64, b: u64) -> Ordering {
        if DEFECT.get() == Defect::TrustStale { L::newer(b, a) } else { L::newer(a, b) }
    }
    fn confirm(&mut self, winner: &dyn Fn(Lpn) -> Ppn) -> Result<(), ErrorKind> {
        self.log.confirm(winner)
    }
}

/// A rig whose log has a defect.
pub(crate) struct BrokenRig<R, const FORGETS: bool> {
    rig: R,
    defect: Defect,
}

/// A rig whose log does that wrong.
pub(crate) fn broken<R>(rig: R, defect: Defect) -> BrokenRig<R, false> {
    BrokenRig { rig, defect }
}

/// A rig whose log does not record discards.
pub(crate) fn forgetful<R>(rig: R) -> BrokenRig<R, true> {
    BrokenRig { rig, defect: Defect::None }
}

macro_rules! broken_rig {
    ($rig:ty, $log:ty, $chip:ty) => {
        impl<const FORGETS: bool> PageRig for BrokenRig<$rig, FORGETS> {
            type Chip = $chip;
            type Log = Broken<$log, FORGETS>;
            fn chip(&self) -> $chip {
                self.rig.chip()
            }
            fn log(&self, chip: $chip) -> Self::Log {
                Broken::new(self.rig.log(chip), self.defect)
            }
            fn under(log: &Self::Log) -> &$chip {
                log.log.chip()
            }
            fn under_mut(log: &mut Self::Log) -> &mut $chip {
                log.log.chip_mut()
            }
            fn take_chip(log: Self::Log) -> $chip {
                log.log.into_chip()
            }
            fn config(&self) -> PageConfig {
                self.rig.config()
            }
            fn profile(&self) -> &ChipProfile {
                self.rig.profile()
            }
        }
    };
}

broken_rig!(NandRig, NandLog<EmuNand>, EmuNand);
broken_rig!(NorRig, NorLog<EmuNor>, EmuNor);

/// Cuts a seeded run again and again, and says what was found wrong, if anything.
pub(crate) fn survives<R: Rig>(rig: &R, seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let pages = rig.logical_pages();
    let mut ftl = rig.format();
    let mut model = Model::new(pages, ftl.page_bytes() / 512);
    for page in 0..pages {
        model.run(&mut ftl, Command::Write { page, stream: 0 }).map_err(|e| e.to_string())?;
    }
    for _ in 0..60 {
        let at_op = R::chip_of(&ftl).ops() + u64::from(rng.below(80));
        let outcome = CutOutcome::Seeded { seed: rng.next_u64() };
        R::chip_of_mut(&mut ftl).arm(Some(PowerCut { at_op, outcome }));
        while !R::chip_of(&ftl).is_off() {
            let command = rig.command(&mut rng, ftl.page_bytes() / 512);
            if let Err(error) = model.run(&mut ftl, command)
                && !R::chip_of(&ftl).is_off()
            {
                return Err(error.to_string());
            }
        }
        let mut chip = R::into_chip(ftl);
        chip.power_on();
        ftl = rig.mount(chip).map_err(|e| e.to_string())?.0;
        model.check_after_cut(&mut ftl)?;
        if R::chip_of(&ftl).violations() > 0 {
            return Err("the chip's contract was broken".into());
        }
    }
    Ok(())
}

/// As long as no power is cut, a broken engine works: what catches it are the cuts.
fn check_without_cuts<R: Rig>(rig: &R) {
    let mut rng = Rng::new(0);
    let pages = rig.logical_pages();
    let mut ftl = rig.format();
    let mut model = Model::new(pages, ftl.page_bytes() / 512);
    for _ in 0..2000 {
        let command = rig.command(&mut rng, ftl.page_bytes() / 512);
        model.run(&mut ftl, command).expect("nothing is cut");
    }
    model.check_exact(&mut ftl).expect("nothing is cut");
}

/// How many of twenty seeds find something wrong.
pub(crate) fn caught<R: Rig>(rig: &R) -> usize {
    caught_by(rig, |seed| survives(rig, seed))
}

pub(crate) fn caught_by<R: Rig>(rig: &R, survives: impl Fn(u64) -> Result<(), String>) -> usize {
    check_without_cuts(rig);
    (0..20).filter(|&seed| is_caught(|| survives(seed).unwrap_or_else(|error| panic!("{error}")))).count()
}

/// True if a proof fails. A broken engine may also trip over its own assertions, which is a way of being caught.
pub(crate) fn is_caught(proof: impl FnOnce()) -> bool {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(proof));
    std::panic::set_hook(hook);
    ended.is_err()
}

fn nand_canary(defect: Defect) -> usize {
    caught(&broken(small_nand(), defect))
}

fn small_nand() -> NandRig {
    nand([512, 12, 12, 1], 1, 1, 66, "single")
}

fn nor_canary(defect: Defect) -> usize {
    caught(&broken(nor(8, 12, 2, 56, "single"), defect))
}

/// A storm, since this takes mounts that are cut.
fn rescue_canary(defect: Defect) -> usize {
    let rig = broken(nand([512, 8, 12, 1], 1, 1, 40, "single"), defect);
    caught_by(&rig, |seed| {
        storm(&rig, seed, 300, 6);
        Ok(())
    })
}

#[test]
fn the_canaries_are_caught_and_the_control_is_not() {
    assert_eq!(
        (nand_canary(Defect::None), nor_canary(Defect::None), rescue_canary(Defect::None)),
        (0, 0, 0),
        "the wrapper itself breaks nothing"
    );
    let caught = [
        ("erases before copies are durable", nand_canary(Defect::EraseFirst)),
        ("reuses a torn page", nand_canary(Defect::ReuseTorn)),
        ("trusts a stale copy", nand_canary(Defect::TrustStale)),
        ("forgets discards", caught(&forgetful(small_nand()))),
        ("skips the flag order", nor_canary(Defect::SkipFlagOrder)),
        ("serves suspect pages", nand_canary(Defect::ServeSuspects)),
        ("believes a rescue that was cut", rescue_canary(Defect::BelieveRescue)),
    ];
    for (what, seeds) in caught {
        println!("an engine that {what}: caught by {seeds} of 20 seeds");
        assert!(seeds >= 5, "an engine that {what} is caught by only {seeds} of 20 seeds");
    }
}
