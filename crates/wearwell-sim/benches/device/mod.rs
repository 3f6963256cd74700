//! A full device at steady state: uniform random writes, layout `plain`, over a chip that counts and takes no time.

use wearwell::page::log::Counted;
use wearwell::page::{PageConfig, PageFtl, Policies};
use wearwell::{Lpn, Rng, VictimPolicy, WriteHint};
use wearwell_emu::{ChipProfile, CountChip};
use wearwell_sim::engine::AnyEngine;
use wearwell_sim::plain::PlainLog;

/// Host pages announced together.
const BATCH: usize = 64;

/// Times that each page is overwritten before the device counts as steady.
const WARM_UP_PASSES: u32 = 3;

/// The page-mapped engine over a chip that only counts.
pub(crate) type Engine = PageFtl<PlainLog<CountChip, Counted>>;

/// A device of the page-mapped engine, or of a layer in front of it.
pub(crate) struct Device<F = Engine> {
    pub(crate) engine: F,
    host: Rng,
    logical_pages: u32,
}

impl Device {
    /// A device that was filled and overwritten. `which` chooses the victims. One ninth of the physical pages is spare.
    pub(crate) fn steady(which: &str, pages_per_segment: u32, segments: u32) -> Self {
        let chip = ChipProfile::resolve(&format!("geometry:4096:{pages_per_segment}:{segments}")).expect("a geometry");
        let policies = Policies { which: VictimPolicy::parse(which).expect("a policy"), ..Policies::default() };
        let logical_pages = pages_per_segment * segments / 9 * 8;
        let config = PageConfig { logical_pages, policies, seed: 1, endurance: u32::MAX };
        let engine = PageFtl::format(PlainLog::with_payload(CountChip::new(&chip), 1), (), config).expect("fits");
        let mut device = Self { engine, host: Rng::new(7), logical_pages };
        device.write(&(0..logical_pages).map(Lpn).collect::<Vec<_>>());
        let warm_up = device.draw(WARM_UP_PASSES * logical_pages);
        device.write(&warm_up);
        device
    }
}

impl<F: AnyEngine> Device<F> {
    /// The same with another layer in front.
    #[allow(dead_code, reason = "not every benchmark has one")]
    pub(crate) fn behind<G>(self, layer: impl FnOnce(F) -> G) -> Device<G> {
        Device { engine: layer(self.engine), host: self.host, logical_pages: self.logical_pages }
    }

    /// The next pages that the host writes.
    pub(crate) fn draw(&mut self, pages: u32) -> Vec<Lpn> {
        (0..pages).map(|_| Lpn(self.host.below(self.logical_pages))).collect()
    }

    pub(crate) fn write(&mut self, pages: &[Lpn]) {
        for batch in pages.chunks(BATCH) {
            self.engine.expect_writes(batch);
            for &lpn in batch {
                self.engine.write_page(lpn, &[], WriteHint::NONE).expect("room");
            }
        }
    }
}
