//! Engines that survive a power cut, and one that does not.

use wearwell::logblock::{BlockConfig, BlockFtl, Costs, Scheme, TaggedPages};
use wearwell::page::PageFtl;
use wearwell::page::log::NandLog;
use wearwell::{BlockDevice, Reclamation, WearLeveling};
use wearwell_emu::EmuNand;

use crate::rig::{Chip, Engine};
use crate::spy::{Discards, Spy};

/// Makes an engine on a chip, and gives the chip back.
pub(crate) trait Make: Copy {
    type Engine: BlockDevice;
    fn format(self) -> Self::Engine;
    fn mount(self, nand: EmuNand) -> Self::Engine;
    fn chip_mut(engine: &mut Self::Engine) -> &mut EmuNand;
    fn into_chip(engine: Self::Engine) -> EmuNand;
}

/// Page mapping.
impl Make for Chip {
    type Engine = Engine;
    fn format(self) -> Engine {
        Chip::format(self)
    }
    fn mount(self, nand: EmuNand) -> Engine {
        let log = NandLog::new(nand, 1).expect("room for tags");
        PageFtl::mount(log, (), self.config()).expect("what was cut mounts").0
    }
    fn chip_mut(engine: &mut Engine) -> &mut EmuNand {
        engine.log_mut().chip_mut()
    }
    fn into_chip(engine: Engine) -> EmuNand {
        engine.into_log().into_chip()
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
    type Engine = BlockFtl<TaggedPages<EmuNand>>;
    fn format(self) -> Self::Engine {
        let pages = TaggedPages::new(self.chip.nand(), 1).expect("room for tags");
        BlockFtl::format(pages, (), self.config()).expect("a fresh chip")
    }
    fn mount(self, nand: EmuNand) -> Self::Engine {
        let pages = TaggedPages::new(nand, 1).expect("room for tags");
        BlockFtl::mount(pages, (), self.config()).expect("what was cut mounts").0
    }
    fn chip_mut(engine: &mut Self::Engine) -> &mut EmuNand {
        engine.pages_mut().chip_mut()
    }
    fn into_chip(engine: Self::Engine) -> EmuNand {
        engine.into_pages().into_chip()
    }
}

/// Page mapping that breaks its promise about discards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forgetful(pub(crate) Chip, pub(crate) Discards);

impl Make for Forgetful {
    type Engine = Spy<Engine>;
    fn format(self) -> Self::Engine {
        Spy::that(self.0.format(), self.1)
    }
    fn mount(self, nand: EmuNand) -> Self::Engine {
        Spy::that(self.0.mount(nand), self.1)
    }
    fn chip_mut(engine: &mut Self::Engine) -> &mut EmuNand {
        Chip::chip_mut(&mut engine.inner)
    }
    fn into_chip(engine: Self::Engine) -> EmuNand {
        Chip::into_chip(engine.inner)
    }
}
