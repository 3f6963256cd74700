//! Policies from outside this crate, in place of those that [`Policies`](super::Policies) names, in an engine whose
//! policies may be any.
//!
//! An engine of one policy takes one from outside as a [`PlaceChoice`](crate::place::PlaceChoice) or
//! [`VictimChoice`](crate::clean::which::VictimChoice), if it can be made of a plain value.

use alloc::boxed::Box;

use super::log::Log;
use super::{ConfigError, PageConfig, PageFtl};
use crate::clean::which::{VictimPolicy, VictimSelection, VictimSelector};
use crate::ftl::Probe;
use crate::place::{ClassCount, ClassPlacement, Placement, Placer};

impl<L: Log, P: Probe> PageFtl<L, P> {
    /// Places pages by `policy` from now on, which sorts into so many classes. Open segments are closed. It is told of
    /// the segments in use, and not of the pages in them.
    ///
    /// It stays in force until [`set_policies`](Self::set_policies) names another `place` than before; no mount knows
    /// of it.
    ///
    /// # Errors
    /// [`ConfigError::TooLarge`] or [`ConfigError::TooFewSegments`] if it takes more segments than are left; nothing
    /// has changed then.
    pub fn set_own_placement(
        &mut self,
        policy: Box<dyn ClassPlacement + Send>,
        classes: ClassCount,
    ) -> Result<(), ConfigError> {
        let shape = *self.cleaner.alloc().shape();
        let count = u32::from(classes.get());
        // This is all that can fail, so a refused placement leaves everything as it was.
        let parts = self.config.check(count, &shape, L::DISCARDS)?;
        self.classes = count;
        let alloc = self.cleaner.alloc_mut();
        let mut rules = *alloc.rules();
        // The number of classes decides how many pages a cut may hit at once, and so how many segments a rescue needs.
        rules.needed_segments = self.config.needed_segments(count, &shape, L::DISCARDS, parts);
        rules.recovery_segments = PageConfig::<VictimPolicy, Placement>::held_segments(count, &shape, L::DISCARDS);
        alloc.set_rules(rules);
        alloc.place_by(Placer::Own(policy, classes));
        alloc.attention().call();
        Ok(())
    }

    /// Chooses victims by `policy` from now on. It is told of every candidate.
    ///
    /// It stays in force until [`set_policies`](Self::set_policies) names another `which` than before, or measures ages
    /// otherwise; no mount knows of it.
    pub fn set_own_victims(&mut self, policy: Box<dyn VictimSelection + Send>) {
        let pool = self.cleaner.alloc_mut().pool_mut();
        pool.set_victims(VictimSelector::own(policy));
        pool.attention().call();
    }
}
