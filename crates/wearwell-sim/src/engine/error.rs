//! Errors of putting an engine together.

use thiserror::Error;
use wearwell::FtlError;
use wearwell::page::{ConfigError, MountError};
use wearwell_emu::ChipKind;

use super::choices::{Engine, Layout};
use crate::size::format_size;

/// Why an engine was refused, or could not begin. Messages name the flag to change.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
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
        /// Bytes of these that cannot be used: the reserve, and the engine's own pages.
        reserve_bytes: u64,
    },
    /// The tables are larger than the available memory.
    #[error(
        "--chip: the engine's tables for {physical_pages} pages take about {}, more memory than there is; choose a \
         smaller chip",
        format_size(*.table_bytes)
    )]
    Memory {
        /// Pages of the chip.
        physical_pages: u64,
        /// Approximate bytes of the tables.
        table_bytes: u64,
    },
    /// Inferred streams without inference.
    #[error("--streams inferred needs inference: choose --aware strict")]
    StreamsWithoutInference,
    /// The engine erases what is dead at once.
    #[error(
        "--ftl {ftl} erases dead blocks at once: leave --reclaim out, or choose page, primary-replacement or log-block"
    )]
    Reclaim {
        /// The engine.
        ftl: Engine,
    },
    /// The hold time makes no sense.
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
    /// The in-place engine has its own layout.
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
        /// The reason.
        reason: String,
    },
    /// The engine refuses its configuration.
    #[error("{flag}: {error}")]
    Config {
        /// The flag to change.
        flag: &'static str,
        /// What the engine says.
        error: ConfigError,
    },
    /// The chip failed while it was formatted.
    #[error("format: {0}")]
    Format(MountError),
    /// The chip failed while the engine was shut down.
    #[error("shutdown: {0}")]
    Shutdown(FtlError),
    /// What is on the chip could not be mounted.
    #[error("mount: {0}")]
    Mount(MountError),
}

impl EngineError {
    /// True if the arguments make no sense; false if a chip failed.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::Format(_) | Self::Shutdown(_) | Self::Mount(_))
    }
}
