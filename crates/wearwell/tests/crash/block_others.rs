//! Block mapping leaves alone what another version wrote, or a device of another capacity.

use wearwell::logblock::{BlockFtl, Content, Pages, Role, Scheme, Tag};
use wearwell::page::{ConfigError, MountError};
use wearwell::{BlockDevice, Lpn, Ppn, Sectors, Seg, WriteHint};
use wearwell_emu::{EmuChip, EmuNand};
use wearwell_flash::{BlockAddr, Nand, PageAddr};

use crate::block::{BlockRig, block};
use crate::block_faults::schemes;
use crate::model::Model;
use crate::rig::Rig;

const LOGICAL_PAGES: u32 = 180;
const PAGES_PER_BLOCK: u32 = 16;

fn rig(scheme: Scheme, paired_pages: u32, logical_pages: u32) -> BlockRig {
    block([512, PAGES_PER_BLOCK, 24, 1], paired_pages, logical_pages, scheme)
}

/// Mounts a chip as a device of other capacities, and then as what it is.
fn is_refused(scheme: Scheme, paired_pages: u32, mut chip: EmuNand, others: &[u32], found: u32) -> EmuNand {
    for &pages in others {
        let ops = chip.ops();
        let Err((same, error)) = rig(scheme, paired_pages, pages).mount_or_return(chip) else {
            panic!("{scheme:?}: mounted with {pages} pages")
        };
        let MountError::OtherCapacity { logical_pages, .. } = error else { panic!("{scheme:?}: {error}") };
        assert_eq!(logical_pages, found, "{scheme:?}");
        assert_eq!(same.ops(), ops, "{scheme:?}: nothing was changed");
        chip = same;
    }
    chip
}

#[test]
fn a_device_of_another_capacity_is_left_alone() {
    let others = [LOGICAL_PAGES - 1, LOGICAL_PAGES + 1, LOGICAL_PAGES - 4 * PAGES_PER_BLOCK, LOGICAL_PAGES + 40];
    for (scheme, paired) in schemes().into_iter().flat_map(|scheme| [(scheme, 1), (scheme, 2)]) {
        for is_shut_down in [false, true] {
            let rig = rig(scheme, paired, LOGICAL_PAGES);
            let mut ftl = rig.format();
            let mut model = Model::new(LOGICAL_PAGES, 1);
            model.fill(&mut ftl);
            if is_shut_down {
                ftl.shutdown().unwrap_or_else(|error| panic!("{scheme:?}: {error}"));
            }
            let chip = is_refused(scheme, paired, BlockRig::into_chip(ftl), &others, LOGICAL_PAGES);
            let (mut ftl, _) = rig.mount_or_return(chip).unwrap_or_else(|(_, error)| panic!("{scheme:?}: {error}"));
            model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("{scheme:?}: {error}"));
        }
    }
}

/// Pages are written in order, so that all blocks are complete but the last: the mount has read nothing but last pages.
#[test]
fn complete_data_blocks_are_enough_to_tell_the_capacity() {
    for scheme in schemes() {
        let rig = rig(scheme, 1, LOGICAL_PAGES);
        let mut ftl = rig.format();
        for page in 0..2 * PAGES_PER_BLOCK {
            let sectors = Sectors { start: page.into(), count: 1 };
            ftl.write(sectors, &[7; 512], WriteHint::NONE).unwrap_or_else(|error| panic!("{scheme:?}: {error}"));
        }
        ftl.flush().unwrap_or_else(|error| panic!("{scheme:?}: {error}"));
        is_refused(scheme, 1, BlockRig::into_chip(ftl), &[LOGICAL_PAGES - 1, LOGICAL_PAGES + 1], LOGICAL_PAGES);
    }
}

/// No tag says the capacity, but there is none that has the page.
#[test]
fn a_single_page_is_not_lost_to_a_smaller_device() {
    for scheme in schemes() {
        let rig = rig(scheme, 1, LOGICAL_PAGES);
        let mut ftl = rig.format();
        let (page, sector) = (LOGICAL_PAGES - 4, [7; 512]);
        let written = ftl.write(Sectors { start: page.into(), count: 1 }, &sector, WriteHint::NONE);
        written.and_then(|()| ftl.flush()).unwrap_or_else(|error| panic!("{scheme:?}: {error}"));
        is_refused(scheme, 1, BlockRig::into_chip(ftl), &[PAGES_PER_BLOCK * 11], page + 1);
    }
}

#[test]
fn what_another_version_wrote_is_left_alone() {
    let rig = rig(schemes()[0], 1, LOGICAL_PAGES);
    let mut ftl = rig.format();
    Model::new(LOGICAL_PAGES, 1).fill(&mut ftl);
    let mut chip = BlockRig::into_chip(ftl);
    let last = PageAddr(4 * PAGES_PER_BLOCK - 1);
    let (mut page, mut spare) = ([0; 512], [0; 64]);
    chip.read(last, &mut page, &mut spare).expect("the commit of block 3");
    // As the first version was: kind and role have half a byte each.
    spare[12] = 0x14;
    let crc = crc::Crc::<u32>::new(&crc::CRC_24_OPENPGP).checksum(&spare[..13]);
    spare[13..16].copy_from_slice(&crc.to_le_bytes()[..3]);
    chip.erase(BlockAddr(3)).expect("erased");
    chip.program(last, &page, &spare[..16]).expect("programmed");
    let ops = chip.ops();
    let Err((chip, error)) = rig.mount_or_return(chip) else { panic!("mounted") };
    assert_eq!(error, MountError::OtherVersion { segment: Seg(3), version: 1 });
    assert_eq!(chip.ops(), ops, "nothing was changed");
}

/// A cut in the commit, the last page of a block, could destroy all of a block that is one group (decision 52).
#[test]
fn blocks_of_one_group_are_refused() {
    for (scheme, paired_pages) in schemes().into_iter().flat_map(|scheme| [(scheme, 3), (scheme, 4)]) {
        let rig = block([512, 4, 24, 1], paired_pages, 40, scheme);
        let made = BlockFtl::format(rig.pages(rig.chip()), (), rig.config);
        let refused = matches!(made, Err(MountError::Config(ConfigError::OneGroup { pages: 4 })));
        assert_eq!(refused, paired_pages == 4, "{scheme:?} with {paired_pages} pages that share cells");
    }
}

/// A tag may read well and name a page that lies in no logical block: its block counts for nothing, in each scheme.
#[test]
fn a_tag_that_names_no_page_of_the_device() {
    for scheme in schemes() {
        let rig = rig(scheme, 1, LOGICAL_PAGES);
        let mut ftl = rig.format();
        Model::new(LOGICAL_PAGES, 1).fill(&mut ftl);
        let mut pages = rig.pages(BlockRig::into_chip(ftl));
        pages.set_capacity(LOGICAL_PAGES);
        let is_erased = |at: &Ppn| matches!(pages.is_blank(*at), Ok(Some(true)));
        let blank = (0..24).map(|block| Ppn(block * PAGES_PER_BLOCK)).rfind(is_erased).expect("an erased block");
        let tag = Tag { lpn: Lpn(40 * LOGICAL_PAGES), seq: 500, erases: 1, kind: Content::Data, role: Role::InPlace };
        pages.program(blank, &[7; 512], &tag).expect("an erased page");
        // Refused or mounted: that it returns is all.
        drop(rig.mount_or_return(pages.into_chip()));
    }
}
