//! Small clients, for tests of servers: they do what they are told, also what no client should do.
#![forbid(unsafe_code)]

pub mod client;
pub mod nvme;

use std::io::{self, Error, ErrorKind};

/// A server that did not send what it should have.
fn expect(is_so: bool, what: &str) -> io::Result<()> {
    if is_so { Ok(()) } else { Err(Error::new(ErrorKind::InvalidData, format!("the server did not send {what}"))) }
}
