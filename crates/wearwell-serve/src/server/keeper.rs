//! Watches the disk while it is served: reports changes of its health, notes what it does for the page, and mounts it
//! again when there is room again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::engine::Engine;
use super::errors::Poisoned;
use super::notice::Notice;
use super::stop::Stopping;
use crate::disk::{Condition, DiskError, Health};

/// The interval between two checks.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Reports each change once.
#[derive(Debug, Default)]
pub(super) struct Keeper(Mutex<Told>);

/// What has been reported so far.
#[derive(Debug)]
struct Told {
    state: Condition,
    why: Option<String>,
    has_recording_failed: bool,
}

impl Default for Told {
    fn default() -> Self {
        Self { state: Condition::Healthy, why: None, has_recording_failed: false }
    }
}

impl Keeper {
    /// Checks repeatedly until the server stops.
    pub(super) fn keep(&self, engine: &Engine, stopping: &Stopping, tell: impl Fn(&Notice<'_>)) {
        let mut gives_up = false;
        loop {
            // After a panic, every request reports it.
            if self.look(engine, &tell).is_err() || stopping.sleep(LOOK_EVERY) {
                return;
            }
            engine.note_history();
            if let Ok(mut access) = engine.access()
                && access.disk().needs_remount()
                && !gives_up
                && let Err(error) = access.remount()
            {
                // Lack of room may end. Any other error stays.
                gives_up = !matches!(error, DiskError::NoRoom);
                // Whoever is told may take its time, and clients would wait.
                drop(access);
                if gives_up {
                    tell(&Notice::RemountFailed(&error));
                }
            }
        }
    }

    /// Reports changes, and returns the disk's health.
    pub(super) fn look(&self, engine: &Engine, tell: impl Fn(&Notice<'_>)) -> Result<Health, Poisoned> {
        let mut access = engine.access()?;
        let (health, failure) = (access.disk_mut().health(), access.disk().recording_failure());
        drop(access);
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if (told.state, &told.why) != (health.state, &health.why) {
            (told.state, told.why) = (health.state, health.why.clone());
            tell(&Notice::Health(&health));
        }
        if let Some(error) = failure.filter(|_| !told.has_recording_failed) {
            told.has_recording_failed = true;
            tell(&Notice::RecordingFailed(&error));
        }
        Ok(health)
    }
}
