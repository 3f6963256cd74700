//! Creates and opens disks.

use std::io;
use std::path::Path;

use wearwell::Placement;
use wearwell::page::MountReport;
use wearwell_emu::{AnyStore, ChipKind, ChipProfile, Damage, EmuChip, EmuNand, EmuNor, Faults, ImageFile, SetupError};
use wearwell_sim::engine::{Begin, EnginePlan, EngineSpec};

use super::account::Account;
use super::engine::Begun;
use super::events::Events;
use super::handles::HandleDeed;
use super::header::{Header, HeaderFault};
use super::health::Symptoms;
use super::life::{self, KeptHandles, LifeKeeper};
use super::{Disk, DiskConfig, DiskError};
use crate::fdp::FdpSpec;

/// The segments that must fit into the file system before a disk is mounted again. A mount fills fewer.
const REMOUNT_SEGMENTS: u64 = 16;

/// Damage to an image from outside.
pub(super) struct ImageDamage {
    /// Where the chip begins.
    pub(super) chip_at: u64,
    pub(super) chip: Vec<Damage>,
    /// Changed unused bytes of the header.
    pub(super) unused: Vec<u64>,
    /// Where the record of the disk's life begins, if that is damaged.
    pub(super) life_at: Option<u64>,
}

/// The place of a chip's bytes.
enum Place {
    Memory,
    New(ImageFile),
    Existing(ImageFile),
}

