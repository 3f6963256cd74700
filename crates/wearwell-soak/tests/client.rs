//! Anything that is not NBD is an error. The client neither waits nor panics.
#![allow(clippy::unwrap_used)]

use std::io::{ErrorKind, Write};
use std::os::unix::net::UnixListener;
use std::thread;

use wearwell_soak::client::{Client, READ};

const GREETING: &[u8] = b"NBDMAGICIHAVEOPT\0\x03";

/// The client's error for a server that sends these bytes and closes.
fn hears(said: &[u8]) -> ErrorKind {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let said = said.to_vec();
    let server = thread::spawn(move || listener.accept().unwrap().0.write_all(&said));
    let found = Client::connect(&socket, "").and_then(|mut client| {
        let cookie = client.send(0, READ, 0, 4, b"")?;
        client.reply(cookie, 4)
    });
    server.join().unwrap().unwrap();
    found.unwrap_err().kind()
}

#[test]
fn garbage_is_an_error() {
    assert_eq!(hears(&[7; 18]), ErrorKind::InvalidData);
    assert!(matches!(hears(GREETING), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe));
}
