//! What placements remember behind a mount, as docs/src/design/placements.md says it, for every policy of the list.
//!
//! An engine runs on a [`Watched`] policy, is stopped, and goes on behind a mount. Beside the policy two others are
//! asked the same: one that was told what the documentation promises, and one that was told nothing.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use wearwell_emu::{ChipProfile, EmuNor, Faults};
use wearwell_flash::{NandGeometry, RamNand};

use crate::addr::{Class, Lpn, Ppn, Sectors, Seg};
use crate::ftl::{BlockDevice, Inspect, Lookup, WriteHint};
use crate::page::log::{Log, NandLog, NorLog};
use crate::page::{PageConfig, PageFtl, Policies};
use crate::place::{
    ClassPlacement, Closed, Copied, Emptying, Found, HostWrite, Opened, PlaceChoice, Placement, Placer, Reclaimed,
    Shape, Wanted,
};
use crate::random::Rng;
use crate::segments::Segments;
use crate::{CleaningTrigger, Reclamation, VictimPolicy, WearLeveling};

const PAGES: u32 = 2000;
const SLOTS: u32 = 14;
const SEGMENTS: u32 = 200;
const PAGE_BYTES: u32 = 512;

/// Pages that the engine writes of its own: the map of discarded pages has one part here.
const OWN_PAGES: u64 = 1;

/// The policies that the table of the documentation says know ages on NAND.
const KNOW_AGES: [&str; 6] = ["sepbit", "frequency", "warcip", "sfs", "multilog", "dogi"];

/// The clock at which each of the host's pages was written, as a mount is expected to tell it; none for one that is
/// not mapped.
type Clocks = Vec<Option<u64>>;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Watch {
    place: Placement,
    expected: &'static [Option<u64>],
}

impl PlaceChoice for Watch {
    type Policy = Watched;

    fn classes(self) -> u32 {
        self.place.classes()
    }

    fn build(self, shape: Shape) -> Watched {
        let [policy, told, untold] = [(); 3].map(|()| self.place.build(shape));
        let (found, opened) = (Vec::new(), vec![None; shape.segments as usize]);
        let (expected, has_a_say) = (self.expected, self.place.has_a_say_in_victims());
        let (answers, unlike_told, unlike_untold) = (0, 0, 0);
        Watched { policy, told, untold, expected, found, opened, has_a_say, answers, unlike_told, unlike_untold }
    }
}

/// A policy, and beside it one that is told what is expected, and one that is not told of any page.
#[derive(Debug)]
struct Watched {
    policy: Placer,
    told: Placer,
    untold: Placer,
    expected: &'static [Option<u64>],
    found: Vec<Found>,
    /// The class of each segment that it was told of.
    opened: Vec<Option<Class>>,
    has_a_say: bool,
    answers: u32,
    unlike_told: u32,
    unlike_untold: u32,
}

impl Watched {
    fn each(&mut self) -> [&mut Placer; 3] {
        [&mut self.policy, &mut self.told, &mut self.untold]
    }

    fn ask<T: PartialEq>(&mut self, ask: impl Fn(&mut Placer) -> T) -> T {
        let [answer, told, untold] = self.each().map(ask);
        self.answers += 1;
        self.unlike_told += u32::from(answer != told);
        self.unlike_untold += u32::from(answer != untold);
        answer
    }

    /// What was found of the host's pages.
    fn found_of_host(&self) -> impl Iterator<Item = Found> {
        self.found.iter().copied().filter(|page| page.lpn.0 < PAGES)
    }

    /// Host pages by which the clock has jumped at the mount.
    fn jump(&self) -> i64 {
        let newest = |clocks: &mut dyn Iterator<Item = u64>| clocks.max().unwrap_or(0) as i64;
        newest(&mut self.found_of_host().map(|page| page.written))
            - newest(&mut self.expected.iter().copied().flatten())
    }
}

