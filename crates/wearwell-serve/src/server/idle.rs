//! Cleaning while no request comes.

use std::time::{Duration, Instant};

use super::Timing;
use super::engine::Engine;
use super::stop::Stopping;

/// Without requests for so long, the host is idle.
const IDLE_AFTER: Duration = Duration::from_millis(10);
/// With nothing left to clean, time alone may change that: looked at so often.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Pages that one step moves at most. A request that comes meanwhile waits for so many copies.
const STEP_PAGES: u32 = 8;

/// Cleans in small steps whenever the host is idle, until the server stops.
pub(super) fn clean_when_idle(engine: &Engine, stopping: &Stopping) {
    let mut seen = engine.arrivals();
    let mut quiet_until = Instant::now();
    while !stopping.sleep(IDLE_AFTER) {
        let arrivals = engine.arrivals();
        if arrivals != seen {
            (seen, quiet_until) = (arrivals, Instant::now());
            continue;
        }
        if Instant::now() < quiet_until {
            continue;
        }
        while engine.arrivals() == seen && !stopping.has_begun() {
            match step(engine) {
                Step::More => {}
                Step::Wait(time) => {
                    stopping.sleep(time);
                }
                Step::Done => {
                    quiet_until = Instant::now() + LOOK_AGAIN_AFTER;
                    break;
                }
            }
        }
    }
}

/// What comes after a step.
enum Step {
    More,
    /// More, once the chip has caught up.
    Wait(Duration),
    Done,
}

/// Cleans a little. Where the chip's timeline is waited for, a step is begun when it has done the one before:
/// whatever is queued there is in front of the next request.
fn step(engine: &Engine) -> Step {
    let Ok(mut access) = engine.access() else { return Step::Done };
    let busy_us = if engine.timing() == Timing::Real { access.busy_us() } else { 0 };
    if busy_us > 0 {
        return Step::Wait(Duration::from_micros(busy_us));
    }
    // An error is the next request's to report; here it only means that there is nothing to do.
    if access.command().clean(STEP_PAGES).unwrap_or(false) { Step::More } else { Step::Done }
}
