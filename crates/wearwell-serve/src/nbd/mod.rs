//! The NBD protocol: what bytes mean and what answers them, without any input or output.
