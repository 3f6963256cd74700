//! The use of a device before its image is taken, and after the image was mounted.

use wearwell::page::log::Log;
use wearwell::page::{MountError, PageConfig, PageFtl, Policies};
use wearwell::{BlockDevice, FtlError, Rng, Sectors, WriteHint};
use wearwell_flash::ErrorKind;

pub(crate) const LOGICAL_PAGES: u32 = 40;

/// How the device was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    ShutDown,
    Cut,
}

pub(crate) fn config() -> PageConfig {
    PageConfig { logical_pages: LOGICAL_PAGES, policies: Policies::default(), seed: 1, endurance: 1000 }
}

fn page(ftl: &impl BlockDevice, lpn: u32) -> Sectors {
    let sectors = u64::from(ftl.page_bytes() / 512);
    Sectors { start: u64::from(lpn) * sectors, count: sectors }
}

/// A device that has been written, discarded, flushed and cleaned.
pub(crate) fn used<L: Log>(log: L, left: Left) -> L {
    let mut ftl = PageFtl::format(log, (), config()).expect("the base device fits its chip");
    make_used(&mut ftl, left);
    ftl.into_log()
}

pub(crate) fn make_used(ftl: &mut impl BlockDevice, left: Left) {
    let mut rng = Rng::new(7);
    for step in 0..400_u32 {
        let at = page(ftl, rng.below(LOGICAL_PAGES));
        let done = match rng.below(16) {
            0 => ftl.discard(at),
            1 => ftl.flush(),
            2 => ftl.write(Sectors { count: 1, ..at }, &[step as u8; 512], WriteHint::NONE),
            _ => ftl.write(at, &vec![step as u8; ftl.page_bytes() as usize], WriteHint::NONE),
        };
        done.expect("the base chip does not fail");
    }
    if left == Left::ShutDown {
        ftl.shutdown().expect("the base chip does not fail");
    }
}

/// What a device must still do after its image was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Image {
    /// The changes could come from failing hardware. A device that mounts has to work.
    Damaged,
    /// Records were forged, with good checksums. Nothing may panic, but written data may be lost to a record that
    /// claims to be newer.
    Forged,
}

/// True if a command may end like this on a chip with a damaged image: it has too many bad blocks, or pages that only
/// damage can have programmed lie behind erased ones, and the chip refuses to program those.
fn is_excused(error: FtlError) -> bool {
    matches!(error, FtlError::WornOut { .. } | FtlError::Chip(ErrorKind::Contract))
}

/// Mounts the image, and uses the device.
pub(crate) fn mount_and_use<L: Log>(log: L, image: Image, power_cycle: impl FnOnce(&mut L)) {
    let Ok((ftl, _)) = PageFtl::mount(log, (), config()) else { return };
    use_mounted(ftl, image, |ftl| {
        let mut log = ftl.into_log();
        power_cycle(&mut log);
        PageFtl::mount(log, (), config()).map(|(ftl, _)| ftl)
    });
}

/// Checks that a mounted device works: every page can be read or fails with an error, everything can be overwritten,
/// and the data is still there after a power cycle.
pub(crate) fn use_mounted<F: BlockDevice>(mut ftl: F, image: Image, remount: impl FnOnce(F) -> Result<F, MountError>) {
    let mut data = vec![0; ftl.page_bytes() as usize];
    for lpn in 0..LOGICAL_PAGES {
        match ftl.read(page(&ftl, lpn), &mut data) {
            Ok(()) | Err(FtlError::Unreadable { .. }) => {}
            Err(error) => assert!(image == Image::Forged, "page {lpn}: {error}"),
        }
    }
    if let Err(error) = overwrite(&mut ftl, &mut data) {
        assert!(image == Image::Forged || is_excused(error), "{error}");
        return;
    }
    match remount(ftl) {
        Ok(mut ftl) if image == Image::Damaged => check_overwritten(&mut ftl, &mut data),
        Ok(_) => {}
        Err(error) => assert!(image == Image::Forged, "what was flushed does not mount: {error}"),
    }
}

const ROUNDS: u8 = 3;

/// Writes every page a few times, discards one, and flushes.
fn overwrite(ftl: &mut impl BlockDevice, data: &mut [u8]) -> Result<(), FtlError> {
    for round in 0..ROUNDS {
        for lpn in 0..LOGICAL_PAGES {
            data.fill(round ^ lpn as u8);
            ftl.write(page(ftl, lpn), data, WriteHint::NONE)?;
        }
    }
    ftl.discard(page(ftl, 0))?;
    ftl.flush()
}

fn check_overwritten(ftl: &mut impl BlockDevice, data: &mut [u8]) {
    for lpn in 0..LOGICAL_PAGES {
        ftl.read(page(ftl, lpn), data).expect("what was flushed can be read");
        let byte = if lpn == 0 { 0 } else { (ROUNDS - 1) ^ lpn as u8 };
        let found = data.iter().find(|&&found| found != byte);
        assert!(found.is_none(), "page {lpn} lost what was flushed: {found:?} instead of {byte}");
    }
}
