//! A device: its chip, its engine and its settings, as data.

use fastrand::Rng;
use wearwell_flash::{NandGeometry, NorGeometry, ProgramOrder};

use crate::mode::{Choices, Mode, Target, Temper};

/// The names of a page-mapped engine's policies, as the command line has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyNames {
    /// When cleaning runs.
    pub when: &'static str,
    /// Which segment it takes.
    pub which: &'static str,
    /// Where pages go.
    pub place: &'static str,
    /// How wear is leveled.
    pub wear: &'static str,
    /// When empty segments are erased.
    pub reclaim: &'static str,
}

/// The chip's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// NAND.
    Nand(NandGeometry),
    /// NOR.
    Nor(NorGeometry),
}

/// The engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Page mapping over NAND.
    Page {
        /// Erase blocks in a segment, each on another die.
        blocks_per_segment: u32,
        /// The policies to begin with.
        policies: PolicyNames,
        /// True if inference stands in front of the engine.
        aware: bool,
        /// True if a clean shutdown leaves a checkpoint.
        checkpoint: bool,
    },
    /// Page mapping over NAND with the map on flash.
    Paged {
        /// Erase blocks in a segment, each on another die.
        blocks_per_segment: u32,
        /// Entries in the cache of the map.
        cache_entries: u32,
        /// The victim policy and the placement, one of `mode::PAGED`.
        policies: &'static str,
    },
    /// Page mapping over NOR.
    NorPage {
        /// Pages in a block.
        slots: u32,
        /// Bytes in a page.
        page_bytes: u32,
        /// The policies to begin with.
        policies: PolicyNames,
    },
    /// Block mapping.
    Block {
        /// Erase blocks in a segment, each on another die.
        blocks_per_segment: u32,
        /// `log-block`, `primary-replacement`, `fast` or `fast-by-stream`.
        scheme: &'static str,
        /// How a log block is recycled (`log-block`).
        recycle: &'static str,
        /// Most log blocks.
        log_blocks: u32,
        /// How wear is leveled.
        wear: &'static str,
        /// When dead logical blocks are erased.
        reclaim: &'static str,
    },
}

impl Engine {
    /// True for block mapping.
    pub fn is_block(&self) -> bool {
        matches!(self, Self::Block { .. })
    }
}

impl Engine {
    /// Erase blocks in a segment.
    pub fn blocks_per_segment(&self) -> u32 {
        match *self {
            Self::Page { blocks_per_segment, .. }
            | Self::Paged { blocks_per_segment, .. }
            | Self::Block { blocks_per_segment, .. } => blocks_per_segment,
            Self::NorPage { .. } => 1,
        }
    }

    /// The first policies, if the engine has policies.
    pub fn policies(&self) -> Option<PolicyNames> {
        match *self {
            Self::Page { policies, .. } | Self::NorPage { policies, .. } => Some(policies),
            Self::Paged { .. } | Self::Block { .. } => None,
        }
    }
}

/// Faults of a driver on purpose, for canaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Driver {
    /// Nothing.
    #[default]
    Honest,
    /// It reports failed programs as successful.
    HidesFailures,
    /// It returns ones for the data of a page that cannot be corrected, and its spare bytes as they were.
    HidesDecay,
    /// It returns ones for a page that cannot be corrected, as if it were erased.
    HidesHarm,
    /// It says that no pages share cells.
    HidesGroups,
    /// It does not erase a block that reads as erased.
    SkipsErases,
}

impl Driver {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Honest, Self::HidesFailures, Self::HidesDecay, Self::HidesHarm, Self::HidesGroups, Self::SkipsErases];
}

/// A device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// The chip.
    pub shape: Shape,
    /// The chip's behaviour where the contract leaves a choice.
    pub temper: Temper,
    /// Faults of the driver on purpose.
    pub driver: Driver,
    /// The engine.
    pub engine: Engine,
    /// Pages that the host can address.
    pub logical_pages: u32,
    /// Erases that a block is rated for.
    pub endurance: u32,
    /// The engine's seed.
    pub seed: u64,
}

/// Logical blocks, as far as the table of promises depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogicalBlocks {
    /// Pages in each.
    pub pages: u32,
    /// Several have pages in one log block.
    pub share_logs: bool,
}

impl Setup {
    /// The logical blocks of block mapping.
    pub(crate) fn blocks(&self) -> Option<LogicalBlocks> {
        match (self.engine, self.shape) {
            (Engine::Block { scheme, blocks_per_segment, .. }, Shape::Nand(geometry)) => Some(LogicalBlocks {
                pages: geometry.pages_per_block * blocks_per_segment,
                share_logs: matches!(scheme, "fast" | "fast-by-stream"),
            }),
            _ => None,
        }
    }

