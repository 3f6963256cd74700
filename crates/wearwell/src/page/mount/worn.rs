//! A mount of a chip that is worn out for a rescue.

use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use super::{Allocator, FlatMap, Found, FtlError, Log, MountError, PageFtl};
use crate::addr::Ppn;
use crate::clean::which::VictimChoice;
use crate::ftl::Probe;
use crate::place::PlaceChoice;

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> PageFtl<L, P, V, W> {
    /// The chip is worn out for a rescue. If a page is suspect, it can be read for now, as long as nothing is written
    /// or erased. Of several copies one may have been there before the cut, and nothing tells which one will fade. So
    /// the others are kept in mind, also those that were `passed_over`: what seemed to be erased in part may have
    /// decayed.
    pub(super) fn give_up_rescue(
        &mut self,
        suspects: &[Found],
        passed_over: &[Found],
        worn_out: FtlError,
        faded: &mut Vec<Ppn>,
    ) -> Result<(), MountError> {
        let Self { cleaner, scratch, .. } = self;
        cleaner.alloc_mut().abandon_open();
        // Spec P17.
        let index = cleaner.alloc().index();
        let served = |page: &Found| suspects.iter().find(|s| s.lpn == page.lpn && s.at == index.place_of(page.lpn));
        let is_other = |page: &&Found| served(page).is_some_and(|s| s.seq == page.seq && s.at != page.at);
        let others: Vec<&Found> = suspects.iter().chain(passed_over).filter(is_other).collect();
        others.into_iter().try_for_each(|other| cleaner.note_spare(other, &[]))?;
        if suspects.iter().any(|suspect| cleaner.alloc().index().place_of(suspect.lpn) == suspect.at) {
            find_faded(cleaner.alloc_mut(), scratch, suspects, faded)?;
            cleaner.alloc_mut().refuse_writes(worn_out);
        }
        Ok(())
    }
}

/// Fails if a suspect page that the map points to can no longer be read, and adds it to `faded`. An older copy counts
/// then.
fn find_faded<L: Log, P, V: VictimChoice, W: PlaceChoice>(
    alloc: &mut Allocator<L, P, FlatMap, V, W>,
    page: &mut [u8],
    suspects: &[Found],
    faded: &mut Vec<Ppn>,
) -> Result<(), MountError> {
    for suspect in suspects {
        if alloc.index().place_of(suspect.lpn) == suspect.at && !alloc.log_mut().holds(suspect.at, suspect.lpn, page)? {
            faded.push(suspect.at);
            return Err(ErrorKind::Uncorrectable.into());
        }
    }
    Ok(())
}
