//! Which pages share segments, with the map on flash. Each policy is a file, and a new one is a file and two lines
//! here.
//!
//! A policy sorts what the host writes into *streams*, by what the host says of it. Each has an open segment, whose
//! tags take 16 bytes of memory a page; no page has a class of its own to be remembered. The type of the configuration
//! names the policy ([`PagedConfig::place`](super::PagedConfig::place)), and firmware links no other.

mod by_handle;
mod separate_gc;

pub use by_handle::ByHandle;
pub use separate_gc::SeparateGc;

use core::fmt::Debug;

use crate::ftl::WriteHint;

/// Most streams of the host's.
pub const MOST_HOST_STREAMS: u32 = 3;

/// A placement of a map on flash.
pub trait StreamPlacement: Copy + PartialEq + Debug {
    /// Streams of the host's, 1 to [`MOST_HOST_STREAMS`]. Another number does not compile.
    const HOST_STREAMS: u32;

    /// The stream of a write, below [`HOST_STREAMS`](Self::HOST_STREAMS).
    fn stream(self, hint: WriteHint) -> u32;
}
