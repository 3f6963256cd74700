//! Flexible Data Placement (NVMe TP4146): the number of a disk's reclaim unit handles, and their isolation.

use std::fmt;

use serde::{Deserialize, Serialize};
use wearwell::Placement;

/// How long data of different handles is kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// When the host writes it. Cleaning mixes it.
    Initially,
    /// As long as it is valid.
    Persistently,
}

/// Reclaim unit handles of a disk, in the text form of the command line and the image: `8` or `8:initially`,
/// `8:persistently`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FdpSpec {
    /// Their number: 1 to [`Placement::HANDLES`].
    pub handles: u16,
    /// Their isolation.
    pub isolation: Isolation,
}

/// What is wrong with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not reclaim unit handles: a number from 1 to {}, and perhaps ':initially' or ':persistently'",
    Placement::HANDLES
)]
pub struct FdpError;

impl FdpSpec {
    /// The placement policy that keeps them apart.
    pub fn place(self) -> Placement {
        match self.isolation {
            Isolation::Initially => Placement::ByHandleShared,
            Isolation::Persistently => Placement::ByHandle,
        }
    }

    /// Reads a text.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, FdpError> {
        let (handles, isolation) = match text.split_once(':') {
            None => (text, Isolation::Initially),
            Some((handles, "initially")) => (handles, Isolation::Initially),
            Some((handles, "persistently")) => (handles, Isolation::Persistently),
            Some(_) => return Err(FdpError),
        };
        let handles = handles.parse().map_err(|_| FdpError)?;
        if (1..=Placement::HANDLES).contains(&handles) { Ok(Self { handles, isolation }) } else { Err(FdpError) }
    }
}

impl fmt::Display for FdpSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let isolation = if self.isolation == Isolation::Initially { "initially" } else { "persistently" };
        write!(f, "{}:{isolation}", self.handles)
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
        for text in ["1:initially", "14:persistently"] {
            assert_eq!(FdpSpec::parse(text).map(|spec| spec.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(FdpSpec::parse("8"), Ok(FdpSpec { handles: 8, isolation: Isolation::Initially }));
        for wrong in ["", "0", "15", "8:", "8:for-ever", "-1", "many"] {
            assert_eq!(FdpSpec::parse(wrong), Err(FdpError), "{wrong}");
        }
    }
}
