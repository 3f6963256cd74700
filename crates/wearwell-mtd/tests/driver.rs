//! The driver over a kernel that is not there: an emulated chip behind the calls of an MTD device.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use wearwell::{Config, Disk, MountReport};
use wearwell_emu::{ChipProfile, CutOutcome, EmuChip, EmuError, EmuNand, Faults, PowerCut};
use wearwell_flash::{BlockAddr, ChipError, ErrorKind, Nand, PageAddr};
use wearwell_mtd::{Calls, EccStats, Errno, Info, MtdKind, MtdNand};

const PAGE: usize = 512;
const BLOCK: u64 = 16 * PAGE as u64;
const PAGES: u32 = 200;
/// Where the free spare bytes are, as nandsim has them.
const FREE_AT: usize = 2;

/// A kernel with an emulated chip.
struct Kernel {
    chip: EmuNand,
    /// As from Linux 6.1 on.
    has_memread: bool,
    stats: EccStats,
    /// A bit of the free spare bytes that is wrong when it is read.
    wrong_bits: Vec<usize>,
    /// What every call fails with.
    fails: Option<Errno>,
    /// Bits that the code corrects in each read.
    corrected: u32,
}

impl Kernel {
    fn new(has_memread: bool) -> Self {
        let profile = ChipProfile::from_geometry_str("geometry:512:16:24").unwrap();
        let chip = EmuNand::in_memory(&profile, Faults::default()).unwrap();
        Self { chip, has_memread, stats: EccStats::default(), wrong_bits: Vec::new(), fails: None, corrected: 0 }
    }

    fn page(at: u64) -> PageAddr {
        assert!(at.is_multiple_of(PAGE as u64));
        PageAddr((at / PAGE as u64) as u32)
    }

    fn block(at: u64) -> BlockAddr {
        assert!(at.is_multiple_of(BLOCK));
        BlockAddr((at / BLOCK) as u32)
    }

    fn answer<T>(&self, done: Result<T, EmuError>) -> Result<T, Errno> {
        match (self.fails, done) {
            (Some(errno), _) => Err(errno),
            (None, Ok(done)) => Ok(done),
            (None, Err(EmuError::ProgramFailed(_) | EmuError::EraseFailed(_))) => Err(Errno::IO),
            (None, Err(EmuError::PowerCut)) => Err(Errno::NODEV),
            (None, Err(error)) => panic!("the driver broke the contract: {error}"),
        }
    }

    /// Reads a page, and counts what the code does.
    fn read(&mut self, at: u64, data: &mut [u8], oob: &mut [u8]) -> Result<EccStats, Errno> {
        let mut spare = [0xFF; 64];
        let read = self.chip.read(Self::page(at), data, &mut spare);
        self.wrong_bits.iter().for_each(|bit| spare[bit / 8] ^= 1 << (bit % 8));
        oob.copy_from_slice(&spare[..oob.len()]);
        let failures = u32::from(matches!(read, Err(EmuError::Uncorrectable(_))));
        if failures == 0 {
            self.answer(read)?;
        }
        self.stats.failures += failures;
        self.stats.corrected_bits += self.corrected;
        Ok(EccStats { corrected_bits: self.corrected, most_bits: Some(self.corrected), failures })
    }
}

impl Calls for Kernel {
    fn read_page(&mut self, at: u64, data: &mut [u8], oob: &mut [u8]) -> Result<EccStats, Errno> {
        if self.has_memread { self.read(at, data, oob) } else { Err(Errno::NOTTY) }
    }

    fn read_data(&mut self, at: u64, data: &mut [u8]) -> Result<(), Errno> {
        self.read(at, data, &mut []).map(drop)
    }

    fn read_oob(&mut self, at: u64, oob: &mut [u8]) -> Result<(), Errno> {
        oob.fill(0xFF);
        let end = oob.len() - 24;
        self.read(at, &mut [], &mut oob[FREE_AT..end]).map(drop)
    }

    fn ecc_stats(&mut self) -> Result<EccStats, Errno> {
        Ok(EccStats { most_bits: None, ..self.stats })
    }

