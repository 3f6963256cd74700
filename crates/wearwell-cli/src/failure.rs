//! Failures of the command.

use std::io::{self, Write};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use wearwell_sim::arguments::{ArgumentError, ValueError};
use wearwell_sim::bound::BoundError;
use wearwell_sim::names::nearest;
use wearwell_sim::run::RunError;
use wearwell_sim::trace::TraceError;

use crate::help;

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

/// The command that an error is about: ours, or the subcommand at the start of the error's usage.
fn command_of(error: &clap::Error) -> clap::Command {
    let all = help::command();
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    // "Usage:", what we were started as, and the command.
    let name = usage.split_whitespace().nth(2).unwrap_or_default();
    all.find_subcommand(name).cloned().unwrap_or(all)
}

fn full_name(command: &clap::Command) -> String {
    let ours = env!("CARGO_PKG_NAME").trim_end_matches("-cli");
    if command.get_name() == ours { ours.to_owned() } else { format!("{ours} {}", command.get_name()) }
}

/// Warns on standard error of a request that is unusual but carried out.
pub(crate) fn tell(warnings: &[String]) {
    for warning in warnings {
        // If this fails, nobody reads the warning.
        let _ = writeln!(io::stderr(), "wearwell: warning: {}", one_line(warning));
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        let is_error = !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
        if !is_error {
            let printed = error.print().and_then(|()| io::stdout().flush());
            return printed.map_or_else(Self::from, |()| Self::Shown);
        }
        if matches!(error.kind(), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand) {
            let command = command_of(&error);
            return Self::Refused(format!("a command is missing: `{} --help` lists them", full_name(&command)));
        }
        if let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) {
            if help::is_elsewhere(given) {
                return Self::Refused(format!(
                    "'{given}' is not on this system: images and served disks are for Linux"
                ));
            }
            let command = command_of(&error);
            let names = command.get_subcommands().map(clap::Command::get_name);
            let near = nearest(given, names).unwrap_or("help");
            let of = full_name(&command);
            return Self::Refused(format!("there is no command '{given}' of {of}; did you mean '{near}'?"));
        }
        // Clap writes the error, a blank line, tips and the usage. The text before the usage is the error.
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
