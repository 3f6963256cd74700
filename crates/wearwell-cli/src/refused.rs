//! What the parser of the command line refuses, in one line.

use std::env;
use std::io::{self, Write};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use wearwell_sim::names::nearest;

use crate::failure::Failure;
use crate::help;

/// The command that an error is about, and its full name: ours, or the subcommand in the error's usage, or in the help
/// that it shows.
fn command_of(error: &clap::Error) -> (clap::Command, String) {
    let (mut command, mut name) = (help::command(), env!("CARGO_PKG_NAME").trim_end_matches("-cli").to_owned());
    let text = error.get(ContextKind::Usage).map_or_else(|| error.to_string(), ToString::to_string);
    // "Usage:", what we were started as, and the command, with arguments between its words.
    let usage = text.split("Usage:").nth(1).unwrap_or_default();
    for word in usage.split_whitespace().skip(1).filter(|word| !word.starts_with(['<', '['])) {
        // The first word that is no command is an argument.
        let Some(found) = command.find_subcommand(word).cloned() else { break };
        command = found;
        name = format!("{name} {word}");
    }
    (command, name)
}

/// What is said of an argument that the command does not take, and that is like none.
fn surplus(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some() {
        return None;
    }
    let (command, name) = command_of(error);
    let dashes = given.len() - given.trim_start_matches('-').len();
    if dashes == 1 && given[1..].starts_with(|digit: char| digit.is_ascii_digit()) {
        // Clap takes it for a flag of one letter, and knows neither the rest of it nor what it follows.
        let typed: Vec<String> = env::args().collect();
        let at = typed.iter().position(|arg| arg.starts_with(given)).filter(|&at| at > 1)?;
        return Some(format!("'{} {}': no value may be below zero", typed[at - 1], typed[at]));
    }
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    Some(if dashes > 0 {
        format!("there is no flag '{given}' of {name}: `{name} --help` lists them")
    } else if names.is_empty() {
        format!("'{given}' is an argument too many: `{name} --help` says what {name} takes")
    } else {
        format!("there is no command '{given}' of {name}; there are {}", names.join(", "))
    })
}

/// What is said of arguments that are not there.
fn missing(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return None };
    let (_, name) = command_of(error);
    let be = if missing.len() == 1 { "is" } else { "are" };
    let is_kind = error.kind() == ErrorKind::MissingRequiredArgument;
    is_kind.then(|| format!("{} {be} missing: `{name} --help` says more", missing.join(" and ")))
}

/// Rust's words for what is no number.
const NUMBERS: [(&str, &str); 4] = [
    ("invalid digit found in string", "a whole number from 0 on is needed"),
    ("number too large to fit in target type", "the number is too large"),
    ("cannot parse integer from empty string", "a whole number from 0 on is needed"),
    ("invalid float literal", "a number is needed"),
];

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        let is_error = !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
        if !is_error {
            let printed = error.print().and_then(|()| io::stdout().flush());
            return printed.map_or_else(Self::from, |()| Self::Shown);
        }
        if matches!(error.kind(), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand) {
            let (_, name) = command_of(&error);
            return Self::Refused(format!("a command is missing: `{name} --help` lists them"));
        }
        if let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) {
            if help::is_elsewhere(given) {
                return Self::Refused(format!(
                    "'{given}' is not on this system: images and served disks are for Linux"
                ));
            }
            let (command, of) = command_of(&error);
            let names = command.get_subcommands().map(clap::Command::get_name);
            let near = nearest(given, names).unwrap_or("help");
            return Self::Refused(format!("there is no command '{given}' of {of}; did you mean '{near}'?"));
        }
        if let Some(told) = surplus(&error).or_else(|| missing(&error)) {
            return Self::Refused(told);
        }
        // Clap writes the error, a blank line, tips and the usage. The text before the usage is the error. No value
        // here begins with a dash, so the tip that says how to pass one leads nowhere.
        let lines = error.to_string();
        let is_of_use = |line: &&str| !line.trim_start().starts_with("tip: to pass '");
        let text = lines.lines().filter(is_of_use).collect::<Vec<_>>().join("\n");
        let told = text.split("\nUsage:").next().unwrap_or(&text);
        let told = told.split("\nFor more information").next().unwrap_or(told);
        let told = NUMBERS.iter().fold(told.to_owned(), |told, (rusts, ours)| told.replace(rusts, ours));
        Self::Refused(told.trim_start_matches("error: ").replace("\n\n", "; ").trim_end_matches("; ").to_owned())
    }
}
