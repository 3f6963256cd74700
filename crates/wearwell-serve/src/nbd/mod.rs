//! The NBD protocol: messages and replies, without input or output.
//!
//! A connection is a [`Handshake`] until it hands over a [`Session`], and [`Requests`] from then on. Both take bytes in
//! pieces of any size and return how many they used. Replies go to an [`Output`]. Supported are fixed newstyle,
//! structured replies and the metadata context `base:allocation`; older handshakes and extended headers are not.

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
