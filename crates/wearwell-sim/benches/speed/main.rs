//! How fast the engine is, beside a bare loop that does nothing else, in the same run; and how fast other policies are,
//! beside greedy.
//!
//! `cargo bench -p wearwell-sim --bench speed -- [BITS…] [policies]`: 2^BITS logical pages each, and a table of
//! policies. By default 18, 22 and 26, of which the last takes about 1.2 GiB and some minutes, and the policies.
//!
//! Uniform random writes to a full device in layout `plain`, over a chip that counts and takes no time; in one row it
//! has the times of `lee-k9l8g08u0m`, so that each operation is entered in a timeline. In another one it cleans under
//! `watermark:2:3`, so that each victim is chosen in an emergency. One ninth of the physical pages is spare. Segments
//! have 512 pages; in the table of policies 64, so that the choice of a victim takes a large part of the time. All
//! contestants of a table are filled and overwritten twice. Then they take turns for some windows, and the table shows
//! the medians. Ratios are of processor time, so that a busy machine changes them less.

mod bare;
mod stopwatch;

use std::hint::black_box;

use wearwell::page::log::Counted;
use wearwell::page::{PageConfig, PageFtl, Policies};
use wearwell::{BlockDevice, CleaningTrigger, Inspect, Lpn, Placement, Rng, VictimPolicy, WriteHint};
use wearwell_emu::{ChipProfile, CountChip};
use wearwell_sim::plain::PlainLog;

use bare::{Bare, SLOTS};
use stopwatch::{Took, took};

/// Host pages between two gathers.
const BATCH: usize = 64;

/// Host pages of a window.
const WINDOW_PAGES: u64 = 1 << 20;

/// Windows of each contestant.
const WINDOWS: usize = 9;

/// Times that each page is overwritten before it counts.
const WARM_UP_PASSES: u64 = 2;

/// The profile whose times the engine of the last row takes.
const TIMED_CHIP: &str = "lee-k9l8g08u0m";

/// Victim policies and placements that are compared with the first of them, and the numbers of segments.
const POLICIES: [(&str, &str); 6] = [
    ("greedy", "single"),
    ("cost-benefit", "single"),
    ("lfs", "single"),
    ("cat", "single"),
    ("cost-benefit", "dac:6"),
    ("cost-benefit", "sepbit"),
];
const POLICIES_SEGMENTS: [u32; 2] = [1 << 14, 1 << 18];
const POLICIES_SLOTS: u32 = 64;

/// Cleaning begins so late that each victim is taken in an emergency.
const URGENT: &str = "watermark:2:3";

/// Something that takes host pages.
trait Contestant {
    fn write(&mut self, pages: &[u32]);
    /// Pages programmed so far.
    fn programmed(&self) -> u64;
    fn table_bytes(&self) -> u64;
}

/// Read-modify-writes of a map and nothing more: what memory allows.
struct MapAlone(Vec<u32>);

impl Contestant for MapAlone {
    fn write(&mut self, pages: &[u32]) {
        black_box(pages.iter().fold(0_u32, |sum, &page| sum.wrapping_add(self.0[page as usize])));
        for &page in pages {
            self.0[page as usize] = self.0[page as usize].wrapping_add(1);
        }
    }

    fn programmed(&self) -> u64 {
        0
    }

    fn table_bytes(&self) -> u64 {
        self.0.len() as u64 * 4
    }
}

impl Contestant for Bare {
    fn write(&mut self, pages: &[u32]) {
        self.write(pages);
    }

    fn programmed(&self) -> u64 {
        self.programmed
    }

    fn table_bytes(&self) -> u64 {
        self.table_bytes() as u64
    }
}

type Engine = PageFtl<PlainLog<CountChip, Counted>>;

impl Contestant for Engine {
    fn write(&mut self, pages: &[u32]) {
        let mut lpns = [Lpn(0); BATCH];
        let lpns = &mut lpns[..pages.len()];
        for (lpn, &page) in lpns.iter_mut().zip(pages) {
            *lpn = Lpn(page);
        }
        self.expect_writes(lpns);
        for &lpn in lpns.iter() {
            self.write_page(lpn, &[], WriteHint::NONE).expect("room");
        }
    }

    fn programmed(&self) -> u64 {
        self.stats().programmed_pages()
    }

    fn table_bytes(&self) -> u64 {
        self.limits().table_bytes
    }
}

/// A chip that takes no time.
fn chip(segments: u32, slots: u32) -> ChipProfile {
    ChipProfile::resolve(&format!("geometry:4096:{slots}:{segments}")).expect("a geometry")
}

/// An engine over `chip`, where a segment is a block.
fn engine(which: &str, place: &str, when: CleaningTrigger, logical_pages: u32, chip: &ChipProfile) -> Box<Engine> {
    let which = VictimPolicy::parse(which).expect(which);
    let place = Placement::parse(place).expect(place);
    let policies = Policies { which, place, when, ..Policies::default() };
    let config = PageConfig { logical_pages, policies, seed: 1, endurance: u32::MAX };
    Box::new(PageFtl::format(PlainLog::with_payload(CountChip::new(chip), 1), (), config).expect("fits"))
}

/// A contestant and its measurements.
struct Lane {
    name: String,
    contestant: Box<dyn Contestant>,
    host: Rng,
    windows: Vec<Took>,
    programmed: u64,
}

