//! `wearwell check`: looks for damage in a disk image.

use std::path::PathBuf;

use clap::Args;
use wearwell_serve::disk;

use super::check_there;
use crate::failure::Failure;
use crate::output::{self, Target};
use crate::text::grouped;

/// Arguments of `wearwell check`.
#[derive(Args)]
pub(crate) struct CheckCommand {
    /// The image; it is not changed, and no server may hold it
    #[arg(value_name = "IMAGE")]
    image: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn check(command: &CheckCommand) -> Result<(), Failure> {
    check_there(&command.image)?;
    let found = disk::check(&command.image)?;
    let count = found.findings.len();
    if command.json {
        Target::Stdout.write(&output::json(&found)?)?;
    } else {
        let lines: String = found.findings.iter().map(|finding| format!("{finding}\n")).collect();
        Target::Stdout.write(lines.as_bytes())?;
    }
    // After the findings, which are the result. This is the line about them on standard error.
    if count > 0 {
        let things = if count == 1 { "1 thing is".to_owned() } else { format!("{} things are", grouped(count as u64)) };
        return Err(Failure::Wrong(format!("{}: {things} wrong", command.image.display())));
    }
    if command.json {
        return Ok(());
    }
    let shutdown = match found.clean_shutdown {
        Some(true) => "shut down in good order",
        Some(false) => "cut off, no damage",
        None => "its layout does not record how it was shut down",
    };
    let pages = grouped(found.pages_read);
    Target::Stdout.write(format!("{}: whole; {pages} pages read; {shutdown}\n", command.image.display()).as_bytes())
}
