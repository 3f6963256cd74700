//! A process that ends between two stores to its image, or in the middle of one, leaves a state that a power cut may
//! leave.

use std::io;

use wearwell_flash::{BankAddr, BlockAddr, Nand, Nor, NorAddr, PageAddr};

use crate::layout;
use crate::profile::ChipProfile;
use crate::store::Store;
use crate::{EmuChip, EmuError, EmuNand, EmuNor, Faults};

/// Bytes of a process that ends in the middle of a change: only some words of that change are stored.
struct Dying {
    bytes: Vec<u8>,
    /// Changes until it ends.
    changes_left: u32,
    seed: u64,
    /// The bytes before the last change.
    before: Option<Vec<u8>>,
    /// The bytes that are left.
    image: Option<Vec<u8>>,
}

impl Dying {
    fn over(bytes: Vec<u8>, changes_left: u32, seed: u64) -> Self {
        Self { bytes, changes_left, seed, before: None, image: None }
    }

    fn has_ended(&self) -> bool {
        self.before.is_some()
    }

    /// Settles which words of the last change are left.
    fn settle(&mut self) {
        let Some(before) = self.before.as_ref().filter(|_| self.image.is_none()) else { return };
        let mut rng = fastrand::Rng::with_seed(self.seed);
        let words = before.chunks(8).zip(self.bytes.chunks(8));
        self.image = Some(words.flat_map(|(old, new)| if rng.bool() { old } else { new }).copied().collect());
    }

    fn into_image(mut self) -> Vec<u8> {
        self.settle();
        self.image.unwrap_or(self.bytes)
    }
}

impl Store for Dying {
    fn is_checked(&self) -> bool {
        true
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        if self.has_ended() {
            self.settle();
        } else if self.changes_left == 0 {
            self.before = Some(self.bytes.clone());
        } else {
            self.changes_left -= 1;
        }
        &mut self.bytes
    }

    fn make_room(&mut self, _: std::ops::Range<usize>) -> io::Result<()> {
        Ok(())
    }

