//! Making disks, and opening them.

use std::io;
use std::path::Path;

use wearwell::page::MountReport;
use wearwell_emu::{
    ChipKind, ChipProfile, Damage, EmuChip, EmuNand, EmuNor, Faults, ImageFile, ImageStore, SetupError,
};
use wearwell_sim::engine::{Begin, EnginePlan, EngineSpec};

use super::account::Account;
use super::engine::{Begun, Boxing};
use super::events::Events;
use super::header::{Header, HeaderFault};
use super::health::Symptoms;
use super::{Disk, DiskConfig, DiskError};
use crate::fdp::FdpSpec;

/// So many segments must fit into the file system before a disk is mounted anew: more than a mount fills.
const REMOUNT_SEGMENTS: u64 = 16;

/// Where a chip's bytes are, or are to be.
enum Place {
    Memory,
    New(ImageFile),
    Existing(ImageFile),
}

impl Disk {
    /// A new disk in a new image file, which takes room only where something is written.
    ///
    /// # Errors
    /// What makes no sense in the configuration; `Setup`, also if the file exists. A file that could not become a disk
    /// is removed.
    pub fn create(path: &Path, config: &DiskConfig) -> Result<Self, DiskError> {
        let plan = config.plan()?;
        let header =
            Header::of(&plan, config.fdp).map_err(|fault| DiskError::Header { path: path.to_owned(), fault })?;
        let file = ImageFile::create(path)?;
        let made = Self::create_in(file, path, plan, &header, config.faults.clone());
        if made.is_err() {
            // It is ours: it did not exist before. That it may stay behind is less than the error we have.
            let _ = std::fs::remove_file(path);
        }
        made
    }

    fn create_in(
        file: ImageFile,
        path: &Path,
        plan: EnginePlan,
        header: &Header,
        faults: Faults,
    ) -> Result<Self, DiskError> {
        let io_error = |error| DiskError::Io { path: path.to_owned(), error };
        let own = file.file().try_clone().map_err(io_error)?;
        let file = file.with_chip_at(header.chip_at);
        let kept = file.try_clone().map_err(io_error)?;
        let events = Events::default();
        let begun = put_on_chip(&plan, Place::New(file), faults, Begin::Format, &events)?;
        let mut disk = Self::new(plan, header.fdp, Some(path), begun, events);
        disk.file = Some(kept);
        disk.shutdown()?;
        header.write_holder(&own).map_err(io_error)?;
        // Last, so that a file whose making was cut is no image.
        header.write(&own).and_then(|()| own.sync_all()).map_err(io_error)?;
        Ok(disk)
    }

    /// A new disk in memory, which is gone with the value.
    ///
    /// # Errors
    /// What makes no sense in the configuration; `Setup` if there is too little memory.
    pub fn memory(config: &DiskConfig) -> Result<Self, DiskError> {
        let plan = config.plan()?;
        let events = Events::default();
        let begun = put_on_chip(&plan, Place::Memory, config.faults.clone(), Begin::Format, &events)?;
        Ok(Self::new(plan, config.fdp, None, begun, events))
    }

    /// The disk in an image file, mounted. Power comes on: if the last user did not shut down, the power was cut.
    ///
    /// # Errors
    /// `InUse`, `Setup`, `Header`, `Engine`.
    pub fn open(path: &Path) -> Result<(Self, MountReport), DiskError> {
        let file = ImageFile::open(path).map_err(|error| unopened(path, error))?;
        Self::open_in(file, path, true)
    }

    /// What something other than the chip did to an image, before anything is mounted: where the chip begins, what of
    /// it was changed, and which bytes of the header that nothing uses.
    pub(super) fn damage(path: &Path) -> Result<(u64, Vec<Damage>, Vec<u64>), DiskError> {
        let file = ImageFile::open_private(path).map_err(|error| unopened(path, error))?;
        let (header, engine) = read_header(&file, path)?;
        let io_error = |error| DiskError::Io { path: path.to_owned(), error };
        let unused = header.changed_unused(file.file()).map_err(io_error)?;
        let (chip, chip_at) = (&engine.chip, header.chip_at);
        let place = Place::Existing(file.with_chip_at(chip_at));
        let damage = match chip.kind {
            ChipKind::Nand => nand(chip, place, Faults::default())?.damage(),
            ChipKind::Nor => nor(chip, place, Faults::default())?.damage(),
        };
        Ok((chip_at, damage, unused))
    }

