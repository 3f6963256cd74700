//! Failures of a soak.

use std::io;
use std::process::ExitStatus;

use crate::model::Wrong;

/// A broken promise, or an error that stopped the soak.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The disk broke its promise.
    #[error("{when}: {wrong}")]
    Wrong {
        /// The event before it.
        when: &'static str,
        /// Where.
        wrong: Wrong,
    },
    /// A request failed that must not fail.
    #[error("{what} of {length} bytes at {offset} failed with error {error}")]
    Refused {
        /// The request.
        what: &'static str,
        /// Its first byte.
        offset: u64,
        /// Its length.
        length: u32,
        /// The protocol's error number.
        error: u32,
    },
    /// The server ended by itself.
    #[error("the server ended with {status} {when}")]
    Ended {
        /// How.
        status: ExitStatus,
        /// What the server was doing.
        when: &'static str,
    },
    /// A command failed.
    #[error("`wearwell {command}` ended with {status}:\n{said}")]
    Command {
        /// Its arguments.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// What it printed.
        said: String,
    },
    /// The connection broke, or the system refused something.
    #[error("{0}")]
    System(#[from] io::Error),
    /// The faults were too rare to show anything.
    #[error("{0}")]
    Nothing(&'static str),
}
