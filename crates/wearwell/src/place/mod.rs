//! Where a write goes. Each policy is a file. A new one is a file and a line in the list below.
//!
//! An engine is told by a [`PlaceChoice`]. A [`Placement`] is any policy, chosen at run time, and links all of them.
//! What stands in [`only`] is one policy, and links no other.

mod by_handle;
mod by_handle_apart;
mod by_stream;
mod dac;
mod dogi;
mod fadac;
mod frequency;
mod hot_cold_readonly;
mod last_writes;
mod midas;
mod multilog;
mod separate_cleaning;
mod separate_gc;
mod sepbit;
mod sfs;
mod single;
mod warcip;

use alloc::boxed::Box;
use core::fmt::Debug;

use crate::addr::{Class, Lpn, Ppn, Seg, Slots};
use crate::ftl::WriteHint;
use crate::segments::Segments;

/// What a policy's tables are sized by.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Pages that cleaning may move: the host's, and behind them the engine's own.
    pub logical_pages: u32,
    /// Segments of flash.
    pub segments: u32,
    /// Data pages in each.
    pub slots: u32,
}

/// A page that the host writes.
#[derive(Debug, Clone, Copy)]
pub struct HostWrite<'a> {
    /// The page.
    pub lpn: Lpn,
    /// The host's hint.
    pub hint: WriteHint,
    /// Host pages written before this one.
    pub clock: u64,
    /// The copy that becomes invalid; none if the page is unmapped.
    pub old: Option<OldCopy<'a>>,
}

/// A copy of a page that lies on flash. What nobody asks of it costs nothing.
#[derive(Debug, Clone, Copy)]
pub struct OldCopy<'a> {
    at: Ppn,
    slots: &'a Slots,
    segments: &'a Segments,
}

impl<'a> OldCopy<'a> {
    /// The copy at `at`, if there is one.
    #[inline(always)]
    pub(crate) fn new(at: Ppn, slots: &'a Slots, segments: &'a Segments) -> Option<Self> {
        at.is_some().then_some(Self { at, slots, segments })
    }

    /// The segment that it lies in.
    #[inline]
    pub fn seg(self) -> Seg {
        self.slots.segment_of(self.at)
    }

    /// The class of that segment.
    #[inline]
    pub fn class(self) -> Class {
        self.segments.class(self.seg())
    }
}

/// A valid page that cleaning moves.
#[derive(Debug, Clone, Copy)]
pub struct Copied {
    /// The page.
    pub lpn: Lpn,
    /// Host pages written so far.
    pub clock: u64,
    /// The segment that is emptied.
    pub victim: Seg,
    /// Its class.
    pub from: Class,
    /// Valid fraction of the victim when it was chosen.
    pub victim_utilization: f64,
    /// Live pages over the pages of all good segments.
    pub device_utilization: f64,
}

#[cfg(test)]
impl Copied {
    /// A copy out of a segment of `class`, for tests to which nothing else matters.
    fn out_of(class: Class) -> Self {
        let (lpn, victim) = (Lpn(0), Seg(0));
        Self { lpn, clock: 0, victim, from: class, victim_utilization: 0.5, device_utilization: 0.5 }
    }
}

/// A segment that was chosen to be emptied.
#[derive(Debug, Clone, Copy)]
pub struct Emptying<'a> {
    /// The segment.
    pub victim: Seg,
    /// Its class.
    pub from: Class,
    /// Host pages written so far.
    pub clock: u64,
    /// Valid fraction of the victim.
    pub victim_utilization: f64,
    /// Live pages over the pages of all good segments.
    pub device_utilization: f64,
    /// Its valid pages, in the order in which they will be moved.
    pub pages: &'a [Lpn],
}

/// A segment that was opened.
#[derive(Debug, Clone, Copy)]
pub struct Opened {
    /// The segment.
    pub seg: Seg,
    /// Its class.
    pub class: Class,
    /// Host pages written before that.
    pub clock: u64,
}

