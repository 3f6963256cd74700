//! Devices and drivers that are broken on purpose: the torture catches each, and shortens its history.

use wearwell_torture::device::{Device, Refusal};
use wearwell_torture::failure::Kind;
use wearwell_torture::mode;
use wearwell_torture::nand::Driver;
use wearwell_torture::run::{Rig, Wrap, unchanged};
use wearwell_torture::setup::{PolicyNames, Setup};
use wearwell_torture::shrink::shrink;
use wearwell_torture::text::as_test;
use wearwell_torture::torture_as;

/// A canary has to be caught within this number of seeds.
const MOST_SEEDS: u64 = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A flush does nothing.
    FlushIsForgotten,
    /// A discard does nothing.
    DiscardIsForgotten,
    /// An unreadable page reads as zeros.
    ErrorsAreZeros,
    /// Some reads return the next page.
    NeighborIsRead,
    /// After a number of writes, all writes are refused.
    WritesEnd,
}

struct Broken {
    device: Box<dyn Device>,
    fault: Fault,
    writes: u32,
}

fn broken<const FAULT: u8>(device: Box<dyn Device>) -> Box<dyn Device> {
    let fault = match FAULT {
        0 => Fault::FlushIsForgotten,
        1 => Fault::DiscardIsForgotten,
        2 => Fault::ErrorsAreZeros,
        3 => Fault::NeighborIsRead,
        _ => Fault::WritesEnd,
    };
    Box::new(Broken { device, fault, writes: 0 })
}

impl Device for Broken {
    fn page_bytes(&self) -> u32 {
        self.device.page_bytes()
    }

    fn segments(&self) -> (u32, u32) {
        self.device.segments()
    }

    fn read(&mut self, sector: u32, data: &mut [u8]) -> Result<(), Refusal> {
        let shift = if self.fault == Fault::NeighborIsRead && sector == 40 { self.page_bytes() / 512 } else { 0 };
        match self.device.read(sector + shift, data) {
            Err(Refusal::Unreadable { .. }) if self.fault == Fault::ErrorsAreZeros => {
                data.fill(0);
                Ok(())
            }
            done => done,
        }
    }

    fn write(&mut self, sector: u32, data: &[u8], stream: u16, read_only: bool) -> Result<(), Refusal> {
        self.writes += 1;
        if self.fault == Fault::WritesEnd && self.writes > 30 {
            return Err(Refusal::WornOut { good: 3, needed: 4 });
        }
        self.device.write(sector, data, stream, read_only)
    }

    fn discard(&mut self, sector: u32, count: u32) -> Result<(), Refusal> {
        if self.fault == Fault::DiscardIsForgotten { Ok(()) } else { self.device.discard(sector, count) }
    }

    fn flush(&mut self) -> Result<(), Refusal> {
        if self.fault == Fault::FlushIsForgotten { Ok(()) } else { self.device.flush() }
    }

    fn clean(&mut self, pages: u32) -> Result<(), Refusal> {
        self.device.clean(pages)
    }

    fn shutdown(&mut self) -> Result<(), Refusal> {
        self.device.shutdown()
    }

    fn set_policies(&mut self, policies: PolicyNames) {
        self.device.set_policies(policies);
    }
}

/// Tortures until the canary fails as it should, and returns the number of steps of the shortened history.
fn caught(mode: &str, driver: Driver, wrap: Wrap, kinds: &[Kind]) -> usize {
    caught_within(MOST_SEEDS, mode, driver, wrap, kinds)
}

fn caught_within(seeds: u64, mode: &str, driver: Driver, wrap: Wrap, kinds: &[Kind]) -> usize {
    lengths(seeds, mode, driver, wrap, kinds).next().unwrap_or_else(|| panic!("not caught in {seeds} seeds"))
}

