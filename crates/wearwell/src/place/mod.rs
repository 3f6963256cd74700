//! Where does a write go? One file a policy; a new one is its file and a line in the list below.
//!
//! An engine is told by a [`PlaceChoice`]. A [`Placement`] is any policy, chosen at run time, and links all of them.
//! What stands in [`only`] is one policy, and links no other.

mod by_handle;
mod by_stream;
mod hot_cold_readonly;
mod separate_cleaning;
mod separate_gc;
mod single;

use core::fmt::Debug;

use crate::addr::{Class, Lpn};
use crate::ftl::WriteHint;

/// A page that the host writes.
#[derive(Debug, Clone, Copy)]
pub struct HostWrite {
    /// The page.
    pub lpn: Lpn,
    /// What the host said of it.
    pub hint: WriteHint,
    /// Host pages written before this one.
    pub clock: u64,
    /// True if the page is mapped already, so that this is an update.
    pub is_update: bool,
}

/// A valid page that cleaning moves.
#[derive(Debug, Clone, Copy)]
pub struct Copied {
    /// The page.
    pub lpn: Lpn,
    /// Host pages written so far.
    pub clock: u64,
    /// Class of the victim.
    pub from: Class,
    /// Valid fraction of the victim when it was chosen.
    pub victim_utilization: f64,
    /// Live pages over the pages of all good segments.
    pub device_utilization: f64,
}

/// A segment that was emptied.
#[derive(Debug, Clone, Copy)]
pub struct Reclaimed {
    /// Its class.
    pub class: Class,
    /// The time between its opening and now, in host pages, or in microseconds if ages are measured in time.
    pub lifetime: u64,
    /// Pages that had to be moved out of it.
    pub copied_pages: u32,
}

/// A policy that sorts pages into classes, each of which has an open segment of its own. What it remembers
/// of single pages it keeps itself.
pub trait ClassPlacement {
    /// Classes that it sorts into.
    const CLASSES: u32;

    /// Class of a page the host writes.
    fn host(&mut self, write: HostWrite) -> Class;
    /// Class of a page that cleaning moves.
    fn copied(&mut self, copy: Copied) -> Class;
    /// The class of every copy, where the policy does not look at them: it is then not asked for each.
    fn class_of_copies(&self) -> Option<Class> {
        None
    }
    /// A segment was opened for a class. After a mount, and when the policy is put in force, that is said of every
    /// segment in use.
    fn opened(&mut self, class: Class) {
        let _ = class;
    }
    /// A segment in use was emptied, with copies or without, and is no longer of its class.
    fn reclaimed(&mut self, segment: Reclaimed) {
        let _ = segment;
    }
    /// Tells which streams write to a class, where the policy keeps streams apart. After a mount, and when the policy
    /// was put in force, nothing is known of a stream until it writes.
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
    /// The policy in force, with what it remembers.
    type Policy: ClassPlacement + Debug;

    /// Classes that it sorts into, each with an open segment of its own.
    fn classes(self) -> u32;

    /// The policy for so many logical pages.
    fn build(self, logical_pages: u32) -> Self::Policy;
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
            "a class for each of the streams 0 to 13, always the same; copies stay in theirs (NVMe FDP, persistently isolated)";
        ByHandleShared (by_handle::ByHandle<true>) = "by-handle-shared",
            "a class for each of the streams 0 to 13, always the same; all copies share one (NVMe FDP, initially isolated)";
    } };
}

placements! { policies!
    /// Where pages go.
    #[derive(Eq)]
    Placement:
}

impl Placement {
    /// Streams that [`ByHandle`](Self::ByHandle) has a class for: all but the one shared by copies and the one for wear
    /// leveling.
    pub const HANDLES: u16 = Class::COUNT as u16 - 2;
}

/// Makes each policy a choice of its own.
macro_rules! only {
    ($($variant:ident ($type:ty) = $form:literal, $about:literal;)+) => {
        /// Each policy by itself: an engine that is told one of these links no other.
        pub mod only {
            $(choice! { $about $variant })+
        }

        $(impl PlaceChoice for only::$variant {
            type Policy = $type;

            fn classes(self) -> u32 {
                <$type as ClassPlacement>::CLASSES
            }

            fn build(self, logical_pages: u32) -> $type {
                <$type>::new(logical_pages)
            }
        })+
    };
}

placements!(only!);

/// Makes the policy in force: an enum with one variant for each policy, and the dispatch.
macro_rules! placer {
    ($($variant:ident ($type:ty) = $form:literal, $about:literal;)+) => {
        impl PlaceChoice for Placement {
            type Policy = Placer;

            fn classes(self) -> u32 {
                match self { $(Self::$variant => <$type as ClassPlacement>::CLASSES,)+ }
            }

            fn build(self, logical_pages: u32) -> Placer {
                match self { $(Self::$variant => Placer::$variant(<$type>::new(logical_pages)),)+ }
            }
        }

        /// The policy in force, where it may be any.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum Placer { $(
            #[doc = $about]
            $variant($type),
        )+ }

        impl ClassPlacement for Placer {
            const CLASSES: u32 = Class::COUNT as u32;
            #[inline(always)]
            fn host(&mut self, write: HostWrite) -> Class {
                match self { $(Self::$variant(p) => p.host(write),)+ }
            }
            #[inline(always)]
            fn copied(&mut self, copy: Copied) -> Class {
                match self { $(Self::$variant(p) => p.copied(copy),)+ }
            }
            fn class_of_copies(&self) -> Option<Class> {
                match self { $(Self::$variant(p) => p.class_of_copies(),)+ }
            }
            fn opened(&mut self, class: Class) {
                match self { $(Self::$variant(p) => p.opened(class),)+ }
            }
            fn reclaimed(&mut self, segment: Reclaimed) {
                match self { $(Self::$variant(p) => p.reclaimed(segment),)+ }
            }
            fn streams_of(&self, class: Class, told: &mut dyn FnMut(u16)) {
                match self { $(Self::$variant(p) => p.streams_of(class, told),)+ }
            }
            fn table_bytes(&self) -> u64 {
                match self { $(Self::$variant(p) => p.table_bytes(),)+ }
            }
        }
    };
}

placements!(placer!);
