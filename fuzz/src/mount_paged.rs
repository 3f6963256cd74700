//! Mounts a mutated image of a device with its map on flash.

use std::sync::LazyLock;

use wearwell::page::log::MapLog;
use wearwell::paged::{PagedConfig, PagedFtl};
use wearwell_flash::{NandGeometry, ProgramOrder};

use crate::device::{Image, LOGICAL_PAGES, Left, make_used, use_mounted};
use crate::input::Input;
use crate::nand::{Engine, FuzzNand};

const GEOMETRY: NandGeometry = NandGeometry {
    page_bytes: 1024,
    spare_bytes: 16,
    pages_per_block: 8,
    blocks: 24,
    dies: 1,
    paired_pages: 1,
    program_order: ProgramOrder::Ascending,
};

/// The cache is smaller than what the host writes, so translation pages are merged all the time.
const CONFIG: PagedConfig = PagedConfig::new(LOGICAL_PAGES, 6);

/// The devices of the images: with the tag beside the page and in it, shut down and cut off; and one that was never
/// formatted.
static BASES: LazyLock<Vec<FuzzNand>> = LazyLock::new(|| {
    let in_page = NandGeometry { spare_bytes: 0, ..GEOMETRY };
    let of = |geometry, left| {
        let log = log(FuzzNand::of(Engine::MapOnFlash, geometry));
        let mut ftl = PagedFtl::format(log, CONFIG).expect("the base device fits its chip");
        make_used(&mut ftl, left);
        ftl.into_log().into_chip()
    };
    vec![
        of(GEOMETRY, Left::Cut),
        of(GEOMETRY, Left::ShutDown),
        of(in_page, Left::Cut),
        FuzzNand::of(Engine::MapOnFlash, GEOMETRY),
    ]
});

fn log(chip: FuzzNand) -> MapLog<FuzzNand> {
    MapLog::with_map(chip, 1).expect("the layout fits")
}

/// The first byte selects the image, and the others edit it.
pub fn mount_paged(data: &[u8]) {
    let mut input = Input::new(data);
    let mut chip = BASES[usize::from(input.byte()) % BASES.len()].clone();
    let mut image = Image::Damaged;
    while !input.is_empty() {
        if chip.edit(&mut input) == Image::Forged {
            image = Image::Forged;
        }
    }
    let Ok((ftl, _)) = PagedFtl::mount(log(chip), CONFIG) else { return };
    use_mounted(ftl, image, |ftl| PagedFtl::mount(ftl.into_log(), CONFIG).map(|(ftl, _)| ftl));
}