    fn is_changed(&self) -> bool {
        false
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A step on the chip.
#[derive(Clone, Copy)]
enum Step {
    Program(u32, u8),
    Copy(u32, u32),
    Erase(u32),
}

const PAGES: u32 = 4;

fn nand_profile() -> ChipProfile {
    ChipProfile::from_geometry_str("geometry:512:4:4").expect("valid")
}

fn act(chip: &mut EmuNand<Dying>, step: Step) -> Result<(), EmuError> {
    match step {
        Step::Program(page, byte) => chip.program(PageAddr(page), &[byte; 512], &[byte; 20]),
        Step::Copy(from, to) => chip.copy(PageAddr(from), PageAddr(to), &mut []).map(|_| ()),
        Step::Erase(block) => chip.erase(BlockAddr(block)),
    }
}

/// The first byte of every page. All bytes of a page, and of its spare, are equal.
fn content(chip: &mut EmuNand<Dying>) -> Vec<Result<u8, EmuError>> {
    let page = |page| {
        let (mut data, mut spare) = ([0; 512], [0; 64]);
        chip.read(PageAddr(page), &mut data, &mut spare)?;
        assert!(data.iter().all(|&byte| byte == data[0]) && spare[..20].iter().all(|&byte| byte == data[0]), "a mix");
        Ok(data[0])
    };
    (0..4 * PAGES).map(page).collect()
}

fn touched(step: Step, page: u32) -> bool {
    match step {
        Step::Program(to, _) | Step::Copy(_, to) => page == to,
        Step::Erase(block) => page / PAGES == block,
    }
}

/// Does the steps on a chip whose process ends in change number `changes`. False if the steps end before that.
fn nand_dies_at(steps: &[Step], fresh: &[u8], changes: u32, seed: u64) -> bool {
    let profile = nand_profile();
    let mut chip = EmuNand::existing(&profile, Faults::default(), Dying::over(fresh.to_vec(), changes, seed));
    let mut before = content(&mut chip);
    let Some(hit) = steps.iter().find(|&&step| {
        // Reads are counted in the image too, so the process may end in one.
        before = content(&mut chip);
        act(&mut chip, step).expect("the step is allowed");
        chip.body().store.has_ended()
    }) else {
        return false;
    };
    let after = content(&mut chip);
    let left = chip.into_store().into_image();
    layout::check(&left, &profile).expect("an image");
    let mut chip = EmuNand::existing(&profile, Faults::default(), Dying::over(left, u32::MAX, 0));
    for (page, found) in content(&mut chip).into_iter().enumerate() {
        let allowed = [before[page], after[page]];
        let torn = touched(*hit, page as u32) && found == Err(EmuError::Uncorrectable(PageAddr(page as u32)));
        assert!(allowed.contains(&found) || torn, "change {changes}, page {page}: {found:?}, not {allowed:?}");
    }
    for block in 0..4 {
        chip.erase(BlockAddr(block)).expect("erase");
        for page in 0..PAGES {
            act(&mut chip, Step::Program(block * PAGES + page, 9)).expect("every page can be programmed again");
        }
    }
    true
}

#[test]
fn a_nand_image_whose_process_was_killed_is_one_whose_power_was_cut() {
    use Step::{Copy, Erase, Program};
    let steps =
        [Program(0, 1), Program(1, 2), Program(3, 3), Copy(1, 4), Erase(0), Program(0, 5), Erase(0), Copy(4, 0)];
    let fresh = EmuNand::in_memory(&nand_profile(), Faults::default()).expect("a chip").into_store().bytes().to_vec();
    for seed in 0..6 {
        let changes = (0..).take_while(|&changes| nand_dies_at(&steps, &fresh, changes, seed)).count();
        assert!(changes > 100, "only {changes} changes");
    }
}

/// Programs and erases a block beside another one that must not change. False if that ends before change number
/// `changes`.
fn nor_dies_at(fresh: &[u8], changes: u32, seed: u64) -> bool {
    let profile = ChipProfile::from_toml_str("small", NOR).expect("valid");
    let at = |block, offset| NorAddr { block: BlockAddr(block), offset };
    let mut chip = EmuNor::existing(&profile, Faults::default(), Dying::over(fresh.to_vec(), u32::MAX, seed));
    chip.program(at(1, 0), b"kept").expect("program");
    chip.body_mut().store.changes_left = changes;
    chip.program(at(0, 8), &[0x0F; 64]).expect("program");
    chip.erase_start(BlockAddr(0)).expect("erase");
    chip.erase_finish(BankAddr(0)).expect("erase");
    chip.program(at(0, 8), &[0xF0; 64]).expect("program");
    if !chip.body().store.has_ended() {
        return false;
    }
    let left = chip.into_store().into_image();
    layout::check(&left, &profile).expect("an image");
    let mut chip = EmuNor::existing(&profile, Faults::default(), Dying::over(left, u32::MAX, 0));
    let mut kept = [0; 5];
    chip.read(at(1, 0), &mut kept).expect("read");
    assert_eq!(&kept, b"kept\xFF", "change {changes}");
    chip.erase_start(BlockAddr(0)).expect("erase");
    chip.erase_finish(BankAddr(0)).expect("erase");
    chip.program(at(0, 0), &[0xAA; 100]).expect("program");
    let mut again = [0; 100];
    chip.read(at(0, 0), &mut again).expect("read");
    assert_eq!(again, [0xAA; 100]);
    true
}

const NOR: &str = "description = 'small'\nsource = 'none'\nkind = 'nor'\npage_bytes = 512\npages_per_block = 7\n\
    block_bytes = 4096\nblocks = 4\nendurance_cycles = 1000\n";

#[test]
fn a_nor_image_whose_process_was_killed_is_one_whose_power_was_cut() {
    let profile = ChipProfile::from_toml_str("small", NOR).expect("valid");
    let fresh = EmuNor::in_memory(&profile, Faults::default()).expect("a chip").into_store().bytes().to_vec();
    for seed in 0..6 {
        let changes = (0..).take_while(|&changes| nor_dies_at(&fresh, changes, seed)).count();
        assert!(changes >= 8, "only {changes} changes");
    }
}
