//! Histories near those that are kept as regressions: the places and draws of their faults are changed, and a few steps
//! near the end are added or left out.
//!
//! A history that failed once has brought a device to a state that few draws reach. What fails near it is mostly
//! another fault of the same rule, or one of the rule that repaired it.

use std::sync::OnceLock;

use fastrand::Rng;

use crate::history::Step;
use crate::mode::{Mode, Target};
use crate::setup::{Engine, Setup, percent};
use crate::text::read_history;

/// The sources with the histories. Those that are known to fail are not among them.
pub const SOURCES: [&str; 17] = [
    include_str!("../tests/regressions/main.rs"),
    include_str!("../tests/regressions/allowed.rs"),
    include_str!("../tests/regressions/block.rs"),
    include_str!("../tests/regressions/block_cut_mounts.rs"),
    include_str!("../tests/regressions/block_decayed_merges.rs"),
    include_str!("../tests/regressions/block_half_erased.rs"),
    include_str!("../tests/regressions/block_media.rs"),
    include_str!("../tests/regressions/one_rule.rs"),
    include_str!("../tests/regressions/page_decay.rs"),
    include_str!("../tests/regressions/page_faded.rs"),
    include_str!("../tests/regressions/page_mounts.rs"),
    include_str!("../tests/regressions/page_room.rs"),
    include_str!("../tests/regressions/page_tags.rs"),
    include_str!("../tests/regressions/page_worn.rs"),
    include_str!("../tests/regressions/paged.rs"),
    include_str!("../tests/regressions/paged_decay.rs"),
    include_str!("../tests/regressions/paged_rescues.rs"),
];

/// Most steps from the end at which one is added or left out.
const FROM_END: usize = 12;
/// Most operations that an added fault lets pass.
const MOST_AFTER: u32 = 14;
/// Draws of faults, as long as histories print them. Of decay the smallest count pages from the newest one.
const DRAWS: u64 = 1 << 16;
const DECAY_DRAWS: u64 = 60;

/// A history, and the device that it is of.
#[derive(Debug)]
pub struct Kept {
    /// The device.
    pub setup: Setup,
    /// The history.
    pub steps: Vec<Step>,
}

impl Kept {
    /// From a source with `assert_holds("SETUP", "STEPS")`.
    fn all(source: &str) -> impl Iterator<Item = Self> {
        source.split("() {\n    assert_holds(").skip(1).filter_map(|body| {
            let mut literals = body.split('"').skip(1).step_by(2);
            let (setup, steps) = (literals.next()?, literals.next()?);
            Some(Self { setup: setup.parse().ok()?, steps: read_history(steps).ok()? })
        })
    }

    fn is_of(&self, mode: &Mode) -> bool {
        mode.targets.iter().any(|target| match (target, self.setup.engine) {
            (Target::Page, Engine::Page { .. }) | (Target::Paged, Engine::Paged { .. }) => true,
            (Target::Block(scheme), Engine::Block { scheme: of, .. }) => *scheme == of,
            _ => false,
        })
    }
}

/// All histories that are kept.
pub fn kept() -> &'static [Kept] {
    static KEPT: OnceLock<Vec<Kept>> = OnceLock::new();
    KEPT.get_or_init(|| SOURCES.into_iter().flat_map(Kept::all).collect())
}

/// A history near one that is kept, of the mode's engines.
///
/// # Panics
/// If the mode has an engine of which no history is kept.
pub fn draw(rng: &mut Rng, mode: &Mode) -> (Setup, Vec<Step>) {
    let of_mode: Vec<&Kept> = kept().iter().filter(|kept| kept.is_of(mode)).collect();
    let Kept { setup, steps } = of_mode[rng.usize(..of_mode.len())];
    let mut steps: Vec<Step> = steps.iter().map(|&step| changed(rng, step)).collect();
    for _ in 0..rng.u32(..3) {
        edit(rng, &mut steps, setup.logical_pages);
    }
    steps.extend([Step::Mount, Step::Mount]);
    (*setup, steps)
}

/// A step, with another draw half of the time, and a fault in another place a quarter of the time.
fn changed(rng: &mut Rng, step: Step) -> Step {
    let step = match step {
        Step::Cut { after, .. } if percent(rng, 50) => Step::Cut { after, draw: rng.u64(..DRAWS) },
        Step::Fail { after, .. } if percent(rng, 50) => Step::Fail { after, draw: rng.u64(..DRAWS) },
        Step::Other { after, .. } if percent(rng, 50) => Step::Other { after, draw: rng.u64(..DRAWS) },
        Step::Decay { .. } if percent(rng, 50) => Step::Decay { draw: rng.u64(..DECAY_DRAWS) },
        step => step,
    };
    match step.after() {
        Some(after) if percent(rng, 25) => step.with_after((after + rng.u32(..7)).saturating_sub(3)),
        _ => step,
    }
}

/// Adds a step near the end, a fault with the mount that it may hit, or leaves one out.
fn edit(rng: &mut Rng, steps: &mut Vec<Step>, logical_pages: u32) {
    let at = steps.len() - rng.usize(..=FROM_END.min(steps.len()));
    let (after, draw) = (rng.u32(..MOST_AFTER), rng.u64(..DRAWS));
    let added: &[Step] = match rng.u32(..5) {
        0 => &[Step::Mount],
        1 => &[Step::Cut { after, draw }, Step::Mount],
        2 => &[Step::Fail { after, draw }, Step::Mount],
        3 => {
            let page = rng.u32(..logical_pages.min(10));
            &[Step::Write { page, count: 1, stream: 0, read_only: false }]
        }
        _ => &[],
    };
    // Where nothing is added, a step is left out.
    let end = steps.len().min(at + usize::from(added.is_empty()));
    steps.splice(at..end, added.iter().copied());
}
