//! The description of an engine, and what follows from it.

use wearwell::logblock::{LOG_BLOCKS, Recycling};
use wearwell::page::Policies;
use wearwell::{CleaningTrigger, Placement, Reclamation, VictimPolicy, WearLeveling};
use wearwell_aware::{Mode, Streams};
use wearwell_emu::{ChipKind, ChipProfile};

use super::choices::{AwareMode, DataMode, Engine, Layout, StreamSource};
use super::error::EngineError;

/// A chip and the engine on it, as a command line describes them. `None` leaves a choice to its default.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineSpec {
    /// The chip.
    pub chip: ChipProfile,
    /// The translation layer.
    pub ftl: Engine,
    /// By default `plain`; with stored data the layout of the chip's kind.
    pub layout: Option<Layout>,
    /// By default the chip's own watermark, else 3:4.
    pub when: Option<CleaningTrigger>,
    /// Which segment cleaning takes.
    pub which: VictimPolicy,
    /// Where pages go.
    pub place: Placement,
    /// Wear leveling. By default none; for `primary-replacement` a threshold of 15, as in FSAF's set-up.
    pub wear: Option<WearLeveling>,
    /// How block mapping recycles log blocks.
    pub recycle: Recycling,
    /// Log blocks of block mapping.
    pub log_blocks: u32,
    /// When dead blocks are erased.
    pub reclaim: Reclamation,
    /// Capacity for the host, in bytes; by default the chip's own.
    pub logical_bytes: Option<u64>,
    /// Seed of all random draws.
    pub seed: u64,
    /// Inference of dead data.
    pub aware: AwareMode,
    /// Least duration of an epoch of the inference, in seconds of the time that the engine is told.
    pub hold_s: f64,
    /// Least number of flushes in such an epoch.
    pub hold_flushes: u32,
    /// Where streams come from.
    pub streams: StreamSource,
}

impl EngineSpec {
    /// An engine with the defaults for everything but the chip.
    pub fn new(chip: ChipProfile) -> Self {
        Self {
            chip,
            ftl: Engine::Page,
            layout: None,
            when: None,
            which: VictimPolicy::Greedy,
            place: Placement::Single,
            wear: None,
            recycle: Recycling::DEFAULT,
            log_blocks: LOG_BLOCKS,
            reclaim: Reclamation::AtOnce,
            logical_bytes: None,
            seed: 1,
            aware: AwareMode::Off,
            hold_s: 60.0,
            hold_flushes: 1,
            streams: StreamSource::Host,
        }
    }

    /// The settings of the inference, if there is one.
    pub fn inference(&self) -> Option<wearwell_aware::Config> {
        let mode = match self.aware {
            AwareMode::Off => return None,
            AwareMode::Paper => Mode::Paper,
            AwareMode::OrderedHost => Mode::OrderedHost,
            AwareMode::Strict => Mode::Strict,
        };
        let streams = match self.streams {
            StreamSource::Host => Streams::NONE,
            StreamSource::Inferred => Streams::DEFAULT,
        };
        // A plan bounds the seconds, so the product is far from the end of its type.
        Some(wearwell_aware::Config { mode, hold_us: (self.hold_s * 1e6) as u64, flushes: self.hold_flushes, streams })
    }