    /// The disk in an image file that stays as it is: what mounting and commands change is changed in memory only.
    /// Others may look at it meanwhile, but not serve it.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_private(path: &Path) -> Result<(Self, MountReport), DiskError> {
        let file = ImageFile::open_private(path).map_err(|error| unopened(path, error))?;
        Self::open_in(file, path, false)
    }

    fn open_in(file: ImageFile, path: &Path, holds: bool) -> Result<(Self, MountReport), DiskError> {
        let io_error = |error| DiskError::Io { path: path.to_owned(), error };
        let (header, engine) = read_header(&file, path)?;
        if holds {
            header.write_holder(file.file()).map_err(io_error)?;
        }
        let plan = DiskConfig { engine, fdp: header.fdp, faults: Faults::default() }.plan()?;
        let file = file.with_chip_at(header.chip_at);
        let kept = holds.then(|| file.try_clone()).transpose().map_err(io_error)?;
        let events = Events::default();
        let begun = put_on_chip(&plan, Place::Existing(file), Faults::default(), Begin::Mount, &events)?;
        let found = begun.1.unwrap_or_default();
        let mut disk = Self::new(plan, header.fdp, Some(path), begun, events);
        disk.file = kept;
        Ok((disk, found))
    }

    /// True if the file system had no room for the image, and the disk has to be mounted anew to be changed again.
    pub fn needs_remount(&self) -> bool {
        self.symptoms.is_out_of_room
    }

    /// Mounts the disk anew, as after a power cut, if the file system has room again: for what a mount may write, and
    /// some more. What was not flushed may be lost, which the next flush reports. Counters begin again. Returns what was found; none if there is too
    /// little room.
    ///
    /// # Errors
    /// As [`open`](Self::open). If the room was not enough after all, nothing can be read until the next try succeeds.
    pub fn remount(&mut self) -> Result<Option<MountReport>, DiskError> {
        let Some(file) = &self.file else { return Ok(None) };
        let io_error = |error| DiskError::Io { path: self.path.clone().unwrap_or_default(), error };
        let limits = self.engine.limits();
        let segment_bytes = u64::from(limits.pages_per_segment) * u64::from(self.page_bytes);
        let room = rustix::fs::fstatvfs(file.file()).map_err(|error| io_error(error.into()))?;
        if room.f_bavail.saturating_mul(room.f_frsize) < REMOUNT_SEGMENTS * segment_bytes {
            return Ok(None);
        }
        let place = Place::Existing(file.try_clone().map_err(io_error)?);
        // From here on flash changes under the engine that we have.
        self.symptoms.is_unmounted = true;
        let begun = put_on_chip(&self.plan, place, Faults::default(), Begin::Mount, &self.events)?;
        let found = begun.1.unwrap_or_default();
        self.replace(begun);
        Ok(Some(found))
    }

    fn new(
        plan: EnginePlan,
        fdp: Option<FdpSpec>,
        path: Option<&Path>,
        (mut engine, found): Begun,
        events: Events,
    ) -> Self {
        Self {
            plan,
            fdp,
            path: path.map(Path::to_owned),
            file: None,
            bytes: engine.sectors() * u64::from(wearwell::SECTOR_BYTES),
            page_bytes: engine.page_bytes(),
            opened_ns: engine.chip().time().now_ns(),
            account: Account::new(&*engine),
            is_mounted: found.is_some(),
            symptoms: Symptoms::mounted(found.is_some_and(|found| found.read_only)),
            is_cut: false,
            recorder: None,
            events,
            engine,
        }
    }

    /// Puts an engine that was mounted anew in place of the one that stopped.
    fn replace(&mut self, (mut engine, found): Begun) {
        self.opened_ns = engine.chip().time().now_ns();
        self.account = Account::new(&*engine);
        self.symptoms = self.symptoms.remounted(found.is_some_and(|found| found.read_only));
        self.engine = engine;
    }
}

fn read_header(file: &ImageFile, path: &Path) -> Result<(Header, EngineSpec), DiskError> {
    let io_error = |error: io::Error| DiskError::Io { path: path.to_owned(), error };
    Header::read(file.file()).map_err(io_error)?.map_err(|fault| DiskError::Header { path: path.to_owned(), fault })
}

/// Why a file could not be opened. Says who has the image, where it is taken and tells.
fn unopened(path: &Path, error: SetupError) -> DiskError {
    let taken = match error {
        SetupError::InUse { path } => path,
        // Nothing has been read yet, so it is the file's kind.
        SetupError::Image { path, .. } => return DiskError::Header { path, fault: HeaderFault::NoFile },
        error => return error.into(),
    };
    let header = std::fs::File::open(path).and_then(|file| Ok(Header::read(&file)?.ok().map(|read| (file, read.0))));
    let holder = header.ok().flatten().and_then(|(file, header)| header.read_holder(&file));
    DiskError::InUse { path: taken, holder }
}

fn put_on_chip(
    plan: &EnginePlan,
    place: Place,
    faults: Faults,
    begin: Begin,
    events: &Events,
) -> Result<Begun, DiskError> {
    let (chip, boxing) = (&plan.spec.chip, Boxing(events.clone()));
    Ok(match chip.kind {
        ChipKind::Nand => plan.over_nand(nand(chip, place, faults)?, begin, boxing)?,
        ChipKind::Nor => plan.over_nor(nor(chip, place, faults)?, begin, boxing)?,
    })
}

fn nand(chip: &ChipProfile, place: Place, faults: Faults) -> Result<EmuNand<ImageStore>, SetupError> {
    match place {
        Place::Memory => EmuNand::without_file(chip, faults),
        Place::New(file) => EmuNand::create_in(file, chip, faults),
        Place::Existing(file) => EmuNand::open_in(file, chip, faults),
    }
}

fn nor(chip: &ChipProfile, place: Place, faults: Faults) -> Result<EmuNor<ImageStore>, SetupError> {
    let mut nor = match place {
        Place::Memory => EmuNor::without_file(chip, faults),
        Place::New(file) => EmuNor::create_in(file, chip, faults),
        Place::Existing(file) => EmuNor::open_in(file, chip, faults),
    }?;
    if chip.times.is_none() {
        // Over at the next call, as in a simulated run.
        nor.set_erase_calls(1);
    }
    Ok(nor)
}
