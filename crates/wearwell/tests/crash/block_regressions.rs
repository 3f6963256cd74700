//! Histories that once broke block mapping, each as short as it could be made.

use wearwell::logblock::Scheme;
use wearwell::{BlockDevice, Reclamation, Rng};
use wearwell_emu::{CutOutcome, EmuChip, Faults, PowerCut};
use wearwell_flash::PageAddr;

use crate::block::{BlockRig, block, log_block};
use crate::exhaustive::prove;
use crate::model::{Command, Model};
use crate::rig::Rig;
use crate::storm::storm;

/// A device with every page written, and its host.
struct Session {
    rig: BlockRig,
    ftl: <BlockRig as Rig>::Ftl,
    model: Model,
}

impl Session {
    fn new(rig: BlockRig) -> Self {
        let ftl = rig.format();
        let model = Model::new(rig.config.logical_pages, ftl.page_bytes() / 512);
        Self { rig, ftl, model }
    }

    fn filled(rig: BlockRig) -> Self {
        let mut session = Self::new(rig);
        (0..session.rig.config.logical_pages).for_each(|page| session.write(page));
        session.flush();
        session
    }

    fn run(&mut self, command: Command) {
        self.model.run(&mut self.ftl, command).expect("nothing is cut");
    }

    fn write(&mut self, page: u32) {
        self.run(Command::Write { page, stream: 0 });
    }

    fn discard(&mut self, page: u32, count: u32) {
        self.run(Command::Discard { page, count });
    }

    fn flush(&mut self) {
        self.run(Command::Flush);
    }

    /// Cuts the power `after` so many more flash operations. False if the command needs no more of them.
    fn cut(&mut self, command: Command, after: u64, outcome: CutOutcome) -> bool {
        let at_op = BlockRig::chip_of(&self.ftl).ops() + after;
        BlockRig::chip_of_mut(&mut self.ftl).arm(Some(PowerCut { at_op, outcome }));
        self.model.run(&mut self.ftl, command).is_err()
    }

    /// Mounts again and checks everything.
    fn mount(self) -> Self {
        let Self { rig, ftl, mut model } = self;
        let mut chip = BlockRig::into_chip(ftl);
        chip.power_on();
        chip.arm(None);
        let mut ftl = rig.mount(chip).expect("it mounts").0;
        model.check_after_cut(&mut ftl).unwrap_or_else(|error| panic!("{error}"));
        Self { rig, ftl, model }
    }
}

fn shared() -> BlockRig {
    block([512, 8, 16, 1], 1, 60, Scheme::Fast)
}

fn striped(shape: [u32; 4], logical_pages: u32, scheme: Scheme) -> BlockRig {
    let mut rig = block(shape, 1, logical_pages, scheme);
    rig.profile.stripe = 2;
    rig
}

/// A discard record at the head of a log block was taken for page 0 of its logical block, and merged in its place.
#[test]
fn a_record_at_the_head_of_a_log_block_is_no_data() {
    let mut session = Session::filled(shared());
    session.discard(12, 1);
    session.run(Command::Shutdown);
    let mut session = session.mount();
    let mut rng = Rng::new(1);
    (0..40).for_each(|_| session.write(17 + rng.below(6)));
    session.model.check_exact(&mut session.ftl).expect("all there");
}

/// A shared log block with the record of a discard was emptied, while another still held the page.
#[test]
fn a_discard_stays_while_any_log_block_names_the_page() {
    let mut session = Session::filled(shared());
    session.discard(8, 8);
    session.flush();
    session.write(9);
    (17..23).for_each(|page| session.write(page));
    session.flush();
    session.discard(9, 1);
    session.flush();
    let mut session = session.mount();
    session.flush();
    session.mount();
}

/// The record was the page that a cut may have hit, and was not written anew.
#[test]
fn a_fragile_record_is_rescued() {
    let mut session = Session::filled(shared());
    session.discard(8, 8);
    session.flush();
    session.write(9);
    session.write(17);
    session.flush();
    session.discard(9, 1);
    assert!(session.cut(Command::Flush, 0, CutOutcome::ProgramFailsLater));
    let mut session = session.mount();
    session.flush();
    session.mount();
}

/// A program failed in the log block with the record, which was then emptied before older ones.
#[test]
fn a_failed_log_block_takes_no_record_with_it() {
    for fail in 60..140 {
        let mut rig = shared();
        rig.faults = Faults { seed: 1, fail_ops: vec![fail], ..Faults::default() };
        let mut session = Session::filled(rig);
        session.discard(8, 8);
        session.flush();
        session.write(9);
        (17..23).for_each(|page| session.write(page));
        session.flush();
        session.discard(9, 1);
        session.flush();
        session.write(25);
        session.write(26);
        session.flush();
        session.mount();
    }
}

