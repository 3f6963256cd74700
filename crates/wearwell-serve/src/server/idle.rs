//! Cleaning, and giving space back, while no request comes.

use std::time::{Duration, Instant};

use super::Timing;
use super::engine::Engine;
use super::stop::Stopping;

/// The host is idle after this time without requests.
const IDLE_AFTER: Duration = Duration::from_millis(10);
/// The interval between checks when there was nothing left to clean. Time alone may bring new work.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// The most pages that one step moves. A request that comes during a step waits for these copies.
const STEP_PAGES: u32 = 8;

/// Cleans in small steps whenever the host is idle, until the server stops.
pub(super) fn clean_when_idle(engine: &Engine, stopping: &Stopping) {
    // A batch counts before it waits for the lock. So cleaning sees a request that waits for the step in progress, and
    // makes way.
    let mut seen = engine.arrivals();
    let mut quiet_until = Instant::now();
    while !stopping.sleep(IDLE_AFTER) {
        let arrivals = engine.arrivals();
        if arrivals != seen {
            // Requests may have made new work, so the wait after the last cleaning is off.
            (seen, quiet_until) = (arrivals, Instant::now());
            continue;
        }
        if Instant::now() < quiet_until {
            continue;
        }
        // Each step takes the lock anew: a request waits for one of them at most.
        while engine.arrivals() == seen && !stopping.has_begun() {
            match step(engine) {
                Step::More => {}
                Step::Wait(time) => {
                    // The lock is free meanwhile, and a server that stops does not wait for the chip.
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

/// What to do after a step.
enum Step {
    More,
    /// Another step, after the chip has done its operations.
    Wait(Duration),
    Done,
}

/// Runs one step. If replies wait for the chip's timeline, a step begins when the chip has finished the one before,
/// because all queued operations delay the next request.
fn step(engine: &Engine) -> Step {
    let Ok(mut access) = engine.access() else { return Step::Done };
    let busy_us = if engine.timing() == Timing::Real { access.busy_us() } else { 0 };
    if busy_us > 0 {
        return Step::Wait(Duration::from_micros(busy_us));
    }
    // The next request reports an error. Here it only means that there is nothing to do.
    let cleans_on = access.command().clean(STEP_PAGES).unwrap_or(false);
    // Space is given back when there is nothing left to clean, since cleaning may use it again.
    if cleans_on || access.disk_mut().give_back() { Step::More } else { Step::Done }
}
