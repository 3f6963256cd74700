//! Engines that survive a power cut, and one that does not.

use wearwell::logblock::{BlockConfig, BlockFtl, Costs, Scheme, TaggedPages};
use wearwell::page::PageFtl;
use wearwell::page::log::NandLog;
use wearwell::{Reclamation, WearLeveling};
use wearwell_emu::EmuNand;

use crate::rig::{Chip, Engine, OnNand};
use crate::spy::{Discards, Spy};

/// Makes an engine on a chip.
pub(crate) trait Make: Copy {
    fn format(self) -> Engine;
    fn mount(self, nand: EmuNand) -> Engine;
}

/// Page mapping.
impl Make for Chip {
    fn format(self) -> Engine {
        Chip::format(self)
    }
    fn mount(self, nand: EmuNand) -> Engine {
        let log = NandLog::new(nand, 1).expect("room for tags");
        Box::new(PageFtl::mount(log, (), self.config()).expect("what was cut mounts").0)
    }
}

/// Block mapping.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks {
    pub(crate) chip: Chip,
    pub(crate) scheme: Scheme,
    pub(crate) reclaim: Reclamation,
}

impl Blocks {
    fn config(self) -> BlockConfig {
        BlockConfig {
            logical_pages: self.chip.config().logical_pages,
            scheme: self.scheme,
            log_blocks: 3,
            wear: WearLeveling::parse("static-threshold:4").expect("listed"),
            reclaim: self.reclaim,
            costs: Costs::LEE_TABLE_1,
            endurance: 100_000,
        }
    }
}

impl Make for Blocks {
    fn format(self) -> Engine {
        let pages = TaggedPages::new(self.chip.nand(), 1).expect("room for tags");
        Box::new(BlockFtl::format(pages, (), self.config()).expect("a fresh chip"))
    }
    fn mount(self, nand: EmuNand) -> Engine {
        let pages = TaggedPages::new(nand, 1).expect("room for tags");
        Box::new(BlockFtl::mount(pages, (), self.config()).expect("what was cut mounts").0)
    }
}

impl OnNand for BlockFtl<TaggedPages<EmuNand>> {
    fn chip_mut(&mut self) -> &mut EmuNand {
        self.pages_mut().chip_mut()
    }
    fn into_chip(self: Box<Self>) -> EmuNand {
        self.into_pages().into_chip()
    }
}

/// Page mapping that breaks its promise about discards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forgetful(pub(crate) Chip, pub(crate) Discards);

impl Make for Forgetful {
    fn format(self) -> Engine {
        Box::new(Spy::that(self.0.format(), self.1))
    }
    fn mount(self, nand: EmuNand) -> Engine {
        Box::new(Spy::that(self.0.mount(nand), self.1))
    }
}

impl OnNand for Spy<Engine> {
    fn chip_mut(&mut self) -> &mut EmuNand {
        self.inner.chip_mut()
    }
    fn into_chip(self: Box<Self>) -> EmuNand {
        self.inner.into_chip()
    }
}
