//! The engine whose map is on flash, under the same cuts as the others.

use wearwell::page::log::MapLog;
use wearwell::page::{MountError, MountReport};
use wearwell::paged::place::{ByHandle, SeparateGc, StreamPlacement};
use wearwell::paged::which::{Cat, CostBenefit, Greedy, Lfs, VictimWorth};
use wearwell::{Inspect, PagedConfig, PagedFtl, Rng};
use wearwell_emu::{BitErrors, ChipProfile, EmuChip, EmuNand, Faults};
use wearwell_flash::PageAddr;

use crate::damage::take_all_but_one;
use crate::exhaustive::prove;
use crate::model::{Command, Found, Model};
use crate::mount_storms::storm_of_mounts;
use crate::rig::Rig;
use crate::storm::{seeds, storm, storm_of};

/// A small chip, and the engine's settings.
pub(crate) struct PagedRig<V = CostBenefit, W = SeparateGc> {
    pub(crate) profile: ChipProfile,
    pub(crate) config: PagedConfig<V, W>,
}

/// `shape` is page bytes, pages a block, blocks, dies.
fn paged(shape: [u32; 4], stripe: u32, logical_pages: u32, cache_entries: u32) -> PagedRig {
    let [page, pages, blocks, dies] = shape;
    let text = format!("geometry:{page}:{pages}:{blocks}:{dies}");
    let mut profile = ChipProfile::from_geometry_str(&text).expect("a geometry");
    profile.stripe = stripe;
    PagedRig { profile, config: PagedConfig::new(logical_pages, cache_entries) }
}

impl PagedRig {
    /// The same with other policies.
    fn with<V: VictimWorth, W: StreamPlacement>(self, which: V, place: W) -> PagedRig<V, W> {
        PagedRig { profile: self.profile, config: self.config.which(which).place(place) }
    }
}

impl<V, W> PagedRig<V, W> {
    fn log(&self, chip: EmuNand) -> MapLog<EmuNand> {
        MapLog::with_map(chip, self.profile.stripe).expect("the chip takes the layout")
    }
}

impl<V: VictimWorth, W: StreamPlacement> Rig for PagedRig<V, W> {
    type Chip = EmuNand;
    type Ftl = PagedFtl<EmuNand, V, W>;
    fn format(&self) -> Self::Ftl {
        let chip = EmuNand::in_memory(&self.profile, Faults::default()).expect("a valid profile");
        PagedFtl::format(self.log(chip), self.config).expect("a fresh chip can be formatted")
    }
    fn mount_or_return(&self, chip: EmuNand) -> Result<(Self::Ftl, MountReport), (EmuNand, MountError)> {
        let mounted = PagedFtl::mount_or_return(self.log(chip), self.config);
        mounted.map_err(|(log, error)| (log.into_chip(), error))
    }
    fn chip_of(ftl: &Self::Ftl) -> &EmuNand {
        ftl.log().chip()
    }
    fn chip_of_mut(ftl: &mut Self::Ftl) -> &mut EmuNand {
        ftl.log_mut().chip_mut()
    }
    fn into_chip(ftl: Self::Ftl) -> EmuNand {
        ftl.into_log().into_chip()
    }
    fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }
    fn paired_pages(&self) -> u32 {
        1
    }
}

/// Chips on which a segment has few pages, so that the reserve is small, and pages are small, so that there are three
/// translation pages.
fn small(cache_entries: u32) -> PagedRig {
    paged([512, 8, 164, 1], 1, 600, cache_entries)
}

#[test]
fn a_tag_behind_erased_slots_says_whose_a_chip_is() {
    take_all_but_one(&paged([512, 8, 40, 2], 2, 40, 8));
}

