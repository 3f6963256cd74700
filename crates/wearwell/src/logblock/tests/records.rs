//! Records of discards, as they lie on flash.

use alloc::vec::Vec;

use wearwell_flash::RamNand;

use crate::Reclamation;
use crate::addr::{Lpn, Ppn, Sectors};
use crate::clean::reclaim::Proactive;
use crate::ftl::{BlockDevice, WriteHint};
use crate::logblock::pages::{Pages, TagRead, TaggedPages};
use crate::logblock::recycle::{Costs, Recycling};
use crate::logblock::tag::Content;
use crate::logblock::{BlockConfig, BlockFtl, LOG_BLOCKS, Scheme};
use crate::wear::WearLeveling;

type Small = BlockFtl<TaggedPages<RamNand>>;

/// Pages of a logical block.
const PAGES: u32 = RamNand::SMALL.pages_per_block;

/// A device of three logical blocks.
fn device(reclaim: Reclamation) -> Small {
    let pages = TaggedPages::new(RamNand::new(RamNand::SMALL), 1).expect("a tag fits");
    let config = BlockConfig {
        logical_pages: 3 * PAGES,
        scheme: Scheme::LogBlock(Recycling::MergeOnly),
        log_blocks: LOG_BLOCKS,
        wear: WearLeveling::None,
        reclaim,
        costs: Costs::LEE_TABLE_1,
        endurance: 1000,
    };
    BlockFtl::format(pages, (), config).expect("it fits")
}

fn write(ftl: &mut Small, lpns: impl IntoIterator<Item = u32>) {
    lpns.into_iter().for_each(|lpn| ftl.write_page(Lpn(lpn), &[1; 512], WriteHint::NONE).expect("there is room"));
}

/// A page of the device is a sector.
fn discard(ftl: &mut Small, lpn: u32) {
    ftl.discard(Sectors { start: lpn.into(), count: 1 }).expect("it is in range");
}

/// The only record of a kind: its logical page, and its bytes.
fn record(ftl: &mut Small, kind: Content) -> (Lpn, [u8; 512]) {
    let mut found = Vec::new();
    for at in (0..RamNand::SMALL.pages() as u32).map(Ppn) {
        if let TagRead::Tag(tag) = ftl.pages_mut().tag(at).expect("nothing fails")
            && tag.kind == kind
        {
            let mut record = [0; 512];
            ftl.pages_mut().read(at, &mut record).expect("it was written");
            found.push((tag.lpn, record));
        }
    }
    assert_eq!(found.len(), 1, "records of {kind:?}");
    found.remove(0)
}

/// What SPEC.md shows of a page, with the zeros behind it.
fn spec(name: &str) -> [u8; 512] {
    let (dump, mut page) = (wearwell_spec::dump(name), [0; 512]);
    page[..dump.len()].copy_from_slice(&dump);
    page
}

#[test]
fn the_record_of_discards_of_the_spec_is_what_is_written() {
    let mut ftl = device(Reclamation::AtOnce);
    write(&mut ftl, PAGES..PAGES + 10);
    [PAGES + 1, PAGES + 8].into_iter().for_each(|lpn| discard(&mut ftl, lpn));
    ftl.flush().expect("nothing fails");
    assert_eq!(record(&mut ftl, Content::Trim), (Lpn(PAGES), spec("block-discards")));
}

#[test]
fn the_record_of_dead_blocks_of_the_spec_is_what_is_written() {
    let mut ftl = device(Reclamation::Proactive { rule: Proactive::PAPER });
    write(&mut ftl, [0, PAGES, 2 * PAGES]);
    [0, 2 * PAGES].into_iter().for_each(|lpn| discard(&mut ftl, lpn));
    ftl.flush().expect("nothing fails");
    assert_eq!(record(&mut ftl, Content::Dead), (Lpn(0), spec("block-dead")));
}
