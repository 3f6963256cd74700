//! Traces at their recorded times, and runs that are stopped.

use std::cell::Cell;

use wearwell_sim::run::{Pace, Progress, Report, RunConfig, RunError, run};
use wearwell_sim::trace::{Trace, TraceFormat};
use wearwell_sim::{Op, Request};

use crate::{config, refusal};

/// Four pages at once, and one ten seconds later.
fn trace() -> Trace {
    let write = |time_us, page: u64| Request {
        time_us,
        op: Op::Write,
        offset_bytes: page * 2048,
        length_bytes: 2048,
        stream: 0,
    };
    let requests = vec![write(0, 0), write(0, 1), write(0, 2), write(0, 3), write(10_000_000, 4)];
    Trace { format: TraceFormat::Own, requests }
}

fn replayed(pace: Pace) -> Report {
    let config = RunConfig { pace, ..config("w25n01gv", "trace:t") };
    run(&config, Some(&trace()), &mut ()).expect("a run")
}

#[test]
fn requests_come_when_they_were_recorded() {
    let fast = replayed(Pace::Chip);
    assert!(fast.sim_seconds.is_some_and(|seconds| seconds < 0.1), "{fast:?}");
    let [real, tenth] = [1.0, 10.0].map(|speedup| replayed(Pace::Trace { speedup }));
    let seconds = |report: &Report| report.sim_seconds.unwrap_or_default();
    assert!((10.0..10.1).contains(&seconds(&real)) && (1.0..1.1).contains(&seconds(&tenth)));
    assert_eq!((real.config.pace.as_str(), tenth.config.speedup, fast.config.speedup), ("trace", Some(10.0), None));
    // The fourth request waits for three others. In a closed loop nothing waits.
    let slowest = |report: &Report| report.latency_us.map(|latency| latency.max / latency.p50).unwrap_or_default();
    assert!(slowest(&real) > 1.5 && slowest(&fast) < 1.5, "{} {}", slowest(&real), slowest(&fast));
    assert_eq!(real.map_digest, fast.map_digest, "the same is written");
}

#[test]
fn a_pace_that_makes_no_sense_is_refused() {
    let pace = Pace::Trace { speedup: 1.0 };
    let refused = |config: &RunConfig| {
        let error = run(config, Some(&trace()), &mut ()).expect_err("refused");
        assert!(error.is_refusal(), "{error}");
        error
    };
    let of_none = refusal(&RunConfig { pace, ..config("w25n01gv", "random") });
    assert!(matches!(of_none, RunError::PaceWithoutTrace), "{of_none}");
    let untimed = refused(&RunConfig { pace, ..config("geometry:2048:64:256", "trace:t") });
    assert!(matches!(untimed, RunError::PaceWithoutTime { .. }), "{untimed}");
    let pace = Pace::Trace { speedup: 0.0 };
    let stands = refused(&RunConfig { pace, ..config("w25n01gv", "trace:t") });
    assert!(matches!(stands, RunError::Speedup { .. }), "{stands}");
}

/// Stops the run after a number of progress reports.
struct Impatient {
    left: Cell<u32>,
}

impl Progress for Impatient {
    fn is_stopped(&self) -> bool {
        self.left.set(self.left.get().saturating_sub(1));
        self.left.get() == 0
    }
}

#[test]
fn a_run_ends_where_it_is_stopped() {
    let config = RunConfig { write_bytes: Some(1 << 50), ..config("geometry:2048:64:256", "random") };
    let error = run(&config, None, &mut Impatient { left: Cell::new(5) }).expect_err("stopped");
    assert!(matches!(error, RunError::Stopped { phase: "workload", .. }) && !error.is_refusal(), "{error}");
}