#[test]
fn random_commands_without_cuts() {
    for (seed, cache_entries) in [(1, 2), (2, 3), (3, 16), (4, 64), (5, 600)] {
        let rig = small(cache_entries);
        let mut ftl = rig.format();
        let mut model = Model::new(rig.logical_pages(), 1);
        let mut rng = Rng::new(seed);
        for turn in 0..6 {
            for _ in 0..2000 {
                let command = Command::random(&mut rng, rig.logical_pages(), 1);
                let ended = model.run(&mut ftl, command);
                ended.unwrap_or_else(|error| panic!("seed {seed}: {command:?}: {error}"));
            }
            model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("seed {seed}, turn {turn}: {error}"));
            let end = if turn % 2 == 1 { Command::Shutdown } else { Command::Flush };
            model.run(&mut ftl, end).expect("nothing fails");
            let mut chip = PagedRig::into_chip(ftl);
            chip.power_on();
            ftl = rig.mount(chip).unwrap_or_else(|error| panic!("seed {seed}: {error}")).0;
            model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("seed {seed}, mount {turn}: {error}"));
        }
        assert_eq!(PagedRig::chip_of(&ftl).violations(), 0);
    }
}

/// Programs and erases fail, and data fades, while commands run and between mounts.
#[test]
fn failing_blocks_and_fading_data() {
    const FADES: BitErrors =
        BitErrors { base: 0.05, per_cycle: 0.0, per_read: 0.0, per_hour: 0.0, correctable_bits: 8, refresh_bits: 1 };
    for seed in 0..seeds() {
        let rig = paged([512, 8, 200, 1], 1, 600, 2 + (seed as u32 % 3) * 12);
        let mut ftl = rig.format();
        let mut model = Model::new(rig.logical_pages(), 1);
        let mut rng = Rng::new(seed);
        for turn in 0..6 {
            PagedRig::chip_of_mut(&mut ftl).set_faults(Faults {
                seed: rng.next_u64(),
                program_fail_rate: 0.000_5,
                erase_fail_rate: 0.002,
                bit_errors: Some(FADES),
                ..Faults::default()
            });
            for _ in 0..500 {
                let command = Command::random(&mut rng, rig.logical_pages(), 1);
                let ended = model.run(&mut ftl, command);
                ended.unwrap_or_else(|error| panic!("seed {seed}, turn {turn}: {command:?}: {error}"));
            }
            model.run(&mut ftl, Command::Flush).unwrap_or_else(|error| panic!("seed {seed}, turn {turn}: {error}"));
            let mut chip = PagedRig::into_chip(ftl);
            chip.power_on();
            ftl = rig.mount(chip).unwrap_or_else(|error| panic!("seed {seed}: {error}")).0;
            model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("seed {seed}, mount {turn}: {error}"));
        }
        assert_eq!(PagedRig::chip_of(&ftl).violations(), 0, "seed {seed}");
    }
}

/// Short sessions, each ended by a cut: what a mount reads does not grow, and neither do programs and erases.
#[test]
fn short_sessions() {
    const SESSIONS: usize = 6000;
    let rig = paged([512, 32, 80, 1], 1, 1190, 16);
    let mut ftl = rig.format();
    let mut model = Model::new(rig.logical_pages(), 1);
    let mut rng = Rng::new(1);
    model.fill(&mut ftl);
    let (mut reads, mut before) = (Vec::new(), (0, 0));
    for session in 0..SESSIONS {
        model.run(&mut ftl, Command::Flush).expect("nothing fails");
        let mut chip = PagedRig::into_chip(ftl);
        chip.power_on();
        if session == 1000 {
            before = (chip.counts().programs, chip.counts().erases);
        }
        let start = chip.counts().reads;
        ftl = rig.mount(chip).expect("mounts").0;
        reads.push(PagedRig::chip_of(&ftl).counts().reads - start);
        for _ in 0..10 {
            let page = rng.below(rig.logical_pages());
            model.run(&mut ftl, Command::Write { page, stream: 0 }).expect("nothing fails");
        }
    }
    model.check_exact(&mut ftl).expect("nothing was cut in a program");
    let counts = PagedRig::chip_of(&ftl).counts();
    let a_session = |after: u64, before: u64| (after - before) as f64 / (SESSIONS - 1000) as f64;
    let (programs, erases) = (a_session(counts.programs, before.0), a_session(counts.erases, before.1));
    let most = |sessions: std::ops::Range<usize>| sessions.map(|s| reads[s]).max().expect("some");
    let found = [most(0..500), most(500..SESSIONS)];
    println!("{found:?} reads in a mount, {programs} programs and {erases} erases a session");
    assert!(found[1] <= found[0] + found[0] / 4, "{found:?}");
}

