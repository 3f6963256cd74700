//! Mounts a mutated image of the `nand` layout.

use std::sync::LazyLock;

use wearwell::page::log::NandLog;
use wearwell_flash::{NandGeometry, ProgramOrder};

use crate::device::{Image, Left, mount_and_use, used};
use crate::input::Input;
use crate::nand::FuzzNand;

const GEOMETRY: NandGeometry = NandGeometry {
    page_bytes: 1024,
    spare_bytes: 16,
    pages_per_block: 8,
    blocks: 14,
    dies: 1,
    paired_pages: 1,
    program_order: ProgramOrder::Ascending,
};

/// The devices of the images: of single-level and multi-level cells, with tags beside the pages and in pages of their
/// own, shut down and cut off; and one that was never formatted.
static BASES: LazyLock<Vec<FuzzNand>> = LazyLock::new(|| {
    let of = |geometry, left| {
        let log = NandLog::new(FuzzNand::new(geometry), 1).expect("the base chip holds the layout");
        used(log, left).into_chip()
    };
    vec![
        of(GEOMETRY, Left::Cut),
        of(GEOMETRY, Left::ShutDown),
        of(NandGeometry { paired_pages: 2, blocks: 16, ..GEOMETRY }, Left::Cut),
        of(NandGeometry { spare_bytes: 0, blocks: 36, ..GEOMETRY }, Left::Cut),
        FuzzNand::new(GEOMETRY),
    ]
});

/// The first byte selects the image, and the others edit it.
pub fn mount(data: &[u8]) {
    let mut input = Input::new(data);
    let base = usize::from(input.byte()) % BASES.len();
    let mut chip = BASES[base].clone();
    let mut image = Image::Damaged;
    while !input.is_empty() {
        if chip.edit(&mut input) == Image::Forged {
            image = Image::Forged;
        }
    }
    let log = NandLog::new(chip, 1).expect("the layout still fits");
    mount_and_use(log, image, |_| {});
}
