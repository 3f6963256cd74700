//! A disk in memory, to step by hand: any engine on an emulated chip that keeps its bytes. Its power can be cut.
//!
//! It is meant for teaching, and for tests of what a file system does to flash. For counting, [`mod@crate::run`] is
//! faster.

use thiserror::Error;
use wearwell::page::MountReport;
use wearwell::{FtlError, Limits, SECTOR_BYTES, Sectors, Stats, WriteHint};
use wearwell_emu::{AnyStore, CutOutcome, EmuChip, EmuNand, EmuNor, Faults, PowerCut, SetupError};

use crate::engine::{AnyEngine, Begin, DataMode, EngineError, EnginePlan, EngineSpec, Layout, OnChip, SegmentRow};

/// Why a command to a device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The engine was refused, or could not begin.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The emulated chip could not be made.
    #[error("--chip: {0}")]
    Chip(#[from] SetupError),
    /// The range is not made of whole sectors.
    #[error("{length} bytes at byte {offset} are not whole sectors of {SECTOR_BYTES} bytes")]
    NotWhole {
        /// The first byte.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// The engine refused or failed a command.
    #[error(transparent)]
    Command(#[from] FtlError),
    /// The power is off.
    #[error("the power is off: mount the device first")]
    Off,
}

/// A chip without an engine on it.
enum Chip {
    Nand(Box<EmuNand<AnyStore>>),
    Nor(Box<EmuNor<AnyStore>>),
}

/// An engine on a chip, whatever their types.
trait Stepped: AnyEngine {
    fn ops(&mut self) -> u64;
    fn arm(&mut self, cut: PowerCut);
    fn is_off(&mut self) -> bool;
    fn chip(&mut self) -> Chip;
}

/// The kinds of chip that a device can have.
trait Kind: EmuChip + OnChip<Chip = Self> + Clone + Send + 'static {
    fn kept(&self) -> Chip;
}

impl Kind for EmuNand<AnyStore> {
    fn kept(&self) -> Chip {
        Chip::Nand(Box::new(self.clone()))
    }
}

impl Kind for EmuNor<AnyStore> {
    fn kept(&self) -> Chip {
        Chip::Nor(Box::new(self.clone()))
    }
}

impl<F> Stepped for F
where
    F: AnyEngine + OnChip,
    F::Chip: Kind,
{
    fn ops(&mut self) -> u64 {
        self.bottom_chip().ops()
    }

    fn arm(&mut self, cut: PowerCut) {
        self.bottom_chip().arm(Some(cut));
    }

    fn is_off(&mut self) -> bool {
        self.bottom_chip().is_off()
    }

    fn chip(&mut self) -> Chip {
        self.bottom_chip().kept()
    }
}

/// A disk in memory.
pub struct Device {
    plan: EnginePlan,
    engine: Box<dyn Stepped>,
}

impl Device {
    /// An empty disk.
    ///
    /// # Errors
    /// An engine that makes no sense, or does not fit its chip.
    pub fn new(spec: &EngineSpec) -> Result<Self, DeviceError> {
        let plan = spec.plan(DataMode::Stored)?;
        let (profile, faults) = (&spec.chip, Faults { seed: spec.seed, ..Faults::default() });
        let chip = match plan.layout {
            Layout::Nor => Chip::Nor(Box::new(EmuNor::without_file(profile, faults)?)),
            _ => Chip::Nand(Box::new(EmuNand::without_file(profile, faults)?)),
        };
        let (engine, _) = put(&plan, chip, Begin::Format)?;
        Ok(Self { plan, engine })
    }

    /// Bytes that the host can address.
    pub fn bytes(&self) -> u64 {
        self.engine.sectors() * u64::from(SECTOR_BYTES)
    }

    /// The host's counters and the engine's, since the device was made or mounted.
    pub fn stats(&self) -> Stats {
        *self.engine.stats()
    }

    /// The device's shape and limits.
    pub fn limits(&self) -> Limits {
        self.engine.limits()
    }

    /// Every segment.
    pub fn segments(&self) -> Vec<SegmentRow> {
        self.engine.segment_rows()
    }

    /// True after a power cut, until [`mount`](Self::mount).
    pub fn is_off(&mut self) -> bool {
        self.engine.is_off()
    }

    /// Reads bytes: whole sectors.
    ///
    /// # Errors
    /// A range outside the device or not of whole sectors; data that is lost; a device without power.
    pub fn read(&mut self, offset: u64, length: u64) -> Result<Vec<u8>, DeviceError> {
        let at = whole_sectors(offset, length)?;
        self.check_range(at)?;
        let mut data = vec![0; length as usize];
        self.command(|engine| engine.read(at, &mut data))?;
        Ok(data)
    }

    /// Writes bytes: whole sectors, of a stream.
    ///
    /// # Errors
    /// As [`read`](Self::read), and a device that is worn out.
    pub fn write(&mut self, offset: u64, data: &[u8], stream: u16) -> Result<(), DeviceError> {
        let at = whole_sectors(offset, data.len() as u64)?;
        self.command(|engine| engine.write(at, data, WriteHint::stream(stream)))
    }

    /// Discards bytes: whole sectors.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn discard(&mut self, offset: u64, length: u64) -> Result<(), DeviceError> {
        let at = whole_sectors(offset, length)?;
        self.command(|engine| engine.discard(at))
    }

    /// Makes everything that was written and discarded survive a power cut from here on.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn flush(&mut self) -> Result<(), DeviceError> {
        self.command(|engine| engine.flush())
    }

    /// Cleans in the background, moving at most so many pages. True if there is more to do.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn clean(&mut self, budget_pages: u32) -> Result<bool, DeviceError> {
        self.command(|engine| engine.clean(budget_pages))
    }

    /// Shuts the device down. It has to be mounted again.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn shutdown(&mut self) -> Result<(), DeviceError> {
        self.command(|engine| engine.shutdown())
    }

    /// Cuts the power `after_ops` state-changing operations of the chip from now. The operation that is hit is torn,
    /// with an outcome drawn from the seed.
    pub fn cut_power(&mut self, after_ops: u64, seed: u64) {
        // A sum that saturates is a number that no operation reaches.
        let at_op = self.engine.ops().saturating_add(after_ops);
        self.engine.arm(PowerCut { at_op, outcome: CutOutcome::Seeded { seed } });
    }

    /// Turns the power off, if it is on, and on again, and mounts what is on the chip. Data that was not flushed may be
    /// lost. An armed power cut is disarmed.
    ///
    /// # Errors
    /// A chip that cannot be mounted.
    pub fn mount(&mut self) -> Result<MountReport, DeviceError> {
        // A copy of the chip. If it cannot be mounted, the device stays as it was.
        let mut chip = self.engine.chip();
        match &mut chip {
            Chip::Nand(chip) => restart(&mut **chip),
            Chip::Nor(chip) => restart(&mut **chip),
        }
        let (engine, found) = put(&self.plan, chip, Begin::Mount)?;
        self.engine = engine;
        Ok(found.unwrap_or_default())
    }

    /// Checks that a range lies on the device, before memory is allocated for it.
    fn check_range(&self, at: Sectors) -> Result<(), FtlError> {
        let capacity = self.engine.sectors();
        let is_inside = at.start.checked_add(at.count).is_some_and(|end| end <= capacity);
        if is_inside { Ok(()) } else { Err(FtlError::OutOfRange { start: at.start, count: at.count, capacity }) }
    }

    fn command<T>(&mut self, act: impl FnOnce(&mut dyn Stepped) -> Result<T, FtlError>) -> Result<T, DeviceError> {
        if self.engine.is_off() {
            return Err(DeviceError::Off);
        }
        // Whatever the engine makes of a cut, the caller is told that the power is off.
        act(&mut *self.engine).map_err(|error| if self.engine.is_off() { DeviceError::Off } else { error.into() })
    }
}

