//! Write amplification against theory: under uniform random writes the engine agrees with the closed forms, and with
//! two other simulators.
//!
//! Each test prints a table of measured and expected figures (`cargo test --test closed_forms -- --nocapture`).

use std::fmt::Write as _;

use wearwell::page::log::Counted;
use wearwell::page::{PageConfig, PageFtl, Policies};
use wearwell::{BlockDevice, CleaningTrigger, Inspect, Lpn, VictimPolicy, WriteHint};
use wearwell_emu::{ChipProfile, CountChip};
use wearwell_sim::plain::PlainLog;
use wearwell_sim::run::{RunConfig, run};
use wearwell_sim::theory;
use wearwell_sim::workload::{Generator, WorkloadSpec};

/// Pages of a segment.
const PAGES: u32 = 256;

/// The watermark at which cleaning stops. This number of segments holds no data.
const HIGH: u32 = 4;

fn chip(segments: u32) -> ChipProfile {
    let name = format!("geometry:4096:{PAGES}:{segments}");
    ChipProfile::resolve(&name).expect("a geometry")
}

fn which(name: &str) -> VictimPolicy {
    VictimPolicy::parse(name).expect(name)
}

/// A page-mapped device in layout `plain` over a chip that counts, and a host that writes to it.
struct Device {
    ftl: PageFtl<PlainLog<CountChip, Counted>>,
    host: Generator,
    logical_pages: u32,
}

impl Device {
    /// A device written once in sequence.
    fn filled(which: VictimPolicy, workload: &str, segments: u32, logical_pages: u32) -> Self {
        let when = CleaningTrigger::parse("watermark:3:4").expect("a watermark");
        let policies = Policies { when, which, ..Policies::default() };
        let config = PageConfig { logical_pages, policies, seed: 1, endurance: u32::MAX };
        let log = PlainLog::with_payload(CountChip::new(&chip(segments)), 1);
        let mut ftl = PageFtl::format(log, (), config).expect("fits");
        for lpn in 0..logical_pages {
            ftl.write_page(Lpn(lpn), &[], WriteHint::NONE).expect("room");
        }
        let workload: WorkloadSpec = workload.parse().expect(workload);
        let host = Generator::new(&workload, u64::from(logical_pages), 4096, 7).expect("a generator");
        Self { ftl, host, logical_pages }
    }

    /// Writes as many pages as the device has, `passes` times. `place` maps each drawn page to a page of the device.
    fn overwrite(&mut self, passes: u32, place: impl Fn(u32) -> u32) {
        let mut batch = [0; 64];
        for _ in 0..(u64::from(passes) * u64::from(self.logical_pages)).div_ceil(64) {
            self.host.fill(&mut batch);
            for page in batch {
                self.ftl.write_page(Lpn(place(page)), &[], WriteHint::NONE).expect("room");
            }
        }
    }

    /// `wa_data` of some passes after a warm-up.
    fn settled_wa(&mut self, warm_up_passes: u32, passes: u32) -> f64 {
        self.overwrite(warm_up_passes, |page| page);
        self.ftl.reset_stats();
        self.overwrite(passes, |page| page);
        let stats = self.ftl.stats();
        assert_eq!(stats.urgent_pages, 0, "the reserve was touched, which overrides the policy");
        stats.wa_data()
    }
}

/// Measured figures beside expected ones.
struct Table {
    text: String,
    tolerance: f64,
    worst: f64,
}

impl Table {
    fn new(title: &str, tolerance: f64) -> Self {
        let text = format!("{title}, within {:.1} %\n", 100.0 * tolerance);
        Self { text, tolerance, worst: 0.0 }
    }

    fn row(&mut self, name: &str, measured: f64, expected: f64) {
        let off = measured / expected - 1.0;
        let percent = 100.0 * off;
        writeln!(self.text, "  {name:<28} measured {measured:8.4}  expected {expected:8.4}  {percent:+6.2} %")
            .expect("a string takes it");
        // Written so that NaN fails.
        self.worst = if off.abs() <= self.worst { self.worst } else { off.abs() };
    }

