//! What the allocator asks the placement, and tells it.

use super::Allocator;
use crate::addr::{Class, Lpn, Ppn, Seg};
use crate::clean::which::VictimChoice;
use crate::ftl::{Probe, WriteHint};
use crate::page::log::Log;
use crate::page::map::PageMap;
use crate::place::{ClassPlacement, Emptying, HostWrite, OldCopy, Opened, PlaceChoice, Wanted};
use crate::random::Rng;

impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Allocator<L, P, M, V, W> {
    /// The class of the host's next page, which is `lpn` and replaces the copy at `old`, if there is one.
    #[inline(always)]
    pub(in crate::page) fn place(&mut self, lpn: Lpn, hint: WriteHint, old: Ppn) -> Class {
        let Self { index, placement, .. } = self;
        let clock = index.clock().host_pages;
        let old = OldCopy::new(old, index.slots(), index.pool().table());
        let class = placement.host(HostWrite { lpn, hint, clock, old });
        index.clock_mut().host_pages = clock + 1;
        class
    }

    /// Tells the placement that these pages of a victim will be copied, and how full the device is.
    pub(in crate::page) fn announce(&mut self, victim: Seg, pages: &[Lpn]) {
        let Self { index, placement, .. } = self;
        let table = index.pool().table();
        placement.emptying(Emptying {
            victim,
            from: table.class(victim),
            clock: index.clock().host_pages,
            victim_utilization: table.utilization(victim),
            device_utilization: index.utilization::<L>(),
            pages,
        });
    }

    /// The candidate to clean: of those that the placement wants, or else of all, the one that the victim policy says.
    pub(in crate::page) fn choose_victim(&mut self, rng: &mut Rng) -> Option<Seg> {
        let Self { index, placement, .. } = self;
        let clock = index.clock().for_ages();
        let pool = index.pool_mut();
        let wanted = match placement.victim(pool.table()) {
            Wanted::Any => None,
            Wanted::This(seg) => Some(seg),
            Wanted::Among => pool.best_among(clock, &|seg| placement.may_take(seg)),
        };
        wanted.or_else(|| pool.best_victim(clock, rng))
    }

    /// Puts another placement in force. Classes then have another meaning, so open segments are closed.
    pub(in crate::page) fn place_by(&mut self, placement: W::Policy) {
        // The old placement is told of each segment that closes, as long as it is there.
        self.abandon_open();
        self.placement = placement;
        self.list_classes();
    }

    /// Tells the placement the classes of the segments in use.
    pub(super) fn list_classes(&mut self) {
        let Self { index, placement, .. } = self;
        let (clock, table) = (index.clock(), index.pool().table());
        for (seg, class) in index.pool().in_use() {
            // The placement counts in host pages, and these stamps are times.
            let opened = if clock.is_timed { clock.host_pages } else { table.opened(seg) };
            placement.opened(Opened { seg, class, clock: opened });
        }
    }
}
