//! Failures of the command.

use std::io::{self, Write};

use wearwell_sim::arguments::{ArgumentError, ValueError};
use wearwell_sim::bound::BoundError;
use wearwell_sim::run::RunError;
use wearwell_sim::trace::TraceError;

/// A failure, which decides the exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Not understood, or makes no sense: 2.
    Refused(String),
    /// Ran, and found something wrong: 1.
    Wrong(String),
    /// A child command ended with this exit code and has printed its own message.
    Passed(u8),
    /// Clap has output that is not an error, such as `--help`: 0.
    Shown,
    /// The reader of the output has closed it, which is not an error.
    PipeClosed,
}

impl Failure {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(_) => 2,
            Self::Wrong(_) => 1,
            Self::Passed(code) => *code,
            Self::Shown | Self::PipeClosed => 0,
        }
    }

    /// The message, in one line.
    pub(crate) fn line(&self) -> Option<String> {
        match self {
            Self::Refused(text) | Self::Wrong(text) => Some(one_line(text)),
            Self::Passed(_) | Self::Shown | Self::PipeClosed => None,
        }
    }
}

/// A text on one line, with single spaces.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Warns on standard error of a request that is unusual but carried out.
pub(crate) fn tell(warnings: &[String]) {
    for warning in warnings {
        // If this fails, nobody reads the warning.
        let _ = writeln!(io::stderr(), "wearwell: warning: {}", one_line(warning));
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let text = error.to_string();
        if error.is_refusal() { Self::Refused(text) } else { Self::Wrong(text) }
    }
}

impl From<BoundError> for Failure {
    fn from(error: BoundError) -> Self {
        let text = error.to_string();
        if error.is_refusal() { Self::Refused(text) } else { Self::Wrong(text) }
    }
}

impl From<ValueError> for Failure {
    fn from(error: ValueError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<ArgumentError> for Failure {
    fn from(error: ArgumentError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// An error of standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::PipeClosed,
            _ => Self::Wrong(format!("standard output: {error}")),
        }
    }
}