impl ClassPlacement for Watched {
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        self.ask(|policy| policy.host(write))
    }

    fn copied(&mut self, copy: Copied) -> Class {
        self.ask(|policy| policy.copied(copy))
    }

    fn wants_victims(&self) -> bool {
        self.policy.wants_victims()
    }

    fn emptying(&mut self, victim: Emptying<'_>) {
        self.each().into_iter().for_each(|policy| policy.emptying(victim));
    }

    fn opened(&mut self, segment: Opened) {
        self.opened[segment.seg.index()] = Some(segment.class);
        self.each().into_iter().for_each(|policy| policy.opened(segment));
    }

    fn closed(&mut self, segment: Closed) {
        self.each().into_iter().for_each(|policy| policy.closed(segment));
    }

    fn found(&mut self, pages: &mut dyn Iterator<Item = Found>) {
        self.found = pages.collect();
        let (jump, of_host) = (self.jump(), (0..).map(Lpn).zip(self.expected));
        let of_host =
            of_host.filter_map(|(lpn, &clock)| Some(Found { lpn, written: clock?.saturating_add_signed(jump) }));
        // The engine's own pages are not the test's to know.
        let own = self.found.iter().copied().filter(|page| page.lpn.0 >= PAGES);
        self.told.found(&mut of_host.chain(own));
        self.policy.found(&mut self.found.iter().copied());
    }

    fn discarded(&mut self, lpn: Lpn) {
        self.each().into_iter().for_each(|policy| policy.discarded(lpn));
    }

    fn reclaimed(&mut self, segment: Reclaimed) {
        self.opened[segment.seg.index()] = None;
        self.each().into_iter().for_each(|policy| policy.reclaimed(segment));
    }

    fn victim(&mut self, segments: &Segments) -> Wanted {
        let wanted = self.ask(|policy| policy.victim(segments));
        assert!(self.has_a_say || wanted == Wanted::Any, "who names victims says that it does");
        wanted
    }

    fn may_take(&self, seg: Seg) -> bool {
        self.policy.may_take(seg)
    }
}

type Ftl<L> = PageFtl<L, (), VictimPolicy, Watch>;

fn config(place: Placement, expected: Clocks) -> PageConfig<VictimPolicy, Watch> {
    let policies = Policies {
        when: CleaningTrigger::DEFAULT,
        which: VictimPolicy::Greedy,
        place: Watch { place, expected: Box::leak(expected.into_boxed_slice()) },
        wear: WearLeveling::None,
        reclaim: Reclamation::AtOnce,
    };
    PageConfig { logical_pages: PAGES, policies, seed: 1, endurance: 100_000 }
}

/// A host that writes to few pages more often than to others, and notes when.
struct Host {
    rng: Rng,
    clock: u64,
    written: Clocks,
}

impl Host {
    fn write<L: Log>(&mut self, ftl: &mut Ftl<L>, lpn: u32) {
        let data = [lpn as u8; PAGE_BYTES as usize];
        ftl.write_page(Lpn(lpn), &data, WriteHint::stream(lpn as u16 % 3)).expect("nothing fails");
        self.written[lpn as usize] = Some(self.clock);
        self.clock += 1;
    }

    fn use_device<L: Log>(&mut self, ftl: &mut Ftl<L>, passes: u32) {
        for _ in 0..passes * PAGES {
            let among = PAGES / [1, 2, 2, 8][self.rng.below(4) as usize];
            let lpn = self.rng.below(among);
            self.write(ftl, lpn);
        }
        for lpn in (0..PAGES).step_by(97) {
            ftl.discard(Sectors { start: lpn.into(), count: 1 }).expect("nothing fails");
            self.written[lpn as usize] = None;
        }
        ftl.flush().expect("nothing fails");
    }
}

/// The class and the opening of the segment that a page lies in; none if the page is not mapped.
type Home = Option<(Class, u64)>;

fn homes<L: Log>(ftl: &Ftl<L>) -> Vec<Home> {
    let table = ftl.segments();
    let home = |at: Ppn| {
        let seg = at.is_some().then(|| Seg(at.0 / ftl.log().shape().slots))?;
        Some((table.class(seg), table.opened(seg)))
    };
    (0..PAGES).map(|lpn| home(ftl.lookup(Lpn(lpn)))).collect()
}

/// A device that was used and stopped, and what was known of it then.
struct Stopped<L> {
    log: L,
    host: Host,
    homes: Vec<Home>,
    is_shut_down: bool,
}