/// Longer sessions, each ended by a cut: the segments without a summary do not become more and more.
#[test]
fn longer_sessions() {
    let rig = paged([512, 32, 150, 1], 1, 3000, 16);
    let mut ftl = rig.format();
    let mut model = Model::new(rig.logical_pages(), 1);
    let mut rng = Rng::new(1);
    model.fill(&mut ftl);
    let mut found = 0;
    for _ in 0..200 {
        for _ in 0..rng.below(200) {
            let page = rng.below(rig.logical_pages());
            model.run(&mut ftl, Command::Write { page, stream: 0 }).expect("nothing fails");
        }
        model.run(&mut ftl, Command::Flush).expect("nothing fails");
        let mut chip = PagedRig::into_chip(ftl);
        chip.power_on();
        let (mounted, report) = rig.mount(chip).expect("mounts");
        ftl = mounted;
        found = found.max(report.open_segments);
    }
    model.check_exact(&mut ftl).expect("nothing was cut in a program");
    println!("at most {found} segments without a summary");
    // Six that hold data, what a session leaves, and those that wait to be erased.
    assert!(found <= 14, "{found}");
}

#[test]
fn every_cut_with_two_entries() {
    prove(&paged([512, 8, 28, 1], 1, 64, 2), 1, 30);
}

#[test]
fn every_cut_with_eight_entries() {
    prove(&paged([512, 8, 28, 1], 1, 64, 8), 2, 45);
}

/// Destroys each page of a chip in turn, and mounts it. `check` gets the page, the device, and what is found of each
/// logical page. Returns how many pages held something.
fn each_page_decayed(
    rig: &PagedRig,
    mut chip: EmuNand,
    model: &Model,
    mut check: impl FnMut(PageAddr, &mut PagedFtl<EmuNand>, &[Found]),
) -> usize {
    chip.power_on();
    let mut decayed = 0;
    for page in (0..rig.profile.blocks * rig.profile.pages_per_block).map(PageAddr) {
        let mut damaged = chip.clone();
        if !damaged.decay(page) {
            continue;
        }
        decayed += 1;
        let (mut ftl, _) = rig.mount(damaged).unwrap_or_else(|error| panic!("{page:?}: {error}"));
        let judge = |lpn| model.judge(&mut ftl, lpn).unwrap_or_else(|error| panic!("{page:?}: {error}"));
        let found: Vec<Found> = (0..rig.logical_pages()).map(judge).collect();
        check(page, &mut ftl, &found);
    }
    decayed
}

/// Of a device that was shut down, each page of the chip is destroyed in turn. A page reads as what it was, or not at
/// all; and a translation page is made anew from the tags.
#[test]
fn any_page_may_decay() {
    let rig = paged([512, 8, 110, 1], 1, 380, 8);
    let (mut ftl, mut rng) = (rig.format(), Rng::new(5));
    let mut model = Model::new(rig.logical_pages(), 1);
    model.fill(&mut ftl);
    for _ in 0..800 {
        let page = rng.below(rig.logical_pages());
        model.run(&mut ftl, Command::Write { page, stream: 0 }).expect("nothing fails");
    }
    model.run(&mut ftl, Command::Shutdown).expect("nothing fails");
    let mut lost = 0;
    let decayed = each_page_decayed(&rig, PagedRig::into_chip(ftl), &model, |page, _, found| {
        assert!(found.iter().all(|found| matches!(found, Found::Newest | Found::Lost)), "{page:?}: {found:?}");
        let lost_here = found.iter().filter(|&&found| found == Found::Lost).count();
        assert!(lost_here <= 1, "{page:?}: {lost_here} pages are lost");
        lost += lost_here;
    });
    assert!(decayed > 600 && lost as u32 == rig.logical_pages(), "{decayed} pages decayed, {lost} were lost");
}

