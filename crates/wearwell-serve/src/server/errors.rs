//! Counts failed requests of clients by reason.

use std::sync::atomic::{AtomicU64, Ordering};

use wearwell::FtlError;

use crate::disk::DiskError;

/// The lock was held by a thread that panicked: the disk's tables cannot be trusted any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the disk failed in the middle of a command")]
pub struct Poisoned;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// The names of the reasons in the metrics.
pub(super) const REASONS: [&str; 9] =
    ["refused", "out_of_range", "unreadable", "worn_out", "no_room", "remounted", "power_off", "not_durable", "other"];

/// A count for each reason.
#[derive(Debug, Default)]
pub(super) struct Errors([AtomicU64; REASONS.len()]);

impl Errors {
    /// Counts a request that never reached the disk, such as a write to a read-only export.
    pub(super) fn add_refused(&self) {
        self.add_reason("refused");
    }

    pub(super) fn add(&self, error: &CommandError) {
        self.add_reason(match error {
            CommandError::Poisoned(_) => "other",
            CommandError::Disk(error) => match error {
                DiskError::OutOfRange { .. } | DiskError::Ftl(FtlError::OutOfRange { .. }) => "out_of_range",
                DiskError::Ftl(FtlError::Unreadable { .. }) => "unreadable",
                DiskError::Ftl(FtlError::WornOut { .. }) => "worn_out",
                DiskError::NoRoom => "no_room",
                DiskError::Remounted => "remounted",
                DiskError::PowerOff => "power_off",
                DiskError::Sync(_) => "not_durable",
                _ => "other",
            },
        });
    }

    fn add_reason(&self, reason: &str) {
        for (name, count) in REASONS.iter().zip(&self.0) {
            if *name == reason {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn counts(&self) -> [u64; REASONS.len()] {
        std::array::from_fn(|reason| self.0[reason].load(Ordering::Relaxed))
    }
}
