//! The `wearwell` command.
//!
//! Exit codes: 0 done, 1 ran and found something wrong, 2 not understood or makes no sense. Errors are one line.
#![forbid(unsafe_code)]

mod args;
mod bound;
mod cells;
mod compare;
mod demo;
#[cfg(target_os = "linux")]
mod disk;
mod failure;
mod help;
mod install;
mod list;
mod output;
mod progress;
mod refused;
mod reproduce;
mod run;
mod run_page;
mod sweep;
mod text;
mod trace;

use std::io::Write;
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, FromArgMatches, Parser, Subcommand};

use failure::Failure;

/// Flash that is managed well wears well: simulate flash translation layers, compare their policies, and watch them
/// survive power cuts.
#[derive(Parser)]
#[command(name = "wearwell", version, max_term_width = 120, disable_help_flag = true)]
struct Cli {
    /// Print help; `wearwell help COMMAND` says more
    #[arg(short, long, global = true, action = ArgAction::HelpShort)]
    help: Option<bool>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Simulate one device under one workload
    Run(run::RunCommand),
    /// Run several policies side by side on one workload
    Compare(compare::CompareCommand),
    /// Search how far placement is from what it could save if it knew the future
    Bound(bound::BoundCommand),
    /// Run the experiments of five papers again: published beside measured, as tables and as pictures
    Reproduce(reproduce::ReproduceCommand),
    /// Replay a recorded trace on an emulated chip, cut the power hundreds of times, and check every sector
    Demo(demo::DemoCommand),
    /// Do a study: every combination of arguments and volumes, on all processors
    Sweep(sweep::SweepCommand),
    /// Look at a recorded trace, convert it, or split it by device
    Trace(trace::TraceCommand),
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    Disk(disk::DiskCommand),
    /// List the chips
    Chips(list::ListArgs),
    /// List engines, layouts, policies and workloads
    Policies(list::ListArgs),
    /// Print what a shell needs to complete commands and flags
    Completions(install::CompletionsCommand),
    /// Write a man page for each command
    #[command(hide = true)]
    Man(install::ManCommand),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure),
    }
}

fn run() -> Result<(), Failure> {
    // Not `Cli::parse`: which flags were typed is asked later, and errors have a form of their own.
    let matches = help::command().try_get_matches()?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut help::command()))?;
    match &cli.command {
        Some(command) => dispatch(command, typed_chip(&matches).as_deref()),
        None => Ok(help::command().print_help()?),
    }
}

/// The chip as it was typed; none if it is the default one.
fn typed_chip(matches: &ArgMatches) -> Option<String> {
    let (_, given) = matches.subcommand()?;
    let is_typed = given.ids().any(|id| id == "chip") && given.value_source("chip") == Some(ValueSource::CommandLine);
    let typed = is_typed.then(|| given.get_raw("chip").and_then(|mut values| values.next())).flatten();
    typed.map(|typed| typed.to_string_lossy().into_owned())
}

#[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "only a served disk asks what was typed"))]
fn dispatch(command: &Command, typed_chip: Option<&str>) -> Result<(), Failure> {
    match command {
        Command::Run(command) => run::run(command),
        Command::Compare(command) => compare::run(command),
        Command::Bound(command) => bound::run(command),
        Command::Reproduce(command) => reproduce::run(command),
        Command::Demo(command) => demo::run(command),
        Command::Sweep(command) => sweep::run(command),
        Command::Trace(command) => trace::run(command),
        #[cfg(target_os = "linux")]
        Command::Disk(command) => disk::run(command, typed_chip),
        Command::Chips(args) => list::chips(args),
        Command::Policies(args) => list::policies(args),
        Command::Completions(command) => install::completions(command),
        Command::Man(command) => install::man(command),
    }
}

/// Prints what went wrong, in one line. If that fails too, only the exit code is left.
fn report(failure: &Failure) -> ExitCode {
    if let Some(line) = failure.line() {
        let _ = writeln!(std::io::stderr(), "wearwell: {line}");
    }
    ExitCode::from(failure.exit_code())
}
