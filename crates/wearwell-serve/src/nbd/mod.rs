//! The NBD protocol: what bytes mean and what answers them, without any input or output.
//!
//! A connection is a [`Handshake`] until it hands over a [`Session`], and [`Requests`] from then on. Both take bytes
//! as they come, in pieces of any size, and say how many they used; answers go to an [`Output`]. Fixed newstyle,
//! structured replies, the metadata context `base:allocation`; nothing older, no extended headers.

mod error;
mod export;
mod handshake;
mod options;
mod reply;
mod request;
mod wire;

pub use crate::output::Output;
pub use error::{Errno, ProtocolError};
pub use export::{Export, MAX_PAYLOAD_BYTES, NameError};
pub use handshake::{Handshake, HandshakeState, Progress, Security, Session};
pub use reply::{Allocation, Reply};
pub use request::{Command, Request, RequestStep, Requests};
