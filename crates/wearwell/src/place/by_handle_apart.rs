//! Two classes for each reclaim unit handle of NVMe's Flexible Data Placement (TP4146): one for what the host writes
//! to it, one for its copies. So handles are *persistently isolated*, and what has outlived a cleaning lies apart from
//! what is new. A stream without a handle counts as handle 0, and so does data that another policy or wear leveling
//! placed.
//!
//! A victim is chosen in two levels: the handle with the greatest share of invalid pages, then the segment of it that
//! the victim policy says. A handle that is overwritten evenly pays for its own copies like this, and takes no
//! segments from one whose data dies together.

use alloc::vec;
use alloc::vec::Vec;

use super::{ClassCount, ClassPlacement, Copied, HostWrite, Opened, Placement, Shape, Wanted};
use crate::addr::{Class, Seg};
use crate::segments::Segments;

const MOST_HANDLES: usize = Placement::HANDLES_APART as usize;

/// 1 byte a segment.
#[derive(Debug, Clone)]
pub struct ByHandleApart {
    handles: usize,
    /// The handle of each segment.
    handle: Vec<u8>,
    /// The handle that the next victim is of.
    wanted: u8,
}

impl ByHandleApart {
    pub fn new(shape: Shape, handles: ClassCount) -> Self {
        let handles = Self::classes(handles) as usize / 2;
        Self { handles, handle: vec![0; shape.segments as usize], wanted: 0 }
    }

    pub fn classes(handles: ClassCount) -> u32 {
        2 * u32::from(handles.get()).min(MOST_HANDLES as u32)
    }

    fn handle_of(&self, class: Class) -> u8 {
        let handle = class.0 / 2;
        if usize::from(handle) < self.handles { handle } else { 0 }
    }
}

impl ClassPlacement for ByHandleApart {
    #[inline]
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        let stream = write.hint.stream;
        Class(if usize::from(stream) < self.handles { 2 * stream as u8 } else { 0 })
    }

    #[inline]
    fn copied(&mut self, copy: Copied) -> Class {
        Class(2 * self.handle_of(copy.from) + 1)
    }

    fn opened(&mut self, segment: Opened) {
        self.handle[segment.seg.index()] = self.handle_of(segment.class);
    }

    fn has_a_say_in_victims() -> bool {
        true
    }

    fn victim(&mut self, segments: &Segments) -> Wanted {
        let (mut invalid, mut closed) = ([0_u64; MOST_HANDLES], [0_u64; MOST_HANDLES]);
        for seg in segments.all().filter(|&seg| segments.is_candidate(seg)) {
            let handle = usize::from(self.handle[seg.index()]);
            invalid[handle] += u64::from(segments.slots() - segments.valid(seg));
            closed[handle] += 1;
        }
        // A handle without a candidate would be wanted in vain.
        let with_candidates = (0..self.handles).filter(|&handle| closed[handle] > 0);
        // The shares are compared crosswise, so that nothing is divided and rounded.
        let by_share = |&a: &usize, &b: &usize| (invalid[a] * closed[b]).cmp(&(invalid[b] * closed[a]));
        with_candidates.max_by(by_share).map_or(Wanted::Any, |handle| {
            self.wanted = handle as u8;
            Wanted::Among
        })
    }

    fn may_take(&self, seg: Seg) -> bool {
        self.handle[seg.index()] == self.wanted
    }

    fn streams_of(&self, class: Class, told: &mut dyn FnMut(u16)) {
        if usize::from(class.0) < 2 * self.handles {
            told(u16::from(class.0 / 2));
        }
    }

    fn table_bytes(&self) -> u64 {
        self.handle.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::Lpn;
    use crate::ftl::WriteHint;

    const SHAPE: Shape = Shape { logical_pages: 64, segments: 8, slots: 8 };

    fn place(handles: u32) -> ByHandleApart {
        ByHandleApart::new(SHAPE, ClassCount::new(handles).expect("a count"))
    }

    fn place_by_name(handles: u32) -> Placement {
        Placement::ByHandleApart { handles: ClassCount::new(handles).expect("a count") }
    }

    #[test]
    fn host_writes_and_copies_of_a_handle_are_apart() {
        let mut place = place(7);
        let class = |place: &mut ByHandleApart, stream| {
            let hint = WriteHint::stream(stream);
            place.host(HostWrite { lpn: Lpn(0), hint, clock: 0, old: None }).0
        };
        assert_eq!([0, 1, 6, 7, 65_535].map(|stream| class(&mut place, stream)), [0, 2, 12, 0, 0]);
        let copied = [0, 1, 2, 3, 12, 13, 14].map(|from| place.copied(Copied::out_of(Class(from))).0);
        assert_eq!(copied, [1, 1, 3, 3, 13, 13, 1]);
        assert_eq!(place.copied(Copied::out_of(Class::WEAR)), Class(1));
        let mut streams = Vec::new();
        (0..16).for_each(|class| place.streams_of(Class(class), &mut |stream| streams.push(stream)));
        assert_eq!(streams, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
        let named = place_by_name(7);
        let classes = [0, 1, 6, 7].map(|handle| named.class_of_handle(handle).map(|class| class.0));
        assert_eq!(classes, [Some(0), Some(2), Some(12), None], "as the policy itself sorts");
        let handles = [0, 1, 2, 3, 13, 14, 15].map(|class| named.handle_of_class(Class(class)));
        assert_eq!(handles, [Some(0), Some(0), Some(1), Some(1), Some(6), None, None]);
        assert_eq!((place_by_name(3).class_of_handle(3), place_by_name(3).handle_of_class(Class(6))), (None, None));
        assert_eq!(
            [1, 7, 15].map(|handles| ByHandleApart::classes(ClassCount::new(handles).expect("a count"))),
            [2, 14, 14]
        );
    }

    #[test]
    fn the_handle_with_the_greatest_share_of_invalid_pages_is_cleaned() {
        let mut place = place(3);
        let mut table = Segments::new(SHAPE.segments, SHAPE.slots);
        assert_eq!(place.victim(&table), Wanted::Any, "nothing can be cleaned");
        // Handle 1 has 7 of 16 pages invalid, handle 2 has 6 of 8; segment 3 is full, and so no candidate.
        for (seg, class, valid) in [(0, 2, 1), (1, 3, 8), (2, 5, 2), (3, 0, 8), (4, 3, 7)] {
            table.open(Seg(seg), Class(class), 0);
            place.opened(Opened { seg: Seg(seg), class: Class(class), clock: 0 });
            (0..valid).for_each(|_| table.gain(Seg(seg), 0));
            table.close(Seg(seg), 0);
        }
        assert_eq!(place.victim(&table), Wanted::Among);
        let taken: Vec<Seg> = table.all().filter(|&seg| place.may_take(seg) && table.is_candidate(seg)).collect();
        assert_eq!(taken, [Seg(2)], "although segment 0 has fewer valid pages");
    }
}
