//! Reads ahead, from tables with an entry for each page.

use crate::addr::Lpn;

/// Reads the entries of `pages`, so that they are in the cache when they are used. These loads do not depend on each
/// other, so their cache misses overlap. Those of the uses would not.
#[inline]
pub(crate) fn fetch(entries: &[u32], pages: &[Lpn]) {
    let sum = pages.iter().fold(0_u32, |sum, lpn| sum.wrapping_add(entries[lpn.0 as usize]));
    // The compiler would drop loads whose result is not used.
    core::hint::black_box(sum);
}