/// The same, of a device whose power was off several times without a shutdown. There a tag is gone with its page, so
/// that an older copy may count.
#[test]
fn any_page_may_decay_behind_a_cut() {
    let rig = paged([512, 8, 60, 1], 1, 120, 2);
    let mut ftl = rig.format();
    let mut model = Model::new(rig.logical_pages(), 1);
    model.fill(&mut ftl);
    for page in 0..40 {
        model.run(&mut ftl, Command::Write { page: page * 7 % 120, stream: 0 }).expect("nothing fails");
        if page % 6 == 5 {
            let mut chip = PagedRig::into_chip(ftl);
            chip.power_on();
            ftl = rig.mount(chip).expect("it mounts").0;
        }
    }
    let decayed = each_page_decayed(&rig, PagedRig::into_chip(ftl), &model, |page, ftl, found| {
        let harmed = found.iter().filter(|&&found| found != Found::Newest).count();
        assert!(harmed <= 1 && !found.contains(&Found::Zeros), "{page:?}: {found:?}");
        let written = model.clone().run(ftl, Command::Write { page: 0, stream: 0 });
        written.unwrap_or_else(|error| panic!("{page:?}: {error}"));
    });
    assert!(decayed > 200, "only {decayed} pages decayed");
}

/// A translation page decays between two shutdowns, and so do the header and the summary of a segment with data. Then
/// any of its pages does. The translation page is made anew from the tags, and what is gone is no hole in it (`cargo
/// xtask canaries map-gaps`).
#[test]
fn what_decays_around_two_shutdowns_is_not_zeros() {
    let rig = paged([512, 8, 17, 1], 1, 12, 40);
    let mut ftl = rig.format();
    let mut model = Model::new(rig.logical_pages(), 1);
    let (header, data, summary, of_map) = (0, 1..7, 7, 17);
    let decay = |ftl: &mut PagedFtl<EmuNand>, page| assert!(PagedRig::chip_of_mut(ftl).decay(PageAddr(page)));
    model.fill(&mut ftl);
    decay(&mut ftl, header);
    model.run(&mut ftl, Command::Shutdown).expect("nothing fails");
    decay(&mut ftl, of_map);
    decay(&mut ftl, summary);
    model.run(&mut ftl, Command::Shutdown).expect("nothing fails");
    let mut lost = 0;
    each_page_decayed(&rig, PagedRig::into_chip(ftl), &model, |page, _, found| {
        if data.contains(&page.0) {
            assert!(!found.contains(&Found::Zeros), "{page:?}: {found:?}");
            lost += found.iter().filter(|&&found| found == Found::Lost).count();
        }
    });
    assert_eq!(lost, data.len(), "each is lost, and no other");
}

