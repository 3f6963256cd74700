//! Flexible Data Placement (NVMe TP4146): the number of a disk's reclaim unit handles, and their isolation.

use std::fmt;

use serde::{Deserialize, Serialize};
use wearwell::place::ClassCount;
use wearwell::{Class, Placement};

/// How long data of different handles is kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// When the host writes it. Cleaning mixes it.
    Initially,
    /// As long as it is valid.
    Persistently,
    /// As long as it is valid. What the host writes to a handle is also kept apart from what cleaning has moved of it.
    PersistentlyApart,
}

impl Isolation {
    const ALL: [Self; 3] = [Self::Initially, Self::Persistently, Self::PersistentlyApart];

    fn name(self) -> &'static str {
        match self {
            Self::Initially => "initially",
            Self::Persistently => "persistently",
            Self::PersistentlyApart => "persistently-apart",
        }
    }

    /// True if cleaning keeps handles apart, too: the kind of isolation that hosts are told of.
    pub fn is_persistent(self) -> bool {
        self != Self::Initially
    }

    /// The most handles that a disk can have.
    pub fn most_handles(self) -> u16 {
        if self == Self::PersistentlyApart { Placement::HANDLES_APART } else { Placement::HANDLES }
    }
}

/// Reclaim unit handles of a disk, in the text form of the command line and the image: `8` or `8:initially`,
/// `8:persistently`, `7:persistently-apart`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FdpSpec {
    /// Their number: 1 to [`Isolation::most_handles`].
    pub handles: u16,
    /// Their isolation.
    pub isolation: Isolation,
}

/// What is wrong with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not reclaim unit handles: a number from 1 to {}, and perhaps ':initially' or ':persistently', or one from 1 to {} \
     and ':persistently-apart'",
    Placement::HANDLES,
    Placement::HANDLES_APART
)]
pub struct FdpError;

impl FdpSpec {
    /// The placement policy that keeps them apart.
    pub fn place(self) -> Placement {
        match self.isolation {
            Isolation::Initially => Placement::ByHandleShared,
            Isolation::Persistently => Placement::ByHandle,
            Isolation::PersistentlyApart => {
                // No text has a number that is none of classes, too.
                let handles = ClassCount::new(u32::from(self.handles)).unwrap_or(ClassCount::ONE);
                Placement::ByHandleApart { handles }
            }
        }
    }

    /// The class of what the host writes to a handle, if there is such a handle.
    pub(crate) fn class_of(self, handle: u16) -> Option<Class> {
        self.place().class_of_handle(handle).filter(|_| handle < self.handles)
    }

    /// The handle that the pages of a class were written to; none if they are of several, or of none.
    pub(crate) fn handle_of(self, class: Class) -> Option<u16> {
        self.place().handle_of_class(class).filter(|&handle| handle < self.handles)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, FdpError> {
        let (handles, name) = text.split_once(':').unwrap_or((text, Isolation::Initially.name()));
        let isolation = Isolation::ALL.into_iter().find(|isolation| isolation.name() == name).ok_or(FdpError)?;
        let handles = handles.parse().map_err(|_| FdpError)?;
        if (1..=isolation.most_handles()).contains(&handles) { Ok(Self { handles, isolation }) } else { Err(FdpError) }
    }
}

impl fmt::Display for FdpSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.handles, self.isolation.name())
    }
}

impl TryFrom<String> for FdpSpec {
    type Error = FdpError;

    fn try_from(text: String) -> Result<Self, FdpError> {
        Self::parse(&text)
    }
}

impl From<FdpSpec> for String {
    fn from(spec: FdpSpec) -> Self {
        spec.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_as_they_were() {
        for text in ["1:initially", "14:persistently", "7:persistently-apart"] {
            assert_eq!(FdpSpec::parse(text).map(|spec| spec.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(FdpSpec::parse("8"), Ok(FdpSpec { handles: 8, isolation: Isolation::Initially }));
        for wrong in ["", "0", "15", "8:", "8:for-ever", "-1", "many", "8:persistently-apart"] {
            assert_eq!(FdpSpec::parse(wrong), Err(FdpError), "{wrong}");
        }
    }
}
