//! Disks on raw flash: page mapping on a NAND chip behind Linux's MTD.
//!
//! Only the capacity is on flash, in the header of every segment. The policies are those of whoever serves the disk.

use std::path::Path;

use wearwell::page::log::{SegmentHeader, Stored};
use wearwell::{CleaningTrigger, Placement, VictimPolicy, WearLeveling};
use wearwell_emu::{AnyStore, ChipProfile, EmuChip, Faults, Timeline};
use wearwell_flash::{BlockAddr, Nand, NandGeometry, PageAddr, ReadReport};
use wearwell_mtd::{Access, Info, MtdError, MtdFile};
use wearwell_sim::engine::{Begin, EnginePlan, EngineSpec, Layout, OnChip};

use super::engine::{Begun, DiskChip};
use super::events::Events;
use super::held::Held;
use super::{Disk, DiskConfig, DiskError, MountReport};

/// The difference of erase counts that is tolerated, as the library's own disks do.
const LEAST_UNEVEN: u32 = 50;

/// The policies of a disk on raw flash. None leaves a choice to its default.
#[derive(Debug, Clone, Copy, Default)]
pub struct MtdPolicies {
    /// When cleaning runs.
    pub when: Option<CleaningTrigger>,
    /// Which segment cleaning takes.
    pub which: Option<VictimPolicy>,
    /// Where pages go.
    pub place: Option<Placement>,
    /// How wear is leveled; by default erase counts differ by 50 at most.
    pub wear: Option<WearLeveling>,
}

/// A look at raw flash.
#[derive(Debug, Clone)]
pub struct MtdLook {
    /// What the kernel tells of it.
    pub info: Info,
    /// Its shape.
    pub geometry: NandGeometry,
    /// Blocks that are marked bad.
    pub bad_blocks: u32,
    /// What it holds.
    pub held: Held,
}

/// The chip below a disk.
struct MtdChip {
    nand: MtdFile,
    time: Timeline,
}

impl Disk {
    /// Looks at raw flash, without changing it.
    ///
    /// # Errors
    /// `Mtd`; `MtdFailed` if it cannot be read.
    pub fn look_at_mtd(path: &Path) -> Result<MtdLook, DiskError> {
        let (mut nand, info) = wearwell_mtd::open(path, Access::Read)?;
        let (held, bad_blocks) = look(&mut nand).map_err(|error| failed(path, error))?;
        Ok(MtdLook { info, geometry: nand.geometry(), bad_blocks, held })
    }

    /// Makes an empty disk on raw flash, by default with 87.5 % of the good blocks for the host. Unless it is `forced`,
    /// nothing else may be there.
    ///
    /// # Errors
    /// `Mtd`; `NotBlank`; `Engine` if the capacity does not fit, or the chip fails.
    pub fn format_mtd(path: &Path, logical_bytes: Option<u64>, forced: bool) -> Result<(), DiskError> {
        let (mut nand, info) = wearwell_mtd::open(path, Access::Write)?;
        let (held, bad_blocks) = look(&mut nand).map_err(|error| failed(path, error))?;
        // After the look at all blocks: a boot loader may be in any of them.
        if held != Held::Nothing && !forced {
            return Err(DiskError::NotBlank { path: path.to_owned(), held });
        }
        let geometry = nand.geometry();
        let good = u64::from(geometry.blocks - bad_blocks) * u64::from(geometry.pages_per_block);
        let logical_bytes = logical_bytes.unwrap_or(good / 8 * 7 * u64::from(geometry.page_bytes));
        let (mut disk, _) = begin(path, nand, &info, logical_bytes, MtdPolicies::default(), Begin::Format)?;
        // The first mount then finds a checkpoint, and need not look at each segment.
        disk.shutdown()
    }

    /// Mounts the disk on raw flash. If the last user did not shut down, this is a mount after a power cut.
    ///
    /// # Errors
    /// `Mtd`; `NoDisk` if it holds none; `Engine`.
    pub fn open_mtd(path: &Path, policies: MtdPolicies) -> Result<(Self, MountReport), DiskError> {
        let (mut nand, info) = wearwell_mtd::open(path, Access::Write)?;
        let Held::Disk { bytes, .. } = look(&mut nand).map_err(|error| failed(path, error))?.0 else {
            return Err(DiskError::NoDisk { path: path.to_owned() });
        };
        begin(path, nand, &info, bytes, policies, Begin::Mount)
    }
}

