//! Tag pages below an engine: what hosts write is data, whatever it looks like.

use alloc::vec;
use alloc::vec::Vec;

use wearwell_flash::{ErrorKind, Nand, NandGeometry, PageAddr, RamNand};

use super::nand_tag_bytes::{GroupHead, encode_group, encode_ones};
use super::tag::Record;
use super::{Kind, Log, MapLog, NandLog, Tag};
use crate::addr::{Class, Lpn, Ppn, Seg};
use crate::ftl::{BlockDevice, Inspect, WriteHint};
use crate::page::{MountError, PageConfig, PageFtl, Policies};
use crate::random::Rng;

const SHAPE: NandGeometry = NandGeometry { spare_bytes: 0, pages_per_block: 12, blocks: 14, ..RamNand::SMALL };
const CONFIG: PageConfig = PageConfig {
    logical_pages: 40,
    policies: Policies {
        when: crate::CleaningTrigger::DEFAULT,
        which: crate::VictimPolicy::Greedy,
        place: crate::Placement::Single,
        wear: crate::WearLeveling::None,
        reclaim: crate::Reclamation::AtOnce,
    },
    seed: 1,
    endurance: 100_000,
};

fn log(chip: RamNand) -> NandLog<RamNand> {
    NandLog::new(chip, 1).expect("it fits")
}

/// A page that would pass for one of the layout's own somewhere, or one that is hard to tell.
fn crafted(rng: &mut Rng, slots: u32) -> Vec<u8> {
    let mut page = vec![rng.below(255) as u8; 512];
    let (seg, slot) = (Seg(rng.below(SHAPE.blocks)), rng.below(slots));
    match rng.below(8) {
        0 => page.fill(0xFF),
        1 => encode_ones(&mut page, seg, slot),
        2 => page.fill(0),
        3 => {}
        _ => {
            // It names other pages under numbers that would win.
            let tag = |slot| Tag { lpn: Lpn(slot), seq: 1 << 40, class: Class(0), kind: Kind::Data };
            let first = slot - rng.below(slot + 1);
            let tags = (first..slot).map(|slot| Record::Page(tag(slot)).encode()).collect::<Vec<_>>().concat();
            encode_group(&mut page, seg, slot, GroupHead { first, rescue_end: 0 }, &tags);
        }
    }
    page
}

/// Tells how many pages went to another place than the next.
#[test]
fn pages_that_look_like_the_layouts_own_are_data() {
    let mut ftl = PageFtl::format(log(RamNand::new(SHAPE)), (), CONFIG).expect("it fits");
    let slots = ftl.log().shape().slots;
    let mut held = vec![None; CONFIG.logical_pages as usize];
    let (mut rng, mut moved) = (Rng::new(1), 0);
    for step in 0..6000 {
        let (lpn, data) = (Lpn(rng.below(CONFIG.logical_pages)), crafted(&mut rng, slots));
        let before = ftl.stats().meta_programs;
        ftl.write_page(lpn, &data, WriteHint::NONE).expect("nothing fails");
        moved += u32::from(ftl.stats().meta_programs > before);
        held[lpn.0 as usize] = Some(data);
        if step % 7 == 0 {
            ftl.flush().expect("nothing fails");
        }
        if step % 40 == 0 {
            ftl.flush().expect("nothing fails");
            ftl = PageFtl::mount(log(ftl.into_log().into_chip()), (), CONFIG).expect("nothing was cut").0;
        }
        for (lpn, held) in (0..).map(Lpn).zip(&held) {
            if let (Some(held), true) = (held, step % 20 == 0) {
                let mut data = vec![0; 512];
                ftl.read(crate::Sectors { start: lpn.0.into(), count: 1 }, &mut data).expect("it was written");
                assert_eq!(&data, held, "step {step}, page {lpn:?}");
            }
        }
    }
    assert!(moved > 100 && ftl.stats().copied_pages > 0, "{moved} pages");
}

/// Programs a header as a version wrote it.
fn with_header(version: u32) -> RamNand {
    let mut chip = RamNand::new(SHAPE);
    let header = super::nand_bytes::encode_header(version, 3, CONFIG.logical_pages);
    let mut page = [0; 512];
    page[..header.len()].copy_from_slice(&header);
    page[496..].copy_from_slice(&Record::Header.encode());
    chip.program(PageAddr(0), &page, &[]).expect("it is erased");
    chip
}

#[test]
fn other_versions_are_refused_by_their_numbers() {
    let mounted = |chip| PageFtl::mount(log(chip), (), CONFIG).map(drop);
    for version in [2, 3, 4, 7, 9] {
        let refused = mounted(with_header(version));
        assert_eq!(refused, Err(MountError::OtherVersion { segment: Seg(0), version }), "version {version}");
    }
    for version in [5, 8] {
        assert_eq!(mounted(with_header(version)), Err(MountError::OtherMap { segment: Seg(0) }), "version {version}");
    }
    assert_eq!(mounted(with_header(6)), Ok(()));
    let refused = PageFtl::mount(log(with_header(6)).with_checkpoint(), (), PageConfig { logical_pages: 4, ..CONFIG });
    assert_eq!(refused.map(drop), Err(MountError::OtherVersion { segment: Seg(0), version: 6 }));
}

#[test]
fn a_page_stays_a_page_unless_its_cells_are_shared() {
    let of = |page_bytes, paired_pages| {
        let geometry = NandGeometry { page_bytes, paired_pages, ..SHAPE };
        NandLog::new(RamNand::new(geometry), 1).map(|log| log.shape().page_bytes)
    };
    assert_eq!((of(2048, 1), of(2048, 2), of(512, 1)), (Ok(2048), Ok(1536), Ok(512)));
    assert!(of(512, 2).is_err(), "a tag takes a sector");
    let log = MapLog::<_>::with_map(RamNand::new(NandGeometry { page_bytes: 2048, ..SHAPE }), 1).expect("it fits");
    assert_eq!((log.shape().page_bytes, log.has_tag_pages()), (1536, false), "a map on flash has tags in pages");
}

/// What has no tag page behind it is not there after a cut; and what is erased is not read as ones.
#[test]
fn pages_are_known_by_the_tag_page_behind_them() {
    let mut log = log(RamNand::new(SHAPE));
    log.set_capacity(40);
    log.erase(Seg(3), 1).expect("nothing fails");
    let first = 3 * log.shape().slots;
    let page = |n: u8| [n; 512];
    let put = |log: &mut NandLog<RamNand>, slot: u32, n: u8| {
        let source = super::Source::Host(&page(n), u64::from(slot));
        log.append(Ppn(first + slot), Lpn(u32::from(n)), Class(0), Kind::Data, source, Ppn::NONE)
    };
    put(&mut log, 0, 1).expect("nothing fails");
    assert_eq!(log.padding(Seg(3), 1), 1);
    let scan = log.clone().scan(Seg(3)).expect("nothing fails").expect("there are records");
    assert!(scan.empty && scan.needs_erase, "nothing is known of it");
    log.pad(Ppn(first + 1)).expect("nothing fails");
    assert_eq!((log.padding(Seg(3), 2), log.suspect_from(Seg(3), 2)), (0, 0));
    put(&mut log, 2, 2).expect("nothing fails");
    assert_eq!(log.suspect_from(Seg(3), 3), 2);
    let scan = log.clone().scan(Seg(3)).expect("nothing fails").expect("there are records");
    assert_eq!((scan.tags.len(), scan.suspect_from, scan.empty), (2, 2, false));
    assert_eq!(log.read(Ppn(first + 5), Lpn(7), &mut [0; 512]).map(drop), Err(ErrorKind::Uncorrectable));
}