/// A translation page names a place that has the mark of a rescue now, and the newer copy of that page decays. The mark
/// has a count in place of a page's number, here that of the page. Its zeros are not served (`cargo xtask canaries
/// any-kind`).
#[test]
fn the_mark_of_a_rescue_is_no_page() {
    let rig = paged([512, 8, 18, 1], 1, 3, 40);
    let mut ftl = rig.format();
    let mut model = Model::new(rig.logical_pages(), 1);
    let write = |page| Command::Write { page, stream: 0 };
    // The discard writes the translation page, once. The mark of a rescue of one page has the count 2.
    for command in [write(2), write(0), Command::Discard { page: 0, count: 1 }, Command::Flush] {
        model.run(&mut ftl, command).expect("nothing fails");
    }
    for session in 0..5 {
        if session > 0 {
            let mut chip = PagedRig::into_chip(ftl);
            chip.power_on();
            ftl = rig.mount(chip).expect("it mounts").0;
        }
        let again = (session == 2).then_some(write(2));
        for command in again.into_iter().chain([write(0), write(1), Command::Flush]) {
            model.run(&mut ftl, command).expect("nothing fails");
        }
    }
    let mut lost = 0;
    each_page_decayed(&rig, PagedRig::into_chip(ftl), &model, |page, _, found| {
        assert_ne!(found[2], Found::Zeros, "{page:?}: {found:?}");
        lost += usize::from(found[2] == Found::Lost);
    });
    assert_eq!(lost, 1, "what the translation page names is the mark");
}

#[test]
fn storms() {
    for seed in 0..seeds() {
        storm(&small(2), seed, 60, 300);
        storm(&small(24), seed, 60, 300);
        storm(&small(2), seed, 150, 12);
        storm(&small(24), seed, 150, 12);
        storm(&paged([2048, 16, 60, 1], 1, 380, 8), seed, 40, 300);
        storm(&paged([512, 6, 200, 2], 2, 380, 5), seed, 40, 100);
        storm_of(&small(24), seed, 60, 60, 4);
    }
}

/// Chips that are as full as they may be: a mount has to make segments free before it serves anything.
#[test]
fn storms_of_mounts() {
    for seed in 0..seeds() {
        storm_of_mounts(&small(2), seed, 60);
        storm_of_mounts(&small(24), seed, 60);
        storm_of_mounts(&paged([512, 5, 42, 1], 1, 25, 3), seed, 60);
        storm_of_mounts(&paged([512, 8, 28, 1], 1, 64, 2), seed, 120);
        storm_of_mounts(&paged([512, 6, 64, 2], 2, 150, 5), seed, 60);
    }
}

/// The same with other policies, some with several open segments of the host's. The chips have one page more than they
/// need, or none.
#[test]
fn storms_of_other_policies() {
    for seed in 0..seeds() {
        storm(&small(24).with(Lfs, SeparateGc), seed, 60, 300);
        storm(&small(2).with(CostBenefit, ByHandle), seed, 150, 12);
        storm(&paged([512, 6, 200, 2], 2, 350, 5).with(Cat, ByHandle), seed, 40, 100);
        storm_of_mounts(&paged([512, 8, 28, 1], 1, 71, 2).with(Greedy, SeparateGc), seed, 60);
        storm_of_mounts(&paged([512, 8, 28, 1], 1, 56, 2).with(Greedy, ByHandle), seed, 60);
        storm_of_mounts(&paged([512, 6, 64, 2], 2, 120, 5).with(Cat, ByHandle), seed, 60);
    }
}

#[test]
fn every_cut_with_three_streams() {
    prove(&paged([512, 8, 28, 1], 1, 56, 2).with(CostBenefit, ByHandle), 3, 30);
}

/// Storms that failed once: an erase left unreadable pages behind the copies of a rescue that a cut had hit, and the
/// rescue seemed to have ended.
#[test]
fn storms_of_mounts_that_were_lost() {
    storm_of_mounts(&paged([512, 8, 28, 1], 1, 71, 2), 85, 60);
}

/// Chips with exactly the segments that are needed. What a cut mount has copied must not keep a segment in use that the
/// next one needs.
#[test]
fn storms_of_mounts_on_full_devices() {
    for rig in [paged([512, 5, 42, 1], 1, 31, 3), paged([512, 16, 35, 1], 1, 280, 2), paged([512, 8, 28, 1], 1, 71, 2)]
    {
        let limits = rig.format().limits();
        assert_eq!(limits.needed_segments, limits.segments, "no page more would fit");
        (0..4 * seeds()).for_each(|seed| storm_of_mounts(&rig, seed, 60));
    }
}