    fn write_page(&mut self, at: u64, data: &[u8], oob: &[u8]) -> Result<(), Errno> {
        let done = self.chip.program(Self::page(at), data, oob);
        self.answer(done)
    }

    fn erase_block(&mut self, at: u64, bytes: u64) -> Result<(), Errno> {
        assert_eq!(bytes, BLOCK);
        let done = self.chip.erase(Self::block(at));
        self.answer(done)
    }

    fn is_bad(&mut self, at: u64) -> Result<bool, Errno> {
        let done = self.chip.is_bad(Self::block(at));
        self.answer(done)
    }

    fn mark_bad(&mut self, at: u64) -> Result<(), Errno> {
        let done = self.chip.mark_bad(Self::block(at));
        self.answer(done)
    }
}

fn nand(kernel: Kernel) -> MtdNand<Kernel> {
    let info = Info {
        name: "emulated".to_owned(),
        kind: MtdKind::SlcNand,
        bytes: 24 * BLOCK,
        block_bytes: BLOCK as u32,
        page_bytes: PAGE as u32,
        oob_bytes: 64,
        free_oob_bytes: 38,
        free_oob: vec![(FREE_AT as u32, 38)],
        refresh_bits: Some(3),
        is_writable: true,
    };
    MtdNand::new(kernel, &info)
}

fn kind<T>(done: Result<T, impl ChipError>) -> ErrorKind {
    done.map(drop).unwrap_err().kind()
}

type Mounted = (Disk<MtdNand<Kernel>>, MountReport);

fn mount(nand: MtdNand<Kernel>) -> Mounted {
    Disk::mount(nand, Config::new(PAGES)).unwrap()
}

#[test]
fn a_disk_lasts_on_kernels_with_and_without_memread() {
    for has_memread in [true, false] {
        let mut disk = Disk::format(nand(Kernel::new(has_memread)), Config::new(PAGES)).unwrap();
        let mut rng = fastrand::Rng::with_seed(3);
        let mut held = vec![0; PAGES as usize];
        for number in 1..=1500 {
            let (page, value) = (rng.u32(..PAGES), (number % 251) as u8);
            disk.write(page, &[value; PAGE]).unwrap();
            held[page as usize] = value;
        }
        disk.shutdown().unwrap();
        let (mut disk, report) = mount(disk.into_chip());
        assert!(report.clean && disk.stats().erases == 0);
        for (page, &value) in (0..PAGES).zip(&held) {
            let mut data = [0; PAGE];
            disk.read(page, &mut data).unwrap();
            assert_eq!(data, [value; PAGE], "page {page}");
        }
        assert_eq!(disk.chip_mut().calls_mut().chip.violations(), 0);
    }
}

/// What a history wrote: page and value, and how much of it was flushed.
#[derive(Default)]
struct Written {
    changes: Vec<(u32, u8)>,
    flushed: usize,
}

impl Written {
    /// Writes and flushes until the power fails, or to the end.
    fn run(&mut self, disk: &mut Disk<MtdNand<Kernel>>) {
        let mut rng = fastrand::Rng::with_seed(11);
        for number in 1..=420 {
            let change = (rng.u32(..PAGES), (number % 251) as u8);
            self.changes.push(change);
            if disk.write(change.0, &[change.1; PAGE]).is_err() {
                return;
            }
            if number % 9 == 0 {
                if disk.flush().is_err() {
                    return;
                }
                self.flushed = self.changes.len();
            }
        }
    }

    /// What a page may hold now: its last flushed value, or any later one.
    fn may_hold(&self, page: u32, value: u8) -> bool {
        let (flushed, later) = self.changes.split_at(self.flushed);
        let last = flushed.iter().rev().find(|change| change.0 == page).map_or(0, |change| change.1);
        value == last || later.contains(&(page, value))
    }
}

