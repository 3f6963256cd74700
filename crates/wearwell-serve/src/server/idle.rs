//! Cleaning while no request comes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::engine::Engine;

/// Without requests for so long, the host is idle.
const IDLE_AFTER: Duration = Duration::from_millis(10);
/// With nothing left to clean, time alone may change that: looked at so often.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Pages that one step moves at most. A request that comes meanwhile waits for so many copies.
const STEP_PAGES: u32 = 8;

/// Cleans in small steps whenever the host is idle, until `stops` is set and the thread unparked.
pub(super) fn clean_when_idle(engine: &Engine, stops: &AtomicBool) {
    let mut seen = engine.arrivals();
    let mut quiet_until = Instant::now();
    while !stops.load(Ordering::Relaxed) {
        std::thread::park_timeout(IDLE_AFTER);
        let arrivals = engine.arrivals();
        if arrivals != seen {
            (seen, quiet_until) = (arrivals, Instant::now());
            continue;
        }
        if Instant::now() < quiet_until {
            continue;
        }
        while engine.arrivals() == seen && !stops.load(Ordering::Relaxed) {
            // An error is the next request's to report; here it only means that there is nothing to do.
            if !engine.access().is_ok_and(|mut access| access.clean(STEP_PAGES).unwrap_or(false)) {
                quiet_until = Instant::now() + LOOK_AGAIN_AFTER;
                break;
            }
        }
    }
}
