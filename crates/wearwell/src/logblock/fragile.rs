//! What a mount tells the copies that it makes.

use alloc::collections::BTreeSet;

use wearwell_flash::ErrorKind;

use crate::addr::Ppn;

/// Pages that a power cut may have hit, as a mount knows them; and the one of them that could not be read any more.
///
/// A page that cannot be read when it is to be copied is lost. One of these has faded: there may be an older copy,
/// which counts then, so the mount begins anew without it. Behind a mount nothing is fragile.
#[derive(Debug, Default)]
pub(super) struct Fragile {
    pages: BTreeSet<Ppn>,
    faded: Option<Ppn>,
}

impl Fragile {
    pub(super) fn contains(&self, at: Ppn) -> bool {
        self.pages.contains(&at)
    }

    pub(super) fn insert(&mut self, at: Ppn) {
        self.pages.insert(at);
    }

    pub(super) fn extend(&mut self, pages: impl IntoIterator<Item = Ppn>) {
        self.pages.extend(pages);
    }

    /// Takes pages out that can fade no more: this mount does without them.
    pub(super) fn leave_out(&mut self, faded: &[Ppn]) {
        self.pages.retain(|at| !faded.contains(at));
    }

    /// Notes that a page has faded. Returns the error that ends this attempt of the mount.
    #[must_use]
    pub(super) fn note_faded(&mut self, at: Ppn) -> ErrorKind {
        self.faded = Some(at);
        ErrorKind::Uncorrectable
    }

    /// The page that has faded.
    pub(super) fn faded(&self) -> Option<Ppn> {
        self.faded
    }
}
