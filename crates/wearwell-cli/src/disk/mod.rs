//! The commands on disk images: `create`, `inspect`, `check`.

mod check;
mod create;
mod inspect;

pub(crate) use check::{CheckCommand, check};
pub(crate) use create::{CreateCommand, create};
pub(crate) use inspect::{InspectCommand, inspect};
