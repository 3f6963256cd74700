//! How much could be saved: what placements that know the future would cost on the same requests.
//!
//! [`search`] runs the requests once and records the pages as the engine places them ([`Recording`]). One backward pass
//! says when each of them dies ([`Future`]). Then the same pages are written again, on the same device in its `plain`
//! layout, by placements that are fed that future. They are policies from outside
//! ([`OwnPolicies`]): the engine knows nothing of the future.
//!
//! | name | what it knows | what it is |
//! | --- | --- | --- |
//! | `single` | nothing | greedy, with one open segment: where the gap begins |
//! | `known-rate` | how often each page is written | a goal for placements that learn, if the workload stays the same |
//! | `nodap:N` | when each page dies | N groups by remaining life, after DOGI's NoDaP |
//! | `sorted-runs:R` | when each page dies | R segments' worth of writes are held back, sorted and written at once |
//!
//! None of them is a strict bound: with the same knowledge, another placement may do better.
//!
//! Write amplification is that of the second half of the recorded pages, as copies for each page that is programmed for
//! the host. Where the write buffer joins parts of pages, reports count less, because they count for each page that the
//! host touched.

mod future;
mod known_rate;
mod nodap;
mod recording;
mod replay;
mod sorted_runs;

use serde::Serialize;
use thiserror::Error;
use wearwell::clean::which::Age;
use wearwell::{Placement, VictimPolicy, WearLeveling};

pub use future::Future;
pub use known_rate::KnownRate;
pub use nodap::{Groups, LastGroupFirst, Nodap};
pub use recording::Recording;
pub use replay::Replay;

use crate::engine::{Engine, OwnPolicies};
use crate::run::{Gap, Progress, Report, RunConfig, RunError, Window};
use crate::trace::Trace;

/// Groups of the bound that [`Gap`] is measured with.
pub const GAP_GROUPS: u32 = 7;

/// What is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The most groups of `nodap`: from 2 to 15.
    pub most_groups: u32,
    /// Numbers of open segments for `sorted-runs`, each at least 1. With none, they are those of
    /// [`OPEN_SEGMENTS`](Self::OPEN_SEGMENTS) that the device has room for.
    pub open_segments: Vec<u32>,
}

impl Wanted {
    /// Numbers of open segments where none are named.
    pub const OPEN_SEGMENTS: [u32; 4] = [8, 16, 32, 64];
}

impl Default for Wanted {
    fn default() -> Self {
        Self { most_groups: 8, open_segments: Vec::new() }
    }
}

/// Why there is no bound.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BoundError {
    /// A number of groups that makes no sense.
    #[error("--groups {groups} makes no sense: it must be from 2 to {}", Groups::MOST)]
    Groups {
        /// The number asked for.
        groups: u32,
    },
    /// A number of open segments that makes no sense.
    #[error("--open {open} makes no sense: the device has {segments} segments")]
    Open {
        /// The number asked for.
        open: u32,
        /// Segments of the device.
        segments: u32,
    },
    /// The engine asked for does not map pages.
    #[error("--ftl {ftl} has no bounds: they are for page mapping, --ftl page")]
    NotPageMapping {
        /// The engine asked for.
        ftl: Engine,
    },
    /// Nothing was written.
    #[error("the workload writes no page, so that there is nothing to bound")]
    NothingWritten,
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl BoundError {
    /// True if what was asked for makes no sense.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Run(error) => error.is_refusal(),
            _ => true,
        }
    }
}

/// One placement and its cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bound {
    /// Its name, as in the [table](self).
    pub name: String,
    /// A line about it.
    pub about: &'static str,
    /// Write amplification of the second half.
    pub wa: f64,
    /// Part of the gap between `single` and the best `nodap` that it closes; null where there is no gap.
    pub gap_closed: Option<f64>,
    /// The greatest remaining life of each group but the last, in host pages; empty for others than `nodap`.
    pub group_ends: Vec<u32>,
}

/// Part of the gap from `single` to `bound` that `wa` closes; none if there is none.
fn closed(single: f64, bound: f64, wa: f64) -> Option<f64> {
    (single > bound).then(|| (single - wa) / (single - bound))
}

/// The ends of the gap on one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Ends {
    single: f64,
    bound: f64,
}

impl Ends {
    /// True if the bound saves something.
    pub fn are_apart(&self) -> bool {
        self.single > self.bound
    }

    /// The gap that a run leaves; none if there is no gap, or if the run has no second half.
    pub fn gap(&self, report: &Report) -> Option<Gap> {
        let run = report.second_half.as_ref().and_then(copies_for_each)?;
        let closed = closed(self.single, self.bound, run)?;
        Some(Gap { single: self.single, name: format!("nodap:{GAP_GROUPS}"), bound: self.bound, run, closed })
    }
}

/// Write amplification by pages that were programmed for the host; none if there were none.
fn copies_for_each(window: &Window) -> Option<f64> {
    (window.host_programs > 0).then(|| 1.0 + window.copied_pages as f64 / window.host_programs as f64)
}

/// A recorded workload, and the device to write it to.
#[derive(Debug)]
struct Bench {
    recording: Recording,
    future: std::sync::Arc<Future>,
    replay: Replay,
    replay_of_groups: Replay,
}