impl Disk {
    /// Creates a disk in a new image file, which is sparse.
    ///
    /// # Errors
    /// Errors of the configuration; `Setup`, also if the file exists. A file that could not become a disk is removed.
    pub fn create(path: &Path, config: &DiskConfig) -> Result<Self, DiskError> {
        let plan = config.plan()?;
        let header =
            Header::of(&plan, config.fdp).map_err(|fault| DiskError::Header { path: path.to_owned(), fault })?;
        // After everything that can be refused without it.
        let file = ImageFile::create(path)?;
        let made = Self::create_in(file, path, plan, &header, config.faults.clone());
        if made.is_err() {
            // The file is ours, because it did not exist before. A failed removal matters less than this error.
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
        // The chip takes the other one, with its lock. This one writes the header.
        let own = file.file().try_clone().map_err(io_error)?;
        let file = file.with_chip_at(header.chip_at);
        let kept = file.try_clone().map_err(io_error)?;
        let events = Events::of(header.fdp);
        let begun = put_on_chip(&plan, Place::New(file), faults, Begin::Format, &events)?;
        let mut disk = Self::new(plan, header.fdp, Some(path), begun, events);
        disk.file = Some(kept);
        // The chip is on the machine's storage before a header says that there is one.
        disk.shutdown()?;
        header.write_life(&own).and_then(|()| header.write_holder(&own)).map_err(io_error)?;
        // Last, so that a file whose creation was cut is not an image.
        header.write(&own).and_then(|()| own.sync_all()).map_err(io_error)?;
        Ok(disk)
    }

    /// Creates a disk in memory, which ends with the value.
    ///
    /// # Errors
    /// Errors of the configuration; `Setup` if there is too little memory.
    pub fn memory(config: &DiskConfig) -> Result<Self, DiskError> {
        let plan = config.plan()?;
        let events = Events::of(config.fdp);
        let begun = put_on_chip(&plan, Place::Memory, config.faults.clone(), Begin::Format, &events)?;
        Ok(Self::new(plan, config.fdp, None, begun, events))
    }

    /// Mounts the disk in an image file. If the last user did not shut down, this is a mount after a power cut.
    ///
    /// # Errors
    /// `InUse`, `Setup`, `Header`, `Engine`.
    pub fn open(path: &Path) -> Result<(Self, MountReport), DiskError> {
        let file = ImageFile::open(path).map_err(|error| unopened(path, error))?;
        Self::open_in(file, path, true)
    }

    /// Damage to an image from outside the chip, before anything is mounted.
    pub(super) fn damage(path: &Path) -> Result<ImageDamage, DiskError> {
        let file = ImageFile::open_private(path).map_err(|error| unopened(path, error))?;
        let (header, engine) = read_header(&file, path)?;
        let io_error = |error| DiskError::Io { path: path.to_owned(), error };
        let unused = header.changed_unused(file.file()).map_err(io_error)?;
        let life = header.read_life(file.file()).map_err(io_error)?;
        let life_at = header.life_at().map(|at| at.start).filter(|_| !life::is_whole(&life));
        let (chip, chip_at) = (&engine.chip, header.chip_at);
        let place = Place::Existing(file.with_chip_at(chip_at));
        let damage = match chip.kind {
            ChipKind::Nand => nand(chip, place, Faults::default())?.damage(),
            ChipKind::Nor => nor(chip, place, Faults::default())?.damage(),
        };
        Ok(ImageDamage { chip_at, chip: damage, unused, life_at })
    }

    /// Mounts the disk in an image file without changing the file. Changes by the mount and by commands stay in memory.
    /// Other processes may read the file meanwhile, but not serve it.
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
            // The lock is held, so that nobody else writes it.
            header.write_holder(file.file()).map_err(io_error)?;
        }
        let plan = DiskConfig { engine, fdp: header.fdp, faults: Faults::default() }.plan()?;
        let file = file.with_chip_at(header.chip_at);
        let kept = holds.then(|| file.try_clone()).transpose().map_err(io_error)?;
        let (life, handles) = open_life(&file, &header, holds).map_err(io_error)?;
        let events = Events::of(header.fdp);
        // Before the mount, which may move pages of the handles.
        (0..).zip(handles.watched).for_each(|(handle, watched)| events.handles().watch(handle, watched));
        let begun = put_on_chip(&plan, Place::Existing(file), Faults::default(), Begin::Mount, &events)?;
        let found = begun.1.unwrap_or_default();
        // No segment is continued after a mount.
        let restarted = (0..Placement::HANDLES).filter(|handle| handles.begun >> handle & 1 != 0);
        restarted.for_each(|handle| events.note_handle(handle, HandleDeed::Restarted));
        let mut disk = Self::new(plan, header.fdp, Some(path), begun, events);
        (disk.file, disk.life) = (kept, life);
        // This open counts from here on, and no segment is partly written.
        disk.keep_life();
        Ok((disk, found))
    }

    /// True if the file system had no room for the image. The disk has to be mounted again before it can be changed.
    pub fn needs_remount(&self) -> bool {
        self.symptoms.is_out_of_room
    }

    /// Mounts the disk again, as after a power cut, if the file system has room for what a mount may write, and some
    /// more. Data that was not flushed may be lost, which the next flush reports. Counters begin again. Returns the
    /// report of the mount; none if there is too little room.
    ///
    /// # Errors
    /// As [`open`](Self::open). If there was not enough room, nothing can be read until a later try succeeds.
    pub fn remount(&mut self) -> Result<Option<MountReport>, DiskError> {
        let Some(file) = &self.file else { return Ok(None) };
        let io_error = |error| DiskError::Io { path: self.path.clone().unwrap_or_default(), error };
        let room = rustix::fs::fstatvfs(file.file()).map_err(|error| io_error(error.into()))?;
        // Only what we may use counts. Some file systems keep the rest for root.
        if room.f_bavail.saturating_mul(room.f_frsize) < REMOUNT_SEGMENTS * self.segment_bytes {
            return Ok(None);
        }
        let place = Place::Existing(file.try_clone().map_err(io_error)?);
        // Asked before the mount: afterwards nobody knows where the handles wrote.
        let before = self.handle_segments();
        let begun: Vec<bool> = (0..).zip(&before).map(|(handle, _)| self.has_begun(handle)).collect();
        // From here on, flash changes below the old engine.
        self.symptoms.is_unmounted = true;
        let mounted = put_on_chip(&self.plan, place, Faults::default(), Begin::Mount, &self.events)?;
        let found = mounted.1.unwrap_or_default();
        self.replace(mounted);
        for (handle, (left, now)) in (0..).zip(before.into_iter().zip(self.handle_segments())) {
            if begun[usize::from(handle)] && left != now {
                self.events.note_handle(handle, HandleDeed::Turned);
            }
        }
        self.keep_life();
        Ok(Some(found))
    }

    pub(super) fn new(
        plan: EnginePlan,
        fdp: Option<FdpSpec>,
        path: Option<&Path>,
        (mut engine, found): Begun,
        events: Events,
    ) -> Self {
        let page_bytes = engine.page_bytes();
        Self {
            plan,
            fdp,
            path: path.map(Path::to_owned),
            file: None,
            bytes: engine.sectors() * u64::from(wearwell::SECTOR_BYTES),
            page_bytes,
            segment_bytes: u64::from(engine.limits().pages_per_segment) * u64::from(page_bytes),
            opened_ns: engine.chip().time().now_ns(),
            account: Account::new(&*engine),
            life: LifeKeeper::open(&[], None).0,
            is_mounted: found.is_some(),
            symptoms: Symptoms::mounted(found.unwrap_or_default()),
            is_cut: false,
            recorder: None,
            events,
            is_read_only_data: false,
            engine,
        }
    }

    /// Replaces the stopped engine by the one that was mounted again.
    fn replace(&mut self, (mut engine, found): Begun) {
        self.opened_ns = engine.chip().time().now_ns();
        // The counters of the engine that goes, before anything of it is replaced.
        let until_now = self.since_opened();
        self.life.begin_again(until_now);
        self.account = Account::new(&*engine);
        self.symptoms = self.symptoms.remounted(found.unwrap_or_default());
        self.engine = engine;
    }
}

