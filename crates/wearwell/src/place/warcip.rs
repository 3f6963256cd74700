//! WARCIP (Yang, Pei and Yang '19), in the variant of SepBIT's simulator (Wang '22): clusters of pages with similar
//! rewrite intervals, found during writing by a form of k-means.
//!
//! The rewrite interval of a page is the number of host pages written since its last write. A host page goes to the
//! cluster with the nearest centre. The centre then is the mean of the intervals of the pages in the cluster's open
//! segment. Copies have a class of their own. A page that was copied counts as rewritten later, by the time that it had
//! waited at the copy. So clusters do not fill with pages that live longer than the others in them.
//!
//! After every 256 segments of host writes, a cluster that took more than half of the writes is split if there is a
//! class for it. If none is split, a cluster that took less than a segment is removed when its open segment is full.
//!
//! On NAND, a mount that scans knows when pages were last written; behind a checkpoint a copied page counts as written
//! at its copy. The clusters and the delays are lost. On NOR, and when the policy is changed, everything is lost.

use alloc::vec;
use alloc::vec::Vec;

use super::last_writes::LastWrites;
use super::{ClassCount, ClassPlacement, Closed, Copied, Found, HostWrite, Shape};
use crate::addr::Class;

const COPIES: Class = Class(0);

/// Segments of host writes between two checks of the clusters.
const PERIOD: u32 = 256;

/// Pages with similar rewrite intervals.
#[derive(Debug, Clone, Copy)]
struct Cluster {
    class: Class,
    centre: f64,
    /// Pages in the open segment.
    pages: u32,
    /// Writes since the last check of the clusters.
    writes: u64,
}

/// Takes 8 bytes a page.
///
/// Invariant: each cluster has a class of its own, from 1 to `most`, and there is at least one cluster.
#[derive(Debug, Clone)]
pub struct Warcip {
    writes: LastWrites,
    /// Host pages by which the next interval of a page is lengthened.
    delays: Vec<u32>,
    /// The clusters, in the order that splits gave them.
    clusters: Vec<Cluster>,
    most: u8,
    slots: u32,
    sealed: u32,
    /// The class of the cluster that is removed when its open segment is full.
    leaving: Option<Class>,
}

impl Warcip {
    pub fn new(shape: Shape, classes: ClassCount) -> Self {
        let most = (classes.get() - 1).max(1);
        Self {
            writes: LastWrites::new(shape.logical_pages),
            delays: vec![0; shape.logical_pages as usize],
            clusters: (1..=most)
                .map(|class| Cluster { class: Class(class), centre: 0.0, pages: 0, writes: 0 })
                .collect(),
            most,
            slots: shape.slots,
            sealed: 0,
            leaving: None,
        }
    }

    /// One for copies, and at least one for host writes.
    pub fn classes(classes: ClassCount) -> u32 {
        u32::from(classes.get()).max(2)
    }

    /// The nearest cluster; among equally near ones, the last.
    fn nearest(&self, interval: f64) -> usize {
        let distance = |cluster: &Cluster| {
            let beyond = cluster.centre - interval;
            if beyond < 0.0 { -beyond } else { beyond }
        };
        let nearer = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1);
        // Backwards, because `min_by` takes the first of equals.
        self.clusters.iter().map(distance).enumerate().rev().min_by(nearer).map_or(0, |(at, _)| at)
    }

    fn split_or_mark(&mut self) {
        let total: u64 = self.clusters.iter().map(|cluster| cluster.writes).sum();
        // No two can have more than half each.
        let crowded = self.clusters.iter().position(|cluster| cluster.writes > total / 2);
        match crowded.zip(self.free_class()) {
            Some((at, class)) => {
                // As in the simulator: the new cluster comes before the crowded one, with the mean of its neighbours.
                let below = if at > 0 { self.clusters[at - 1].centre } else { 0.0 };
                let centre = (below + self.clusters[at].centre) / 2.0;
                self.clusters.insert(at, Cluster { class, centre, pages: 0, writes: 0 });
            }
            None if self.leaving.is_none() && self.clusters.len() > 1 => {
                // A cluster that fills less than one segment of 256 is not worth an open one.
                let slots = u64::from(self.slots);
                self.leaving = self.clusters.iter().find(|cluster| cluster.writes < slots).map(|cluster| cluster.class);
            }
            None => {}
        }
        self.clusters.iter_mut().for_each(|cluster| cluster.writes = 0);
    }

    fn free_class(&self) -> Option<Class> {
        let is_free = |class: &Class| self.clusters.iter().all(|cluster| cluster.class != *class);
        (1..=self.most).map(Class).find(is_free)
    }
}