fn failed(path: &Path, error: MtdError) -> DiskError {
    DiskError::MtdFailed { path: path.to_owned(), error }
}

/// Formats or mounts.
fn begin(
    path: &Path,
    nand: MtdFile,
    info: &Info,
    logical_bytes: u64,
    policies: MtdPolicies,
    begin: Begin,
) -> Result<(Disk, MountReport), DiskError> {
    let plan = plan(&profile(info, nand.geometry())?, logical_bytes, policies)?;
    let chip = MtdChip { time: Timeline::new(&plan.spec.chip), nand };
    let events = Events::default();
    let (engine, found) = plan.on_other_nand(chip, begin, Box::new(events.clone()))?;
    let begun: Begun = (Box::new(engine), found);
    Ok((Disk::new(plan, None, Some(path), begun, events), found.unwrap_or_default()))
}

/// The chip as a profile, for what is told of it.
fn profile(info: &Info, geometry: NandGeometry) -> Result<ChipProfile, DiskError> {
    let NandGeometry { page_bytes, spare_bytes, pages_per_block, blocks, .. } = geometry;
    let text = format!("geometry:{page_bytes}:{pages_per_block}:{blocks}");
    let bare = ChipProfile::from_geometry_str(&text).map_err(|error| DiskError::Setup(error.into()))?;
    Ok(ChipProfile { name: info.name.clone(), spare_bytes, source: "the kernel".to_owned(), ..bare })
}

fn plan(chip: &ChipProfile, logical_bytes: u64, policies: MtdPolicies) -> Result<EnginePlan, DiskError> {
    let MtdPolicies { when, which, place, wear } = policies;
    let bare = EngineSpec::new(chip.clone());
    let engine = EngineSpec {
        layout: Some(Layout::NandCheckpoint),
        logical_bytes: Some(logical_bytes),
        when,
        which: which.unwrap_or(bare.which),
        place: place.unwrap_or(bare.place),
        wear: wear.or(Some(WearLeveling::StaticThreshold { threshold: LEAST_UNEVEN })),
        ..bare
    };
    DiskConfig { engine, fdp: None, faults: Faults::default() }.plan()
}

/// What a chip holds, and how many blocks are bad. The first page of each block is read, as far as that takes: all who
/// write to raw flash begin there.
fn look(nand: &mut MtdFile) -> Result<(Held, u32), MtdError> {
    let geometry = nand.geometry();
    let mut page = vec![0; geometry.page_bytes as usize];
    let (mut disk, mut other, mut bad) = (None, None, 0);
    for block in (0..geometry.blocks).map(BlockAddr) {
        if nand.is_bad(block)? {
            bad += 1;
            continue;
        }
        // The other blocks are only counted, which needs no read.
        if disk.is_some() {
            continue;
        }
        match nand.read(geometry.page(block, 0), &mut page, &mut []) {
            Ok(_) if page.iter().all(|&byte| byte == 0xFF) => {}
            Ok(_) => {
                disk = SegmentHeader::on_nand(&page);
                other = other.or(Some(block.0));
            }
            // A page that was programmed and torn is not erased. It may be anybody's.
            Err(MtdError::Uncorrectable { .. }) => other = other.or(Some(block.0)),
            Err(error) => return Err(error),
        }
    }
    let held = match (disk, other) {
        (Some(SegmentHeader { version, logical_pages, .. }), _) => {
            Held::Disk { bytes: u64::from(logical_pages) * u64::from(geometry.page_bytes), version }
        }
        (None, Some(block)) => Held::Other { block },
        (None, None) => Held::Nothing,
    };
    Ok((held, bad))
}

impl Nand for MtdChip {
    type Error = MtdError;

    fn geometry(&self) -> NandGeometry {
        self.nand.geometry()
    }

    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, MtdError> {
        self.nand.read(page, data, spare)
    }

    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), MtdError> {
        self.nand.program(page, data, spare)
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), MtdError> {
        self.nand.erase(block)
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, MtdError> {
        self.nand.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), MtdError> {
        self.nand.mark_bad(block)
    }
}

impl OnChip for MtdChip {
    type Chip = Self;
    type Payload = Stored;

    fn bottom_chip(&mut self) -> &mut Self {
        self
    }

    fn timeline(&mut self) -> &mut Timeline {
        &mut self.time
    }
}

impl DiskChip for MtdChip {
    fn time(&mut self) -> &mut Timeline {
        &mut self.time
    }

    fn emulated(&mut self) -> Option<&mut dyn EmuChip<Store = AnyStore>> {
        None
    }
}
