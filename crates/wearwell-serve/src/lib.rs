//! A disk that Linux uses: an image of emulated flash with a translation layer in front, served over NBD.
//!
//! - [`disk`]: the image, the engine on it, and byte-granular access to both.
//! - [`nbd`]: the protocol, without any input or output of its own.
//! - [`server`]: sockets, connections, and what runs beside them.

pub mod disk;
pub mod nbd;
pub mod server;