fn restart(chip: &mut impl EmuChip) {
    // A cut that was armed before must not hit the mount.
    chip.arm(None);
    chip.power_on();
}

fn put(plan: &EnginePlan, chip: Chip, begin: Begin) -> Result<(Box<dyn Stepped>, Option<MountReport>), DeviceError> {
    Ok(match chip {
        Chip::Nand(chip) => {
            let (engine, found) = plan.on_nand(*chip, begin, Box::new(()))?;
            (Box::new(engine), found)
        }
        Chip::Nor(chip) => {
            let (engine, found) = plan.on_nor(*chip, begin, Box::new(()))?;
            (Box::new(engine), found)
        }
    })
}

fn whole_sectors(offset: u64, length: u64) -> Result<Sectors, DeviceError> {
    let sector_bytes = u64::from(SECTOR_BYTES);
    if !offset.is_multiple_of(sector_bytes) || !length.is_multiple_of(sector_bytes) {
        return Err(DeviceError::NotWhole { offset, length });
    }
    Ok(Sectors { start: offset / sector_bytes, count: length / sector_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::chip;

    fn device() -> Device {
        let spec = EngineSpec::new(chip("geometry:2048:16:256").expect("a chip"));
        Device::new(&EngineSpec { logical_bytes: Some(4 << 20), ..spec }).expect("a device")
    }

    #[test]
    fn what_was_flushed_survives_power_cuts() {
        let mut device = device();
        let page = |value: u8| vec![value; 2048];
        device.write(0, &page(1), 0).expect("power is on");
        device.flush().expect("power is on");
        for (seed, cut_after) in [(1, 0), (2, 3), (3, 40)] {
            device.cut_power(cut_after, seed);
            let mut writes = (0..200).map(|at| device.write(4096 + at % 8 * 2048, &page(9), 0));
            assert!(matches!(writes.find(Result::is_err), Some(Err(DeviceError::Off))), "seed {seed}");
            assert!(device.is_off() && matches!(device.read(0, 512), Err(DeviceError::Off)));
            let found = device.mount().expect("it mounts");
            assert!(!found.clean && device.read(0, 2048).expect("power is on") == page(1), "seed {seed}");
        }
        device.shutdown().expect("power is on");
        assert!(device.mount().expect("it mounts").clean);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let mut device = device();
        assert!(matches!(device.write(1, &[0; 512], 0), Err(DeviceError::NotWhole { .. })));
        assert!(matches!(device.read(0, 100), Err(DeviceError::NotWhole { .. })));
        let beyond = device.bytes();
        assert!(matches!(device.read(beyond, 512), Err(DeviceError::Command(FtlError::OutOfRange { .. }))));
        assert!(matches!(device.read(0, u64::MAX / 512 * 512), Err(DeviceError::Command(_))));
    }
}