impl Bench {
    fn new(config: &RunConfig, trace: Option<&Trace>, progress: &mut dyn Progress) -> Result<Self, BoundError> {
        let mut config = config.clone();
        // `ends` also takes runs of other engines. Which pages are written does not depend on how they are placed.
        config.engine.ftl = Engine::Page;
        config.engine.place = Placement::Single;
        config.engine.which = VictimPolicy::Greedy;
        config.engine.wear = Some(WearLeveling::None);
        let recording = Recording::of(&config, trace, progress)?;
        // Each half needs a page.
        if recording.counted_pages() < 2 {
            return Err(BoundError::NothingWritten);
        }
        let future = Future::of(&recording).into();
        let replay = Replay::new(config.engine);
        Ok(Self { recording, future, replay_of_groups: replay.for_groups()?, replay })
    }

    fn single(&self) -> Result<f64, BoundError> {
        Ok(self.replay.wa(&self.recording, VictimPolicy::Greedy, OwnPolicies::default())?)
    }

    fn known_rate(&self) -> Result<f64, BoundError> {
        let place = KnownRate::of(&self.recording);
        let own = OwnPolicies::default().placement("known-rate", KnownRate::CLASSES, place);
        Ok(self.replay.wa(&self.recording, VictimPolicy::CostBenefit { age: Age::Sealed }, own)?)
    }

    fn nodap(&self, groups: &Groups) -> Result<f64, RunError> {
        self.replay_of_groups.wa(&self.recording, VictimPolicy::Greedy, groups.policies(&self.future))
    }

    /// `nodap` with 2 to `most` groups.
    fn search_groups(&self, most: u32, progress: &mut dyn Progress) -> Result<Vec<(Groups, f64)>, BoundError> {
        let shape = self.replay.shape()?;
        let mut search = nodap::Search::new(shape.pages_per_segment, shape.logical_pages);
        progress.begin("nodap", search.steps(most));
        let mut found = Vec::new();
        for _ in 2..=most {
            found.push(search.add_group(&|groups| self.nodap(groups), progress)?);
        }
        Ok(found)
    }
}

/// Searches the ends of the gap for a workload, to compare runs with.
///
/// # Errors
/// If the workload cannot be run under page mapping, or writes nothing.
pub fn ends(config: &RunConfig, trace: Option<&Trace>, progress: &mut dyn Progress) -> Result<Ends, BoundError> {
    let bench = Bench::new(config, trace, progress)?;
    let found = bench.search_groups(GAP_GROUPS, progress)?;
    // It may lie above `single`. `closed` finds no gap then.
    let bound = found.iter().map(|&(_, wa)| wa).fold(f64::INFINITY, f64::min);
    Ok(Ends { single: bench.single()?, bound })
}

/// All bounds of a workload, `single` first.
///
/// # Errors
/// If the engine is not page mapping; if the workload cannot be run under it, or writes nothing; or if what is wanted
/// makes no sense.
pub fn search(
    config: &RunConfig,
    trace: Option<&Trace>,
    wanted: &Wanted,
    progress: &mut dyn Progress,
) -> Result<Vec<Bound>, BoundError> {
    // What needs no run is checked before the first one.
    if !(2..=Groups::MOST).contains(&wanted.most_groups) {
        return Err(BoundError::Groups { groups: wanted.most_groups });
    }
    if config.engine.ftl != Engine::Page {
        return Err(BoundError::NotPageMapping { ftl: config.engine.ftl });
    }
    let bench = Bench::new(config, trace, progress)?;
    let segments = bench.replay.shape()?.segments;
    // `sorted-runs` keeps one segment free beside those that are open.
    let has_room = |open: u32| open > 0 && open < segments;
    if let Some(&open) = wanted.open_segments.iter().find(|&&open| !has_room(open)) {
        return Err(BoundError::Open { open, segments });
    }
    let by_default: Vec<u32> = Wanted::OPEN_SEGMENTS.into_iter().filter(|&open| has_room(open)).collect();
    let open_segments = if wanted.open_segments.is_empty() { &by_default } else { &wanted.open_segments };
    let groups = bench.search_groups(wanted.most_groups, progress)?;
    let single = bench.single()?;
    // Where no group helps, there is no gap.
    let best = groups.iter().map(|&(_, wa)| wa).fold(single, f64::min);
    let bound = |name: String, about, wa, group_ends| Bound {
        name,
        about,
        wa,
        gap_closed: closed(single, best, wa),
        group_ends,
    };
    let mut bounds = vec![bound("single".to_owned(), "knows nothing: greedy, one open segment", single, Vec::new())];
    let about = "knows how often each page is written, not when: 14 classes, cost-benefit";
    bounds.push(bound("known-rate".to_owned(), about, bench.known_rate()?, Vec::new()));
    for (groups, wa) in groups {
        let about = "knows when each page dies: groups by remaining life; a heuristic, no strict bound";
        bounds.push(bound(format!("nodap:{}", groups.count()), about, wa, groups.ends().to_vec()));
    }
    for &open in open_segments {
        let about = "knows when each page dies: sorts what so many segments hold; a heuristic, no strict bound";
        if let Some(wa) = bench.replay.sorted_runs(&bench.recording, &bench.future, open)? {
            bounds.push(bound(format!("sorted-runs:{open}"), about, wa, Vec::new()));
        }
    }
    Ok(bounds)
}