/// An open segment that takes no more.
#[derive(Debug, Clone, Copy)]
pub struct Closed {
    /// The segment.
    pub seg: Seg,
    /// Its class.
    pub class: Class,
    /// Host pages written so far.
    pub clock: u64,
}

/// A segment that was emptied.
#[derive(Debug, Clone, Copy)]
pub struct Reclaimed {
    /// The segment.
    pub seg: Seg,
    /// Its class.
    pub class: Class,
    /// Host pages written so far.
    pub clock: u64,
    /// Pages that had to be moved out of it.
    pub copied_pages: u32,
}

/// A page that a mount found on flash.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// The page.
    pub lpn: Lpn,
    /// Behind a scan: host pages written before its newest data, to within the few pages that the engine writes of its
    /// own. Behind a checkpoint: host pages written when its segment was opened, for the host's writes or for copies.
    pub written: u64,
}

/// Which segments cleaning may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The one that the victim policy says.
    Any,
    /// The one that the victim policy says among those that [`may_take`](ClassPlacement::may_take) names; any, if that
    /// names none.
    Among,
    /// This one, which is closed and holds data, however full it is.
    This(Seg),
}

/// A policy that sorts pages into classes, each of which has an open segment of its own. What it remembers
/// of single pages it keeps itself.
///
/// A policy from outside this crate is set by [`PageFtl::set_own_placement`](crate::PageFtl::set_own_placement).
pub trait ClassPlacement: Debug {
    /// Class of a page the host writes.
    fn host(&mut self, write: HostWrite<'_>) -> Class;
    /// Class of a page that cleaning moves. It is asked again for a page that found no slot, which is so only where
    /// segments fail.
    fn copied(&mut self, copy: Copied) -> Class;
    /// Most of these pages will be written or copied soon. A policy reads what it keeps of them, so that the cache
    /// misses overlap, and behaves the same.
    fn expect(&self, pages: &[Lpn]) {
        let _ = pages;
    }
    /// The class of every copy, if it is the same for all. Then the policy is not asked for each copy.
    fn class_of_copies(&self) -> Option<Class> {
        None
    }
    /// True if the policy wants to be told of the pages of a victim, by [`emptying`](Self::emptying).
    fn wants_victims(&self) -> bool {
        false
    }
    /// A segment was chosen to be emptied. [`copied`](Self::copied) will be asked for its pages one by one, but
    /// not for those that the host writes or discards until then.
    fn emptying(&mut self, victim: Emptying<'_>) {
        let _ = victim;
    }
    /// A segment was opened for a class. After a mount, and when the policy is put in force, this is called for every
    /// segment in use.
    fn opened(&mut self, segment: Opened) {
        let _ = segment;
    }
    /// An open segment takes no more.
    fn closed(&mut self, segment: Closed) {
        let _ = segment;
    }
    /// A mount found these pages, where the log knows a time for them. On NOR, and when the policy is put in force on a
    /// live disk, this is not called. A policy that does not look at them costs the mount nothing.
    fn found(&mut self, pages: &mut dyn Iterator<Item = Found>) {
        let _ = pages;
    }
    /// The host discarded a page that was mapped.
    fn discarded(&mut self, lpn: Lpn) {
        let _ = lpn;
    }
    /// A segment in use was emptied, with copies or without, and is no longer of its class.
    fn reclaimed(&mut self, segment: Reclaimed) {
        let _ = segment;
    }
    /// True for a policy of this crate that has a say in which segment is cleaned, or looks at the segments then: by
    /// [`victim`](Self::victim). It wants to know if it is never asked.
    fn has_a_say_in_victims() -> bool
    where
        Self: Sized,
    {
        false
    }
    /// A victim is about to be chosen. While the reserve is touched nobody is asked.
    fn victim(&mut self, segments: &Segments) -> Wanted {
        let _ = segments;
        Wanted::Any
    }
    /// True if the victim policy may choose this segment, where it may not choose any.
    fn may_take(&self, seg: Seg) -> bool {
        let _ = seg;
        true
    }
    /// Passes the streams that write to a class to `told`, if the policy keeps streams apart. If a stream has several
    /// classes, the first is that of what the host writes. After a mount, and when the policy is put in force, a stream
    /// is unknown until it writes.
    fn streams_of(&self, class: Class, told: &mut dyn FnMut(u16)) {
        let _ = (class, told);
    }
    /// Bytes the policy's own tables take.
    fn table_bytes(&self) -> u64 {
        0
    }
}

/// What an engine is told of its placement, and builds it from.
pub trait PlaceChoice: Copy + PartialEq + Debug {
    /// The policy in force, with its state.
    type Policy: ClassPlacement + Debug;