    /// True if the engine keeps what its pages are in pages of their own.
    pub(crate) fn has_tag_pages(&self) -> bool {
        matches!((self.engine, self.shape), (Engine::Page { .. }, Shape::Nand(geometry))
            if geometry.spare_bytes < 16 && geometry.paired_pages == 1)
    }
}

/// Draws one of a few.
pub(crate) fn pick<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.usize(..choices.len())]
}

/// True with a probability of `percent` %.
pub(crate) fn percent(rng: &mut Rng, percent: u32) -> bool {
    rng.u32(..100) < percent
}

/// The names to draw from. A kept history is read by them, too.
pub(crate) const WHEN: &[&str] = &[
    "watermark:3:4",
    "watermark:3:4",
    "watermark:2:3",
    "watermark:1:1",
    "watermark:4:5",
    "idle:3:4:5",
    "falling:4:2:3",
    "falling:5:0.5",
];
pub(crate) const WEAR: &[&str] =
    &["none", "none", "none", "dynamic", "static-threshold:1", "static-threshold:5", "swap:1"];
/// How the engine levels wear if nobody chooses. It is not drawn.
pub const DEFAULT_WEAR: &str = "static-threshold:50";
pub(crate) const RECLAIM: &[&str] = &["at-once", "at-once", "proactive", "proactive:0.05:0.5:0.01"];
/// The same for block mapping.
pub(crate) const SCHEMES: &[&str] = &["log-block", "primary-replacement", "fast", "fast-by-stream"];
pub(crate) const RECYCLE: &[&str] = &["merge-only", "cost-based", "periodic:3", "periodic", "optimal"];
pub(crate) const BLOCK_WEAR: &[&str] = &["none", "dynamic", "static-threshold:2", "swap:1"];
pub(crate) const BLOCK_RECLAIM: &[&str] = &["at-once", "proactive", "proactive:0.05:0.5:0.01"];

impl PolicyNames {
    /// Random policies. A given placement stays: a change of placement closes all open segments and rarely breaks
    /// anything.
    pub(crate) fn random(rng: &mut Rng, choices: &Choices, place: Option<&'static str>) -> Self {
        Self {
            when: pick(rng, WHEN),
            which: pick(rng, choices.which),
            place: place.unwrap_or_else(|| pick(rng, choices.place)),
            wear: pick(rng, WEAR),
            reclaim: pick(rng, RECLAIM),
        }
    }
}

/// More than any chip here has. The refusal says how much fits.
const TOO_MANY_PAGES: u32 = u32::MAX >> 8;

impl Setup {
    /// A random device of the mode. `most_logical_pages` says how many fit, none if the engine does not.
    pub fn random(rng: &mut Rng, mode: &Mode, most_logical_pages: fn(&Self) -> Option<u32>) -> Self {
        let is_tiny = mode.short_histories > 0;
        loop {
            let mut setup = if is_tiny { Self::tiny(rng, mode) } else { Self::usual(rng, mode) };
            let Some(most) = most_logical_pages(&setup).filter(|&most| most >= 4) else { continue };
            setup.logical_pages = if mode.worn_in {
                most - rng.u32(..3)
            } else if is_tiny {
                most.min(rng.u32(8..15))
            } else if percent(rng, mode.full_percent) {
                most
            } else {
                rng.u32(1..=most)
            };
            return setup;
        }
    }

    /// A random device of any size, with more logical pages than fit.
    fn usual(rng: &mut Rng, mode: &Mode) -> Self {
        let target = pick(rng, mode.targets);
        let shape = if target == Target::NorPage { random_nor(rng) } else { random_nand(rng, mode.striped) };
        let mut setup = Self {
            shape,
            temper: mode.temper,
            driver: Driver::Honest,
            engine: random_engine(rng, target, &shape, mode),
            logical_pages: TOO_MANY_PAGES,
            endurance: pick(rng, &[100, 100_000]),
            seed: rng.u64(..),
        };
        // Nothing is drawn for it, so that older seeds keep their histories.
        if let Engine::Page { checkpoint, .. } = &mut setup.engine {
            *checkpoint = setup.seed.is_multiple_of(2);
        }
        setup
    }

