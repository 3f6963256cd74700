//! `wearwell-c-torture`: the torture, through the functions and the callbacks of the C library.
//!
//! The sources of the library are modules here. As a static library it has an allocator and a panic handler of its own,
//! and does not link into a program with the standard library. Its allocator serves the calls here as well: every disk
//! lies in an arena of `ww_arena_bytes`, and what does not fit is a failure.
//!
//! A panic in a call ends the program, as in C. The seed is printed then.

// The names follow C.
#![allow(non_camel_case_types)]
// The library exports them.
#![allow(unreachable_pub)]

extern crate alloc;

#[path = "../../wearwell-c/src/arena.rs"]
mod arena;
#[path = "../../wearwell-c/src/calls.rs"]
mod calls;
mod device;
#[path = "../../wearwell-c/src/driver.rs"]
mod driver;
#[path = "../../wearwell-c/src/error.rs"]
mod error;
mod memory;
mod modes;
#[path = "../../wearwell-c/src/open.rs"]
mod open;

use std::process::ExitCode;

use clap::Parser;

use wearwell_torture::mode::Mode;
use wearwell_torture::nand::Driver;
use wearwell_torture::run::Rig;
use wearwell_torture::session::{Length, Session};
use wearwell_torture::setup::Setup;

use modes::MODES;

/// What is run.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    length: Length,
    /// With callbacks that hide failed programs
    #[arg(long)]
    canary: bool,
    /// The modes; without any, all
    #[arg(value_parser = mode_named)]
    modes: Vec<&'static Mode>,
}

fn mode_named(name: &str) -> Result<&'static Mode, String> {
    let names = || MODES.iter().map(|mode| mode.name).collect::<Vec<_>>().join(", ");
    MODES.iter().find(|mode| mode.name == name).ok_or_else(|| format!("no such mode; there are {}", names()))
}

/// A device of the C library.
fn rig(setup: Setup) -> Rig {
    Rig { opener: device::C_LIBRARY, ..Rig::new(modes::adapted(setup)) }
}

fn rig_that_hides_failures(setup: Setup) -> Rig {
    rig(Setup { driver: Driver::HidesFailures, ..setup })
}

fn main() -> ExitCode {
    let args = Args::parse();
    std::panic::set_hook(Box::new(|panic| {
        memory::outside(|| eprintln!("a call panicked: {panic}; {}", device::current()));
    }));
    let session = Session {
        modes: &if args.modes.is_empty() { MODES.iter().collect() } else { args.modes },
        length: args.length,
        // Calls of the library must not overlap.
        jobs: 1,
        rig: if args.canary { rig_that_hides_failures } else { rig },
    };
    session.run()
}
