//! Policies from outside: types of another crate that implement the traits of page mapping.

use wearwell::clean::which::VictimSelection;
use wearwell::place::{ClassCount, ClassPlacement};

use super::batched::{BatchPlacement, Batched};
use super::scored::{Scored, SegmentScores};

/// Policies in place of those that an [`EngineSpec`](super::EngineSpec) names; none where it stays with those.
///
/// ```
/// use wearwell::Class;
/// use wearwell::place::{ClassCount, ClassPlacement, Copied, HostWrite};
/// use wearwell_sim::engine::OwnPolicies;
///
/// /// Even pages in one class, odd ones in another.
/// #[derive(Debug)]
/// struct EvenOdd;
///
/// impl ClassPlacement for EvenOdd {
///     fn host(&mut self, write: HostWrite<'_>) -> Class {
///         Class((write.lpn.0 % 2) as u8)
///     }
///     fn copied(&mut self, copy: Copied) -> Class {
///         Class((copy.lpn.0 % 2) as u8)
///     }
/// }
///
/// let own = OwnPolicies::default().placement("even-odd", ClassCount::new(2).unwrap(), EvenOdd);
/// # assert!(!own.is_empty());
/// ```
#[derive(Debug, Default)]
pub struct OwnPolicies {
    pub(crate) placement: Option<OwnPlacement>,
    pub(crate) victims: Option<OwnVictims>,
    /// The placement again, if the host is to announce its writes to it.
    pub(crate) batched: Option<Batched>,
}

/// A placement, and what reports call it.
#[derive(Debug)]
pub(crate) struct OwnPlacement {
    pub(crate) name: String,
    pub(crate) classes: ClassCount,
    pub(crate) policy: Box<dyn ClassPlacement + Send>,
}

/// A victim policy, and what reports call it.
#[derive(Debug)]
pub(crate) struct OwnVictims {
    pub(crate) name: String,
    pub(crate) policy: Box<dyn VictimSelection + Send>,
}

impl OwnPolicies {
    /// Places pages by `policy`, which sorts into so many classes. Reports call it `name`.
    #[must_use]
    pub fn placement(self, name: &str, classes: ClassCount, policy: impl ClassPlacement + Send + 'static) -> Self {
        let placement = OwnPlacement { name: name.to_owned(), classes, policy: Box::new(policy) };
        // Writes are announced to the placement in force only.
        Self { placement: Some(placement), batched: None, ..self }
    }

    /// Places pages by `policy`, which is asked for many pages at a time.
    #[must_use]
    pub fn batched(self, name: &str, classes: ClassCount, policy: impl BatchPlacement + 'static) -> Self {
        let batched = Batched::new(Box::new(policy));
        Self { batched: Some(batched.clone()), ..self.placement(name, classes, batched) }
    }

    /// Chooses victims by `policy`. Reports call it `name`.
    #[must_use]
    pub fn victims(self, name: &str, policy: impl VictimSelection + Send + 'static) -> Self {
        Self { victims: Some(OwnVictims { name: name.to_owned(), policy: Box::new(policy) }), ..self }
    }

    /// Chooses victims by `policy`, which scores all candidates at a time.
    #[must_use]
    pub fn scored(self, name: &str, policy: impl SegmentScores + 'static) -> Self {
        self.victims(name, Scored::new(Box::new(policy)))
    }

    /// True if it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.placement.is_none() && self.victims.is_none()
    }
}