    /// Classes that it sorts into, each with an open segment of its own.
    fn classes(self) -> u32;

    /// The policy, with tables for this shape.
    fn build(self, shape: Shape) -> Self::Policy;
}

/// The policies.
macro_rules! placements {
    ($make:ident! $($head:tt)*) => { $make! { $($head)*
        Single (single::Single) = "single", "host writes and copies share one open segment";
        SeparateGc (separate_gc::SeparateGc) = "separate-gc", "copies have an open segment of their own";
        SeparateCleaning (separate_cleaning::SeparateCleaning) = "separate-cleaning",
            "copies from victims below the average utilization have their own (Kawaguchi '95, 3.4)";
        HotColdReadonly (hot_cold_readonly::HotColdReadonly) = "hot-cold-readonly",
            "hot, cold and read-only pages apart, by age of the last update (Chiang '97, 3.5)";
        ByStream (by_stream::ByStream<false>) = "by-stream",
            "a bucket of segments for each stream ID; copies stay in theirs (Lim '14)";
        ByStreamShared (by_stream::ByStream<true>) = "by-stream-shared",
            "a bucket of segments for each stream ID; all copies share one";
        ByHandle (by_handle::ByHandle<false>) = "by-handle",
            "a class for each of the streams 0 to 13, always the same; copies stay in theirs \
             (NVMe FDP, persistently isolated)";
        ByHandleShared (by_handle::ByHandle<true>) = "by-handle-shared",
            "a class for each of the streams 0 to 13, always the same; all copies share one \
             (NVMe FDP, initially isolated)";
        ByHandleApart {
            /// Handles; more than 7 are as 7.
            handles: ClassCount = ClassCount(7)
        } (by_handle_apart::ByHandleApart) = "by-handle-apart:7",
            "host writes and copies of each of the streams 0 to H-1 apart; cleans the handle with the most to gain";
        Dac {
            /// Regions, the most there can be 15.
            regions: ClassCount = ClassCount(6)
        } (dac::Dac) = "dac:6",
            "K regions; a page goes one up when the host updates it, one down when it is copied (Chiang '99)";
        SepBit (sepbit::SepBit) = "sepbit",
            "six classes by when a page is expected to become invalid (Wang '22)";
        Midas (midas::Midas) = "midas",
            "a chain of groups whose number and sizes follow the host (Oh '24); with cost-benefit-sqrt:sealed";
        Dogi (dogi::Dogi) = "dogi",
            "groups of like expected life, divided by a model of write amplification (Kim '26, without learning)";
        Fadac {
            /// Classes, the most there can be 15.
            classes: ClassCount = ClassCount(6)
        } (fadac::Fadac) = "fadac:6", "K classes by the power of ten of writes less copies (Kremer '19)";
        Frequency {
            /// Classes; more than 7 are as 7.
            classes: ClassCount = ClassCount(7)
        } (frequency::Frequency) = "frequency:7",
            "K classes by how often a page was written of late, against the mean; with cost-benefit-settled";
        Warcip {
            /// Classes, copies' among them; 2 to 15.
            classes: ClassCount = ClassCount(6)
        } (warcip::Warcip) = "warcip:6", "copies, and K-1 clusters of pages rewritten at like intervals (Yang '19)";
        Sfs {
            /// Groups, the most there can be 15.
            groups: ClassCount = ClassCount(6)
        } (sfs::Sfs) = "sfs:6", "K groups of like heat: writes over the time since the last (Min '12)";
        MultiLog {
            /// Levels, the most there can be 15.
            levels: ClassCount = ClassCount(6)
        } (multilog::MultiLog) = "multilog:6",
            "K levels; a page goes one further when it is copied, one back when it is rewritten early (Stoica '13)";
    } };
}

placements! { policies!
    /// Where pages go.
    #[derive(Eq)]
    Placement:
}

impl Placement {
    /// The number of streams with a class in [`ByHandle`](Self::ByHandle): all classes except the one shared by copies
    /// and the one for wear leveling.
    pub const HANDLES: u16 = Class::COUNT as u16 - 2;

