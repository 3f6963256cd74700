//! The modes, and how a device is adapted to what the C library offers.

use wearwell_flash::ProgramOrder;
use wearwell_torture::device::most_logical_pages;
use wearwell_torture::mode::{Decay, MILD, Mode, PLAIN, Target};
use wearwell_torture::nand::Temper;
use wearwell_torture::setup::{DEFAULT_WEAR, Engine, PolicyNames, Setup, Shape};

const BOTH: &[Target] = &[Target::Page, Target::Page, Target::Paged];

/// All modes. The library's drivers have no error of their own that an engine could survive, so there is none with
/// such errors.
pub(crate) const MODES: &[Mode] = &[
    Mode { name: "c", ..PLAIN },
    Mode { name: "c-paged", targets: &[Target::Paged], ..PLAIN },
    Mode { name: "c-fails", targets: BOTH, failures: 3, full_percent: 60, ..PLAIN },
    Mode { name: "c-marks", failing_marks: true, failures: 2, ..PLAIN },
    Mode { name: "c-decay", decay: Decay::OFTEN, failures: 2, ..PLAIN },
    Mode { name: "c-refresh", refreshes: true, ..PLAIN },
    Mode { name: "c-mixed", temper: Temper { mixed_erases: true, ..MILD }, ..PLAIN },
    Mode { name: "c-trim", targets: BOTH, discard_percent: 60, ..PLAIN },
];

/// What `wearwell::Config::new` chooses.
const POLICIES: PolicyNames =
    PolicyNames { when: "watermark:3:4", which: "greedy", place: "single", wear: DEFAULT_WEAR, reclaim: "at-once" };

/// The same device, as far as the library can make it.
pub(crate) fn adapted(mut setup: Setup) -> Setup {
    match &mut setup.engine {
        Engine::Page { blocks_per_segment, policies, aware, checkpoint } => {
            (*blocks_per_segment, *policies, *aware, *checkpoint) = (1, POLICIES, false, false);
        }
        Engine::Paged { blocks_per_segment, .. } => *blocks_per_segment = 1,
        Engine::NorPage { .. } | Engine::Block { .. } => {}
    }
    if let Shape::Nand(geometry) = &mut setup.shape {
        geometry.program_order = ProgramOrder::Ascending;
    }
    let most = |setup: &Setup| most_logical_pages(&Setup { logical_pages: u32::MAX >> 8, ..*setup });
    if most(&setup).is_none()
        && let Shape::Nand(geometry) = &mut setup.shape
    {
        // A segment of one block may have too few groups.
        (geometry.paired_pages, geometry.pages_per_block) = (1, 16);
    }
    setup.logical_pages = setup.logical_pages.min(most(&setup).unwrap_or(1)).max(1);
    setup.endurance = 100_000;
    setup
}
