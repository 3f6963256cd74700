//! A bucket of segments for each stream ID (Lim '14): a bucket appears with the first write of its ID. More
//! IDs than there are classes are folded: an ID without a class takes over the one used least recently.

use super::{Copied, HostWrite, Place};
use crate::addr::Class;

/// Classes for streams: all but the one shared by copies and the one for wear leveling.
const BUCKETS: usize = Class::COUNT - 2;
const SHARED: Class = Class(BUCKETS as u8);

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    stream: u16,
    last_use: u64,
    used: bool,
}

/// The stream each class holds now.
#[derive(Debug, Clone)]
pub(crate) struct ByStream<const SHARED_COPIES: bool> {
    buckets: [Bucket; BUCKETS],
    uses: u64,
}

impl<const SHARED_COPIES: bool> ByStream<SHARED_COPIES> {
    pub(crate) fn new(_logical_pages: u32) -> Self {
        Self { buckets: [Bucket::default(); BUCKETS], uses: 0 }
    }

    fn bucket_of(&self, stream: u16) -> usize {
        let known = self.buckets.iter().position(|b| b.used && b.stream == stream);
        known.or_else(|| self.buckets.iter().position(|b| !b.used)).unwrap_or_else(|| {
            let oldest = self.buckets.iter().enumerate().min_by_key(|(_, b)| b.last_use);
            oldest.map_or(0, |(i, _)| i)
        })
    }
}

impl<const SHARED_COPIES: bool> Place for ByStream<SHARED_COPIES> {
    fn host(&mut self, write: HostWrite) -> Class {
        let i = self.bucket_of(write.hint.stream);
        self.uses += 1;
        self.buckets[i] = Bucket { stream: write.hint.stream, last_use: self.uses, used: true };
        Class(i as u8)
    }

    fn copied(&mut self, copy: Copied) -> Class {
        if SHARED_COPIES { SHARED } else { copy.from }
    }
}
