//! NVMe over TCP: messages and replies, without input or output.
//!
//! A [`Target`] is a disk as hosts see it, with a controller for each host. A [`Session`] is one connection of a host.
//! It takes bytes, executes their commands on a [`Medium`], and writes replies to an [`Output`]. Implemented from NVM
//! Express Base 2.1, NVM Command Set 1.1 and TCP Transport 1.1.

mod admin;
mod answer;
mod auth;
mod blocks;
mod command;
mod connect;
mod controller;
mod copy;
mod fdp;
mod features;
mod identify;
mod io;
mod link;
mod logs;
mod medium;
mod pdu;
mod session;
mod status;
mod streams;
mod subsystem;
mod target;
mod transfers;
mod turn;

pub use crate::output::Output;
pub use auth::{Admission, Entropy, Hosts, HostsError};
pub use medium::{Health, Medium};
pub use pdu::Fatal;
pub use session::{Progress, Session, SessionEnd};
pub use status::Status;
pub use subsystem::{NqnError, Subsystem};
pub use target::Target;
