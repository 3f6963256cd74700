//! Policies of this file, which is no part of the engine, put in force by the simulator.

use wearwell::clean::which::{AgeClock, VictimSelection};
use wearwell::page::Segments;
use wearwell::place::{ClassCount, ClassPlacement, Copied, HostWrite};
use wearwell::{Class, Placement, Rng, Seg};
use wearwell_emu::ChipProfile;
use wearwell_sim::engine::{DataMode, Engine, Layout, OwnPolicies};
use wearwell_sim::run::{Report, RunConfig, RunError, run, run_by};

/// What `separate-gc` does.
#[derive(Debug)]
struct Apart;

impl ClassPlacement for Apart {
    fn host(&mut self, _write: HostWrite<'_>) -> Class {
        Class(0)
    }

    fn copied(&mut self, _copy: Copied) -> Class {
        Class(1)
    }
}

/// What `greedy` does, by looking at every segment.
#[derive(Debug)]
struct Fewest;

impl VictimSelection for Fewest {
    fn added(&mut self, _seg: Seg, _segments: &Segments) {}

    fn invalidated(&mut self, _seg: Seg, _segments: &Segments) {}

    fn removed(&mut self, _seg: Seg, _segments: &Segments) {}

    fn best(&mut self, segments: &Segments, _clock: AgeClock, _rng: &mut Rng) -> Option<Seg> {
        let candidates = segments.all().filter(|&seg| segments.is_candidate(seg));
        candidates.min_by_key(|&seg| (segments.valid(seg), segments.erases(seg), seg.0))
    }

    fn score(&self, seg: Seg, segments: &Segments, _clock: AgeClock) -> f64 {
        f64::from(segments.slots() - segments.valid(seg))
    }
}

const TWO: ClassCount = match ClassCount::new(2) {
    Some(two) => two,
    None => ClassCount::ONE,
};

fn config(layout: Layout) -> RunConfig {
    let chip = ChipProfile::resolve("geometry:4KiB:32:64:2").expect("a geometry");
    let mut config = RunConfig::new(chip, "zipf:0.99".parse().expect("a workload"));
    config.engine.layout = Some(layout);
    config.data = if layout == Layout::Plain { DataMode::None } else { DataMode::Stored };
    config.engine.logical_bytes = Some(6 << 20);
    config
}

/// A report without what the names and the wall clock put into it.
fn done(report: &Report) -> (String, u64, u64) {
    (report.map_digest.clone(), report.copied_pages, report.erases)
}

#[test]
fn policies_from_outside_do_what_those_of_the_engine_do() {
    for layout in [Layout::Plain, Layout::Nand] {
        let mut theirs = config(layout);
        theirs.engine.place = Placement::SeparateGc;
        let theirs = run(&theirs, None, &mut ()).expect("a run");
        let own = OwnPolicies::default().placement("apart", TWO, Apart).victims("fewest", Fewest);
        let ours = run_by(&config(layout), None, own, &mut ()).expect("a run");
        assert_eq!(done(&ours), done(&theirs), "{layout}");
        let named = |report: &Report| (report.config.r#where.clone(), report.config.which.clone());
        assert_eq!(named(&ours), (Some("apart".to_owned()), Some("fewest".to_owned())));
        let single = run(&config(layout), None, &mut ()).expect("a run");
        assert_ne!(done(&single), done(&theirs), "{layout}: the placement changes something");
    }
}

#[test]
fn engines_without_policies_take_none() {
    let mut config = config(Layout::Plain);
    config.engine.ftl = Engine::LogBlock;
    let own = OwnPolicies::default().placement("apart", TWO, Apart);
    let error = run_by(&config, None, own, &mut ()).expect_err("refused");
    assert!(matches!(error, RunError::OwnPolicies(_)), "{error}");
}

/// Says that it has one class, and uses two.
#[test]
#[should_panic(expected = "a placement sorts into the classes that it has")]
fn a_class_that_was_not_announced_is_a_mistake() {
    let own = OwnPolicies::default().placement("apart", ClassCount::ONE, Apart);
    let _ = run_by(&config(Layout::Plain), None, own, &mut ());
}
