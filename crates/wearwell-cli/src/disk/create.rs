//! `wearwell create`: a new disk image.

use std::path::PathBuf;

use clap::Args;
use wearwell::Placement;
use wearwell_emu::Faults;
use wearwell_serve::disk::{Disk, DiskConfig};
use wearwell_serve::fdp::FdpSpec;
use wearwell_sim::engine::{Engine, Layout};

use crate::args::{EngineArgs, size};
use crate::failure::Failure;
use crate::output::{self, Target};
use crate::text::bytes;

/// Arguments of `wearwell create`.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct CreateCommand {
    /// The image to make; must not exist yet
    #[arg(value_name = "IMAGE")]
    image: PathBuf,
    /// Bytes for the host, on a chip like the default one with as many blocks as that needs
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with_all = ["chip", "logical"])]
    size: Option<u64>,
    /// Reclaim unit handles for NVMe's Flexible Data Placement: how many, and whether their data stays apart when it is
    /// cleaned; with `persistently-apart` also what is written from what was moved, for 7 handles at most
    #[arg(long, value_name = "RUHS[:initially|persistently|persistently-apart]", value_parser = FdpSpec::parse)]
    fdp: Option<FdpSpec>,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(crate) fn create(command: &CreateCommand) -> Result<(), Failure> {
    let mut engine = command.engine.spec();
    // The default placement gives way to that of the handles. Any other one was named, and is refused if it does not
    // fit.
    if let Some(fdp) = command.fdp.filter(|_| engine.place == Placement::Single) {
        engine.place = fdp.place();
    }
    if let Some(size) = command.size {
        engine = DiskConfig::sized(engine, size)
            .map_err(|error| Failure::Refused(format!("--size {}: {error}", bytes(size as f64))))?;
        // A large disk takes seconds to mount without a checkpoint. Only page mapping can have one.
        if engine.ftl == Engine::Page {
            engine.layout = engine.layout.or(Some(Layout::NandCheckpoint));
        }
    }
    let config = DiskConfig { engine, fdp: command.fdp, faults: Faults::default() };
    // The creation would find out as well. This says what to do about it.
    if command.image.exists() {
        let why = "exists already; remove it, or name another image";
        return Err(Failure::Refused(format!("{}: {why}", command.image.display())));
    }
    output::check_folder(&command.image)?;
    let disk = Disk::create(&command.image, &config)?;
    let (plan, limits) = (disk.plan(), disk.limits());
    let spare = limits.segments.saturating_sub(limits.needed_segments);
    let line = format!(
        "{}: {} for the host on {} of {}, {spare} of {} segments to spare, engine {}, layout {}\n",
        command.image.display(),
        bytes(disk.bytes() as f64),
        plan.spec.chip.name,
        bytes(plan.spec.chip.physical_bytes() as f64),
        limits.segments,
        plan.spec.ftl,
        plan.layout,
    );
    Target::Stdout.write(line.as_bytes())
}
