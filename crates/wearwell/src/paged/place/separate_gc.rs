//! Copies apart: what has outlived a segment is colder than what is written.

use super::StreamPlacement;
use crate::ftl::WriteHint;

/// What the host writes goes to one open segment, and what cleaning moves to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeparateGc;

impl StreamPlacement for SeparateGc {
    const HOST_STREAMS: u32 = 1;

    fn stream(self, _hint: WriteHint) -> u32 {
        0
    }
}