/// The data block was erased on the strength of a record whose group of pages was not full yet.
#[test]
fn a_record_is_safe_before_data_is_erased_for_it() {
    for after in 0..5 {
        let mut session = Session::filled(block([512, 8, 16, 1], 2, 60, Scheme::Fast));
        session.write(9);
        session.write(17);
        session.flush();
        session.run(Command::WriteRun { page: 8, count: 8 });
        session.flush();
        session.discard(8, 8);
        session.cut(Command::Flush, after, CutOutcome::ProgramPairedDamage);
        session.mount();
    }
}

/// A newer record superseded an older one, while what had been written between them could still be damaged.
#[test]
fn what_a_record_calls_mapped_is_safe_before_it() {
    for after in 0..6 {
        let mut session = Session::filled(block([512, 9, 16, 1], 3, 63, Scheme::Fast));
        session.write(10);
        session.flush();
        session.discard(10, 1);
        session.flush();
        session.write(9);
        session.write(10);
        session.discard(14, 1);
        session.cut(Command::Flush, after, CutOutcome::ProgramPairedDamage);
        session.mount();
    }
}

/// A torn page was forgotten by a clean shutdown, and programmed.
#[test]
fn a_clean_shutdown_does_not_make_torn_pages_good() {
    let mut session = Session::filled(block([512, 8, 16, 1], 1, 60, log_block("cost-based")));
    session.write(9);
    session.write(17);
    session.flush();
    assert!(session.cut(Command::Write { page: 10, stream: 0 }, 0, CutOutcome::ProgramLooksErased));
    let mut session = session.mount();
    session.run(Command::Shutdown);
    let mut session = session.mount();
    session.write(10);
    assert_eq!(BlockRig::chip_of(&session.ftl).violations(), 0);
}

/// Half of a segment over two dies was erased, and what was left believed.
#[test]
fn a_stripe_that_is_half_erased_is_no_data() {
    for scheme in [log_block("cost-based"), Scheme::PrimaryReplacement, Scheme::Fast] {
        for after in 0..4 {
            let mut session = Session::filled(striped([512, 4, 32, 2], 60, scheme));
            session.cut(Command::Discard { page: 8, count: 8 }, after, CutOutcome::EraseOld);
            session.mount();
        }
    }
    for after in 0..8 {
        for outcome in [CutOutcome::Seeded { seed: 1 }, CutOutcome::Seeded { seed: 5 }] {
            let mut session = Session::filled(striped([512, 4, 32, 2], 60, log_block("cost-based")));
            session.discard(8, 8);
            session.flush();
            [9, 10, 9, 10, 9, 10, 12, 9].into_iter().for_each(|page| session.write(page));
            session.flush();
            session.cut(Command::Write { page: 10, stream: 0 }, after, outcome);
            session.mount();
        }
    }
}

/// A logical block was discarded, and its log block erased on one of two dies before the power failed: the older copy
/// of a page was left, and believed.
#[test]
fn a_log_block_that_is_half_erased_gives_no_older_page() {
    for (scheme, pages) in [(log_block("merge-only"), [9, 9]), (Scheme::PrimaryReplacement, [9, 9])] {
        for after in 0..8 {
            let mut session = Session::filled(striped([512, 4, 32, 2], 60, scheme));
            pages.into_iter().for_each(|page| session.write(page));
            session.flush();
            session.cut(Command::Discard { page: 8, count: 8 }, after, CutOutcome::EraseOld);
            session.mount();
        }
    }
}

/// The record on whose word dead blocks were being erased was the page programmed last, and faded.
#[test]
fn a_record_of_dead_blocks_may_fade() {
    for after in 0..4 {
        let mut rig = striped([512, 4, 32, 2], 60, log_block("merge-only"));
        rig.config.reclaim = Reclamation::parse("proactive").expect("a policy");
        let mut session = Session::filled(rig);
        [9, 9].into_iter().for_each(|page| session.write(page));
        session.flush();
        session.discard(8, 8);
        assert!(session.cut(Command::Flush, 0, CutOutcome::ProgramFailsLater));
        let Session { rig, ftl, model } = session;
        let mut chip = BlockRig::into_chip(ftl);
        chip.power_on();
        chip.arm(Some(PowerCut { at_op: chip.ops() + after, outcome: CutOutcome::EraseOld }));
        let ftl = match rig.mount_or_return(chip) {
            Ok((ftl, _)) => ftl,
            Err((chip, _)) => {
                let mut chip = chip;
                chip.power_on();
                chip.arm(None);
                rig.mount(chip).expect("it mounts").0
            }
        };
        Session { rig, ftl, model }.mount();
    }
}

