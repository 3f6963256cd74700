//! Why the command ends without having done what it was asked.

use std::io;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use wearwell_serve::disk::DiskError;
use wearwell_sim::names::nearest;
use wearwell_sim::run::RunError;
use wearwell_sim::trace::TraceError;

use crate::Cli;

/// How the command fails, and with it the exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Not understood, or makes no sense: 2.
    Refused(String),
    /// Ran, and found something wrong: 1.
    Wrong(String),
    /// A command that was run ended with this exit code, and has said why itself.
    Passed(u8),
    /// Clap has something to print that is no error, as for `--help`: 0.
    Shown,
    /// Whoever read the output has gone: nothing to complain about.
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

    /// What to tell, in one line.
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

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        let is_error = !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
        if !is_error {
            // A closed pipe is the only way in which this fails.
            return if error.print().is_ok() { Self::Shown } else { Self::PipeClosed };
        }
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return Self::Refused("a command is missing: `wearwell --help` lists them".to_owned());
        }
        if let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) {
            let commands = Cli::command();
            let near = nearest(given, commands.get_subcommands().map(clap::Command::get_name)).unwrap_or("run");
            return Self::Refused(format!("there is no command '{given}'; did you mean '{near}'?"));
        }
        // Clap writes the error, a blank line, tips, the usage: what comes before the usage is the error.
        let text = error.to_string();
        let told = text.split("\nUsage:").next().unwrap_or(&text);
        let told = told.split("\nFor more information").next().unwrap_or(told);
        Self::Refused(told.trim_start_matches("error: ").replace("\n\n", "; ").trim_end_matches("; ").to_owned())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let text = error.to_string();
        if error.is_refusal() { Self::Refused(text) } else { Self::Wrong(text) }
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Self {
        let text = error.to_string();
        if error.is_refusal() { Self::Refused(text) } else { Self::Wrong(text) }
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
