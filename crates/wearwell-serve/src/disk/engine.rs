//! Any engine on an emulated chip, behind one type.

use super::events::Events;
use wearwell::page::{MountReport, Policies};
use wearwell::{Ftl, FtlError, Limits, Lpn, Ppn, Sectors, Stats, WriteHint};
use wearwell_emu::{EmuChip, ImageStore};
use wearwell_sim::engine::{AnyEngine, EnginePlan, PolicyError, SegmentRow, Tenant};
use wearwell_sim::run::{HostConfig, Measured, Report, ReportConfig};

/// An engine, for a disk.
pub(super) trait DiskEngine: Send {
    fn sectors(&self) -> u64;
    fn page_bytes(&self) -> u32;
    fn read(&mut self, at: Sectors, data: &mut [u8]) -> Result<(), FtlError>;
    fn write(&mut self, at: Sectors, data: &[u8], hint: WriteHint) -> Result<(), FtlError>;
    fn discard(&mut self, at: Sectors) -> Result<(), FtlError>;
    fn flush(&mut self) -> Result<(), FtlError>;
    fn clean(&mut self, budget_pages: u32) -> Result<bool, FtlError>;
    fn shutdown(&mut self) -> Result<(), FtlError>;
    fn set_time_us(&mut self, now_us: u64);
    fn holds(&self, lpn: Lpn) -> bool;
    fn stats(&self) -> Stats;
    fn limits(&self) -> Limits;
    fn segment_rows(&self) -> Vec<SegmentRow>;
    fn streams_of(&self, class: u8) -> Vec<u16>;
    fn room_of(&self, class: u8) -> Option<u32>;
    fn end_segment_of(&mut self, class: u8);
    fn policies(&self) -> Option<Policies>;
    fn set_policies(&mut self, policies: Policies) -> Result<(), PolicyError>;
    fn lookup(&self, lpn: Lpn) -> Ppn;
    fn erase_counts(&self) -> Vec<u32>;
    fn report(&self, plan: &EnginePlan, host: &HostConfig, measured: &Measured) -> Report;
    fn chip(&mut self) -> &mut dyn EmuChip<Store = ImageStore>;
}

impl<F> DiskEngine for F
where
    F: AnyEngine,
    F::Chip: EmuChip<Store = ImageStore> + 'static,
{
    fn sectors(&self) -> u64 {
        Ftl::sectors(self)
    }

    fn page_bytes(&self) -> u32 {
        Ftl::page_bytes(self)
    }

    fn read(&mut self, at: Sectors, data: &mut [u8]) -> Result<(), FtlError> {
        Ftl::read(self, at, data)
    }

    fn write(&mut self, at: Sectors, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        Ftl::write(self, at, data, hint)
    }

    fn discard(&mut self, at: Sectors) -> Result<(), FtlError> {
        Ftl::discard(self, at)
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        Ftl::flush(self)
    }

    fn clean(&mut self, budget_pages: u32) -> Result<bool, FtlError> {
        Ftl::clean(self, budget_pages)
    }

    fn shutdown(&mut self) -> Result<(), FtlError> {
        Ftl::shutdown(self)
    }

    fn set_time_us(&mut self, now_us: u64) {
        Ftl::set_time_us(self, now_us);
    }

    fn holds(&self, lpn: Lpn) -> bool {
        Ftl::holds(self, lpn)
    }

    fn stats(&self) -> Stats {
        *Ftl::stats(self)
    }

    fn limits(&self) -> Limits {
        Ftl::limits(self)
    }

    fn segment_rows(&self) -> Vec<SegmentRow> {
        AnyEngine::segment_rows(self)
    }

    fn streams_of(&self, class: u8) -> Vec<u16> {
        AnyEngine::streams_of(self, class)
    }

    fn room_of(&self, class: u8) -> Option<u32> {
        AnyEngine::room_of(self, class)
    }

    fn end_segment_of(&mut self, class: u8) {
        AnyEngine::end_segment_of(self, class);
    }

    fn policies(&self) -> Option<Policies> {
        AnyEngine::policies(self)
    }

    fn set_policies(&mut self, policies: Policies) -> Result<(), PolicyError> {
        AnyEngine::set_policies(self, policies)
    }

    fn lookup(&self, lpn: Lpn) -> Ppn {
        Ftl::lookup(self, lpn)
    }

    fn erase_counts(&self) -> Vec<u32> {
        Ftl::erase_counts(self).collect()
    }

    fn report(&self, plan: &EnginePlan, host: &HostConfig, measured: &Measured) -> Report {
        Report::new(self, ReportConfig::new(self, plan, host), measured)
    }

    fn chip(&mut self) -> &mut dyn EmuChip<Store = ImageStore> {
        self.bottom_chip()
    }
}

/// An engine that was put on a chip, and what its mount found.
pub(super) type Begun = (Box<dyn DiskEngine>, Option<MountReport>);

/// Puts engines into boxes, and listens to them.
pub(super) struct Boxing(pub(super) Events);

impl<C: EmuChip<Store = ImageStore> + 'static> Tenant<C> for Boxing {
    type Out = Begun;
    type Probe = Events;

    fn probe(&self) -> Events {
        self.0.clone()
    }

    fn enter<F: AnyEngine<Chip = C>>(self, ftl: F, found: Option<MountReport>) -> Begun {
        (Box::new(ftl), found)
    }
}
