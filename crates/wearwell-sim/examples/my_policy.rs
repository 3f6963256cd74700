//! A policy of one's own: types that implement the engine's traits, run by the simulator without a change to either.
//!
//! The idea: a page that the host writes again soon will be written again soon. So pages whose last two writes are
//! close together have a segment of their own, and copies, which nobody wrote for a while, have another. Victims are
//! chosen by invalid pages, weighed by the age of the segment.
//!
//! ```sh
//! cargo run --release -p wearwell-sim --example my_policy
//! ```

use std::error::Error;

use wearwell::clean::which::{AgeClock, VictimSelection};
use wearwell::page::Segments;
use wearwell::place::{ClassCount, ClassPlacement, Copied, HostWrite};
use wearwell::{Class, Rng, Seg};
use wearwell_emu::ChipProfile;
use wearwell_sim::bound;
use wearwell_sim::engine::OwnPolicies;
use wearwell_sim::run::{RunConfig, run, run_by};

/// Pages written again within so many host pages are hot.
const HOT_WITHIN_PAGES: u64 = 8192;

/// Class 0 for hot pages, 1 for others, 2 for copies.
#[derive(Debug)]
struct HotByInterval {
    /// Host pages written before the last write of each page.
    last_write: Vec<u64>,
}

impl HotByInterval {
    fn new(logical_pages: usize) -> Self {
        Self { last_write: vec![0; logical_pages] }
    }
}

impl ClassPlacement for HotByInterval {
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        let last = std::mem::replace(&mut self.last_write[write.lpn.0 as usize], write.clock);
        Class(u8::from(write.old.is_none() || write.clock - last > HOT_WITHIN_PAGES))
    }

    fn copied(&mut self, _copy: Copied) -> Class {
        Class(2)
    }

    /// The policy does not look at the pages, so it is not asked for each.
    fn class_of_copies(&self) -> Option<Class> {
        Some(Class(2))
    }

    fn table_bytes(&self) -> u64 {
        self.last_write.len() as u64 * 8
    }
}

/// The segment with the most age x invalid / valid.
#[derive(Debug)]
struct OldAndInvalid;

impl VictimSelection for OldAndInvalid {
    // It looks at every segment, so it needs no list of them.
    fn added(&mut self, _seg: Seg, _segments: &Segments) {}

    fn invalidated(&mut self, _seg: Seg, _segments: &Segments) {}

    fn removed(&mut self, _seg: Seg, _segments: &Segments) {}

    fn best(&mut self, segments: &Segments, clock: AgeClock, _rng: &mut Rng) -> Option<Seg> {
        let candidates = segments.all().filter(|&seg| segments.is_candidate(seg));
        candidates.max_by(|&a, &b| self.score(a, segments, clock).total_cmp(&self.score(b, segments, clock)))
    }

    fn score(&self, seg: Seg, segments: &Segments, clock: AgeClock) -> f64 {
        let valid = f64::from(segments.valid(seg));
        clock.age(segments.opened(seg)) * (f64::from(segments.slots()) - valid) / valid
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let chip = ChipProfile::resolve("geometry:4KiB:64:576")?;
    let logical_pages = 512 * 64;
    let mut config = RunConfig::new(chip, "zipf:0.99".parse()?);
    config.engine.logical_bytes = Some(logical_pages * 4096);
    config.write_bytes = Some(8 * logical_pages * 4096);

    let classes = ClassCount::new(3).ok_or("three classes are possible")?;
    let own = OwnPolicies::default()
        .placement("hot-by-interval", classes, HotByInterval::new(logical_pages as usize))
        .victims("old-and-invalid", OldAndInvalid);
    let reports = [run(&config, None, &mut ())?, run_by(&config, None, own, &mut ())?];
    let ends = bound::ends(&config, None, &mut ())?;
    for report in &reports {
        let place = report.config.r#where.as_deref().unwrap_or_default();
        let which = report.config.which.as_deref().unwrap_or_default();
        let wa = report.second_half.map_or(0.0, |half| half.wa_data);
        let closed = ends.gap(report).map_or(0.0, |gap| gap.closed);
        println!("{place}, {which}: WA {wa:.3}, {:.1} % of the gap to nodap:7 closed", 100.0 * closed);
    }
    Ok(())
}
