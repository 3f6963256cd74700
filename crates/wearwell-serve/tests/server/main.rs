//! The server over real sockets, with a client that writes bytes.

#![allow(clippy::unwrap_used)]

mod authentication;
mod client;
mod control;
mod directives;
mod durable;
mod failing;
mod http;
mod model;
mod nvme;
mod placement;
mod policies;
mod recorded;
mod running;
mod status;
mod timing;
mod tls;
