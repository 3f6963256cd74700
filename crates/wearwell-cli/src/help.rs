//! The help of the command: commands in groups, and rarely used flags only in the long help.

use clap::{ColorChoice, Command, CommandFactory};

use crate::Cli;
use crate::args::ENGINE;
#[cfg(target_os = "linux")]
use crate::disk;

/// The commands for images and the served disk, which only Linux has.
const DISKS: [&str; 6] = ["create", "inspect", "check", "serve", "ctl", "mtd"];

/// The commands by purpose. Each is in one group.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Simulate", &["run", "compare", "bound", "reproduce", "demo", "sweep", "trace"]),
    ("Disks", &DISKS),
    ("Lists", &["chips", "policies", "completions", "help"]),
];

/// Commands whose `--help` leaves out the engine's flags.
const SHORT: [&str; 1] = ["serve"];

/// True for a command that this system does not have and another has.
pub(crate) fn is_elsewhere(name: &str) -> bool {
    !cfg!(target_os = "linux") && DISKS.contains(&name)
}

/// The whole command, arranged for its help.
pub(crate) fn command() -> Command {
    let mut command = Cli::command();
    // Not every system has the command, and only one that is there can be changed.
    for name in SHORT.into_iter().filter(|name| Cli::command().find_subcommand(name).is_some()) {
        command = command.mut_subcommand(name, |serve| {
            serve.mut_args(|arg| {
                let is_engines = arg.get_help_heading() == Some(ENGINE);
                arg.hide_short_help(is_engines)
            })
        });
    }
    // The workload of `bound` may be named without a flag.
    command = command.mut_subcommand("bound", |bound| bound.mut_arg("workload", |arg| arg.required(false)));
    // Listening makes no sense without serving. `serve` has the same flags, and always serves.
    #[cfg(target_os = "linux")]
    {
        command = command.mut_subcommand("mtd", |mtd| {
            mtd.mut_args(|arg| {
                let is_servings = arg.get_help_heading().is_some_and(|heading| disk::OF_SERVING.contains(&heading));
                if is_servings { arg.requires("serve") } else { arg }
            })
        });
    }
    let groups = groups(&command);
    command
        .help_template(format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}"))
}

/// The commands, one line each.
fn groups(command: &Command) -> String {
    let mut command = command.clone().color(ColorChoice::Never);
    command.build();
    let is_there = |name: &&&str| !is_elsewhere(name);
    let about = |name: &str| command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let lines =
            names.iter().filter(is_there).map(|name| format!("  {name:<12}{}\n", about(name).unwrap_or_default()));
        let lines: String = lines.collect();
        if !lines.is_empty() {
            text += &format!("{heading}:\n{lines}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = Cli::command();
        command.build();
        command.clone().debug_assert();
        let mut named: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        named.retain(|name| !is_elsewhere(name));
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut all: Vec<&str> = visible.map(Command::get_name).collect();
        named.sort_unstable();
        all.sort_unstable();
        assert_eq!(named, all);
    }
}
