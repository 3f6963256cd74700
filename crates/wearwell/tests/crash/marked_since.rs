//! Blocks that somebody else has marked bad since a device was shut down. A mount that believes the checkpoint does not
//! look at the marks of all blocks.
//!
//! An erase may take the mark of a block, so such a block keeps every byte that it had.

use wearwell::page::log::{MapLog, NandLog};
use wearwell::page::{MountReport, PageConfig, PageFtl};
use wearwell::paged::{PagedConfig, PagedFtl};
use wearwell::{BlockAddr, BlockDevice, Lpn, Nand, NandGeometry, Policies, RamNand, WriteHint};

const PAGES: u32 = 700;
const GEOMETRY: NandGeometry = NandGeometry { blocks: 64, ..RamNand::SMALL };

/// How an engine is made of a chip, and given up like in a power cut.
struct Engine<F> {
    format: fn(RamNand) -> F,
    mount: fn(RamNand) -> (F, MountReport),
    into_chip: fn(F) -> RamNand,
}

/// The bytes of all pages of a block.
fn bytes_of(chip: &RamNand, block: BlockAddr) -> Vec<u8> {
    let (mut chip, mut bytes) = (chip.clone(), Vec::new());
    for page in 0..GEOMETRY.pages_per_block {
        let (mut data, mut spare) = ([0; 512], [0; 16]);
        chip.read(GEOMETRY.page(block, page), &mut data, &mut spare).expect("a page of the chip");
        bytes.extend(data);
        bytes.extend(spare);
    }
    bytes
}

/// True if a block holds nothing but a header.
fn is_erased(chip: &RamNand, block: BlockAddr) -> bool {
    bytes_of(chip, block)[512 + 16..].iter().all(|&byte| byte == 0xFF)
}

/// Marks each of the erased blocks in turn: nothing that is written since is lost, and nothing happens to that block.
fn prove<F: BlockDevice>(engine: &Engine<F>) {
    let mut ftl = (engine.format)(RamNand::new(GEOMETRY));
    (0..PAGES).for_each(|page| ftl.write_page(Lpn(page), &[1; 512], WriteHint::NONE).expect("room"));
    ftl.shutdown().expect("a good chip");
    let stopped = (engine.into_chip)(ftl);
    prove_from(engine, &stopped);
    // Behind a cut each empty block is erased again before it is used, also in the sessions behind a shutdown.
    let (mut ftl, _) = (engine.mount)(stopped);
    ftl.write_page(Lpn(0), &[1; 512], WriteHint::NONE).expect("room");
    let (mut ftl, report) = (engine.mount)((engine.into_chip)(ftl));
    assert!(!report.clean, "the power was cut");
    ftl.shutdown().expect("a good chip");
    prove_from(engine, &(engine.into_chip)(ftl));
}

/// Does so on a chip that was shut down.
fn prove_from<F: BlockDevice>(engine: &Engine<F>, stopped: &RamNand) {
    let mut believed = 0;
    let erased = (0..GEOMETRY.blocks).map(BlockAddr).filter(|&block| is_erased(stopped, block));
    // Once, and so often that segments are erased and filled again.
    for (block, rounds) in erased.flat_map(|block| [(block, 1), (block, 3)]) {
        let mut chip = stopped.clone();
        chip.mark_bad(block).expect("a block of the chip");
        let (mut ftl, report) = (engine.mount)(chip);
        believed += u32::from(report.clean);
        for page in (0..rounds * PAGES).map(|n| n % PAGES) {
            ftl.write_page(Lpn(page), &[page as u8; 512], WriteHint::NONE).expect("room");
        }
        ftl.flush().expect("a good chip");
        let (mut ftl, _) = (engine.mount)((engine.into_chip)(ftl));
        for page in 0..PAGES {
            let mut data = [0; 512];
            ftl.read_page(Lpn(page), &mut data).unwrap_or_else(|error| panic!("{block:?}, page {page}: {error}"));
            assert_eq!(data, [page as u8; 512], "{block:?}, page {page}");
        }
        let chip = (engine.into_chip)(ftl);
        assert!(bytes_of(&chip, block) == bytes_of(stopped, block), "{block:?}, {rounds}: it was erased or programmed");
    }
    assert!(believed > 10, "{believed} mounts by a checkpoint");
}

#[test]
fn page_mapping_does_not_write_them() {
    fn log(chip: RamNand) -> NandLog<RamNand> {
        NandLog::new(chip, 1).expect("it fits").with_checkpoint()
    }
    fn config() -> PageConfig {
        PageConfig { logical_pages: PAGES, policies: Policies::default(), seed: 1, endurance: 1000 }
    }
    prove(&Engine {
        format: |chip| PageFtl::format(log(chip), (), config()).expect("it fits"),
        mount: |chip| PageFtl::mount(log(chip), (), config()).expect("one block is bad"),
        into_chip: |ftl| ftl.into_log().into_chip(),
    });
}

#[test]
fn nor_does_page_mapping_with_its_map_on_flash() {
    const CONFIG: PagedConfig = PagedConfig::new(PAGES, 16);
    fn log(chip: RamNand) -> MapLog<RamNand> {
        MapLog::with_map(chip, 1).expect("it fits")
    }
    prove(&Engine {
        format: |chip| PagedFtl::format(log(chip), CONFIG).expect("it fits"),
        mount: |chip| PagedFtl::mount(log(chip), CONFIG).expect("one block is bad"),
        into_chip: |ftl| ftl.into_log().into_chip(),
    });
}
