//! The protocol, byte by byte.

mod bytes;
mod handshake;
mod pieces;
mod requests;
