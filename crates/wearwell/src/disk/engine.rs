//! The engines that a disk can be made of. The type of the configuration chooses one, so that firmware links no other.

use alloc::boxed::Box;

use wearwell_flash::Nand;

use super::medium::{Kept, OverDriver};
use super::{Config, Medium, ShapeError};
use crate::clean::which::VictimChoice;
use crate::ftl::{BlockDevice, Inspect, Probe};
use crate::page::log::{Log, MapLog};
use crate::page::{MountError, MountReport, PageFtl};
use crate::paged::place::StreamPlacement;
use crate::paged::which::VictimWorth;
use crate::paged::{PagedConfig, PagedFtl};
use crate::place::PlaceChoice;

/// A configuration of a [`Disk`](super::Disk) on a chip, whose type chooses the engine: [`Config`], or
/// [`PagedConfig`] for a map on flash.
///
/// Nothing else implements this trait, and only the disk calls it. What an engine cannot do does not compile: a
/// `PagedConfig` takes no policies of the map in memory, and is no configuration for NOR.
///
/// ```compile_fail,E0277
/// # fn on<N: wearwell::Nor>(chip: N) {
/// use wearwell::{Disk, OnNor, PagedConfig};
///
/// let disk = Disk::format(OnNor(chip), PagedConfig::new(300, 32));
/// # }
/// ```
pub trait EngineChoice<C: Medium>: Copy + sealed::Sealed {
    #[doc(hidden)]
    type Log: OverDriver<C::Chip, C::Error>;
    #[doc(hidden)]
    type Engine: Served<Log = Self::Log>;
    #[doc(hidden)]
    fn log(&self, chip: C) -> Result<Self::Log, ShapeError>;
    // The log is taken out of `log`. With an error it is there again.
    #[doc(hidden)]
    fn format(self, log: &mut Option<Self::Log>) -> Result<Box<Self::Engine>, MountError>;
    #[doc(hidden)]
    fn mount(self, log: &mut Option<Self::Log>) -> Mounted<Self::Engine>;
}

/// An engine, at the place where it stays, and the report of the mount.
pub(super) type Mounted<E> = Result<(Box<E>, MountReport), MountError>;

/// An engine as the disk needs it: one that lends its log and gives it back.
#[doc(hidden)]
pub trait Served: BlockDevice + Inspect {
    type Log;
    fn below(&self) -> &Self::Log;
    fn below_mut(&mut self) -> &mut Self::Log;
    fn end(self) -> Self::Log;
}

mod sealed {
    /// Keeps other crates from implementing [`EngineChoice`](super::EngineChoice).
    pub trait Sealed {}
    impl<V, W> Sealed for super::Config<V, W> {}
    impl<V, W> Sealed for super::PagedConfig<V, W> {}
}

impl<C: Medium, V: VictimChoice, W: PlaceChoice> EngineChoice<C> for Config<V, W> {
    type Log = C::Log;
    type Engine = PageFtl<C::Log, Ears, V, W>;

    fn log(&self, chip: C) -> Result<C::Log, ShapeError> {
        chip.into_log(self)
    }

    fn format(self, log: &mut Option<C::Log>) -> Result<Box<Self::Engine>, MountError> {
        PageFtl::format_boxed(log, Ears::default(), self.engine())
    }

    fn mount(self, log: &mut Option<C::Log>) -> Mounted<Self::Engine> {
        PageFtl::mount_boxed(log, Ears::default(), self.engine())
    }
}

impl<N: Nand, V: VictimWorth, W: StreamPlacement> EngineChoice<N> for PagedConfig<V, W> {
    type Log = MapLog<Kept<N, N::Error>>;
    type Engine = PagedFtl<Kept<N, N::Error>, V, W>;

    fn log(&self, chip: N) -> Result<Self::Log, ShapeError> {
        Ok(MapLog::with_map(Kept::new(chip), 1)?)
    }

    fn format(self, log: &mut Option<Self::Log>) -> Result<Box<Self::Engine>, MountError> {
        PagedFtl::format_boxed(log, self)
    }

    fn mount(self, log: &mut Option<Self::Log>) -> Mounted<Self::Engine> {
        PagedFtl::mount_boxed(log, self)
    }
}

impl<L: Log, V: VictimChoice, W: PlaceChoice> Served for PageFtl<L, Ears, V, W> {
    type Log = L;

    fn below(&self) -> &L {
        self.log()
    }

    fn below_mut(&mut self) -> &mut L {
        self.log_mut()
    }

    fn end(self) -> L {
        self.into_log()
    }
}

impl<N: Nand, V: VictimWorth, W: StreamPlacement> Served for PagedFtl<N, V, W> {
    type Log = MapLog<N>;

    fn below(&self) -> &MapLog<N> {
        self.log()
    }

    fn below_mut(&mut self) -> &mut MapLog<N> {
        self.log_mut()
    }

    fn end(self) -> MapLog<N> {
        self.into_log()
    }
}

/// The listener of the engine with its map in memory, if there is one.
#[doc(hidden)]
#[derive(Default)]
pub struct Ears(Option<Box<dyn Probe + Send>>);

/// Reports the engine's events to `probe` from now on.
pub(super) fn listen<L: Log, V: VictimChoice, W: PlaceChoice>(
    engine: &mut PageFtl<L, Ears, V, W>,
    probe: Box<dyn Probe + Send>,
) {
    engine.probe_mut().0 = Some(probe);
}

impl Probe for Ears {
    fn erased(&mut self, segment: u32, erases: u32) {
        if let Some(probe) = &mut self.0 {
            probe.erased(segment, erases);
        }
    }

    fn victim(&mut self, segment: u32, valid_pages: u32) {
        if let Some(probe) = &mut self.0 {
            probe.victim(segment, valid_pages);
        }
    }

    fn wants_moves(&self) -> bool {
        self.0.as_ref().is_some_and(|probe| probe.wants_moves())
    }

    fn moved(&mut self, segment: u32, class: u8, pages: u32, page: u32) {
        if let Some(probe) = &mut self.0 {
            probe.moved(segment, class, pages, page);
        }
    }

    fn turned(&mut self, class: u8) {
        if let Some(probe) = &mut self.0 {
            probe.turned(class);
        }
    }
}
