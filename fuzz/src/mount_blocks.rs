//! Mounts a mutated image of a block-mapped device.

use std::sync::LazyLock;

use wearwell::logblock::{BlockConfig, BlockFtl, Costs, Recycling, Scheme, TaggedPages};
use wearwell::{Reclamation, WearLeveling};
use wearwell_flash::{NandGeometry, ProgramOrder};

use crate::device::{Image, LOGICAL_PAGES, Left, make_used, use_mounted};
use crate::input::Input;
use crate::nand::{Engine, FuzzNand};

const GEOMETRY: NandGeometry = NandGeometry {
    page_bytes: 1024,
    spare_bytes: 16,
    pages_per_block: 8,
    blocks: 18,
    dies: 1,
    paired_pages: 1,
    program_order: ProgramOrder::Ascending,
};

/// The devices of the images: every scheme, with the tag beside the page and in it, of single-level and multi-level
/// cells, shut down and cut off; and one that was never formatted.
static BASES: LazyLock<Vec<(Scheme, FuzzNand)>> = LazyLock::new(|| {
    let migrating = Scheme::LogBlock(Recycling::parse("periodic:2").expect("listed"));
    let in_page = NandGeometry { spare_bytes: 0, ..GEOMETRY };
    let paired = NandGeometry { paired_pages: 2, ..GEOMETRY };
    let any_order = NandGeometry { program_order: ProgramOrder::Any, ..GEOMETRY };
    let of = |geometry, scheme, left| {
        let pages =
            TaggedPages::new(FuzzNand::of(Engine::Blocks, geometry), 1).expect("the base chip holds the layout");
        let mut ftl = BlockFtl::format(pages, (), config(scheme)).expect("the base device fits its chip");
        make_used(&mut ftl, left);
        (scheme, ftl.into_pages().into_chip())
    };
    vec![
        of(GEOMETRY, migrating, Left::Cut),
        of(in_page, migrating, Left::ShutDown),
        of(paired, migrating, Left::Cut),
        of(GEOMETRY, Scheme::PrimaryReplacement, Left::Cut),
        of(any_order, Scheme::PrimaryReplacement, Left::ShutDown),
        of(GEOMETRY, Scheme::Fast, Left::Cut),
        of(paired, Scheme::Fast, Left::ShutDown),
        (migrating, FuzzNand::of(Engine::Blocks, GEOMETRY)),
    ]
});

/// Primary blocks are reclaimed proactively, so that there are records of dead ones.
fn config(scheme: Scheme) -> BlockConfig {
    let reclaim = if scheme == Scheme::PrimaryReplacement { "proactive:0.2:0.5:0.1" } else { "at-once" };
    let reclaim = Reclamation::parse(reclaim).expect("listed");
    BlockConfig {
        logical_pages: LOGICAL_PAGES,
        scheme,
        log_blocks: 3,
        reclaim,
        wear: WearLeveling::parse("static-threshold:4").expect("listed"),
        costs: Costs::LEE_TABLE_1,
        endurance: 1000,
    }
}

/// The first byte selects the image, and the others edit it.
pub fn mount_blocks(data: &[u8]) {
    let mut input = Input::new(data);
    let (scheme, mut chip) = BASES[usize::from(input.byte()) % BASES.len()].clone();
    let mut image = Image::Damaged;
    while !input.is_empty() {
        if chip.edit(&mut input) == Image::Forged {
            image = Image::Forged;
        }
    }
    let pages = TaggedPages::new(chip, 1).expect("the layout still fits");
    let Ok((ftl, _)) = BlockFtl::mount(pages, (), config(scheme)) else { return };
    use_mounted(ftl, image, |ftl| BlockFtl::mount(ftl.into_pages(), (), config(scheme)).map(|(ftl, _)| ftl));
}
