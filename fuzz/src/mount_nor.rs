//! Mounts a mutated image of the `nor` layout.

use std::sync::LazyLock;

use wearwell::page::log::NorLog;
use wearwell_flash::NorGeometry;

use crate::device::{Image, Left, mount_and_use, used};
use crate::input::Input;
use crate::nor::FuzzNor;

const SLOTS: u32 = 7;
const PAGE_BYTES: u32 = 512;
const GEOMETRY: NorGeometry = NorGeometry { block_bytes: 4096, blocks: 14, banks: 1 };

/// The devices of the images: with one bank and with two, shut down and cut off; and an erased one.
static BASES: LazyLock<Vec<FuzzNor>> = LazyLock::new(|| {
    let of = |geometry, left| {
        let mut chip = used(log(FuzzNor::new(geometry)), left).into_chip();
        chip.power_cycle();
        chip
    };
    vec![
        of(GEOMETRY, Left::Cut),
        of(NorGeometry { banks: 2, ..GEOMETRY }, Left::Cut),
        of(NorGeometry { banks: 2, ..GEOMETRY }, Left::ShutDown),
        FuzzNor::new(GEOMETRY),
    ]
});

fn log(chip: FuzzNor) -> NorLog<FuzzNor> {
    NorLog::new(chip, SLOTS, PAGE_BYTES).expect("the base chip holds the layout")
}

/// The first byte selects the image, and the others edit it.
pub fn mount_nor(data: &[u8]) {
    let mut input = Input::new(data);
    let base = usize::from(input.byte()) % BASES.len();
    let mut chip = BASES[base].clone();
    let mut image = Image::Damaged;
    while !input.is_empty() {
        if chip.edit(SLOTS as usize, &mut input) == Image::Forged {
            image = Image::Forged;
        }
    }
    mount_and_use(log(chip), image, |log| log.chip_mut().power_cycle());
}