fn stopped<L: Log>(log: L, place: Placement, is_shut_down: bool) -> Stopped<L> {
    let mut ftl = Ftl::format(log, (), config(place, Clocks::new())).expect("it fits");
    let mut host = Host { rng: Rng::new(7), clock: 0, written: vec![None; PAGES as usize] };
    (0..PAGES).for_each(|lpn| host.write(&mut ftl, lpn));
    host.use_device(&mut ftl, 4);
    assert!(ftl.stats().copied_pages > u64::from(PAGES) / 4, "there is something to copy");
    if is_shut_down {
        ftl.shutdown().expect("nothing fails");
    }
    let homes = homes(&ftl);
    Stopped { log: ftl.into_log(), host, homes, is_shut_down }
}

fn nand() -> NandLog<RamNand> {
    let shape = NandGeometry { page_bytes: PAGE_BYTES, pages_per_block: SLOTS + 2, blocks: SEGMENTS, ..RamNand::SMALL };
    NandLog::new(RamNand::new(shape), 1).expect("it fits")
}

fn nor() -> NorLog<EmuNor> {
    let text = alloc::format!(
        "description = 'a NOR chip'\nsource = 'tests'\nkind = 'nor'\npage_bytes = {PAGE_BYTES}\n\
         pages_per_block = {SLOTS}\nblock_bytes = {}\nblocks = {SEGMENTS}\nbanks = 1\nlogical_bytes = {}\n\
         endurance_cycles = 100000\n",
        (SLOTS + 1) * PAGE_BYTES,
        PAGES * PAGE_BYTES
    );
    let profile = ChipProfile::from_toml_str("nor", &text).expect("a profile");
    let chip = EmuNor::in_memory(&profile, Faults::default()).expect("a chip");
    NorLog::new(chip, SLOTS, PAGE_BYTES).expect("it fits")
}

/// Mounts a device, looks at what the mount has told the placement, and lets the host go on. Returns the policies, and
/// how much their answers differ since.
fn gone_on<L: Log>(place: Placement, stopped: Stopped<L>, expected: Clocks) -> Ftl<L> {
    let Stopped { log, mut host, homes, is_shut_down } = stopped;
    let (mut ftl, report) = Ftl::mount(log, (), config(place, expected)).expect("it mounts");
    assert_eq!(report.clean, is_shut_down);
    if is_shut_down {
        let class = |homes: &[Home]| homes.iter().map(|home| home.map(|(class, _)| class)).collect::<Vec<_>>();
        assert_eq!(class(&homes), class(&self::homes(&ftl)), "{place}: the class of each page");
    }
    let table = ftl.segments();
    let in_use = table.all().map(|seg| table.state(seg).is_in_use().then(|| table.class(seg)));
    assert_eq!(ftl.cleaner.alloc().placement().opened, in_use.collect::<Vec<_>>(), "{place}: segments in use");
    host.use_device(&mut ftl, 3);
    ftl
}

/// The clocks at which the segments of pages were opened.
fn openings(homes: &[Home]) -> Clocks {
    homes.iter().map(|home| home.map(|(_, opened)| opened)).collect()
}

/// Each page's clock as found, beside the expected one.
fn found_and_expected(watched: &Watched) -> Vec<(u64, u64)> {
    let found: Vec<Found> = watched.found_of_host().collect();
    let is_mapped = |lpn: &Lpn| watched.expected[lpn.0 as usize].is_some();
    let mapped: Vec<Lpn> = (0..PAGES).map(Lpn).filter(is_mapped).collect();
    assert_eq!(found.iter().map(|page| page.lpn).collect::<Vec<_>>(), mapped, "all mapped pages, and no others");
    let jump = watched.jump();
    let expected = |lpn: Lpn| watched.expected[lpn.0 as usize].unwrap_or_default().saturating_add_signed(jump);
    found.iter().map(|page| (page.written, expected(page.lpn))).collect()
}

