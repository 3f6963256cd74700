//! Placements that know the future, against figures of a model written apart from this one, and against placements that
//! do not know it.
//!
//! The figures are for 262,144 pages, a fill in sequence and twelve passes, of which the second half counts; 1,152
//! segments of 256 pages. The model drew other pages from the same distributions.
//!
//! Each test prints what it measured (`cargo test --test bounds -- --nocapture`).

use std::sync::Arc;

use wearwell::clean::which::Age;
use wearwell::{Placement, Rng, VictimPolicy};
use wearwell_emu::ChipProfile;
use wearwell_sim::Op;
use wearwell_sim::bound::{BoundError, Future, Groups, KnownRate, Recording, Replay, Wanted, ends, search};
use wearwell_sim::engine::{EngineSpec, OwnPolicies};
use wearwell_sim::run::{RunConfig, load, run};
use wearwell_sim::trace::Trace;
use wearwell_sim::workload::{Generator, WorkloadSpec};

/// A stream of writes, and a device that is an eighth spare.
struct Case {
    recording: Recording,
    future: Arc<Future>,
    replay: Replay,
}

impl Case {
    fn new(work: &str, slots: u32) -> Self {
        let pages = 1024 * slots;
        let workload = work.parse().expect("a workload");
        let mut generator = Generator::new(&workload, pages.into(), 4096, 42).expect("pages to draw");
        let mut drawn = vec![0; 12 * pages as usize];
        generator.fill(&mut drawn);
        let recording = Recording::new((0..pages).chain(drawn).collect(), Vec::new(), pages as usize);
        let chip = ChipProfile::resolve(&format!("geometry:4KiB:{slots}:1152")).expect("a geometry");
        let engine = EngineSpec { logical_bytes: Some(u64::from(pages) * 4096), ..EngineSpec::new(chip) };
        Self { future: Future::of(&recording).into(), recording, replay: Replay::new(engine) }
    }

    fn by(&self, which: VictimPolicy, own: OwnPolicies) -> f64 {
        self.replay.wa(&self.recording, which, own).expect("fits")
    }

    fn nodap(&self, future: &Arc<Future>, ends: &[u32]) -> f64 {
        let own = Groups::new(ends.to_vec()).policies(future);
        let replay = self.replay.for_groups().expect("a device");
        replay.wa(&self.recording, VictimPolicy::Greedy, own).expect("fits")
    }

    fn sorted(&self, open: u32) -> f64 {
        self.replay.sorted_runs(&self.recording, &self.future, open).expect("a device").expect("fits")
    }

    fn known_rate(&self) -> f64 {
        let own = OwnPolicies::default().placement("rate", KnownRate::CLASSES, KnownRate::of(&self.recording));
        self.by(VictimPolicy::CostBenefit { age: Age::Sealed }, own)
    }
}

/// Ends of the groups of `nodap:7` on a device of 262,144 pages, searched once, with more and smaller steps than the
/// command takes.
const ZIPF_ENDS: [u32; 6] = [3_981, 30_541, 93_292, 210_030, 367_901, 574_848];
const HOT_ENDS: [u32; 6] = [18_557, 43_570, 90_022, 210_982, 538_277, 854_999];

/// Compares with the model: known rates within 1 %, sorted runs within 3 %.
///
/// The model's `nodap:7` reaches 1.174 and 1.132 with ends that are not known. `most` is 1 % more for 90-10; on Zipf
/// ours needs 2 % more.
fn assert_reference(case: &Case, ends: &[u32], most: f64, model: [f64; 3]) {
    let nodap = case.nodap(&case.future, ends);
    let measured = [case.known_rate(), case.sorted(16), case.sorted(64)];
    println!("nodap:7 {nodap:.3}; known rate, sorted runs 16 and 64: {measured:.3?}, model {model:.3?}");
    assert!(nodap < most, "{nodap}");
    for ((measured, model), tolerance) in measured.into_iter().zip(model).zip([0.01, 0.03, 0.03]) {
        assert!((measured / model - 1.0).abs() < tolerance, "{measured} instead of {model}");
    }
}

#[test]
fn reference_on_zipf() {
    assert_reference(&Case::new("zipf:0.99", 256), &ZIPF_ENDS, 1.195, [2.002, 1.300, 1.006]);
}

#[test]
fn reference_on_90_10() {
    assert_reference(&Case::new("scattered:90/10", 256), &HOT_ENDS, 1.143, [1.960, 1.311, 1.005]);
}

#[test]
fn an_oracle_of_a_shuffled_future_is_worse() {
    let case = Case::new("zipf:0.99", 32);
    let ends = ZIPF_ENDS.map(|end| end / 8);
    let mut rng = Rng::new(7);
    let shuffled = Arc::new(case.future.shuffled(|bound| (rng.next_u64() % u64::from(bound)) as u32));
    let (knows, guesses) = (case.nodap(&case.future, &ends), case.nodap(&shuffled, &ends));
    let single = case.by(VictimPolicy::Greedy, OwnPolicies::default());
    println!("nodap {knows:.3}, of a shuffled future {guesses:.3}, single {single:.3}");
    assert!(knows < 1.5 && guesses > 0.9 * single);
}

