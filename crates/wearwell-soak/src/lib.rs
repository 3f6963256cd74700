//! A small NBD client for tests of servers. It does what it is told, also what no client should do.
#![forbid(unsafe_code)]

pub mod client;
