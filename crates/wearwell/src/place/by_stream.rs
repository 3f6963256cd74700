//! A bucket of segments for each stream ID (Lim '14, section 3.2). A bucket is made with the first write of its ID, and
//! ends when cleaning has taken its last segment. The ID then counts as new.
//!
//! If there are more IDs than buckets, a new ID shares the bucket used least recently, and stays there until that
//! bucket ends. So IDs that take turns do not move from bucket to bucket. Only the [`IDS`] IDs used last are
//! remembered; any other counts as new.

use super::{ClassPlacement, Copied, HostWrite, Opened, Reclaimed, Shape};
use crate::addr::Class;

/// Classes for streams: all except the one shared by copies and the one for wear leveling.
const BUCKETS: usize = Class::COUNT - 2;
const SHARED: Class = Class(BUCKETS as u8);

/// Most IDs that are remembered.
const IDS: usize = 4 * BUCKETS;

/// An ID, and the bucket it writes to.
#[derive(Debug, Clone, Copy)]
struct Id {
    stream: u16,
    bucket: u8,
    last_use: u64,
}

/// The segments of one class.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    /// Segments in use, open or closed.
    segments: u32,
    last_use: u64,
}

/// The buckets, and the IDs that write to them.
///
/// Invariants: the first `known` of `ids` are in use, each with a stream of its own. `newest` is the ID to look at
/// first: the last one to write, unless a bucket has ended since. A bucket without segments has at most the IDs that
/// are about to open its first segment.
#[derive(Debug, Clone)]
pub struct ByStream<const SHARED_COPIES: bool> {
    ids: [Id; IDS],
    known: usize,
    newest: usize,
    buckets: [Bucket; BUCKETS],
    uses: u64,
}

impl<const SHARED_COPIES: bool> ByStream<SHARED_COPIES> {
    pub fn new(_shape: Shape) -> Self {
        let nobody = Id { stream: 0, bucket: 0, last_use: 0 };
        Self { ids: [nobody; IDS], known: 0, newest: 0, buckets: [Bucket::default(); BUCKETS], uses: 0 }
    }

    pub fn classes() -> u32 {
        BUCKETS as u32 + u32::from(SHARED_COPIES)
    }

    fn known(&self) -> &[Id] {
        &self.ids[..self.known]
    }

    /// Remembers an ID, and returns its place.
    #[cold]
    fn find(&mut self, stream: u16) -> usize {
        if let Some(at) = self.known().iter().position(|id| id.stream == stream) {
            return at;
        }
        let at = if self.known < IDS {
            self.known += 1;
            self.known - 1
        } else {
            index_of_least(self.ids.iter().map(|id| id.last_use))
        };
        // The forgotten ID no longer takes part in the choice.
        self.ids[at] = Id { stream, bucket: u8::MAX, last_use: 0 };
        self.ids[at].bucket = self.bucket_for_new() as u8;
        at
    }

    /// An empty bucket; otherwise one without a known ID, whose data is older than all remembered IDs; otherwise the
    /// one used least recently.
    fn bucket_for_new(&self) -> usize {
        let is_idle = |at: usize| self.known().iter().all(|id| usize::from(id.bucket) != at);
        let empty = (0..BUCKETS).find(|&at| self.buckets[at].segments == 0 && is_idle(at));
        empty
            .or_else(|| (0..BUCKETS).find(|&at| is_idle(at)))
            .unwrap_or_else(|| index_of_least(self.buckets.iter().map(|bucket| bucket.last_use)))
    }

    /// Forgets all IDs of a bucket.
    fn remove(&mut self, bucket: usize) {
        let mut kept = 0;
        for at in 0..self.known {
            if usize::from(self.ids[at].bucket) != bucket {
                self.ids[kept] = self.ids[at];
                kept += 1;
            }
        }
        // IDs have moved up, so `newest` may name another one. `host` compares, and looks the stream up.
        self.known = kept;
        self.newest = 0;
    }
}

/// The index of the least number; the first of equals.
fn index_of_least(numbers: impl Iterator<Item = u64>) -> usize {
    numbers.enumerate().min_by_key(|&(_, number)| number).map_or(0, |(at, _)| at)
}

