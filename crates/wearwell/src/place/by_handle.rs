//! A class for each reclaim unit handle of NVMe's Flexible Data Placement (TP4146). A handle's number is the stream of
//! its writes. The class of a handle never changes, not even at a mount: what a handle wrote years ago is still in its
//! class. Pages that a power cut may have hit are the exception: a mount moves them to class 0.
//!
//! Copies stay in the class of their handle, for *persistently isolated* handles. Or all copies share one class and
//! only host writes are kept apart, for *initially isolated* handles. A stream without a handle counts as handle 0.

use super::{ClassPlacement, Copied, HostWrite, Placement, Shape};
use crate::addr::Class;

const SHARED: Class = Class(Placement::HANDLES as u8);

#[derive(Debug, Clone)]
pub struct ByHandle<const SHARED_COPIES: bool>;

impl<const SHARED_COPIES: bool> ByHandle<SHARED_COPIES> {
    pub fn new(_shape: Shape) -> Self {
        Self
    }

    pub fn classes() -> u32 {
        u32::from(Placement::HANDLES) + u32::from(SHARED_COPIES)
    }
}

impl<const SHARED_COPIES: bool> ClassPlacement for ByHandle<SHARED_COPIES> {
    #[inline]
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        let stream = write.hint.stream;
        Class(if stream < Placement::HANDLES { stream as u8 } else { 0 })
    }

    fn copied(&mut self, copy: Copied) -> Class {
        if SHARED_COPIES { SHARED } else { copy.from }
    }

    fn class_of_copies(&self) -> Option<Class> {
        SHARED_COPIES.then_some(SHARED)
    }

    fn streams_of(&self, class: Class, told: &mut dyn FnMut(u16)) {
        if class.0 < SHARED.0 {
            told(u16::from(class.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::Lpn;
    use crate::ftl::WriteHint;

    #[test]
    fn a_handle_is_a_class_and_copies_stay_or_share_one() {
        let mut place = ByHandle::<false>;
        let class = |stream| {
            let hint = WriteHint::stream(stream);
            ByHandle::<false>.host(HostWrite { lpn: Lpn(0), hint, clock: 0, old: None }).0
        };
        assert_eq!([0, 1, 13, 14, 65_535].map(class), [0, 1, 13, 0, 0]);
        let copy = Copied::out_of(Class(5));
        assert_eq!((place.copied(copy), place.class_of_copies()), (Class(5), None));
        assert_eq!(ByHandle::<true>.copied(copy), SHARED);
        let named = [Placement::ByHandle, Placement::ByHandleShared];
        for place in named {
            let classes = [0, 13, 14].map(|handle| place.class_of_handle(handle).map(|class| class.0));
            assert_eq!(classes, [Some(0), Some(13), None]);
            assert_eq!(
                [0, 13, 14, 15].map(|class| place.handle_of_class(Class(class))),
                [Some(0), Some(13), None, None]
            );
        }
        assert_eq!(Placement::SeparateGc.class_of_handle(1), None, "its second class is that of all copies");
        let mut streams = alloc::vec::Vec::new();
        (12..16).for_each(|class| place.streams_of(Class(class), &mut |stream| streams.push(stream)));
        assert_eq!(streams, [12, 13], "neither copies nor wear leveling have a handle");
    }
}