    fn check(self) {
        println!("{}", self.text);
        assert!(self.worst <= self.tolerance, "{}", self.text);
    }
}

/// One policy at each over-provisioning (T−U)/U, T being all pages but those of `HIGH` segments.
fn assert_closed_form(name: &str, segments: u32, expected: impl Fn(f64) -> f64) {
    let mut table = Table::new(&format!("{name}, uniform random, {segments} segments of {PAGES}"), 0.01);
    for op_percent in [7.0, 12.5, 20.0, 28.0] {
        let usable_pages = (segments - HIGH) * PAGES;
        let logical_pages = (f64::from(usable_pages) / (1.0 + op_percent / 100.0)) as u32;
        let alpha = f64::from(usable_pages) / f64::from(logical_pages);
        let wa = Device::filled(which(name), "random", segments, logical_pages).settled_wa(4, 4);
        table.row(&format!("OP {op_percent} %"), wa, expected(alpha));
    }
    table.check();
}

#[test]
fn fifo_keeps_its_closed_form() {
    assert_closed_form("fifo", 1024, theory::fifo);
}

#[test]
fn greedy_keeps_its_closed_form() {
    assert_closed_form("greedy", 1024, |alpha| theory::greedy(alpha, PAGES));
}

/// Victims differ more than with other policies, so small devices deviate more. This test has more segments.
#[test]
fn random_keeps_its_closed_form() {
    assert_closed_form("random", 2048, theory::random);
}

#[test]
fn d_choices_keep_the_mean_field() {
    let mut table = Table::new("d-choices, uniform random, T/U = 1.125, 256 pages a segment", 0.02);
    let logical_pages = 8 * 128 * PAGES;
    let segments = 9 * 128 + HIGH;
    for (name, expected) in [("d-choices:2", 6.32), ("d-choices:10", 4.73)] {
        let wa = Device::filled(which(name), "random", segments, logical_pages).settled_wa(4, 4);
        table.row(name, wa, expected);
    }
    table.check();
}

#[test]
fn a_sequential_overwrite_copies_nothing() {
    for name in ["greedy", "greedy-first", "fifo", "cost-benefit", "lfs", "cat"] {
        let workload = "sequential".parse().expect("a workload");
        let mut config = RunConfig::new(chip(288), workload);
        config.engine.which = which(name);
        let report = run(&config, None, &mut ()).expect("a run");
        assert_eq!((report.wa_data, report.wa_total, report.copied_pages), (1.0, 1.0, 0), "{name}");
        assert_eq!(report.host_pages, 4 * report.config.logical_pages, "{name}");
    }
}

/// Write amplification of a fill and twelve passes, the fill included, on which two other simulators agree: 262,144
/// logical pages, 1,152 segments of 256.
///
/// Popular pages are scattered, as in those simulators. If the hot tenth were the first one, the sequential fill would
/// keep it together: the first pass of 90/10 would cost 2.0 with greedy instead of 5.4, which makes 5.09 overall. Later
/// passes are the same.
fn assert_other_simulators(name: &str, uniform: f64, hot: f64, zipf: f64) {
    const LOGICAL_PAGES: u32 = 1 << 18;
    // A bijection, since the factor is odd.
    let scatter = |page: u32| page.wrapping_mul(101_159) % LOGICAL_PAGES;
    let mut table = Table::new(&format!("{name}, fill and 12 passes"), 0.015);
    for (workload, expected) in [("random", uniform), ("hot:90/10", hot), ("zipf:0.99", zipf)] {
        let mut device = Device::filled(which(name), workload, 1152, LOGICAL_PAGES);
        device.overwrite(12, scatter);
        table.row(workload, device.ftl.stats().wa_data(), expected);
    }
    table.check();
}

#[test]
fn greedy_agrees_with_other_simulators() {
    assert_other_simulators("greedy", 4.42, 5.34, 6.43);
}

#[test]
fn fifo_agrees_with_other_simulators() {
    assert_other_simulators("fifo", 4.50, 5.39, 6.67);
}
