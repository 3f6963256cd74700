//! `wearwell mtd`: a disk on raw NAND flash, behind Linux's MTD.

use std::path::{Path, PathBuf};

use clap::Args;
use wearwell_serve::disk::{Disk, Held, MtdLook, MtdPolicies};
use wearwell_serve::server::Timing;

use super::control::PolicyArgs;
use super::serving::{Home, ServingArgs};
use super::waiting::while_waiting;
use crate::args::size;
use crate::failure::Failure;
use crate::output::Target;
use crate::text::{bytes, grouped};

/// Arguments of `wearwell mtd`.
#[derive(Args)]
#[command(next_help_heading = "Flash")]
pub(crate) struct MtdCommand {
    /// The flash, as in /dev/mtd0; without a flag below, show what it is and holds
    #[arg(value_name = "DEVICE")]
    device: PathBuf,
    /// Erase it, and make an empty disk; only if nothing is on it
    #[arg(long)]
    format: bool,
    /// Format it whatever is on it
    #[arg(long, requires = "format")]
    force: bool,
    /// Bytes for the host [default: 87.5 % of the good blocks]
    #[arg(long, value_name = "SIZE", requires = "format", value_parser = size)]
    logical: Option<u64>,
    /// Serve the disk that is on it, as `wearwell serve` does
    #[arg(long)]
    serve: bool,
    #[command(flatten, next_help_heading = POLICIES)]
    policies: PolicyArgs,
    #[command(flatten)]
    serving: ServingArgs,
}

/// The heading of the policies in the help.
pub(crate) const POLICIES: &str = "Policies, as long as it is served";

pub(crate) fn run(command: &MtdCommand) -> Result<(), Failure> {
    let path = command.device.as_path();
    if command.format {
        format(command, path)?;
    }
    if command.serve {
        return serve(command, path);
    }
    if command.format { Ok(()) } else { show(path) }
}

fn format(command: &MtdCommand, path: &Path) -> Result<(), Failure> {
    let make = || Disk::format_mtd(path, command.logical, command.force);
    Ok(while_waiting(&format!("formatting {}", path.display()), make)?)
}

fn serve(command: &MtdCommand, path: &Path) -> Result<(), Failure> {
    let home = Home::Flash(path);
    let handed_over = command.serving.begin(home, None)?;
    let PolicyArgs { when, which, r#where: place, wear } = command.policies;
    let open = || Disk::open_mtd(path, MtdPolicies { when, which, place, wear });
    let (disk, found) = while_waiting(&format!("mounting {}", path.display()), open)?;
    command.serving.serve(disk, home, found.read_only, Timing::Off, handed_over)
}

fn show(path: &Path) -> Result<(), Failure> {
    let MtdLook { info, geometry, bad_blocks, held } = Disk::look_at_mtd(path)?;
    let refresh = info.refresh_bits.map(|bits| format!(", moved from {bits} wrong bits on")).unwrap_or_default();
    let held = match held {
        Held::Disk { bytes: of, version } => format!("a disk of {}, layout version {version}", bytes(of as f64)),
        held => held.to_string(),
    };
    let text = format!(
        "{}: {}, {}: {} blocks of {} pages of {} + {} bytes, {} of these free{refresh}; {bad_blocks} bad \
         blocks\nholds {held}\n",
        path.display(),
        info.name,
        bytes(info.bytes as f64),
        grouped(geometry.blocks.into()),
        geometry.pages_per_block,
        geometry.page_bytes,
        info.oob_bytes,
        info.free_oob_bytes,
    );
    Target::Stdout.write(text.as_bytes())
}
