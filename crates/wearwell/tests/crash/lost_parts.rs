//! Parts of pages whose rest is lost: whose request fails.

use wearwell::logblock::Scheme;
use wearwell::{BlockDevice, FtlError, Inspect, Lpn, Sectors, WriteHint};
use wearwell_emu::{BitErrors, EmuChip, Faults};

use crate::block::{block, log_block};
use crate::rig::{Rig, nand};

/// Sectors of a page.
const PER_PAGE: u64 = 4;
/// Pages that are written before the chip loses what it holds.
const FILLED: u64 = 96;
/// The page of which a part is written.
const PAGE: u64 = 5;
const LOST: FtlError = FtlError::Unreadable { lpn: Lpn(PAGE as u32) };

fn write(ftl: &mut impl BlockDevice, start: u64, count: u64, byte: u8, stream: u16) -> Result<(), FtlError> {
    let data = vec![byte; count as usize * 512];
    ftl.write(Sectors { start, count }, &data, WriteHint::stream(stream))
}

fn write_part(ftl: &mut impl BlockDevice, page: u64, byte: u8) -> Result<(), FtlError> {
    write(ftl, page * PER_PAGE + 1, 1, byte, 0)
}

fn write_whole(ftl: &mut impl BlockDevice, page: u64, byte: u8) -> Result<(), FtlError> {
    write(ftl, page * PER_PAGE, PER_PAGE, byte, 0)
}

fn read(ftl: &mut impl BlockDevice, page: u64) -> Result<[u8; 2048], FtlError> {
    let mut data = [0; 2048];
    ftl.read(Sectors { start: page * PER_PAGE, count: PER_PAGE }, &mut data).map(|()| data)
}

/// Nothing can be read any more from the chip, or all of it can again.
fn lose(chip: &mut impl EmuChip, all: bool) {
    let base = if all { 99.0 } else { 0.0 };
    let bit_errors =
        BitErrors { base, per_cycle: 0.0, per_read: 0.0, per_hour: 0.0, correctable_bits: 8, refresh_bits: 99 };
    chip.set_faults(Faults { bit_errors: Some(bit_errors), ..Faults::default() });
}

/// Mounts what is on the chip, which can be read again.
fn mount_again<R: Rig>(rig: &R, ftl: R::Ftl) -> R::Ftl {
    let mut chip = R::into_chip(ftl);
    lose(&mut chip, false);
    chip.power_on();
    rig.mount(chip).expect("mounts").0
}

/// A device all of whose pages can no longer be read.
fn lossy<R: Rig>(rig: &R) -> R::Ftl {
    let mut ftl = rig.format();
    for page in 0..FILLED {
        write_whole(&mut ftl, page, 1).expect("the fill fits");
    }
    ftl.flush().expect("flushed");
    lose(R::chip_of_mut(&mut ftl), true);
    ftl
}

/// The loss shows when other pages push the part out of the buffer; their writes go on.
fn the_flush_fails_and_no_other_write<R: Rig>(rig: &R) {
    let mut ftl = lossy(rig);
    assert_eq!(write_part(&mut ftl, PAGE, 2), Ok(()), "nobody knows of the loss");
    for page in 112..124 {
        assert_eq!(write_part(&mut ftl, page, 3), Ok(()), "nothing of page {page} is lost");
    }
    assert_eq!(read(&mut ftl, PAGE), Err(LOST));
    assert_eq!(ftl.stats().lost_pages, 1);
    assert_eq!(write_part(&mut ftl, PAGE, 2), Err(LOST), "now it is known");
    assert_eq!(write_whole(&mut ftl, 112, 3), Ok(()));
    assert_eq!((ftl.flush(), ftl.flush()), (Err(LOST), Ok(())), "it is said once");
    assert_eq!(write_part(&mut ftl, PAGE, 2), Err(LOST));
    assert_eq!(write_whole(&mut ftl, PAGE, 4), Ok(()));
    assert_eq!(ftl.shutdown(), Ok(()));
    let mut ftl = mount_again(rig, ftl);
    assert_eq!(read(&mut ftl, PAGE), Ok([4; 2048]));
    assert_eq!(read(&mut ftl, 123).map(|data| (data[0], data[512])), Ok((0, 3)), "all else was flushed");
}

/// The loss shows in the flush.
fn a_flush_that_fails_has_flushed_the_rest<R: Rig>(rig: &R) {
    let mut ftl = lossy(rig);
    assert_eq!((write_part(&mut ftl, PAGE, 2), write_part(&mut ftl, 112, 3)), (Ok(()), Ok(())));
    assert_eq!(ftl.flush(), Err(LOST));
    assert_eq!(read(&mut ftl, PAGE), Err(LOST));
    let mut ftl = mount_again(rig, ftl);
    assert_eq!(read(&mut ftl, 112).map(|data| data[512]), Ok(3));
}

/// Nothing that matters is lost: no request fails.
fn what_was_written_again_is_no_loss<R: Rig>(rig: &R) {
    let mut ftl = lossy(rig);
    for page in [PAGE, PAGE + 1] {
        assert_eq!(write_part(&mut ftl, page, 2), Ok(()));
    }
    for page in 112..124 {
        assert_eq!(write_part(&mut ftl, page, 3), Ok(()));
    }
    assert_eq!(write_whole(&mut ftl, PAGE, 4), Ok(()));
    ftl.discard(Sectors { start: (PAGE + 1) * PER_PAGE, count: PER_PAGE }).expect("discarded");
    assert_eq!(ftl.flush(), Ok(()));
    // A page that becomes whole in the buffer needs no rest.
    for sector in 0..PER_PAGE {
        assert_eq!(write(&mut ftl, (PAGE + 2) * PER_PAGE + sector, 1, 5, 0), Ok(()));
    }
    assert_eq!(ftl.flush(), Ok(()));
}

/// Parts of one page that come in two streams leave the buffer one after the other.
fn the_second_part_fails_for_the_first<R: Rig>(rig: &R) {
    let mut ftl = lossy(rig);
    assert_eq!(write(&mut ftl, PAGE * PER_PAGE, 1, 2, 1), Ok(()));
    assert_eq!(write(&mut ftl, PAGE * PER_PAGE + 1, 1, 2, 2), Err(LOST));
    assert_eq!(ftl.flush(), Err(LOST));
}

fn ask<R: Rig>(rig: &R) {
    the_flush_fails_and_no_other_write(rig);
    a_flush_that_fails_has_flushed_the_rest(rig);
    what_was_written_again_is_no_loss(rig);
}

#[test]
fn a_lost_part_fails_the_next_flush_and_nobody_elses_request() {
    let shape = [2048, 16, 24, 1];
    ask(&nand(shape, 1, 1, 160, "by-stream"));
    the_second_part_fails_for_the_first(&nand(shape, 1, 1, 160, "by-stream"));
    for scheme in [log_block("merge-only"), Scheme::PrimaryReplacement, Scheme::Fast] {
        ask(&block(shape, 1, 160, scheme));
    }
    the_second_part_fails_for_the_first(&block(shape, 1, 160, Scheme::FastByStream));
}
