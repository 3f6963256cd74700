//! Opens a mutated image file of an emulated chip, and mounts its content.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{env, fs, process};

use wearwell::page::log::{NandLog, NorLog};
use wearwell_emu::{ChipKind, ChipProfile, EmuChip, EmuNand, EmuNor, Faults};

use crate::device::{Image, Left, mount_and_use, used};
use crate::input::Input;

const NAND: &str = "description = 'a small NAND chip'\nsource = 'none'\nkind = 'nand'\npage_bytes = 512\n\
    spare_bytes = 16\npages_per_block = 8\nblocks = 14\nendurance_cycles = 1000\nendurance_spread = 0.0\n";
const NOR: &str = "description = 'a small NOR chip'\nsource = 'none'\nkind = 'nor'\npage_bytes = 512\n\
    pages_per_block = 7\nblock_bytes = 4096\nblocks = 14\nbanks = 2\nendurance_cycles = 1000\nendurance_spread = 0.0\n";

/// A chip's profile, and a good image of it.
struct Base {
    profile: ChipProfile,
    image: Vec<u8>,
}

static BASES: LazyLock<[Base; 2]> = LazyLock::new(|| [Base::new(NAND), Base::new(NOR)]);

impl Base {
    fn new(profile: &str) -> Self {
        let profile = ChipProfile::from_toml_str("small", profile).expect("the base profile is valid");
        let file = scratch_file("base");
        let _ = fs::remove_file(&file);
        match profile.kind {
            ChipKind::Nand => {
                let chip = EmuNand::create_image(&file, &profile, Faults::default()).expect("a new image");
                used(NandLog::new(chip, 1).expect("the layout fits"), Left::Cut).into_chip();
            }
            ChipKind::Nor => {
                let chip = EmuNor::create_image(&file, &profile, Faults::default()).expect("a new image");
                used(nor_log(chip, &profile), Left::Cut).into_chip();
            }
        }
        let image = fs::read(&file).expect("the image was written");
        fs::remove_file(&file).expect("the image was written");
        Self { profile, image }
    }
}

fn nor_log<N: wearwell_flash::Nor>(chip: N, profile: &ChipProfile) -> NorLog<N> {
    NorLog::new(chip, profile.pages_per_block, profile.page_bytes).expect("the layout fits")
}

fn scratch_file(name: &str) -> PathBuf {
    env::temp_dir().join(format!("wearwell-fuzz-{}-{name}.ww", process::id()))
}

/// The first byte selects the chip. Each further group of seven bytes writes up to two bytes somewhere, or truncates
/// the file.
pub fn chip_image(data: &[u8]) {
    let mut input = Input::new(data);
    let base = &BASES[usize::from(input.byte()) % BASES.len()];
    let mut image = base.image.clone();
    while !input.is_empty() && !image.is_empty() {
        let (operation, at) = (input.byte(), input.below(image.len()));
        match operation {
            0 => image.truncate(at),
            1 => image.push(input.byte()),
            _ => {
                let bytes = input.array::<2>();
                let end = image.len().min(at + if operation % 2 == 0 { 1 } else { 2 });
                image[at..end].copy_from_slice(&bytes[..end - at]);
            }
        }
    }
    let file = scratch_file("mutated");
    fs::write(&file, &image).expect("the scratch file can be written");
    open(&file, &base.profile);
    fs::remove_file(&file).expect("the scratch file was written");
}

fn open(file: &Path, profile: &ChipProfile) {
    match profile.kind {
        ChipKind::Nand => {
            if let Ok(chip) = EmuNand::open_image(file, profile, Faults::default()) {
                let log = NandLog::new(chip, 1).expect("the layout fits");
                mount_and_use(log, Image::Damaged, |log| log.chip_mut().power_on());
            }
        }
        ChipKind::Nor => {
            if let Ok(chip) = EmuNor::open_image(file, profile, Faults::default()) {
                mount_and_use(nor_log(chip, profile), Image::Damaged, |log| log.chip_mut().power_on());
            }
        }
    }
}