    /// The number of streams with two classes in [`ByHandleApart`](Self::ByHandleApart): one class is for wear
    /// leveling, and the others are pairs.
    pub const HANDLES_APART: u16 = (Class::COUNT as u16 - 1) / 2;

    /// The classes of each reclaim unit handle, that of the host's writes first, and how many handles have their own.
    /// Only placements by handle keep handles apart.
    fn handles(self) -> Option<(u16, u16)> {
        match self {
            Self::ByHandle | Self::ByHandleShared => Some((1, Self::HANDLES)),
            Self::ByHandleApart { .. } => Some((2, self.classes() as u16 / 2)),
            _ => None,
        }
    }

    /// The class of what the host writes to a reclaim unit handle; none if the placement keeps no such handle apart.
    pub fn class_of_handle(self, handle: u16) -> Option<Class> {
        let (classes, handles) = self.handles()?;
        (handle < handles).then(|| Class((handle * classes) as u8))
    }

    /// The reclaim unit handle that the pages of a class were written to; none if they are of several, or of none.
    pub fn handle_of_class(self, class: Class) -> Option<u16> {
        let (classes, handles) = self.handles()?;
        Some(u16::from(class.0) / classes).filter(|&handle| handle < handles)
    }
}

/// A number of classes that a policy may sort into: 1 to [`MOST`](Self::MOST).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassCount(u8);

impl ClassCount {
    /// One class is for wear leveling.
    pub const MOST: u32 = Class::COUNT as u32 - 1;

    /// One class.
    pub const ONE: Self = Self(1);

