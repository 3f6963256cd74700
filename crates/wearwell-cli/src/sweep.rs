//! `wearwell sweep`: a study. The Python package does it, by its own program.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use crate::failure::Failure;

/// The program of the Python package.
const PROGRAM: &str = "wearwell-sweep";

/// Arguments of `wearwell sweep`.
#[derive(Args)]
pub(crate) struct SweepCommand {
    /// The study, as TOML: a table `grid`, and maybe `traces`, `out` and `workers`
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn run(command: &SweepCommand) -> Result<(), Failure> {
    let status = Command::new(PROGRAM).arg(&command.file).status().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::Refused(format!(
            "there is no program {PROGRAM}, which does studies; it comes with the Python package wearwell[sweep]"
        )),
        _ => Failure::Wrong(format!("{PROGRAM}: {error}")),
    })?;
    match status.code() {
        Some(0) => Ok(()),
        // It has said why.
        code => Err(Failure::Passed(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))),
    }
}