/// Opens what the image keeps of the disk's life. If the disk is held, this open counts.
fn open_life(file: &ImageFile, header: &Header, holds: bool) -> io::Result<(LifeKeeper, KeptHandles)> {
    let bytes = header.read_life(file.file())?;
    // A private copy must not change the image, so its life is read and not kept.
    let at = header.life_at().filter(|_| holds);
    Ok(LifeKeeper::open(&bytes, at.map(|at| file.map_head(at)).transpose()?))
}

fn read_header(file: &ImageFile, path: &Path) -> Result<(Header, EngineSpec), DiskError> {
    let io_error = |error: io::Error| DiskError::Io { path: path.to_owned(), error };
    Header::read(file.file()).map_err(io_error)?.map_err(|fault| DiskError::Header { path: path.to_owned(), fault })
}

/// Why a file could not be opened. Names the process that has the image, if the image says so.
fn unopened(path: &Path, error: SetupError) -> DiskError {
    let taken = match error {
        SetupError::InUse { path } => path,
        // Nothing has been read yet, so the cause is the file's type.
        SetupError::Image { path, .. } => return DiskError::Header { path, fault: HeaderFault::NoFile },
        error => return error.into(),
    };
    // Reading needs no lock. The holder may just change the file, so whatever cannot be read names nobody.
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
    let (chip, probe) = (&plan.spec.chip, Box::new(events.clone()));
    Ok(match chip.kind {
        ChipKind::Nand => {
            let (engine, found) = plan.on_nand(nand(chip, place, faults)?, begin, probe)?;
            (Box::new(engine), found)
        }
        ChipKind::Nor => {
            let (engine, found) = plan.on_nor(nor(chip, place, faults)?, begin, probe)?;
            (Box::new(engine), found)
        }
    })
}

fn nand(chip: &ChipProfile, place: Place, faults: Faults) -> Result<EmuNand<AnyStore>, SetupError> {
    match place {
        Place::Memory => EmuNand::without_file(chip, faults),
        Place::New(file) => EmuNand::create_in(file, chip, faults),
        Place::Existing(file) => EmuNand::open_in(file, chip, faults),
    }
}

fn nor(chip: &ChipProfile, place: Place, faults: Faults) -> Result<EmuNor<AnyStore>, SetupError> {
    match place {
        Place::Memory => EmuNor::without_file(chip, faults),
        Place::New(file) => EmuNor::create_in(file, chip, faults),
        Place::Existing(file) => EmuNor::open_in(file, chip, faults),
    }
}
