//! What is done with a device before an image is taken of it, and after the image was mounted.

use wearwell::page::log::Log;
use wearwell::page::{Config, PageFtl, Policies};
use wearwell::{Ftl, FtlError, Rng, Sectors, WriteHint};
use wearwell_flash::ErrorKind;

pub(crate) const LOGICAL_PAGES: u32 = 40;

/// How the device was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    ShutDown,
    Cut,
}

pub(crate) fn config() -> Config {
    Config { logical_pages: LOGICAL_PAGES, policies: Policies::default(), seed: 1, endurance: 1000 }
}

fn page<L: Log>(ftl: &PageFtl<L>, lpn: u32) -> Sectors {
    let sectors = u64::from(ftl.page_bytes() / 512);
    Sectors { start: u64::from(lpn) * sectors, count: sectors }
}

/// A device that has been written, discarded, flushed and cleaned.
pub(crate) fn used<L: Log>(log: L, left: Left) -> L {
    let mut ftl = PageFtl::format(log, (), config()).expect("the base device fits its chip");
    let mut rng = Rng::new(7);
    for step in 0..400_u32 {
        let at = page(&ftl, rng.below(LOGICAL_PAGES));
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
    ftl.into_log()
}

/// True if a command may end like this on a chip with this image: it has too many bad blocks, or pages that only
/// damage can have programmed lie behind erased ones, and the chip refuses to program those.
fn is_excused(error: FtlError) -> bool {
    matches!(error, FtlError::WornOut { .. } | FtlError::Chip(ErrorKind::Contract))
}

/// Mounts whatever is there. If that works the device does, too: every page can be read or says that it cannot,
/// everything can be overwritten, and is still there after the power went off and on.
pub(crate) fn mount_and_use<L: Log>(log: L, power_cycle: impl FnOnce(&mut L)) {
    let Ok((mut ftl, _)) = PageFtl::mount(log, (), config()) else { return };
    let mut data = vec![0; ftl.page_bytes() as usize];
    for lpn in 0..LOGICAL_PAGES {
        match ftl.read(page(&ftl, lpn), &mut data) {
            Ok(()) | Err(FtlError::Unreadable { .. }) => {}
            Err(error) => panic!("page {lpn}: {error}"),
        }
    }
    for round in 0..3_u8 {
        for lpn in 0..LOGICAL_PAGES {
            data.fill(round ^ lpn as u8);
            match ftl.write(page(&ftl, lpn), &data, WriteHint::NONE) {
                Ok(()) => {}
                Err(error) if is_excused(error) => return,
                Err(error) => panic!("page {lpn}: {error}"),
            }
        }
    }
    match ftl.discard(page(&ftl, 0)).and_then(|()| ftl.flush()) {
        Ok(()) => {}
        Err(error) if is_excused(error) => return,
        Err(error) => panic!("{error}"),
    }
    let mut log = ftl.into_log();
    power_cycle(&mut log);
    let (mut ftl, _) = PageFtl::mount(log, (), config()).expect("what was flushed mounts");
    for lpn in 0..LOGICAL_PAGES {
        ftl.read(page(&ftl, lpn), &mut data).expect("what was flushed can be read");
        let byte = if lpn == 0 { 0 } else { 2 ^ lpn as u8 };
        assert!(data.iter().all(|&found| found == byte), "page {lpn} lost what was flushed");
    }
}