impl<const SHARED_COPIES: bool> ClassPlacement for ByStream<SHARED_COPIES> {
    #[inline]
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        let stream = write.hint.stream;
        if self.newest >= self.known || self.ids[self.newest].stream != stream {
            self.newest = self.find(stream);
        }
        self.uses += 1;
        let id = &mut self.ids[self.newest];
        id.last_use = self.uses;
        self.buckets[usize::from(id.bucket)].last_use = self.uses;
        Class(id.bucket)
    }

    fn copied(&mut self, copy: Copied) -> Class {
        if SHARED_COPIES { SHARED } else { copy.from }
    }

    fn opened(&mut self, segment: Opened) {
        // Copies that share a class, and wear leveling, have no bucket.
        if let Some(bucket) = self.buckets.get_mut(segment.class.index()) {
            bucket.segments += 1;
        }
    }

    fn reclaimed(&mut self, segment: Reclaimed) {
        let at = segment.class.index();
        let Some(bucket) = self.buckets.get_mut(at) else { return };
        debug_assert!(bucket.segments > 0, "a segment is opened before it is reclaimed");
        bucket.segments = bucket.segments.saturating_sub(1);
        if bucket.segments == 0 {
            self.remove(at);
        }
    }

    fn streams_of(&self, class: Class, told: &mut dyn FnMut(u16)) {
        self.known().iter().filter(|id| usize::from(id.bucket) == class.index()).for_each(|id| told(id.stream));
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::addr::{Lpn, Seg};
    use crate::ftl::WriteHint;

    type Kept = ByStream<false>;

    const SHAPE: Shape = Shape { logical_pages: 1, segments: 1, slots: 2 };

    fn open_of(class: u8) -> Opened {
        Opened { seg: Seg(0), class: Class(class), clock: 0 }
    }

    fn write(place: &mut Kept, stream: u16) -> u8 {
        let hint = WriteHint::stream(stream);
        place.host(HostWrite { lpn: Lpn(0), hint, clock: 0, old: None }).0
    }

    /// Writes a page that needs a new segment.
    fn open(place: &mut Kept, stream: u16) -> u8 {
        let class = write(place, stream);
        place.opened(open_of(class));
        class
    }

    fn reclaim(place: &mut Kept, class: u8) {
        place.reclaimed(Reclaimed { seg: Seg(0), class: Class(class), clock: 0, copied_pages: 0 });
    }

    #[test]
    fn a_bucket_comes_with_the_first_write_of_its_id() {
        let mut place = Kept::new(SHAPE);
        assert_eq!([7, 0, 65_535, 7, 0].map(|stream| open(&mut place, stream)), [0, 1, 2, 0, 1]);
    }

    #[test]
    fn a_bucket_goes_with_its_last_segment_and_another_id_takes_its_place() {
        let mut place = Kept::new(SHAPE);
        assert_eq!([1, 2, 2, 3].map(|stream| open(&mut place, stream)), [0, 1, 1, 2]);
        reclaim(&mut place, 1);
        assert_eq!(write(&mut place, 2), 1, "it has a segment left");
        reclaim(&mut place, 1);
        assert_eq!([open(&mut place, 9), open(&mut place, 2)], [1, 3], "gone, ID 2 counts as new");
        assert_eq!([1, 3].map(|stream| write(&mut place, stream)), [0, 2], "the others are where they were");
    }

    #[test]
    fn ids_beyond_the_buckets_share_the_least_recently_used_and_stay() {
        let mut place = Kept::new(SHAPE);
        let first: Vec<u8> = (0..BUCKETS as u16).map(|stream| open(&mut place, stream)).collect();
        assert_eq!(first, (0..BUCKETS as u8).collect::<Vec<_>>());
        write(&mut place, 0);
        assert_eq!([100, 101, 102].map(|stream| write(&mut place, stream)), [1, 2, 3]);
        for _ in 0..3 {
            let again: Vec<u8> = (0..BUCKETS as u16).map(|stream| write(&mut place, stream)).collect();
            assert_eq!(again, first, "nobody was driven out");
            assert_eq!([100, 101, 102].map(|stream| write(&mut place, stream)), [1, 2, 3], "nor moves on");
        }
        reclaim(&mut place, 1);
        assert_eq!(open(&mut place, 103), 1, "the bucket of IDs 1 and 100 has gone");
        assert_ne!(write(&mut place, 1), 1);
    }

    #[test]
    fn more_ids_than_are_remembered_are_spread_evenly() {
        let mut place = Kept::new(SHAPE);
        for stream in 0..BUCKETS as u16 {
            open(&mut place, stream);
        }
        let mut writes = [0; BUCKETS];
        for _ in 0..10 {
            for stream in 0..3 * IDS as u16 {
                writes[usize::from(write(&mut place, stream))] += 1;
            }
        }
        let (least, most) = (writes.iter().min(), writes.iter().max());
        assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 10), "{writes:?}");
    }

    #[test]
    fn what_a_mount_found_is_left_alone_until_buckets_run_out() {
        let mut place = Kept::new(SHAPE);
        place.opened(open_of(0));
        place.opened(open_of(4));
        let classes: Vec<u8> = (1..=BUCKETS as u16).map(|stream| open(&mut place, stream)).collect();
        assert_eq!(classes, [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 4]);
    }

    #[test]
    fn who_writes_to_a_bucket_is_known_once_it_has_written() {
        let streams = |place: &Kept, class| {
            let mut streams = Vec::new();
            place.streams_of(Class(class), &mut |stream| streams.push(stream));
            streams
        };
        let mut place = Kept::new(SHAPE);
        place.opened(open_of(0));
        assert_eq!([700, 9].map(|stream| open(&mut place, stream)), [1, 2]);
        assert_eq!(
            [0, 1, 2].map(|class| streams(&place, class)),
            [vec![], vec![700], vec![9]],
            "a mount found class 0"
        );
        reclaim(&mut place, 1);
        assert_eq!(streams(&place, 1), []);
    }

    #[test]
    fn copies_stay_in_their_bucket_or_share_one() {
        let copy = Copied::out_of(Class(5));
        assert_eq!(ByStream::<false>::new(SHAPE).copied(copy), Class(5));
        assert_eq!(ByStream::<true>::new(SHAPE).copied(copy), SHARED);
    }
}
