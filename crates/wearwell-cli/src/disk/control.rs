//! `wearwell ctl`: asks or changes a disk while it is served.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::{ArgAction, Args, Subcommand};
use serde_json::Value;
use wearwell::{CleaningTrigger, Placement, VictimPolicy, WearLeveling};
use wearwell_serve::server::{ControlCommand, ControlError, WrongBits, ask};

use super::beside;
use crate::args::{hints, place, wear, when, which};
use crate::failure::Failure;
use crate::output::{self, Target};
use crate::text::{aligned, grouped};

/// Arguments of `wearwell ctl`.
#[derive(Args)]
pub(crate) struct CtlCommand {
    /// The image that is served
    #[arg(value_name = "IMAGE", required_unless_present = "control", conflicts_with = "control")]
    image: Option<PathBuf>,
    /// The control socket [default: IMAGE.ctl]
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    #[command(subcommand)]
    ask: Ask,
}

#[derive(Subcommand)]
enum Ask {
    /// What the disk did since it was opened
    Stats {
        /// Print all of it as JSON, in the fields of `run --json`
        #[arg(long)]
        json: bool,
    },
    /// What cleaning did lately: victims, erases, migrations of log blocks
    Events {
        /// Go on with what happens, until the server ends
        #[arg(long)]
        follow: bool,
        /// Print a line of JSON for each
        #[arg(long)]
        json: bool,
    },
    /// Show the policies in force, or put others in force until the disk is opened again
    Policy(PolicyArgs),
    /// Say what the hosts promise about what they write from now on, for `--where hot-cold-readonly`
    Hint {
        /// `read-only`: it will never be changed again; `none`: nothing
        #[arg(value_name = "none|read-only", value_parser = hints, action = ArgAction::Set)]
        read_only: bool,
    },
    /// Clean now
    Clean {
        /// Move at most so many pages
        #[arg(long, value_name = "PAGES")]
        step: u32,
    },
    /// Copy the image, with all that was written so far, to a new file that another server can serve
    Snapshot {
        /// The file to make; must not exist yet
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Cut the power now; the server has to be started again
    Cut,
    /// Change what goes wrong on the chip from now on
    Fault {
        /// Part of all programs that fails, 0 to 1
        #[arg(long, value_name = "RATE", default_value_t = 0.0)]
        program: f64,
        /// Part of all erases that fails, 0 to 1
        #[arg(long, value_name = "RATE", default_value_t = 0.0)]
        erase: f64,
        /// Wrong bits in the worst code word of a page on NAND: 8 are corrected, from 4 on a page is moved
        #[arg(long, value_name = "BITS", default_value_t = 0.0)]
        bits: f64,
        /// Wrong bits that each read adds to the pages of its block until that is erased
        #[arg(long, value_name = "BITS", default_value_t = 0.0)]
        bits_per_read: f64,
        /// What the draws come from
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
}

/// The policies of page mapping.
#[derive(Args)]
pub(super) struct PolicyArgs {
    /// When cleaning runs
    #[arg(long, value_name = "POLICY", value_parser = when)]
    pub(super) when: Option<CleaningTrigger>,
    /// Which segment cleaning takes
    #[arg(long, value_name = "POLICY", value_parser = which)]
    pub(super) which: Option<VictimPolicy>,
    /// Where pages go
    #[arg(long, value_name = "POLICY", value_parser = place)]
    pub(super) r#where: Option<Placement>,
    /// How wear is leveled
    #[arg(long, value_name = "POLICY", value_parser = wear)]
    pub(super) wear: Option<WearLeveling>,
}

impl PolicyArgs {
    fn changes(&self) -> bool {
        self.when.is_some() || self.which.is_some() || self.r#where.is_some() || self.wear.is_some()
    }
}

/// The interval between requests for new events.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);

/// The control socket of an image that is served.
pub(crate) fn socket_of(image: &Path) -> PathBuf {
    beside(image, ".ctl")
}

pub(crate) fn run(command: &CtlCommand) -> Result<(), Failure> {
    // The arguments contain one of the two.
    let image = || socket_of(command.image.as_deref().unwrap_or(Path::new("")));
    let path = command.control.clone().unwrap_or_else(image);
    if let Ask::Events { follow, json } = command.ask {
        return events(&path, follow, json);
    }
    let answer = ask(&path, &command.ask.command())?;
    let text = match &command.ask {
        Ask::Stats { json } => {
            let text = if *json { output::json(&answer)? } else { summary(&answer).into_bytes() };
            Target::Stdout.write(&text)?;
            let failure = answer["recording_failure"].as_str();
            return failure.map_or(Ok(()), |failure| Err(Failure::Wrong(failure.to_owned())));
        }
        Ask::Policy(asked) => {
            let policy = |name: &str| answer[name].as_str().unwrap_or("?").to_owned();
            let [when, which, place, wear] = ["when", "which", "where", "wear"].map(policy);
            let until = if asked.changes() { "; until the disk is opened again" } else { "" };
            format!("when {when}, which {which}, where {place}, wear {wear}{until}\n")
        }
        Ask::Clean { .. } if answer["more"] == Value::Bool(true) => "there is more to clean\n".to_owned(),
        Ask::Clean { .. } => "nothing is left to clean\n".to_owned(),
        Ask::Events { .. } => String::new(),
        Ask::Snapshot { file } => format!("{}: a disk of its own, as after a power cut now\n", file.display()),
        Ask::Cut => "the power is off: stop the server, and start it again\n".to_owned(),
        Ask::Hint { .. } | Ask::Fault { .. } => "in force\n".to_owned(),
    };
    Target::Stdout.write(text.as_bytes())
}

/// Prints the past events, and then new ones.
fn events(path: &Path, follow: bool, json: bool) -> Result<(), Failure> {
    let mut after = 0;
    loop {
        let answer = match ask(path, &ControlCommand::Events { after }) {
            // The server that was followed has ended.
            Err(ControlError::NoServer { .. } | ControlError::NoAnswer { .. }) if after > 0 => return Ok(()),
            answer => answer?,
        };
        let list = answer["events"].as_array().map(Vec::as_slice).unwrap_or_default();
        let lines: String = list.iter().map(|row| if json { format!("{row}\n") } else { event(row) }).collect();
        Target::Stdout.write(lines.as_bytes())?;
        // The next request asks for what came since. Events that were dropped in between leave a gap in the numbers.
        after = list.last().and_then(|row| row["number"].as_u64()).unwrap_or(after);
        if !follow {
            return Ok(());
        }
        thread::sleep(FOLLOW_EVERY);
    }
}

/// One event as a line.
fn event(row: &Value) -> String {
    let number = |name: &str| grouped(row[name].as_u64().unwrap_or(0));
    let what = match row["event"].as_str().unwrap_or_default() {
        "victim" => format!("segment {} is cleaned: {} pages to move", number("segment"), number("valid_pages")),
        "erased" => format!("segment {} erased, {} times so far", number("segment"), number("erases")),
        "migrated" => {
            format!("log block of {} moved: {} pages copied", number("logical_block"), number("copied_pages"))
        }
        other => other.to_owned(),
    };
    format!("{:>12.6} s  {what}\n", row["time_us"].as_f64().unwrap_or(0.0) / 1e6)
}

/// The disk's health as a line.
fn health(health: &Value) -> String {
    let why = health["why"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
    let count = |name: &str| grouped(health[name].as_u64().unwrap_or(0));
    let [spare, bad, lost] = ["spare_percent", "bad_segments", "lost_pages"].map(count);
    let state = health["state"].as_str().unwrap_or("?");
    format!("{state}{why}; {spare} % of the spare left, {bad} bad segments, {lost} lost pages")
}

/// The most important numbers.
fn summary(stats: &Value) -> String {
    let count = |name: &str| grouped(stats[name].as_u64().unwrap_or(0));
    let ratio = |name: &str| format!("{:.3}", stats[name].as_f64().unwrap_or(0.0));
    let of = |name: &str| (name.replace('_', " "), count(name));
    let mut lines: Vec<(String, String)> = vec![("health".to_owned(), health(&stats["health"]))];
    lines.extend(["host_bytes", "flash_bytes", "host_pages", "copied_pages", "erases"].map(of));
    let amplification = format!("pages ÷ pages {} data, {} total", ratio("wa_data"), ratio("wa_total"));
    lines.push(("write amplification".to_owned(), format!("{amplification}; bytes ÷ bytes {}", ratio("wa_bytes"))));
    lines.push(of("live_pages"));
    lines.push(("map digest".to_owned(), stats["map_digest"].as_str().unwrap_or_default().to_owned()));
    if stats["recorded_calls"].is_u64() {
        lines.push(of("recorded_calls"));
    }
    aligned(&lines)
}

impl Ask {
    fn command(&self) -> ControlCommand {
        match self {
            Self::Stats { .. } => ControlCommand::Stats,
            Self::Events { .. } => ControlCommand::Events { after: 0 },
            Self::Policy(policies) => ControlCommand::Policy {
                when: policies.when.map(|policy| policy.to_string()),
                which: policies.which.map(|policy| policy.to_string()),
                r#where: policies.r#where.map(|policy| policy.to_string()),
                wear: policies.wear.map(|policy| policy.to_string()),
            },
            Self::Hint { read_only } => ControlCommand::Hint { read_only: *read_only },
            Self::Clean { step } => ControlCommand::Clean { pages: *step },
            // Without a current folder there is no full path, and the server refuses this one.
            Self::Snapshot { file } => {
                ControlCommand::Snapshot { to: std::path::absolute(file).unwrap_or_else(|_| file.clone()) }
            }
            Self::Cut => ControlCommand::Cut,
            Self::Fault { program, erase, bits, bits_per_read, seed } => ControlCommand::Fault {
                seed: *seed,
                program_fail_rate: *program,
                erase_fail_rate: *erase,
                bits: Some(WrongBits { fresh: *bits, per_read: *bits_per_read }),
            },
        }
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        let text = error.to_string();
        match error {
            ControlError::NoServer { .. } => Self::Refused(format!("{text}; `wearwell serve IMAGE` starts one")),
            ControlError::Refused(_) => Self::Refused(text),
            _ => Self::Wrong(text),
        }
    }
}