#[test]
fn a_disk_survives_power_cuts_at_any_call() {
    let formatted = || Disk::format(nand(Kernel::new(true)), Config::new(PAGES)).unwrap();
    let mut whole = formatted();
    let first = whole.chip_mut().calls_mut().chip.ops();
    Written::default().run(&mut whole);
    let last = whole.chip_mut().calls_mut().chip.ops();
    assert!(last - first > 450 && whole.stats().erases > 3);
    for at_op in (first..last).step_by(3) {
        let mut disk = formatted();
        let outcome = CutOutcome::Seeded { seed: at_op };
        disk.chip_mut().calls_mut().chip.arm(Some(PowerCut { at_op, outcome }));
        let mut written = Written::default();
        written.run(&mut disk);
        let mut nand = disk.into_chip();
        assert!(nand.calls_mut().chip.is_off());
        nand.calls_mut().chip.power_on();
        let (mut disk, report) = mount(nand);
        assert!(!report.clean);
        for page in 0..PAGES {
            let mut data = [0; PAGE];
            disk.read(page, &mut data).unwrap();
            assert!(written.may_hold(page, data[0]), "cut {at_op}: page {page} holds {}", data[0]);
            assert_eq!(data, [data[0]; PAGE]);
        }
        assert_eq!(disk.chip_mut().calls_mut().chip.violations(), 0, "cut {at_op}");
    }
}

#[test]
fn what_the_system_says_becomes_what_the_layer_above_acts_on() {
    let (mut nand, page) = (nand(Kernel::new(true)), [0; PAGE]);
    let mut fails = |errno| nand.calls_mut().fails = errno;
    fails(Some(Errno::IO));
    assert_eq!(kind(nand.program(PageAddr(0), &page, &[])), ErrorKind::ProgramFailed);
    assert_eq!(kind(nand.erase(BlockAddr(1))), ErrorKind::EraseFailed);
    assert_eq!(kind(nand.read(PageAddr(0), &mut [0; PAGE], &mut [])), ErrorKind::Unresponsive);
    nand.calls_mut().fails = Some(Errno::ROFS);
    assert_eq!(kind(nand.program(PageAddr(0), &page, &[])), ErrorKind::Unresponsive);
    assert_eq!(kind(nand.erase(BlockAddr(1))), ErrorKind::Unresponsive);
    assert_eq!(kind(nand.is_bad(BlockAddr(1))), ErrorKind::Unresponsive);
    nand.calls_mut().fails = None;
    assert_eq!(kind(nand.read(PageAddr(24 * 16), &mut [0; PAGE], &mut [])), ErrorKind::OutOfRange);
    assert_eq!(kind(nand.program(PageAddr(0), &page[1..], &[])), ErrorKind::OutOfRange);
    assert_eq!(kind(nand.erase(BlockAddr(24))), ErrorKind::OutOfRange);
    nand.mark_bad(BlockAddr(5)).unwrap();
    assert!(nand.is_bad(BlockAddr(5)).unwrap() && !nand.is_bad(BlockAddr(4)).unwrap());
}

#[test]
fn wrong_bits_ask_for_a_refresh_and_too_many_are_an_error() {
    for has_memread in [true, false] {
        let mut nand = nand(Kernel::new(has_memread));
        nand.program(PageAddr(0), &[7; PAGE], &[1, 2, 3]).unwrap();
        let mut read = |corrected, wrong_bits: &[usize]| {
            let kernel = nand.calls_mut();
            (kernel.corrected, kernel.wrong_bits) = (corrected, wrong_bits.to_vec());
            let (mut data, mut spare) = ([0; PAGE], [0; 16]);
            let report = nand.read(PageAddr(0), &mut data, &mut spare)?;
            assert_eq!((data, &spare[..4]), ([7; PAGE], &[1, 2, 3, 0xFF][..]));
            Ok::<_, wearwell_mtd::MtdError>(report)
        };
        assert_eq!(read(0, &[]).unwrap(), Default::default());
        assert!(!read(1, &[]).unwrap().refresh_soon, "the chip bears two more");
        assert!(read(3, &[]).unwrap().refresh_soon);
        assert!(read(0, &[12]).unwrap().refresh_soon, "the code of the spare bytes bears no more");
        assert_eq!(kind(read(0, &[12, 60])), ErrorKind::Uncorrectable);
    }
}