impl Lane {
    /// Filled and warmed up.
    fn new(name: &str, mut contestant: Box<dyn Contestant>, logical_pages: u32) -> Self {
        let all: Vec<u32> = (0..logical_pages).collect();
        all.chunks(BATCH).for_each(|pages| contestant.write(pages));
        let mut lane =
            Self { name: name.to_owned(), contestant, host: Rng::new(7), windows: Vec::new(), programmed: 0 };
        lane.overwrite(WARM_UP_PASSES * u64::from(logical_pages), logical_pages);
        lane
    }

    fn overwrite(&mut self, pages: u64, logical_pages: u32) {
        let mut batch = [0; BATCH];
        for _ in 0..pages / BATCH as u64 {
            batch.fill_with(|| self.host.below(logical_pages));
            self.contestant.write(&batch);
        }
    }

    fn window(&mut self, logical_pages: u32) {
        let before = self.contestant.programmed();
        let took = took(|| self.overwrite(WINDOW_PAGES, logical_pages));
        self.programmed += self.contestant.programmed() - before;
        self.windows.push(took);
    }

    fn wa(&self) -> f64 {
        self.programmed as f64 / (WINDOW_PAGES as f64 * self.windows.len() as f64)
    }

    /// Millions of host pages a second.
    fn host_pages(&self) -> f64 {
        median(self.windows.iter().map(|window| WINDOW_PAGES as f64 / window.wall_seconds / 1e6))
    }

    /// Median over the windows of `other`'s time over this one's in the same turn.
    fn speed_against(&self, other: &Lane) -> f64 {
        median(self.windows.iter().zip(&other.windows).map(|(own, others)| others.cpu_seconds / own.cpu_seconds))
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// All contestants of a size, one row each.
fn measure(bits: u32) {
    let logical_pages = 1_u32 << bits;
    // One ninth is spare.
    let segments = (u64::from(logical_pages) * 9 / 8).div_ceil(SLOTS as u64) as u32;
    let physical_pages = segments as usize * SLOTS;
    let mut lanes = vec![
        Lane::new("map alone", Box::new(MapAlone(vec![0; logical_pages as usize])), logical_pages),
        Lane::new("bare loop", Box::new(Bare::new(logical_pages as usize, segments as usize)), logical_pages),
    ];
    let chip = chip(segments, SLOTS as u32);
    let times = ChipProfile::by_name(TIMED_CHIP).expect("a profile").times;
    let timed = ChipProfile { times, ..chip.clone() };
    let urgent = CleaningTrigger::parse(URGENT).expect(URGENT);
    for (name, when, chip) in [
        ("engine, greedy", CleaningTrigger::DEFAULT, &chip),
        ("the same, emergency", urgent, &chip),
        ("the same, timed", CleaningTrigger::DEFAULT, &timed),
    ] {
        lanes.push(Lane::new(name, engine("greedy", "single", when, logical_pages, chip), logical_pages));
    }
    for _ in 0..WINDOWS {
        lanes.iter_mut().for_each(|lane| lane.window(logical_pages));
    }
    println!("\n2^{bits} logical pages, {segments} segments of {SLOTS}");
    println!(
        "{:<22}{:>14}{:>16}{:>8}{:>18}{:>12}",
        "", "M host pages/s", "M programmed/s", "WA", "bytes/phys. page", "x bare loop"
    );
    for lane in &lanes {
        let host = lane.host_pages();
        println!(
            "{:<22}{host:>14.2}{:>16.1}{:>8.3}{:>18.2}{:>12.3}",
            lane.name,
            host * lane.wa(),
            lane.wa(),
            lane.contestant.table_bytes() as f64 / physical_pages as f64,
            lane.speed_against(&lanes[1]),
        );
    }
}

/// The policies on so many segments, one row each.
fn compare_policies(segments: u32) {
    let logical_pages = POLICIES_SLOTS * segments / 9 * 8;
    let lane = |&(which, place): &(&str, &str)| {
        let engine = engine(which, place, CleaningTrigger::DEFAULT, logical_pages, &chip(segments, POLICIES_SLOTS));
        Lane::new(&format!("{which}, {place}"), engine, logical_pages)
    };
    let mut lanes: Vec<Lane> = POLICIES.iter().map(lane).collect();
    for _ in 0..WINDOWS {
        lanes.iter_mut().for_each(|lane| lane.window(logical_pages));
    }
    println!("\n{segments} segments of {POLICIES_SLOTS}");
    println!(
        "{:<26}{:>14}{:>16}{:>8}{:>18}{:>18}{:>18}",
        "", "M host pages/s", "M programmed/s", "WA", "bytes/phys. page", "x greedy, host", "x greedy, prog."
    );
    for lane in &lanes {
        let (host, wa, ratio) = (lane.host_pages(), lane.wa(), lane.speed_against(&lanes[0]));
        println!(
            "{:<26}{host:>14.2}{:>16.1}{wa:>8.3}{:>18.2}{ratio:>18.3}{:>18.3}",
            lane.name,
            host * wa,
            lane.contestant.table_bytes() as f64 / f64::from(segments * POLICIES_SLOTS),
            ratio * wa / lanes[0].wa(),
        );
    }
}

fn main() {
    // Cargo adds an argument of its own.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let sizes: Vec<u32> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    let sizes = if args.is_empty() { vec![18, 22, 26] } else { sizes };
    for bits in sizes {
        assert!((14..=30).contains(&bits), "2^{bits} logical pages: between 2^14 and 2^30 can be measured");
        measure(bits);
    }
    if args.is_empty() || args.iter().any(|arg| arg == "policies") {
        POLICIES_SEGMENTS.into_iter().for_each(compare_policies);
    }
}