#[test]
fn one_group_is_single_to_the_page() {
    let mut case = Case::new("zipf:0.99", 16);
    case.replay = case.replay.for_groups().expect("a device");
    let single = case.by(VictimPolicy::Greedy, OwnPolicies::default());
    assert_eq!(case.nodap(&case.future, &[]).to_bits(), single.to_bits());
    assert_ne!(case.nodap(&case.future, &[1000]).to_bits(), single.to_bits(), "two groups are not one");
}

/// A device of 4,096 pages, an eighth more in flash, of which the host writes twelve times as much.
fn small(work: &str) -> RunConfig {
    let chip = ChipProfile::resolve("geometry:4KiB:16:288").expect("a geometry");
    let mut config = RunConfig::new(chip, work.parse().expect("a workload"));
    config.engine.logical_bytes = Some(16 << 20);
    config.write_bytes = Some(192 << 20);
    config
}

const VICTIMS: [&str; 3] = ["greedy", "cost-benefit:opened", "cost-benefit-settled"];

/// Runs every placement with each of the victim policies, and compares it with the bounds of the same requests.
fn assert_none_beats_the_bound(config: &RunConfig, trace: Option<&Trace>, victims: &[&str]) {
    let work = &config.workload;
    let wanted = Wanted { most_groups: 7, open_segments: vec![4, 16] };
    let bounds = search(config, trace, &wanted, &mut ()).expect("bounds");
    let of = |name: &str| bounds.iter().find(|bound| bound.name == name).expect(name);
    let (single, nodap) = (of("single"), of("nodap:7"));
    assert_eq!((single.gap_closed, nodap.gap_closed), (Some(0.0), Some(1.0)), "{work}");
    assert!(nodap.wa < of("nodap:2").wa && of("sorted-runs:16").wa < of("sorted-runs:4").wa, "{work}");
    let ends = ends(config, trace, &mut ()).expect("ends");
    for (form, _) in Placement::LIST {
        for &which in victims {
            let mut config = config.clone();
            config.engine.place = Placement::parse(form).expect(form);
            config.engine.which = VictimPolicy::parse(which).expect(which);
            let report = run(&config, trace, &mut ()).expect("a run");
            let gap = ends.gap(&report).expect("there is one");
            println!("{work}: {form}, {which}: {:.3}, closes {:.1} %", gap.run, 100.0 * gap.closed);
            assert!(gap.run > nodap.wa && gap.closed < 1.0, "{work}: {form}, {which}");
            assert_eq!((gap.bound, gap.single), (nodap.wa, single.wa), "{work}: the same search");
            let is_single = trace.is_none() && (*form, which) == ("single", "greedy");
            assert!(!is_single || gap.closed.abs() < 1e-9, "{work}: {} and {}", gap.run, single.wa);
        }
    }
}

#[test]
fn no_placement_of_the_list_beats_one_that_knows_the_future() {
    for work in ["zipf:0.99", "scattered:90/10", "random"] {
        assert_none_beats_the_bound(&small(work), None, &VICTIMS);
    }
}

/// A recorded trace without its discards: with them nothing is left to tell apart. The larger ones take one victim
/// policy, because their bounds alone take long enough.
fn assert_none_beats_it_on(name: &str, mib: u64, blocks: u32, victims: &[&str]) {
    let path = format!("{}/../wearwell-cli/traces/{name}-ext4.csv.zst", env!("CARGO_MANIFEST_DIR"));
    let chip = ChipProfile::resolve(&format!("geometry:4KiB:64:{blocks}")).expect("a geometry");
    let mut config = RunConfig::new(chip, WorkloadSpec::Trace(path.into()));
    config.engine.logical_bytes = Some(mib << 20);
    let mut trace = load(&config.workload, None).expect("recorded").expect("a trace");
    trace.requests.retain(|request| request.op != Op::Discard);
    assert_none_beats_the_bound(&config, Some(&trace), victims);
}

#[test]
fn none_beats_it_on_a_recorded_build() {
    assert_none_beats_it_on("build", 96, 432, &VICTIMS);
}

#[test]
fn none_beats_it_on_recorded_mail() {
    assert_none_beats_it_on("postmark", 160, 720, &VICTIMS[2..]);
}

#[test]
fn none_beats_it_on_a_recorded_database() {
    assert_none_beats_it_on("sqlite", 512, 2304, &VICTIMS[2..]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |most_groups, open_segments| {
        let wanted = Wanted { most_groups, open_segments };
        search(&small("random"), None, &wanted, &mut ()).expect_err("refused")
    };
    assert!(matches!(refused(1, vec![]), BoundError::Groups { groups: 1 }));
    assert!(matches!(refused(16, vec![]), BoundError::Groups { groups: 16 }));
    assert!(matches!(refused(2, vec![288]), BoundError::Open { open: 288, segments: 288 }));
    let idle = RunConfig { write_bytes: Some(0), ..small("random") };
    let error = search(&idle, None, &Wanted::default(), &mut ()).expect_err("nothing is written");
    assert!(matches!(error, BoundError::NothingWritten) && error.is_refusal());
}
