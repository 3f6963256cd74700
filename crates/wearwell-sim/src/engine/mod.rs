//! An engine on a chip, put together from a command line or the header of an image. The defaults are here only, so a
//! run and a served disk with the same flags behave alike.
//!
//! [`EngineSpec`] holds the given choices. [`EngineSpec::plan`] fills in the defaults and checks what can be checked
//! without a chip. [`EnginePlan::on_nand`] and [`EnginePlan::on_nor`] put the engine on a chip, with inference in front
//! of it if wanted.

mod assemble;
mod batched;
mod begun;
mod boxed;
mod chip;
mod choices;
mod error;
mod own;
mod scored;
mod spec;
mod view;

pub use assemble::Begin;
pub(crate) use assemble::Tenant;
pub(crate) use batched::Batched;
pub use batched::{BatchPlacement, CopyRow, HostRow, Victim};
pub use begun::{AnyProbe, Begun};
pub use boxed::{AnyOver, EngineOver};
pub use chip::OnChip;
pub use choices::{AwareMode, DataMode, Engine, Layout, StreamSource};
pub use error::EngineError;
pub use own::OwnPolicies;
pub use scored::{CandidateColumn, Candidates, SegmentScores};
pub use spec::{EnginePlan, EngineSpec};
pub use view::{AnyEngine, Inferred, PolicyError, SegmentRow, SegmentState};
