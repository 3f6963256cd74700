//! Pages whose data is gone.

use alloc::collections::BTreeSet;

use crate::addr::Lpn;

/// Logical pages that the chip lost: reading one is an error until it is written or discarded. Mostly there are none.
/// After damage that a mount cannot narrow down there may be as many as the device has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Losses {
    lpns: BTreeSet<Lpn>,
}

impl Losses {
    /// A page is lost. False if that was known.
    #[cold]
    pub(crate) fn note(&mut self, lpn: Lpn) -> bool {
        self.lpns.insert(lpn)
    }

    #[inline]
    pub(crate) fn contains(&self, lpn: Lpn) -> bool {
        !self.lpns.is_empty() && self.lpns.contains(&lpn)
    }

    /// A page has new content, or none that anyone wants.
    #[inline]
    pub(crate) fn forget(&mut self, lpn: Lpn) {
        if !self.lpns.is_empty() {
            self.lpns.remove(&lpn);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.lpns.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Lpn> + '_ {
        self.lpns.iter().copied()
    }
}

impl FromIterator<Lpn> for Losses {
    fn from_iter<I: IntoIterator<Item = Lpn>>(lpns: I) -> Self {
        Self { lpns: lpns.into_iter().collect() }
    }
}