#[test]
fn a_scan_tells_when_each_page_was_written() {
    for (log, is_shut_down) in [(nand(), false), (nand(), true), (nand().with_checkpoint(), false)] {
        let stopped = stopped(log, Placement::SeparateGc, is_shut_down);
        let written = stopped.host.written.clone();
        let ftl = gone_on(Placement::SeparateGc, stopped, written);
        let watched = ftl.cleaner.alloc().placement();
        // The clock begins behind the last full segment: an open one does not say when it was opened.
        assert!(watched.jump().unsigned_abs() <= u64::from(SLOTS), "a jump by {}", watched.jump());
        for (found, expected) in found_and_expected(watched) {
            assert!(found.abs_diff(expected) <= OWN_PAGES, "{found} is not {expected}");
        }
    }
}

/// The host's pages count as older, by no more than the time that their segment took to fill. Copies count as younger.
#[test]
fn a_checkpoint_tells_when_each_segment_was_opened() {
    let stopped = stopped(nand().with_checkpoint(), Placement::SeparateGc, true);
    let (written, homes) = (stopped.host.written.clone(), stopped.homes.clone());
    let ftl = gone_on(Placement::SeparateGc, stopped, openings(&homes));
    let watched = ftl.cleaner.alloc().placement();
    assert_eq!(watched.jump(), 0);
    assert!(found_and_expected(watched).iter().all(|(found, expected)| found == expected));
    let (mut younger, mut copies) = (0, 0);
    for (written, home) in written.into_iter().zip(homes) {
        let Some((written, (class, opened))) = written.zip(home) else { continue };
        if class == Class(0) {
            assert!(opened <= written + OWN_PAGES, "the host wrote into a segment that was open");
        } else {
            (younger, copies) = (younger + u32::from(opened > written), copies + 1);
        }
    }
    assert!(copies > PAGES / 2 && younger > copies * 9 / 10, "{younger} of {copies} copies count as younger");
}

/// Under `falling` the headers and the table have microseconds.
#[test]
fn a_mount_tells_no_time_to_come() {
    let mut config = config(Placement::SepBit, Clocks::new());
    config.policies.when = CleaningTrigger::parse("falling:12:455").expect("listed");
    for is_shut_down in [true, false] {
        let mut ftl = Ftl::format(nand().with_checkpoint(), (), config).expect("it fits");
        ftl.set_time_us(1 << 40);
        for lpn in 0..PAGES {
            ftl.write_page(Lpn(lpn), &[1; PAGE_BYTES as usize], WriteHint::NONE).expect("nothing fails");
        }
        if is_shut_down {
            ftl.shutdown().expect("nothing fails");
        }
        let (ftl, report) = Ftl::mount(ftl.into_log(), (), config).expect("it mounts");
        let found = &ftl.cleaner.alloc().placement().found;
        assert!(report.clean == is_shut_down && found.len() >= PAGES as usize);
        assert!(found.iter().all(|page| page.written <= u64::from(PAGES) + OWN_PAGES));
    }
}

fn assert_remembers<L: Log>(place: Placement, stopped: Stopped<L>, expected: Clocks, knows_ages: bool) {
    let ftl = gone_on(place, stopped, expected);
    let &Watched { answers, unlike_told, unlike_untold, .. } = ftl.cleaner.alloc().placement();
    assert!(answers > PAGES, "{place}: {answers} answers");
    assert_eq!(unlike_told, 0, "{place}: answers that do not follow from what it should remember");
    assert!(!knows_ages || unlike_untold > answers / 100, "{place}: {unlike_untold} of {answers} need ages of pages");
}

#[test]
fn placements_remember_what_the_documentation_says() {
    for &(form, _) in Placement::LIST {
        let place = Placement::parse(form).expect("listed");
        let knows_ages = KNOW_AGES.contains(&crate::names::base(form));
        let scanned = stopped(nand(), place, false);
        let written = scanned.host.written.clone();
        assert_remembers(place, scanned, written, knows_ages);
        let shut_down = stopped(nand().with_checkpoint(), place, true);
        let opened = openings(&shut_down.homes);
        assert_remembers(place, shut_down, opened, knows_ages);
        let on_nor = gone_on(place, stopped(nor(), place, false), Clocks::new());
        let on_nor = on_nor.cleaner.alloc().placement();
        assert!(on_nor.found.is_empty() && on_nor.unlike_untold == 0, "{place}: NOR knows no times");
    }
}
