//! Shell completions and man pages, which are installed with the command. Both are generated from its definition.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::failure::Failure;
use crate::help;
use crate::output::Target;

/// Arguments of `wearwell completions`.
#[derive(Args)]
pub(crate) struct CompletionsCommand {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Arguments of `wearwell man`.
#[derive(Args)]
pub(crate) struct ManCommand {
    /// The folder for wearwell.1, wearwell-serve.1 and so on
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn completions(command: &CompletionsCommand) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(command.shell, &mut help::command(), "wearwell", &mut text);
    Target::Stdout.write(&text)
}

pub(crate) fn man(command: &ManCommand) -> Result<(), Failure> {
    // There is no page for `help`, and no page names one.
    let mut all = help::command().disable_help_subcommand(true);
    all.build();
    let subs = all.get_subcommands().filter(|sub| !sub.is_hide_set());
    [&all].into_iter().chain(subs).try_for_each(|sub| write_page(command, sub))
}

fn write_page(ManCommand { folder }: &ManCommand, of: &Command) -> Result<(), Failure> {
    // For a subcommand this is the full name, such as `wearwell-serve`.
    let name = of.get_display_name().unwrap_or_else(|| of.get_name());
    let path = folder.join(format!("{name}.1"));
    let mut page = Vec::new();
    let written = Man::new(of.clone()).render(&mut page).and_then(|()| fs::write(&path, page));
    written.map_err(|error| Failure::Wrong(format!("{}: {error}", path.display())))
}
