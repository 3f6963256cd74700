//! Why a run was refused, or what went wrong in it.

use thiserror::Error;
use wearwell::FtlError;
use wearwell_emu::SetupError;

use super::content::Mismatch;
use crate::engine::{DataMode, EngineError, PolicyError};
use crate::fat::FatError;
use crate::size::{Percent, format_size};
use crate::workload::WorkloadError;

/// Why there is no report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// Requests of a size that does not fit the pages.
    #[error(
        "--unit {} makes no sense: it must be whole sectors of 512 bytes, and divide the chip's page of {page_bytes} \
         bytes or be a multiple of it",
        format_size(*.unit_bytes)
    )]
    Unit {
        /// The size asked for.
        unit_bytes: u64,
        /// The chip's page.
        page_bytes: u64,
    },
    /// A window that holds no page.
    #[error("--window {} makes no sense: the chip's page has {page_bytes} bytes", format_size(*.window_bytes))]
    Window {
        /// The size asked for.
        window_bytes: u64,
        /// The chip's page.
        page_bytes: u64,
    },
    /// Hints about writes that are not known before the run.
    #[error(
        "--hints makes no sense here: what a program will write is not known before it runs; give a pattern or a trace"
    )]
    HintsOfProgram,
    /// The engine takes no policies from outside, or not these.
    #[error("policies from outside: {0}")]
    OwnPolicies(#[from] PolicyError),
    /// The trace reaches beyond the device.
    #[error(
        "the trace reaches to byte {end_bytes}, beyond the {logical_bytes} bytes of the device (first in request \
         {request}, which ends at {request_end_bytes}); choose a larger --logical or --chip"
    )]
    TraceBeyondEnd {
        /// The first request that does, counted from 1.
        request: u64,
        /// Where it ends.
        request_end_bytes: u64,
        /// Where the trace ends.
        end_bytes: u64,
        /// The capacity.
        logical_bytes: u64,
    },
    /// A byte at which no volume can begin.
    #[error(
        "--volume-at {} makes no sense: it needs a program on a FAT volume{}, and whole sectors of 512 bytes below \
         the {} that it may use",
        format_size(*.at_bytes), if *.is_program { "" } else { " as --workload" }, format_size(*.range_bytes)
    )]
    VolumeAt {
        /// Where it was to begin.
        at_bytes: u64,
        /// Bytes that the workload stays inside.
        range_bytes: u64,
        /// True if the workload is a program on a volume.
        is_program: bool,
    },
    /// The workload is a trace, but no trace was loaded.
    #[error("the workload is a trace, but none was loaded")]
    NoTrace,
    /// A recording that begins with a mount, on a chip that stores nothing.
    #[error("this recording begins with a mount, which needs the chip's bytes: choose --data stored")]
    MountWithoutData,
    /// Arrival times for a workload without any.
    #[error("--pace trace makes no sense: only the requests of a trace have times of arrival")]
    PaceWithoutTrace,
    /// Arrival times on a chip without a clock.
    #[error("--pace trace needs time, and chip '{chip}' takes none: choose another chip, or --host-us-per-page")]
    PaceWithoutTime {
        /// The chip.
        chip: String,
    },
    /// A speed that makes no sense.
    #[error("--speedup {speedup} makes no sense: it must be from 1e-9 to 1e9")]
    Speedup {
        /// How many times as fast.
        speedup: f64,
    },
    /// The host's own time makes no sense.
    #[error("--host-us-per-page {us} makes no sense: it must be from 0 to 1e9 microseconds")]
    HostTime {
        /// Microseconds asked for.
        us: f64,
    },
    /// Simulated time that exceeds what can be counted.
    #[error(
        "the run takes more than 584 simulated years, more than its clock can tell: choose a smaller --write or \
         --host-us-per-page, or a chip of smaller times"
    )]
    TimeRanOut,
    /// Inference without stored bytes.
    #[error(
        "--aware needs a workload on a volume it knows and its bytes (--data {data} is set): choose --data stored and \
         one of postmark:..., files:SIZE, camera, fax, cell-phone, event-recorder; or journal:... with --streams \
         inferred"
    )]
    NothingToInfer {
        /// Whether bytes are stored.
        data: DataMode,
    },
    /// Epochs on a chip without a clock.
    #[error("--aware strict needs time, and chip '{chip}' takes none: choose another chip, or --host-us-per-page")]
    InferenceWithoutTime {
        /// The chip.
        chip: String,
    },
    /// The range that the workload is kept inside holds no request.
    #[error(
        "--fill {fill}% of --logical leaves no whole request of {} to write; choose a smaller --unit, or a larger \
         --fill or --logical",
        format_size(*.unit_bytes)
    )]
    FillTooSmall {
        /// The part to fill.
        fill: Percent,
        /// The size of requests.
        unit_bytes: u64,
    },
    /// The workload does not fit the range.
    #[error("--workload: {0}")]
    Workload(#[from] WorkloadError),
    /// The workload's volume could not be made.
    #[error("--workload: {0}")]
    Volume(FatError),
    /// The workload's file system failed.
    #[error("transaction {transaction}: {error}")]
    Files {
        /// Which transaction, counted from 1.
        transaction: u64,
        /// What went wrong.
        error: FatError,
    },
    /// The volume does not hold the files that the program wrote.
    #[error("verify files: {0}")]
    FilesDiffer(FatError),
    /// The emulated chip could not be made.
    #[error("--chip: {0}")]
    Chip(#[from] SetupError),
    /// The engine was refused, or could not begin.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The observer of the progress stopped the run.
    #[error("{phase}, command {command}: stopped")]
    Stopped {
        /// The phase of the run.
        phase: &'static str,
        /// How many of its commands were done.
        command: u64,
    },
    /// A command failed.
    #[error("{phase}, command {command}: {error}")]
    Command {
        /// The phase of the run.
        phase: &'static str,
        /// Which of its commands, counted from 1.
        command: u64,
        /// What the engine said.
        error: FtlError,
    },
    /// Something else than what was written was read.
    #[error("{phase}, command {command}: {mismatch}")]
    Mismatch {
        /// The phase of the run.
        phase: &'static str,
        /// Which of its commands, counted from 1.
        command: u64,
        /// Where, and what.
        mismatch: Mismatch,
    },
}

impl RunError {
    /// True if the run was not begun, because what was asked for makes no sense; false if it was, and something
    /// was found wrong.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Engine(error) => error.is_refusal(),
            Self::Files { .. } | Self::FilesDiffer(_) | Self::Stopped { .. } => false,
            Self::Command { .. } | Self::Mismatch { .. } => false,
            _ => true,
        }
    }
}
