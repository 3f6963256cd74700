//! Sockets and connections in front of a disk.
