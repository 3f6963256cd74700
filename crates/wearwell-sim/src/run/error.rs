//! Why a run was refused, or what was found wrong in it.

use thiserror::Error;
use wearwell::FtlError;
use wearwell::page::{ConfigError, MountError};
use wearwell_emu::{ChipKind, SetupError};

use super::config::{DataMode, Engine, Layout};
use super::content::Mismatch;
use crate::fat::FatError;
use crate::size::{Percent, format_size};
use crate::workload::WorkloadError;

/// Why there is no report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The capacity is not a whole number of pages.
    #[error(
        "--logical {} is not a whole number of the chip's pages of {page_bytes} bytes; the next below is {}",
        format_size(*.logical_bytes), format_size(logical_bytes / page_bytes * page_bytes)
    )]
    LogicalNotWhole {
        /// The capacity asked for.
        logical_bytes: u64,
        /// The chip's page.
        page_bytes: u64,
    },
    /// The capacity has more pages than can be numbered.
    #[error("{pages} logical pages are more than 32-bit page numbers reach; choose a smaller --logical")]
    TooManyPages {
        /// Pages asked for.
        pages: u64,
    },
    /// The capacity does not fit the chip.
    #[error(
        "--logical {} does not fit: the chip has {}, of which {} are kept in reserve; choose at most {}",
        format_size(*.logical_bytes), format_size(*.physical_bytes), format_size(*.reserve_bytes),
        format_size(.physical_bytes.saturating_sub(*.reserve_bytes))
    )]
    LogicalTooLarge {
        /// The capacity asked for.
        logical_bytes: u64,
        /// Bytes of flash that can hold data in this layout.
        physical_bytes: u64,
        /// Of these, bytes that cannot be used: the reserve, and the engine's own pages.
        reserve_bytes: u64,
    },
    /// Requests of a size that pages cannot be made of.
    #[error(
        "--unit {} makes no sense: it must be whole sectors of 512 bytes, and divide the chip's page of {page_bytes} bytes or be a multiple of it",
        format_size(*.unit_bytes)
    )]
    Unit {
        /// The size asked for.
        unit_bytes: u64,
        /// The chip's page.
        page_bytes: u64,
    },
    /// The trace reaches beyond the device.
    #[error(
        "the trace reaches to byte {end_bytes}, beyond the {logical_bytes} bytes of the device (first in request {request}, which ends at {request_end_bytes}); choose a larger --logical or --chip"
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
    /// A workload that is a trace, without one.
    #[error("the workload is a trace, but none was loaded")]
    NoTrace,
    /// The host's own time is no time.
    #[error("--host-us-per-page {us} makes no sense: it must be from 0 to 1e9 microseconds")]
    HostTime {
        /// Microseconds asked for.
        us: f64,
    },
    /// Inference without the bytes to infer from.
    #[error(
        "--aware needs a workload on a volume it knows and its bytes (--data {data} is set): choose --data stored and one of \
         postmark:..., files:SIZE, camera, fax, cell-phone, event-recorder; or journal:... with --streams inferred"
    )]
    NothingToInfer {
        /// Whether bytes are stored.
        data: DataMode,
    },
    /// Streams from inference that there is not.
    #[error("--streams inferred needs inference: choose --aware strict")]
    StreamsWithoutInference,
    /// Epochs on a chip without a clock.
    #[error("--aware strict needs time, and chip '{chip}' takes none: choose another chip, or --host-us-per-page")]
    InferenceWithoutTime {
        /// The chip.
        chip: String,
    },
    /// The hold time is no time.
    #[error("--hold {hold_s} makes no sense: it must be from 0 to 1e9 seconds")]
    Hold {
        /// Seconds asked for.
        hold_s: f64,
    },
    /// The chip's profile states watermarks that cannot be read.
    #[error("chip '{chip}': its watermark '{marks}' is not LOW:HIGH; state --when, or correct the profile")]
    Watermark {
        /// The chip.
        chip: String,
        /// What its profile says.
        marks: String,
    },
    /// A layout that the chip cannot hold.
    #[error("--layout {layout} does not lie on this {kind} chip; choose --layout {native}")]
    LayoutForKind {
        /// The layout asked for.
        layout: Layout,
        /// The chip's kind.
        kind: ChipKind,
        /// The layout made for it.
        native: Layout,
    },
    /// The in-place engine stores on NAND only.
    #[error("--ftl in-place stores data on NAND chips only; on a NOR chip it counts: choose --data none")]
    InPlaceStoredOnNor,
    /// The in-place engine has a layout of its own.
    #[error("--ftl in-place keeps data where it is: leave --layout out, or choose plain")]
    LayoutInPlace,
    /// Block mapping lies on NAND only.
    #[error("--ftl {ftl} stores data on NAND chips only; on a NOR chip it counts: choose --data none --layout plain")]
    LayoutOfBlocks {
        /// The engine.
        ftl: Engine,
    },
    /// The layout cannot lie on the chip.
    #[error("--layout {layout} does not fit the chip: {reason}")]
    LayoutRefused {
        /// The layout.
        layout: Layout,
        /// What it says.
        reason: String,
    },
    /// The range that the workload is kept inside holds no request.
    #[error("--fill {fill}% of --logical leaves no whole request of {} to write; fill more", format_size(*.unit_bytes))]
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
    /// The engine could not be made.
    #[error("{flag}: {error}")]
    Engine {
        /// The flag that would have to say something else.
        flag: &'static str,
        /// What the engine says.
        error: ConfigError,
    },
    /// The chip failed while it was formatted.
    #[error("format: {0}")]
    Format(MountError),
    /// A command failed.
    #[error("{phase}, command {command}: {error}")]
    Command {
        /// What the run was doing.
        phase: &'static str,
        /// Which of its commands, counted from 1.
        command: u64,
        /// What the engine said.
        error: FtlError,
    },
    /// Something else than what was written was read.
    #[error("{phase}, command {command}: {mismatch}")]
    Mismatch {
        /// What the run was doing.
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
        !matches!(
            self,
            Self::Format(_) | Self::Files { .. } | Self::FilesDiffer(_) | Self::Command { .. } | Self::Mismatch { .. }
        )
    }
}