#[test]
fn segments_over_two_dies() {
    for (seed, scheme) in [(20, log_block("periodic:3")), (21, Scheme::PrimaryReplacement), (22, Scheme::Fast)] {
        prove(&striped([512, 4, 32, 2], 60, scheme), seed, 30);
        storm(&striped([512, 4, 32, 2], 60, scheme), seed, 80, 60);
    }
}

/// The record that a data block was to be erased for failed, or what padded its group did; the merge that took its
/// place was erased in its stead, and older pages came back, or the data block was erased twice.
#[test]
fn a_failed_record_erases_nothing() {
    let run = |paired_pages: u32, fail_ops: Vec<u64>| {
        let mut rig = block([512, 8, 16, 1], paired_pages, 60, Scheme::Fast);
        rig.faults = Faults { seed: 1, fail_ops, ..Faults::default() };
        let mut session = Session::filled(rig);
        session.write(9);
        (17..24).for_each(|page| session.write(page));
        session.write(10);
        session.flush();
        session.discard(8, 8);
        let first = BlockRig::chip_of(&session.ftl).ops();
        session.flush();
        let last = BlockRig::chip_of(&session.ftl).ops();
        session.mount().flush();
        first..last
    };
    for paired_pages in [1, 2, 3] {
        for fail in run(paired_pages, Vec::new()) {
            run(paired_pages, vec![fail]);
        }
    }
}

/// The commits of all merges decay, and then a cut hits a newer page, which fades while a mount looks at it. The blocks
/// of these merges hold the only certain copies, and were erased before the rescue, as if their sources were still
/// there. No page of the device lies in the place of a commit.
#[test]
fn a_merge_whose_commit_has_decayed_outlasts_the_rescue() {
    let outcomes = [CutOutcome::ProgramFailsSoon, CutOutcome::ProgramFailsLater, CutOutcome::ProgramUncorrectable];
    for scheme in [log_block("cost-based"), Scheme::PrimaryReplacement, Scheme::Fast] {
        let mut decayed = 0;
        for (outcome, after) in outcomes.into_iter().flat_map(|outcome| (0..4).map(move |after| (outcome, after))) {
            let mut session = Session::filled(block([512, 8, 14, 1], 1, 7, scheme)).mount();
            let commits = (0..14).map(|block| PageAddr(block * 8 + 7));
            let chip = BlockRig::chip_of_mut(&mut session.ftl);
            decayed += commits.filter(|&commit| chip.decay(commit)).count();
            session.cut(Command::Write { page: 0, stream: 0 }, after, outcome);
            session.mount().mount();
        }
        assert!(decayed > 0, "a mount merges the last page");
    }
}

/// A log block was migrated, and the erase of the old one was cut. What was left was merged, and a cut hit the commit.
/// Then the first page of the new log block decayed. All that could be read there was elsewhere, so it was erased, and
/// a page of the merge faded. Without the block it seemed that what the merge had read was gone: it was believed.
#[test]
fn a_headless_block_outlasts_the_merge_that_has_read_it() {
    for reads in 3..15 {
        let mut session = Session::new(block([512, 8, 16, 1], 2, 16, log_block("cost-based")));
        [1, 6, 0, 0, 0, 0, 0, 0].into_iter().for_each(|page| session.write(page));
        session.flush();
        let newest = CutOutcome::Each { states: 2 << 28 };
        assert!(session.cut(Command::Write { page: 0, stream: 0 }, 4, newest), "three pages, padding, and the erase");
        let Session { rig, ftl, mut model } = session;
        let mut chip = BlockRig::into_chip(ftl);
        chip.power_on();
        let outcome = CutOutcome::Each { states: reads << 4 };
        chip.arm(Some(PowerCut { at_op: chip.ops() + 4, outcome }));
        let Err((mut chip, _)) = rig.mount_or_return(chip) else { panic!("the commit is cut") };
        chip.power_on();
        chip.arm(None);
        assert!(chip.decay(PageAddr(8)), "the head of the new log block");
        let mut ftl = rig.mount(chip).expect("it mounts").0;
        model.check_after_cut(&mut ftl).unwrap_or_else(|error| panic!("{reads}: {error}"));
    }
}
