//! Errors of single requests and of whole connections.

/// The error of one request, as the protocol numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    /// A write to a read-only export.
    Perm = 1,
    /// The disk failed.
    Io = 5,
    /// The request makes no sense, or reaches beyond the end of the disk.
    Inval = 22,
    /// A write beyond the end of the disk, or to a device that takes no more writes.
    NoSpace = 28,
    /// A read that must be answered in one piece is too long for that.
    Overflow = 75,
    /// Zeroing would be no faster than writing zeros.
    NotSupported = 95,
}

/// Why a connection is ended early. The peer broke the protocol, so its further bytes cannot be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The client answered the greeting with flags that the server did not offer.
    #[error("the client set the handshake flags {flags:#x}, of which only {known:#x} are known")]
    ClientFlags {
        /// What the client sent.
        flags: u32,
        /// What the server offered.
        known: u32,
    },
    /// An option does not begin as options do.
    #[error("an option begins with {found:#018x}")]
    OptionMagic {
        /// The bytes in its place.
        found: u64,
    },
    /// An option is too long even to be skipped.
    #[error("option {option} has {length_bytes} bytes, more than {max_bytes}")]
    OptionLength {
        /// The option's number.
        option: u32,
        /// The bytes it says it has.
        length_bytes: u32,
        /// The most that is allowed.
        max_bytes: u32,
    },
    /// The client asked for more options than a handshake needs.
    #[error("more than {max} options in one handshake")]
    TooManyOptions {
        /// The most that is allowed.
        max: u32,
    },
    /// A client that knows no option replies sent an option that needs one.
    #[error("option {option} from a client that did not agree to option replies")]
    NotFixed {
        /// The option's number.
        option: u32,
    },
    /// The option that cannot be answered with an error names an export that does not exist.
    #[error("there is no such export")]
    UnknownExport,
    /// The option that cannot be answered with an error came before TLS, which is required.
    #[error("the client did not ask for TLS, which is required here")]
    WithoutTls,
    /// The client continued in plain text after it had asked for TLS. Somebody may have inserted that text.
    #[error("the client went on in plain text after it had asked for TLS")]
    BehindStartTls,
    /// A request does not begin as requests do.
    #[error("a request begins with {found:#010x}")]
    RequestMagic {
        /// The bytes in its place.
        found: u32,
    },
}
