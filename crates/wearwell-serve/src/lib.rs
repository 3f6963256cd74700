//! A disk that Linux uses: an image of emulated flash with a translation layer in front, served over NBD and NVMe/TCP.
//!
//! - [`disk`]: the image, the engine on it, and byte-granular access to both.
//! - [`nbd`], [`nvme`]: the protocols, without any input or output of their own.
//! - [`server`]: sockets, connections, and what runs beside them.

pub mod disk;
pub mod fdp;
pub mod nbd;
pub mod nvme;
mod output;
pub mod server;
