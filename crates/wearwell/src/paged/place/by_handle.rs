//! A stream for each handle, as of NVMe's Flexible Data Placement (TP4146) with handles that are *initially isolated*:
//! what cleaning moves is no longer kept apart by handle.

use super::{MOST_HOST_STREAMS, StreamPlacement};
use crate::ftl::WriteHint;

/// Host writes by the stream that they name ([`WriteHint::stream`]): 1, 2, and all others. What cleaning moves has a
/// stream of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByHandle;

impl StreamPlacement for ByHandle {
    const HOST_STREAMS: u32 = MOST_HOST_STREAMS;

    fn stream(self, hint: WriteHint) -> u32 {
        let stream = u32::from(hint.stream);
        if stream < Self::HOST_STREAMS { stream } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_has_no_segment_shares_the_first() {
        let stream = |stream| ByHandle.stream(WriteHint::stream(stream));
        assert_eq!([0, 1, 2, 3, u16::MAX].map(stream), [0, 1, 2, 0, 0]);
    }
}