    /// So many classes; none if there are not so many.
    pub const fn new(classes: u32) -> Option<Self> {
        if classes >= 1 && classes <= Self::MOST { Some(Self(classes as u8)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// A class that a policy with so many has chosen.
    ///
    /// # Panics
    /// If it has no such class: room for its open segments was not reserved.
    #[inline]
    fn checked(self, class: Class) -> Class {
        assert!(class.0 < self.0, "a placement sorts into the classes that it has");
        class
    }
}

/// Makes each policy a choice of its own.
macro_rules! only {
    ($(
        $variant:ident $({ $($(#[$note:meta])* $param:ident: $number:ty = $default:expr),+ })? ($type:ty)
            = $form:literal, $about:literal;
    )+) => {
        /// Each policy by itself: an engine that is told one of these links no other.
        pub mod only {
            use super::ClassCount;

            $(choice! { $about $variant $({ $($(#[$note])* $param: $number),+ })? })+
        }

        $(impl PlaceChoice for only::$variant {
            type Policy = $type;

            fn classes(self) -> u32 {
                $(let Self { $($param),+ } = self;)?
                <$type>::classes($($($param),+)?)
            }

            fn build(self, shape: Shape) -> $type {
                $(let Self { $($param),+ } = self;)?
                <$type>::new(shape $($(, $param)+)?)
            }
        })+
    };
}

placements!(only!);

/// Makes the policy in force: an enum with one variant for each policy, and the dispatch.
macro_rules! placer {
    ($(
        $variant:ident $({ $($(#[$note:meta])* $param:ident: $number:ty = $default:expr),+ })? ($type:ty)
            = $form:literal, $about:literal;
    )+) => {
        impl PlaceChoice for Placement {
            type Policy = Placer;

            fn classes(self) -> u32 {
                match self { $(Self::$variant $({ $($param),+ })? => <$type>::classes($($($param),+)?),)+ }
            }

            fn build(self, shape: Shape) -> Placer {
                match self { $(
                    Self::$variant $({ $($param),+ })? => Placer::$variant(<$type>::new(shape $($(, $param)+)?)),
                )+ }
            }
        }

        impl Placement {
            /// True if the placement has a say in which segment is cleaned, by [`ClassPlacement::victim`].
            pub fn has_a_say_in_victims(&self) -> bool {
                match self { $(Self::$variant { .. } => <$type>::has_a_say_in_victims(),)+ }
            }
        }

        /// The policy in force, where it may be any.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum Placer {
            $(
                #[doc = $about]
                $variant($type),
            )+
            /// One from outside this crate, and how many classes it sorts into.
            Own(Box<dyn ClassPlacement + Send>, ClassCount),
        }

        impl ClassPlacement for Placer {
            #[inline(always)]
            fn host(&mut self, write: HostWrite<'_>) -> Class {
                match self {
                    $(Self::$variant(p) => p.host(write),)+
                    Self::Own(p, classes) => classes.checked(p.host(write)),
                }
            }
            #[inline(always)]
            fn copied(&mut self, copy: Copied) -> Class {
                match self {
                    $(Self::$variant(p) => p.copied(copy),)+
                    Self::Own(p, classes) => classes.checked(p.copied(copy)),
                }
            }
            #[inline]
            fn expect(&self, pages: &[Lpn]) {
                match self { $(Self::$variant(p) => p.expect(pages),)+ Self::Own(p, _) => p.expect(pages) }
            }
            fn class_of_copies(&self) -> Option<Class> {
                match self {
                    $(Self::$variant(p) => p.class_of_copies(),)+
                    Self::Own(p, classes) => p.class_of_copies().map(|class| classes.checked(class)),
                }
            }
            fn wants_victims(&self) -> bool {
                match self { $(Self::$variant(p) => p.wants_victims(),)+ Self::Own(p, _) => p.wants_victims() }
            }
            fn emptying(&mut self, victim: Emptying<'_>) {
                match self { $(Self::$variant(p) => p.emptying(victim),)+ Self::Own(p, _) => p.emptying(victim) }
            }
            fn opened(&mut self, segment: Opened) {
                match self { $(Self::$variant(p) => p.opened(segment),)+ Self::Own(p, _) => p.opened(segment) }
            }
            fn closed(&mut self, segment: Closed) {
                match self { $(Self::$variant(p) => p.closed(segment),)+ Self::Own(p, _) => p.closed(segment) }
            }
            fn found(&mut self, pages: &mut dyn Iterator<Item = Found>) {
                match self { $(Self::$variant(p) => p.found(pages),)+ Self::Own(p, _) => p.found(pages) }
            }
            fn discarded(&mut self, lpn: Lpn) {
                match self { $(Self::$variant(p) => p.discarded(lpn),)+ Self::Own(p, _) => p.discarded(lpn) }
            }
            fn reclaimed(&mut self, segment: Reclaimed) {
                match self { $(Self::$variant(p) => p.reclaimed(segment),)+ Self::Own(p, _) => p.reclaimed(segment) }
            }
            fn victim(&mut self, segments: &Segments) -> Wanted {
                match self { $(Self::$variant(p) => p.victim(segments),)+ Self::Own(p, _) => p.victim(segments) }
            }
            fn may_take(&self, seg: Seg) -> bool {
                match self { $(Self::$variant(p) => p.may_take(seg),)+ Self::Own(p, _) => p.may_take(seg) }
            }
            fn streams_of(&self, class: Class, told: &mut dyn FnMut(u16)) {
                match self {
                    $(Self::$variant(p) => p.streams_of(class, told),)+
                    Self::Own(p, _) => p.streams_of(class, told),
                }
            }
            fn table_bytes(&self) -> u64 {
                match self { $(Self::$variant(p) => p.table_bytes(),)+ Self::Own(p, _) => p.table_bytes() }
            }
        }
    };
}

placements!(placer!);
