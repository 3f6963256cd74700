//! `wearwell serve`: a disk for other programs.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Args, ValueEnum};
use tracing::warn;
use wearwell_emu::Faults;
use wearwell_serve::disk::{Disk, DiskConfig};
use wearwell_serve::server::Timing;
use wearwell_sim::engine::EngineSpec;

use super::check_there;
use super::serving::{Home, ServingArgs, WATCHING};
use super::waiting::while_waiting;
use crate::args::{EngineArgs, size};
use crate::failure::Failure;
use crate::text::bytes;

/// Arguments of `wearwell serve`.
#[derive(Args)]
#[command(next_help_heading = "Disk")]
pub(crate) struct ServeCommand {
    /// The disk image, with the engine that it was made with
    #[arg(value_name = "IMAGE", required_unless_present = "memory", conflicts_with_all = ["memory", "EngineArgs"])]
    image: Option<PathBuf>,
    /// Serve a new disk in memory: of this size, or on the chip that --chip names
    ///
    /// The engine flags below say what engine it has. With a size the chip follows, so that --chip and --logical make
    /// no sense beside one.
    #[arg(long, value_name = "SIZE", value_parser = size, num_args = 0..=1)]
    memory: Option<Option<u64>>,
    /// Refuse writes, and leave the image as it is
    #[arg(long)]
    read_only: bool,
    /// Whether replies come as late as the chip would send them
    #[arg(long, value_name = "off|real", default_value = "off")]
    timing: TimingMode,
    #[command(flatten)]
    serving: ServingArgs,
    /// Write every call into the engine to FILE, as a trace that `run` replays to the same erases, copies and map
    #[arg(long, value_name = "FILE", help_heading = WATCHING)]
    record: Option<PathBuf>,
    /// Write over the file of --record if it exists
    #[arg(long, requires = "record", help_heading = WATCHING)]
    force: bool,
    #[command(flatten)]
    engine: EngineArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TimingMode {
    Off,
    Real,
}

/// Serves until SIGTERM or SIGINT, or until the command ends. `typed_chip` is the chip if one was named.
pub(crate) fn run(command: &ServeCommand, typed_chip: Option<&str>) -> Result<(), Failure> {
    let home = command.image.as_deref().map_or(Home::Memory, Home::Image);
    // Before any file is opened: a recording must not truncate the image.
    let handed_over = command.serving.begin(home, command.record.as_deref())?;
    let (mut disk, is_worn_out) = command.disk(typed_chip)?;
    command.record(&mut disk)?;
    let timing = if command.timing == TimingMode::Real { Timing::Real } else { Timing::Off };
    if timing == Timing::Real && disk.chip_profile().times.is_none() {
        warn!("--timing real: {} has no times, so that no reply waits", disk.chip_profile().name);
    }
    command.serving.serve(disk, home, command.read_only || is_worn_out, timing, handed_over)
}

impl ServeCommand {
    /// The disk, and whether the chip is so worn that it can only be read.
    fn disk(&self, typed_chip: Option<&str>) -> Result<(Disk, bool), Failure> {
        let Some(memory_bytes) = self.memory else {
            // The arguments contain one of the two.
            let path = self.image.as_deref().unwrap_or(Path::new(""));
            check_there(path)?;
            // A mount may write. A private copy keeps the image as it is, byte for byte.
            let open = || if self.read_only { Disk::open_private(path) } else { Disk::open(path) };
            let (disk, found) = while_waiting(&format!("mounting {}", path.display()), open)?;
            return Ok((disk, found.read_only));
        };
        let spec = self.engine.spec();
        let engine = match (memory_bytes, typed_chip) {
            (None, None) => {
                let why = "--memory: a size is missing, or the chip that the disk is to be on (--chip)";
                return Err(Failure::Refused(why.to_owned()));
            }
            (None, Some(_)) => spec,
            (Some(size), Some(chip)) => {
                let (size, why) =
                    (bytes(size as f64), "the chip follows from the size; leave out the one or the other");
                return Err(Failure::Refused(format!("--memory {size} with --chip {chip}: {why}")));
            }
            (Some(size), None) if spec.logical_bytes.is_some() => {
                let (size, why) = (bytes(size as f64), "both say how much is for the host; leave one out");
                return Err(Failure::Refused(format!("--memory {size} with --logical: {why}")));
            }
            (Some(size), None) => DiskConfig::sized(EngineSpec { chip: DiskConfig::memory_chip()?, ..spec }, size)?,
        };
        Ok((Disk::memory(&DiskConfig { engine, fdp: None, faults: Faults::default() })?, false))
    }

    /// Begins a recording if there is `--record`.
    fn record(&self, disk: &mut Disk) -> Result<(), Failure> {
        let Some(path) = &self.record else { return Ok(()) };
        let refused = |why: String| Failure::Refused(format!("--record: {}: {why}", path.display()));
        // A pipe or a device has no content to lose.
        let may_exist = self.force || fs::metadata(path).is_ok_and(|found| !found.is_file());
        let mut options = fs::OpenOptions::new();
        // `create_new` is one step of the system: between a check and an open, somebody else could make the file.
        let options = if may_exist { options.create(true).truncate(true) } else { options.create_new(true) };
        let file = options.write(true).open(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                refused("exists: name another file, or write over it with --force".to_owned())
            }
            _ => refused(error.to_string()),
        })?;
        // Each call is a row. Without the buffer each would be a system call, under the lock.
        let begun = disk.record(Box::new(io::BufWriter::with_capacity(1 << 16, file)));
        if begun.is_err() && !may_exist {
            // The file is ours, and empty.
            let _ = fs::remove_file(path);
        }
        Ok(begun?)
    }
}