    /// Fills in the defaults.
    ///
    /// # Errors
    /// A choice that makes no sense, with its flag.
    pub fn plan(&self, data: DataMode) -> Result<EnginePlan, EngineError> {
        let page_bytes = u64::from(self.chip.page_bytes);
        let logical_bytes = self.logical_bytes.unwrap_or(self.chip.logical_bytes);
        if !logical_bytes.is_multiple_of(page_bytes) {
            return Err(EngineError::LogicalNotWhole { logical_bytes, page_bytes });
        }
        let logical_pages = u32::try_from(logical_bytes / page_bytes)
            .map_err(|_| EngineError::TooManyPages { pages: logical_bytes / page_bytes })?;
        self.check_inference()?;
        if self.reclaim != Reclamation::AtOnce && !self.ftl.reclaims() {
            return Err(EngineError::Reclaim { ftl: self.ftl });
        }
        // The marks of the chip's own paper come before our default, and what was asked for before both.
        let when = match (&self.when, &self.chip.watermark) {
            (Some(when), _) => *when,
            (None, Some(marks)) => CleaningTrigger::parse(&format!("watermark:{marks}"))
                .ok_or_else(|| EngineError::Watermark { chip: self.chip.name.clone(), marks: marks.clone() })?,
            (None, None) => CleaningTrigger::DEFAULT,
        };
        let layout = self.layout_for(data)?;
        let wear = self.wear.unwrap_or(match self.ftl {
            Engine::PrimaryReplacement => WearLeveling::StaticThreshold { threshold: 15 },
            _ => WearLeveling::None,
        });
        Ok(EnginePlan { spec: self.clone(), layout, when, wear, logical_bytes, logical_pages })
    }

    fn check_inference(&self) -> Result<(), EngineError> {
        if self.aware == AwareMode::Off && self.streams == StreamSource::Inferred {
            return Err(EngineError::StreamsWithoutInference);
        }
        // Checked even where the hold is not used: such a number must be a mistake.
        if (0.0..=1e9).contains(&self.hold_s) { Ok(()) } else { Err(EngineError::Hold { hold_s: self.hold_s }) }
    }

    /// The layout asked for, or the default one: `plain` where nothing is stored, else that of the chip's kind.
    fn layout_for(&self, data: DataMode) -> Result<Layout, EngineError> {
        let (kind, stores) = (self.chip.kind, data == DataMode::Stored);
        let native = match kind {
            ChipKind::Nand => Layout::Nand,
            ChipKind::Nor => Layout::Nor,
        };
        if self.ftl == Engine::InPlace {
            return match self.layout {
                None | Some(Layout::Plain) if stores && kind == ChipKind::Nor => Err(EngineError::InPlaceStoredOnNor),
                None | Some(Layout::Plain) => Ok(Layout::Plain),
                Some(_) => Err(EngineError::LayoutInPlace),
            };
        }
        let layout = self.layout.unwrap_or(if stores { native } else { Layout::Plain });
        if matches!(layout, Layout::Nor | Layout::NandCheckpoint) && self.ftl != Engine::Page {
            return Err(EngineError::LayoutOfBlocks { ftl: self.ftl });
        }
        // Plain pages cannot be stored on a NOR chip. On a NOR chip that only counts, they are its data pages.
        let is_nands = matches!(layout, Layout::Nand | Layout::NandCheckpoint) && kind == ChipKind::Nand;
        let possible = is_nands || layout == native || (layout == Layout::Plain && (kind == ChipKind::Nand || !stores));
        if possible { Ok(layout) } else { Err(EngineError::LayoutForKind { layout, kind, native }) }
    }
}

/// An engine with all choices made, checked as far as possible without a chip.
#[derive(Debug, Clone)]
pub struct EnginePlan {
    /// The given choices.
    pub spec: EngineSpec,
    /// How records lie on flash.
    pub layout: Layout,
    /// When cleaning runs.
    pub when: CleaningTrigger,
    /// Wear leveling.
    pub wear: WearLeveling,
    /// Capacity for the host, in bytes.
    pub logical_bytes: u64,
    /// The same in pages of the chip.
    pub logical_pages: u32,
}

impl EnginePlan {
    /// The policies to begin with.
    pub fn policies(&self) -> Policies {
        let EngineSpec { which, place, reclaim, .. } = self.spec;
        Policies { when: self.when, which, place, wear: self.wear, reclaim }
    }

    /// The plan as a spec without open choices, so that it keeps its meaning if defaults change.
    pub fn settled(&self) -> EngineSpec {
        EngineSpec {
            layout: Some(self.layout),
            when: Some(self.when),
            wear: Some(self.wear),
            logical_bytes: Some(self.logical_bytes),
            ..self.spec.clone()
        }
    }
}
