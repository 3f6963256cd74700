//! Small clients for tests of servers. They can also do what no client should do.
#![forbid(unsafe_code)]

pub mod client;
pub mod nvme;

use std::io::{self, Error, ErrorKind};

/// Fails if a server did not send what it should have sent.
///
/// # Errors
/// `InvalidData` with what is missing.
pub fn expect(is_so: bool, what: &str) -> io::Result<()> {
    if is_so { Ok(()) } else { Err(Error::new(ErrorKind::InvalidData, format!("the server did not send {what}"))) }
}
