//! What the parser of the command line refuses, in one line.

use std::io::{self, Write};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use wearwell_sim::names::nearest;

use crate::failure::Failure;
use crate::help;

/// The command that an error is about: ours, or the subcommand in the error's usage, or in the help that it shows.
fn command_of(error: &clap::Error) -> clap::Command {
    let all = help::command();
    let text = error.get(ContextKind::Usage).map_or_else(|| error.to_string(), ToString::to_string);
    // "Usage:", what we were started as, and the command.
    let name = text.split("Usage:").nth(1).and_then(|usage| usage.split_whitespace().nth(1)).unwrap_or_default();
    all.find_subcommand(name).cloned().unwrap_or(all)
}

fn full_name(command: &clap::Command) -> String {
    let ours = env!("CARGO_PKG_NAME").trim_end_matches("-cli");
    if command.get_name() == ours { ours.to_owned() } else { format!("{ours} {}", command.get_name()) }
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
        // Clap writes the error, a blank line, tips and the usage. The text before the usage is the error. No value here
        // begins with a dash, so the tip that says how to pass one leads nowhere.
        let lines = error.to_string();
        let is_of_use = |line: &&str| !line.trim_start().starts_with("tip: to pass '");
        let text = lines.lines().filter(is_of_use).collect::<Vec<_>>().join("\n");
        let told = text.split("\nUsage:").next().unwrap_or(&text);
        let told = told.split("\nFor more information").next().unwrap_or(told);
        Self::Refused(told.trim_start_matches("error: ").replace("\n\n", "; ").trim_end_matches("; ").to_owned())
    }
}