/// The numbers of steps of the shortened histories of these seeds in which the canary fails as it should.
fn lengths(seeds: u64, mode: &str, driver: Driver, wrap: Wrap, kinds: &[Kind]) -> impl Iterator<Item = usize> {
    let mode = mode::named(mode).expect("a mode of the list");
    (0..seeds).filter_map(move |seed| {
        let (rig, record) = torture_as(mode, seed, |setup| Rig { wrap, ..Rig::new(Setup { driver, ..setup }) });
        let failure = record.failure.as_ref().filter(|failure| kinds.contains(&failure.kind))?;
        let shrunk = shrink(&rig, &record).expect("it fails again when replayed");
        let test = as_test("canary", &rig.setup, &shrunk.history);
        assert_eq!(shrunk.failure.kind, failure.kind, "seed {seed}");
        assert!(shrunk.history.len() <= record.history.len(), "seed {seed}: {test}");
        assert!(test.starts_with("#[test]\nfn canary() {\n    assert_holds(\n        \"n"), "{test}");
        Some(shrunk.history.len())
    })
}

#[test]
fn a_forgotten_flush() {
    // A part of a page, the flush, and a mount.
    assert!(caught("page", Driver::Honest, broken::<0>, &[Kind::Older]) <= 4);
}

#[test]
fn a_forgotten_discard() {
    // A write, its discard, and a read.
    assert!(caught("page", Driver::Honest, broken::<1>, &[Kind::Wrong]) <= 3);
}

#[test]
fn an_error_that_reads_as_zeros() {
    // The writes that fill a segment, decay in it, and a mount.
    assert!(caught("decay", Driver::Honest, broken::<2>, &[Kind::Wrong, Kind::Older]) <= 16);
}

#[test]
fn another_pages_data() {
    assert!(caught("log-block", Driver::Honest, broken::<3>, &[Kind::Garbage]) <= 3);
}

#[test]
fn a_lock_up_with_segments_to_spare() {
    assert!(caught("nor", Driver::Honest, broken::<4>, &[Kind::LockedUp]) <= 31);
}

#[test]
fn a_driver_that_hides_failed_programs() {
    let kinds = [Kind::Garbage, Kind::Wrong, Kind::Older, Kind::Unreadable, Kind::Contract];
    assert!(caught("fails", Driver::HidesFailures, unchanged, &kinds) < 200);
}

#[test]
fn a_driver_that_hides_decay() {
    // The engine sees a page without its tag, so that only data may go unnoticed.
    assert!(caught("decay", Driver::HidesDecay, unchanged, &[Kind::Garbage]) <= 10);
}

/// What an engine would do that forgets that a cut can harm a page (Spec N4, B8): each engine finds erased pages where
/// something was. Primary blocks take some 450 seeds, others a few: what was merged says how many pages it has. A mount
/// with the map on flash refuses nothing where pages seem to be missing. It takes thousands of steps until one is.
#[test]
fn a_driver_that_hides_what_a_cut_has_harmed() {
    let kinds = [Kind::Older, Kind::Wrong, Kind::Unreadable, Kind::Contract, Kind::Refused];
    let most = |mode: &str| if mode == "paged" { 4_000 } else { 200 };
    for (mode, seeds) in [("page", 40), ("paged", 40), ("log-block", 40), ("primary-replacement", 600), ("fast", 40)] {
        assert!(caught_within(seeds, mode, Driver::HidesHarm, unchanged, &kinds) < most(mode), "{mode}");
    }
}

/// What an engine would do that forgets shared cells (Spec N6, B12): no group is filled up before a flush returns, and
/// a mount suspects one page. Most of these histories need a few steps. Of some each write is needed, for that is how
/// the pages come to lie where a cut hits the second of them. So the shortest of three counts.
#[test]
fn a_driver_that_hides_shared_cells() {
    let kinds = [Kind::Older, Kind::Unreadable];
    for mode in ["page", "fast"] {
        let caught: Vec<usize> = lengths(MOST_SEEDS, mode, Driver::HidesGroups, unchanged, &kinds).take(3).collect();
        assert!(caught.len() == 3 && caught.iter().any(|&steps| steps <= 20), "{mode}: {caught:?}");
    }
}

/// What an engine would do that programs what reads as erased after a cut (Spec N5, B14).
#[test]
fn a_driver_that_skips_erases() {
    for mode in ["page", "paged", "log-block", "primary-replacement", "fast"] {
        assert!(caught(mode, Driver::SkipsErases, unchanged, &[Kind::Contract]) < 200, "{mode}");
    }
}
