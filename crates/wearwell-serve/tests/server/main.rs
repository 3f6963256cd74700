//! The server over real sockets, with a client that writes bytes.

mod client;
mod durable;
mod failing;
mod model;
mod running;
mod status;
