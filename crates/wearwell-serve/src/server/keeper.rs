//! Looks after the disk while it is served: tells when its health changes, and mounts it anew when there is room again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::engine::{Engine, Poisoned};
use super::notice::Notice;
use super::stop::Stopping;
use crate::disk::{Condition, Health};

/// How often the disk is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What has been told so far: state and reason.
#[derive(Debug)]
pub(super) struct Keeper(Mutex<(Condition, Option<String>)>);

impl Default for Keeper {
    fn default() -> Self {
        Self(Mutex::new((Condition::Healthy, None)))
    }
}

impl Keeper {
    /// Looks again and again, until the server stops.
    pub(super) fn keep(&self, engine: &Engine, stopping: &Stopping, tell: impl Fn(&Notice<'_>)) {
        loop {
            // After a panic every request says so.
            if self.look(engine, &tell).is_err() || stopping.sleep(LOOK_EVERY) {
                return;
            }
            if let Ok(mut access) = engine.access()
                && access.disk().needs_remount()
            {
                // One that fails for lack of room is tried again, and one that fails otherwise is found by every command.
                let _ = access.remount();
            }
        }
    }

    /// Tells what has changed, and returns how the disk is.
    pub(super) fn look(&self, engine: &Engine, tell: impl Fn(&Notice<'_>)) -> Result<Health, Poisoned> {
        let health = engine.access()?.disk_mut().health();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = (health.state, health.why.clone());
        if *told != now {
            *told = now;
            tell(&Notice::Health(&health));
        }
        Ok(health)
    }
}
