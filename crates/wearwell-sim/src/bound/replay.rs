//! Recorded pages, written again to a device in its `plain` layout.

use wearwell::clean::when::Mark;
use wearwell::page::MountReport;
use wearwell::{CleaningTrigger, Limits, Lpn, Placement, Reclamation, VictimPolicy, WearLeveling, WriteHint};
use wearwell_emu::CountChip;

use super::future::Future;
use super::recording::Recording;
use super::sorted_runs::sorted_runs;
use crate::engine::{AnyEngine, AwareMode, Begin, DataMode, Engine, EngineSpec, Layout, OnChip, OwnPolicies};
use crate::engine::{StreamSource, Tenant};
use crate::run::RunError;

/// A device to write recordings to.
#[derive(Debug, Clone)]
pub struct Replay {
    engine: EngineSpec,
}

impl Replay {
    /// The device of a configuration, without its times, its wear leveling and its inference: nothing of that changes
    /// what cleaning copies, but by chance.
    pub fn new(mut engine: EngineSpec) -> Self {
        engine.chip.times = None;
        engine.ftl = Engine::Page;
        engine.layout = Some(Layout::Plain);
        engine.place = Placement::Single;
        engine.wear = Some(WearLeveling::None);
        engine.reclaim = Reclamation::AtOnce;
        engine.aware = AwareMode::Off;
        engine.streams = StreamSource::Host;
        // A recording is written without pauses, so nobody would clean.
        if let Some(CleaningTrigger::Idle { .. }) = engine.when {
            engine.when = None;
        }
        Self { engine }
    }

    /// The same device, on which cleaning begins one free segment earlier than by default, and two where 64 segments or
    /// more are spare.
    ///
    /// The pages of one victim may open a segment in each of several groups. With the default marks, so few segments
    /// are then left that cleaning takes whatever has the fewest valid pages. Those are pages that were about to die.
    /// But a segment that is kept free is one less to hold what is dead.
    ///
    /// # Errors
    /// If there can be no such device.
    pub fn for_groups(&self) -> Result<Self, RunError> {
        let shape = self.shape()?;
        let spare = u64::from(shape.segments).saturating_sub(shape.logical_pages / u64::from(shape.pages_per_segment));
        let low = if spare < Self::MANY_SPARE { 4 } else { 5 };
        let mut engine = self.engine.clone();
        engine.when = Some(CleaningTrigger::Watermark { low: Mark::Segments(low), high: Mark::Segments(low + 1) });
        Ok(Self { engine })
    }

    /// Spare segments from which on one more free segment costs `nodap` less than it saves. It was measured with 16 and
    /// 20 spare segments, where it costs 2 to 3 %, and with 128, where it saves half a percent.
    const MANY_SPARE: u64 = 64;

    /// The shape of the device.
    pub(super) fn shape(&self) -> Result<Limits, RunError> {
        self.enter(VictimPolicy::Greedy, Shape)
    }

    /// Write amplification of the second half of a recording.
    ///
    /// # Errors
    /// If the policies do not fit the device, or it fails.
    pub fn wa(&self, recording: &Recording, which: VictimPolicy, own: OwnPolicies) -> Result<f64, RunError> {
        self.enter(which, Writer { recording, own })?
    }

    /// The same with `sorted-runs`, which needs no engine: none if the pages do not fit, whatever is open.
    ///
    /// # Errors
    /// If there can be no such device.
    pub fn sorted_runs(&self, recording: &Recording, future: &Future, open: u32) -> Result<Option<f64>, RunError> {
        Ok(sorted_runs(recording, future, &self.shape()?, open))
    }

    fn enter<T: Tenant<CountChip>>(&self, which: VictimPolicy, tenant: T) -> Result<T::Out, RunError> {
        let spec = EngineSpec { which, ..self.engine.clone() };
        let plan = spec.plan(DataMode::None)?;
        Ok(plan.over_nand(CountChip::new(&spec.chip), Begin::Format, (), tenant)?)
    }
}

/// Asks for the shape.
struct Shape;

impl<C> Tenant<C> for Shape {
    type Out = Limits;

    fn enter<F: AnyEngine + OnChip<Chip = C>>(self, ftl: F, _found: Option<MountReport>) -> Limits {
        ftl.limits()
    }
}

/// Writes a recording.
struct Writer<'a> {
    recording: &'a Recording,
    own: OwnPolicies,
}

impl<C> Tenant<C> for Writer<'_> {
    type Out = Result<f64, RunError>;

    fn enter<F: AnyEngine + OnChip<Chip = C>>(self, mut ftl: F, _found: Option<MountReport>) -> Self::Out {
        ftl.set_own_policies(self.own)?;
        let half = self.recording.half();
        let mut discards = self.recording.discards().iter().peekable();
        for (clock, &page) in self.recording.writes().iter().enumerate() {
            let failed = |error| RunError::Command { phase: "replay", command: clock as u64 + 1, error };
            // A discard at this clock comes before the write.
            while let Some(&(_, discarded)) = discards.next_if(|(at, _)| *at as usize <= clock) {
                ftl.discard(Lpn(discarded).sectors(ftl.page_bytes())).map_err(failed)?;
            }
            if clock == half {
                ftl.reset_stats();
            }
            ftl.write_page(Lpn(page), &[], WriteHint::NONE).map_err(failed)?;
        }
        Ok(ftl.stats().wa_data())
    }
}
