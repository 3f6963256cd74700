//! The discard map alone.

use alloc::vec::Vec;

use super::{Below, LOGICAL_PAGES, cleaner, formatted};
use crate::addr::{Class, Lpn, Sectors};
use crate::ftl::{BlockDevice, Inspect, WriteHint};
use crate::page::PageFtl;
use crate::page::discards::{DiscardMap, is_unmapped};
use crate::page::log::Log;
use crate::random::Rng;

/// Writes the first part. Returns its bytes on flash.
fn written_part(below: &mut Below) -> [u8; 512] {
    below.discards_mut().mark_dirty(0);
    let (alloc, discards) = below.parts_mut();
    discards.write_for_erase(alloc).expect("nothing fails");
    assert_eq!(below.discards().dirty_parts(), 0);
    let page = below.discards().page_of(0);
    let (at, mut part) = (below.alloc().index().place_of(page), [0; 512]);
    below.alloc_mut().log_mut().read(at, page, &mut part).expect("it was written");
    part
}

#[test]
fn parts_cover_the_pages_one_after_the_other() {
    // A page of 64 bytes has a bit for each of 512 pages.
    let map = DiscardMap::new(1000, 2, 64, true);
    assert_eq!((map.part_for(Lpn(511)), map.part_for(Lpn(512))), (Some(0), Some(1)));
    assert_eq!(map.covered_by(1).map(|lpn| lpn.0).collect::<Vec<_>>(), (512..1000).collect::<Vec<_>>());
    assert_eq!((map.page_of(1), map.part_in(Lpn(1001)), map.part_in(Lpn(999))), (Lpn(1001), Some(1), None));
}

#[test]
fn a_part_is_counted_once() {
    let mut map = DiscardMap::new(1000, 2, 64, true);
    [1, 1, 1].into_iter().for_each(|part| map.mark_dirty(part));
    assert_eq!((map.dirty_parts(), map.is_dirty(0), map.is_dirty(1)), (1, false, true));
}

#[test]
fn a_layout_without_a_discard_map_has_no_parts() {
    assert_eq!(DiscardMap::new(1000, 0, 64, true).part_for(Lpn(7)), None);
}

#[test]
fn a_part_on_flash_calls_unmapped_what_is() {
    let mut below = cleaner();
    let class = below.take_slot(Class(0)).expect("all is free");
    assert!(below.alloc_mut().put(Lpn(3), class, &[1; 512]).expect("nothing fails"));
    let part = written_part(&mut below);
    let unmapped: Vec<u32> = (0..LOGICAL_PAGES).filter(|&lpn| is_unmapped(&part, lpn as usize)).collect();
    assert_eq!(unmapped, (0..LOGICAL_PAGES).filter(|&lpn| lpn != 3).collect::<Vec<_>>());
}

#[test]
fn the_part_of_the_spec_is_what_is_written() {
    let mut below = cleaner();
    for lpn in [3, 8, 9] {
        let class = below.take_slot(Class(0)).expect("all is free");
        assert!(below.alloc_mut().put(Lpn(lpn), class, &[1; 512]).expect("nothing fails"));
    }
    let (spec, part) = (wearwell_spec::dump("nand-discards"), written_part(&mut below));
    assert_eq!(part[..spec.len()], spec);
    assert!(part[spec.len()..].iter().all(|&byte| byte == 0), "the rest is zeros");
    assert!(!is_unmapped(&spec, 3) && is_unmapped(&spec, 4));
}

/// The discard map asserts it for each erase. A page of 512 bytes covers 4,096 pages.
#[test]
fn an_erase_finds_slots_for_all_dirty_parts() {
    for (slots, parts, spare_segments) in [(3, 4_u32, 6), (6, 8, 6), (6, 16, 6)] {
        let logical_pages = parts * 4096;
        let mut ftl = formatted(slots, (logical_pages + parts).div_ceil(slots) + spare_segments, logical_pages);
        let mut rng = Rng::new(4);
        let write = |ftl: &mut PageFtl<_>, lpn| ftl.write_page(Lpn(lpn), &[1; 512], WriteHint::default());
        (0..logical_pages).for_each(|lpn| write(&mut ftl, lpn).expect("there is room"));
        for _ in 0..500 {
            // What is discarded is written again at once, so that the device stays full.
            let lpns: Vec<u32> = (0..rng.below(30)).map(|_| rng.below(logical_pages)).collect();
            for &lpn in &lpns {
                ftl.discard(Sectors { start: u64::from(lpn), count: 1 }).expect("nothing fails");
            }
            lpns.into_iter().for_each(|lpn| write(&mut ftl, lpn).expect("nothing fails"));
        }
        assert!(ftl.stats().meta_programs > 1000, "parts are written");
    }
}