impl ClassPlacement for Warcip {
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        let delay = core::mem::take(&mut self.delays[write.lpn.0 as usize]);
        let age = self.writes.age(write.lpn, write.clock);
        let interval = age.map_or(0, |age| age + u64::from(delay)) as f64;
        self.writes.note(write.lpn, write.clock);
        let at = self.nearest(interval);
        let cluster = &mut self.clusters[at];
        let pages = f64::from(cluster.pages);
        // `pages` is 0 behind a full segment. So the first page of the next one sets the centre alone.
        cluster.centre = (cluster.centre * pages + interval) / (pages + 1.0);
        cluster.pages += 1;
        cluster.writes += 1;
        cluster.class
    }

    fn copied(&mut self, copy: Copied) -> Class {
        let age = self.writes.age(copy.lpn, copy.clock);
        // An age is less than 2³²: see `LastWrites`.
        self.delays[copy.lpn.0 as usize] = age.map_or(0, |age| age as u32);
        COPIES
    }

    fn closed(&mut self, segment: Closed) {
        // Segments of copies and of wear leveling have no cluster, and do not count for the period.
        let Some(at) = self.clusters.iter().position(|cluster| cluster.class == segment.class) else { return };
        if self.leaving == Some(segment.class) {
            // There were two or more when it was marked, and only one leaves at a time.
            self.clusters.remove(at);
            self.leaving = None;
        } else {
            self.clusters[at].pages = 0;
        }
        self.sealed += 1;
        if self.sealed == PERIOD {
            self.sealed = 0;
            self.split_or_mark();
        }
    }

    fn found(&mut self, pages: &mut dyn Iterator<Item = Found>) {
        self.writes.note_found(pages);
    }

    fn table_bytes(&self) -> u64 {
        self.writes.table_bytes() + 4 * self.delays.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::{Lpn, Seg};
    use crate::ftl::WriteHint;

    const SHAPE: Shape = Shape { logical_pages: 100, segments: 4, slots: 8 };

    fn place(classes: u32) -> Warcip {
        Warcip::new(SHAPE, ClassCount::new(classes).expect("a count"))
    }

    fn write(place: &mut Warcip, lpn: u32, clock: u64) -> u8 {
        place.host(HostWrite { lpn: Lpn(lpn), hint: WriteHint::NONE, clock, old: None }).0
    }

    fn close(place: &mut Warcip, class: u8) {
        place.closed(Closed { seg: Seg(0), class: Class(class), clock: 0 });
    }

    #[test]
    fn a_page_goes_to_the_nearest_centre_and_moves_it() {
        let mut place = place(3);
        assert_eq!(write(&mut place, 1, 0), 2, "the last of equals");
        assert_eq!(write(&mut place, 1, 90), 2, "0 is as near to 90 as 0");
        assert_eq!(write(&mut place, 2, 100), 1, "a first write; the mean of 0 and 90 is farther");
        close(&mut place, 2);
        assert_eq!(write(&mut place, 1, 150), 2);
        assert_eq!(place.clusters.iter().map(|c| c.centre).collect::<Vec<_>>(), [0.0, 60.0], "anew after a segment");
        let (victim_utilization, device_utilization) = (0.5, 0.5);
        let copy =
            Copied { lpn: Lpn(2), clock: 120, victim: Seg(0), from: Class(1), victim_utilization, device_utilization };
        assert_eq!(place.copied(copy), COPIES);
        assert_eq!(write(&mut place, 2, 125), 2, "25, and 20 for the copy");
    }

    #[test]
    fn an_idle_cluster_goes_and_a_crowded_one_is_split() {
        let mut place = place(4);
        let lpns = |place: &Warcip| place.clusters.iter().map(|c| c.class.0).collect::<Vec<_>>();
        // Class 3 takes all writes, as the last among equals.
        for clock in 0..100 {
            assert_eq!(write(&mut place, clock as u32, clock), 3);
        }
        (0..PERIOD).for_each(|_| close(&mut place, 3));
        assert_eq!((place.leaving, lpns(&place)), (Some(Class(1)), vec![1, 2, 3]));
        close(&mut place, 1);
        assert_eq!((place.leaving, lpns(&place)), (None, vec![2, 3]));
        place.clusters[1].centre = 80.0;
        place.clusters[1].writes = 60;
        (1..PERIOD).for_each(|_| close(&mut place, 3));
        assert_eq!(lpns(&place), [2, 1, 3]);
        assert_eq!(place.clusters[1].centre, 40.0);
    }
}