    /// A random tiny device, for a short history, with more logical pages than fit.
    fn tiny(rng: &mut Rng, mode: &Mode) -> Self {
        let target = pick(rng, mode.targets);
        let mut geometry = NandGeometry {
            page_bytes: 512,
            // The map on flash is for chips whose pages share no cells.
            paired_pages: if target == Target::Paged { 1 } else { pick(rng, &[1, 1, 2]) },
            spare_bytes: pick(rng, &[16, 32]),
            pages_per_block: rng.u32(5..10),
            blocks: rng.u32(14..30),
            dies: 1,
            program_order: ProgramOrder::Ascending,
        };
        if mode.worn_in {
            // Drawn apart, so that older seeds keep their devices.
            (geometry.page_bytes, geometry.spare_bytes) = pick(rng, &[(512, 16), (512, 32), (1024, 16), (1024, 0)]);
            geometry.dies = pick(rng, &[1, 1, 1, 2]);
            geometry.blocks *= geometry.dies;
        }
        let shape = if target == Target::NorPage { random_nor(rng) } else { Shape::Nand(geometry) };
        Self {
            shape,
            temper: Temper { mixed_erases: rng.bool(), ..mode.temper },
            driver: Driver::Honest,
            engine: random_engine(rng, target, &shape, mode),
            logical_pages: TOO_MANY_PAGES,
            endurance: 100_000,
            seed: rng.u64(..),
        }
    }
}

fn random_nand(rng: &mut Rng, striped: bool) -> Shape {
    // A value that is listed twice is drawn twice as often.
    let dies = if striped { pick(rng, &[2, 3, 4]) } else { pick(rng, &[1, 1, 1, 2, 3, 4]) };
    let pages_per_block = pick(rng, &[4, 5, 6, 7, 8, 8, 12, 16, 16, 32, 64]);
    let blocks_per_die = match pages_per_block {
        64 => rng.u32(7..17),
        32 => rng.u32(7..27),
        _ => rng.u32(7..47),
    };
    let page_bytes = pick(rng, &[512, 512, 1024, 2048]);
    // Small pages cannot hold a tag beside a sector.
    let spare_bytes = if page_bytes == 512 { pick(rng, &[16, 32, 64]) } else { pick(rng, &[16, 32, 64, 0, 8]) };
    Shape::Nand(NandGeometry {
        page_bytes,
        spare_bytes,
        pages_per_block,
        blocks: blocks_per_die * dies,
        dies,
        paired_pages: pick(rng, &[1, 1, 1, 2, 3, 4]),
        program_order: if percent(rng, 30) { ProgramOrder::Any } else { ProgramOrder::Ascending },
    })
}

fn random_nor(rng: &mut Rng) -> Shape {
    let banks = pick(rng, &[1, 1, 2, 3]);
    let blocks = banks * rng.u32(6..20);
    Shape::Nor(NorGeometry { block_bytes: pick(rng, &[2048, 4096, 8192, 16384]), blocks, banks })
}

fn random_engine(rng: &mut Rng, target: Target, shape: &Shape, mode: &Mode) -> Engine {
    let blocks_per_segment = match shape {
        Shape::Nand(geometry) if geometry.dies > 1 && mode.striped => geometry.dies,
        // The number of dies in a stripe divides that of the chip.
        Shape::Nand(geometry) if geometry.dies == 4 => pick(rng, &[1, 2, 4]),
        Shape::Nand(geometry) if geometry.dies > 1 => pick(rng, &[1, geometry.dies]),
        _ => 1,
    };
    match target {
        Target::Page | Target::Aware => {
            let policies = PolicyNames::random(rng, mode.choices, None);
            Engine::Page { blocks_per_segment, policies, aware: target == Target::Aware, checkpoint: false }
        }
        Target::Paged => {
            let cache_entries = pick(rng, &[2, 3, 8, 40, 300]);
            // Nothing is drawn for one, so that older seeds keep their histories.
            let policies = match mode.choices.paged {
                [only] => only,
                several => pick(rng, several),
            };
            Engine::Paged { blocks_per_segment, cache_entries, policies }
        }
        Target::NorPage => {
            let page_bytes = pick(rng, &[512, 512, 1024]);
            let Shape::Nor(geometry) = shape else { unreachable!("NOR mapping lies on NOR") };
            // Some bytes of every block belong to the layout.
            let most_slots = (geometry.block_bytes - 1) / page_bytes;
            Engine::NorPage {
                slots: rng.u32(2..=most_slots.max(2)),
                page_bytes,
                policies: PolicyNames::random(rng, mode.choices, None),
            }
        }
        Target::Block(scheme) => {
            let is_shared = scheme.starts_with("fast");
            Engine::Block {
                blocks_per_segment,
                scheme,
                recycle: pick(rng, RECYCLE),
                // FAST works with two log blocks at least.
                log_blocks: u32::from(is_shared) + rng.u32(1..=6),
                wear: pick(rng, BLOCK_WEAR),
                // Dead logical blocks cannot be kept where log blocks are shared: the engine refuses it.
                reclaim: if is_shared { "at-once" } else { pick(rng, BLOCK_RECLAIM) },
            }
        }
    }
}
