//! The commands on disks: on images, and on disks that are served.
//!
//! They are for Linux, as images and the server are. Everything else builds without them.

mod activation;
mod check;
mod control;
mod create;
mod inspect;
mod log;
mod mtd;
mod pid_file;
mod running;
mod serve;
mod serving;
mod waiting;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use wearwell_serve::disk::DiskError;

use crate::failure::Failure;

/// The headings of the flags that say how a disk is served.
pub(crate) const OF_SERVING: [&str; 4] = [mtd::POLICIES, serving::CLIENTS, serving::RUNNING, serving::WATCHING];

/// The commands.
#[derive(Subcommand)]
pub(crate) enum DiskCommand {
    /// Make a disk image: a chip, an engine on it, and an empty disk
    Create(Box<create::CreateCommand>),
    /// Show what a disk image is, and its segments, wear, streams and map
    Inspect(inspect::InspectCommand),
    /// Look for damage in a disk image, without changing it
    Check(check::CheckCommand),
    /// Serve a disk image, or a disk in memory, to NBD clients
    Serve(Box<serve::ServeCommand>),
    /// Ask or change a disk while it is served
    Ctl(control::CtlCommand),
    /// Show what raw NAND flash is and holds, make a disk on it, or serve that
    Mtd(Box<mtd::MtdCommand>),
}

/// Runs one. `typed_chip` is the chip if one was named.
pub(crate) fn run(command: &DiskCommand, typed_chip: Option<&str>) -> Result<(), Failure> {
    match command {
        DiskCommand::Create(command) => create::create(command),
        DiskCommand::Inspect(command) => inspect::inspect(command),
        DiskCommand::Check(command) => check::check(command),
        DiskCommand::Serve(command) => serve::run(command, typed_chip),
        DiskCommand::Ctl(command) => control::run(command),
        DiskCommand::Mtd(command) => mtd::run(command),
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Self {
        let text = error.to_string();
        if error.is_refusal() { Self::Refused(text) } else { Self::Wrong(text) }
    }
}

/// Checks that there is an image. Whether it is one shows when it is opened.
fn check_there(image: &Path) -> Result<(), Failure> {
    match image.try_exists() {
        Ok(false) => {
            let image = image.display();
            Err(Failure::Refused(format!("{image}: No such file; `wearwell create {image}` makes a disk")))
        }
        _ => Ok(()),
    }
}

/// The path of a file that belongs to an image.
fn beside(image: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(image);
    name.push(ending);
    PathBuf::from(name)
}

/// The failure of a call of the operating system.
fn system(error: &io::Error) -> Failure {
    Failure::Wrong(format!("the system refuses: {error}"))
}
