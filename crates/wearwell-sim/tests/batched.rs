//! Policies that are asked for many pages or segments at a time do what those do that are asked for each.

use std::collections::HashMap;
use std::io::BufReader;

use wearwell::place::{ClassCount, ClassPlacement, Copied, HostWrite};
use wearwell::{Class, Limits, Lpn, VictimPolicy};
use wearwell_emu::ChipProfile;
use wearwell_sim::engine::{
    BatchPlacement, CandidateColumn, Candidates, CopyRow, DataMode, HostRow, Layout, OwnPolicies, SegmentScores, Victim,
};
use wearwell_sim::run::{Report, RunConfig, run, run_by};
use wearwell_sim::trace::{Trace, parse};

/// Pages written again within so many host pages are hot.
const HOT_WITHIN_PAGES: u64 = 300;

const THREE: ClassCount = match ClassCount::new(3) {
    Some(three) => three,
    None => ClassCount::ONE,
};

/// Class 0 for pages rewritten soon, 1 for others, 2 for copies of old pages.
#[derive(Debug)]
struct OneByOne(Vec<Option<u64>>);

fn class_of(clock: u64, last_write: Option<u64>) -> Class {
    Class(u8::from(last_write.is_none_or(|last| clock - last > HOT_WITHIN_PAGES)))
}

impl ClassPlacement for OneByOne {
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        class_of(write.clock, self.0[write.lpn.0 as usize].replace(write.clock))
    }

    fn copied(&mut self, _copy: Copied) -> Class {
        Class(2)
    }
}

/// The same, in batches. It also checks what it is told against its own notes.
#[derive(Debug)]
struct Many {
    batch_pages: usize,
    clock: u64,
    last_write: HashMap<Lpn, u64>,
    /// False where discards, of which it is not told, make its notes wrong.
    checks: bool,
}

impl Many {
    fn new(batch_pages: usize, checks: bool) -> Self {
        Self { batch_pages, clock: 0, last_write: HashMap::new(), checks }
    }
}

impl BatchPlacement for Many {
    fn start(&mut self, device: &Limits) {
        assert!(device.logical_pages > 0 && device.pages_per_segment > 0);
    }

    fn batch_pages(&self) -> usize {
        self.batch_pages
    }

    fn host(&mut self, rows: &[HostRow], classes: &mut [Class]) {
        for (row, class) in rows.iter().zip(classes) {
            assert_eq!(row.clock, self.clock, "no page is left out");
            self.clock += 1;
            let noted = self.last_write.insert(row.lpn, row.clock);
            assert!(!self.checks || row.last_write == noted, "{row:?}, noted {noted:?}");
            *class = class_of(row.clock, row.last_write);
        }
    }

    fn copied(&mut self, victim: &Victim, rows: &[CopyRow], classes: &mut [Class]) {
        for (row, class) in rows.iter().zip(classes) {
            let last = row.last_write.expect("it was written in this run");
            assert!(last < victim.clock, "{row:?} of {victim:?}: a write that is still to come");
            *class = Class(2);
        }
    }
}

fn config(workload: &str) -> RunConfig {
    let chip = ChipProfile::resolve("geometry:4KiB:32:64:2").expect("a geometry");
    let mut config = RunConfig::new(chip, workload.parse().expect("a workload"));
    config.engine.logical_bytes = Some(6 << 20);
    config
}

/// A report without what the names and the wall clock put into it.
fn done(report: &Report) -> (String, u64, u64) {
    (report.map_digest.clone(), report.copied_pages, report.erases)
}

fn done_by(config: &RunConfig, trace: Option<&Trace>, own: OwnPolicies) -> (String, u64, u64) {
    done(&run_by(config, trace, own, &mut ()).expect("a run"))
}

#[test]
fn batches_of_any_length_do_what_single_pages_do() {
    for (layout, unit_bytes) in [(Layout::Plain, 4096), (Layout::Plain, 16384), (Layout::Nand, 4096)] {
        let mut config = config("zipf:0.99");
        config.engine.layout = Some(layout);
        config.unit_bytes = Some(unit_bytes);
        config.data = if layout == Layout::Plain { DataMode::None } else { DataMode::Stored };
        let one_by_one = OneByOne(vec![None; 6 << 8]);
        let single = done_by(&config, None, OwnPolicies::default().placement("one", THREE, one_by_one));
        for batch_pages in [1, 7, 4096] {
            let many = OwnPolicies::default().batched("many", THREE, Many::new(batch_pages, true));
            assert_eq!(done_by(&config, None, many), single, "{layout}, {batch_pages} pages at a time");
        }
        assert_ne!(done(&run(&config, None, &mut ()).expect("a run")), single, "the placement changes something");
    }
}

/// Requests that are no whole pages, of two streams, with discards and zeros among them.
fn trace(discards: bool) -> Trace {
    let mut text = "time_us,op,offset,length,stream\n".to_owned();
    for at in 0..9000_u64 {
        let (offset, length) = (at * at * 7919 % (6 << 11) * 512, 512 + at % 40 * 512);
        let op = match at % 50 {
            7 if discards => "D",
            9 if discards => "Z",
            11 => "R",
            _ => "W",
        };
        text += &format!("{at},{op},{},{length},{}\n", offset.min((6 << 20) - length), at % 2);
    }
    parse("made", &mut BufReader::new(text.as_bytes())).expect("a trace")
}

#[test]
fn traces_of_parts_of_pages_are_the_same_in_batches_of_any_length() {
    for discards in [false, true] {
        let (config, trace) = (config("trace:made"), trace(discards));
        let of = |batch_pages| OwnPolicies::default().batched("many", THREE, Many::new(batch_pages, !discards));
        let single = done_by(&config, Some(&trace), of(1));
        for batch_pages in [13, 4096] {
            assert_eq!(done_by(&config, Some(&trace), of(batch_pages)), single, "{batch_pages} pages at a time");
        }
    }
}

/// What `greedy` does.
#[derive(Debug)]
struct Fewest {
    victims_per_call: usize,
}

impl SegmentScores for Fewest {
    fn victims_per_call(&self) -> usize {
        self.victims_per_call
    }

    fn scores(&self, now: u64, candidates: &Candidates, scores: &mut [f64]) {
        for (at, score) in scores.iter_mut().enumerate() {
            let of = |column| candidates.column(column)[at];
            let (opened, closed) = (of(CandidateColumn::Opened), of(CandidateColumn::Closed));
            assert!(opened <= closed && closed <= now as i64 && of(CandidateColumn::Invalidated) <= now as i64);
            *score = (of(CandidateColumn::Pages) - of(CandidateColumn::ValidPages)) as f64;
        }
    }
}

#[test]
fn a_score_of_all_segments_does_what_greedy_does() {
    let greedy = config("zipf:0.99");
    assert_eq!(greedy.engine.which, VictimPolicy::Greedy);
    let greedy = run(&greedy, None, &mut ()).expect("a run");
    let scored = |victims_per_call| {
        let own = OwnPolicies::default().scored("fewest", Fewest { victims_per_call });
        run_by(&config("zipf:0.99"), None, own, &mut ()).expect("a run")
    };
    assert_eq!(done(&scored(1)), done(&greedy));
    let eight = scored(8);
    let wa = |report: &Report| report.wa_data;
    assert!(wa(&eight) > wa(&greedy) && wa(&eight) < 1.3 * wa(&greedy), "{} of {}", wa(&eight), wa(&greedy));
}
