//! The server over real sockets, with a client that writes bytes.

#![allow(clippy::unwrap_used)]

mod client;
mod durable;
mod failing;
mod model;
mod recorded;
mod running;
mod status;
