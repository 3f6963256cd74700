//! The control socket. A request is a line of JSON, and so is its answer.
//!
//! `{"command":"stats"}` is answered with `{"ok":{…}}`, and a failure with `{"error":"…","refused":true}`. `refused`
//! means that the request was not valid; otherwise the disk failed. A line that is not a request also gets an answer,
//! and ends the connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wearwell::{CleaningTrigger, Placement, VictimPolicy, WearLeveling};
use wearwell_emu::{BitErrors, Faults};

use super::end::ConnectionEnd;
use super::engine::{Access, Engine};
use super::errors::Poisoned;
use super::listen::socket_path;
use super::peer::Peer;
use crate::disk::{DiskError, Health, Report};

/// The greatest length of a request.
const REQUEST_BYTES: u64 = 4096;

/// A request of a control client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ControlCommand {
    /// How the disk is, `health`, and what it did since it was opened: the report of a run, `recorded_calls` if it is
    /// recorded, and `recording_failure` if that failed.
    Stats,
    /// What cleaning did lately: `events`, the oldest first, of which the last
    /// [`KEPT_EVENTS`](crate::disk::KEPT_EVENTS) are kept.
    Events {
        /// Only events after this number.
        after: u64,
    },
    /// Changes policies, by their names. Policies that are not named stay. The answer says which are in force then.
    Policy {
        /// When cleaning runs.
        when: Option<String>,
        /// Which segment it takes.
        which: Option<String>,
        /// Where pages go.
        r#where: Option<String>,
        /// How wear is leveled.
        wear: Option<String>,
    },
    /// Says whether what is written from now on is read-only.
    Hint {
        /// True if the host promises not to change it again.
        read_only: bool,
    },
    /// Cleans, and moves at most `pages` pages. The answer says whether there is `more` to do.
    Clean {
        /// The most pages to move.
        pages: u32,
    },
    /// Flushes, and copies the image to a new file, which is a disk of its own. Clients wait meanwhile.
    Snapshot {
        /// The file, by a full path: the server's current folder is not the client's.
        to: PathBuf,
    },
    /// Cuts the power. The chip's operation in progress is torn, and all commands fail until the disk is opened again.
    Cut,
    /// Changes the faults of the chip from now on.
    Fault {
        /// The seed of the faults.
        seed: u64,
        /// The fraction of programs that fail, 0 to 1.
        program_fail_rate: f64,
        /// The fraction of erases that fail, 0 to 1.
        erase_fail_rate: f64,
        /// Wrong bits in reads of NAND; none if absent.
        #[serde(default)]
        bits: Option<WrongBits>,
    },
}

/// Wrong bits in the worst code word of a page, of which eight are corrected; from four on, a page is moved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrongBits {
    /// Right after the program. A fractional part is the fraction of pages with one more.
    pub fresh: f64,
    /// Added by each read in its block since the block's erase.
    pub per_read: f64,
}

impl WrongBits {
    fn errors(self) -> BitErrors {
        let (base, per_read) = (self.fresh, self.per_read);
        BitErrors { base, per_read, per_cycle: 0.0, per_hour: 0.0, correctable_bits: 8, refresh_bits: 4 }
    }
}

/// Why a control command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// No server listens.
    #[error("{}: no server answers here: {error}", path.display())]
    NoServer {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The server closed the connection, or sent something that is not an answer.
    #[error("{}: the server gave no answer: {reason}", path.display())]
    NoAnswer {
        /// The socket.
        path: PathBuf,
        /// What it was.
        reason: String,
    },
    /// The server refused the command as not valid.
    #[error("{0}")]
    Refused(String),
    /// The server tried, and failed.
    #[error("{0}")]
    Failed(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Ok(Value),
    #[serde(untagged)]
    No {
        error: String,
        refused: bool,
    },
}

#[derive(Serialize)]
struct Stats {
    health: Health,
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_calls: Option<u64>,
    /// Why recording has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    recording_failure: Option<String>,
}

/// Sends a command to the server at a control socket, and waits for the answer.
///
/// # Errors
/// See [`ControlError`].
pub fn ask(path: &Path, command: &ControlCommand) -> Result<Value, ControlError> {
    let no_server = |error| ControlError::NoServer { path: path.to_owned(), error };
    let no_answer = |reason: String| ControlError::NoAnswer { path: path.to_owned(), reason };
    // A path that is too long is left to the system, whose error names the cause.
    let short = socket_path(path).unwrap_or_else(|| path.to_owned());
    let mut server = UnixStream::connect(short).map_err(no_server)?;
    let mut line = serde_json::to_vec(command).map_err(|error| no_answer(error.to_string()))?;
    line.push(b'\n');
    server.write_all(&line).map_err(|error| no_answer(error.to_string()))?;
    // There is no time limit: a snapshot takes as long as copying the image.
    let mut answer = Vec::new();
    BufReader::new(server).read_until(b'\n', &mut answer).map_err(|error| no_answer(error.to_string()))?;
    match serde_json::from_slice(&answer).map_err(|error| no_answer(error.to_string()))? {
        Answer::Ok(value) => Ok(value),
        Answer::No { error, refused: true } => Err(ControlError::Refused(error)),
        Answer::No { error, refused: false } => Err(ControlError::Failed(error)),
    }
}

/// Answers a control client until it disconnects.
pub(super) fn control(engine: &Engine, mut peer: &Peer) -> Result<ConnectionEnd, ConnectionEnd> {
    let mut input = BufReader::new(peer);
    loop {
        let mut line = Vec::new();
        // It bounds what a client can make the server keep. A longer line is cut, is no JSON then, and ends the
        // connection.
        if input.by_ref().take(REQUEST_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(ConnectionEnd::Left);
        }
        let (answer, end) = match serde_json::from_slice(&line) {
            Ok(command) => (answer(engine, command), None),
            Err(error) => {
                let text = format!("no control request: {error}");
                (Answer::No { error: text.clone(), refused: true }, Some(ConnectionEnd::NotUnderstood(text)))
            }
        };
        let mut text = serde_json::to_vec(&answer).map_err(io::Error::from)?;
        text.push(b'\n');
        peer.write_all(&text)?;
        if let Some(end) = end {
            return Err(end);
        }
    }
}

fn answer(engine: &Engine, command: ControlCommand) -> Answer {
    match execute(engine, command) {
        Ok(value) => Answer::Ok(value),
        Err(Undone { error, refused }) => Answer::No { error, refused },
    }
}

/// The error of a command.
struct Undone {
    error: String,
    refused: bool,
}

impl Undone {
    fn refused(error: impl Into<String>) -> Self {
        Self { error: error.into(), refused: true }
    }
}

impl From<DiskError> for Undone {
    fn from(error: DiskError) -> Self {
        Self { error: error.to_string(), refused: error.is_refusal() }
    }
}

impl From<Poisoned> for Undone {
    fn from(error: Poisoned) -> Self {
        Self { error: error.to_string(), refused: false }
    }
}

impl From<serde_json::Error> for Undone {
    fn from(error: serde_json::Error) -> Self {
        Self { error: error.to_string(), refused: false }
    }
}

fn execute(engine: &Engine, command: ControlCommand) -> Result<Value, Undone> {
    if command == ControlCommand::Cut {
        // Before the lock is taken: its holder is in the middle of a command, which is to be torn.
        engine.cut()?;
    }
    let access = &mut engine.access()?;
    match command {
        ControlCommand::Stats => {
            let (report, recorded) = access.report();
            let (recorded_calls, recording_failure) = match recorded {
                Ok(calls) => (calls, None),
                Err(error) => (None, Some(error.to_string())),
            };
            let health = access.disk_mut().health();
            Ok(serde_json::to_value(Stats { health, report, recorded_calls, recording_failure })?)
        }
        ControlCommand::Events { after } => Ok(json!({ "events": access.disk().events_after(after) })),
        ControlCommand::Policy { when, which, r#where, wear } => {
            // Asking is allowed while the disk is recorded.
            let changes = [&when, &which, &r#where, &wear].iter().any(|name| name.is_some());
            if changes {
                recordable(access, "a change of policy")?;
            }
            let Some(mut policies) = access.disk().policies() else {
                return Err(Undone::refused("this engine's policies cannot be changed: only page mapping's can"));
            };
            // All names are read before anything changes, so that a wrong one changes nothing.
            named(&mut policies.when, "--when", when, CleaningTrigger::parse)?;
            named(&mut policies.which, "--which", which, VictimPolicy::parse)?;
            named(&mut policies.place, "--where", r#where, Placement::parse)?;
            named(&mut policies.wear, "--wear", wear, WearLeveling::parse)?;
            if changes {
                access.disk_mut().set_policies(policies)?;
            }
            let (when, which) = (policies.when.to_string(), policies.which.to_string());
            Ok(json!({
                "when": when,
                "which": which,
                "where": policies.place.to_string(),
                "wear": policies.wear.to_string()
            }))
        }
        ControlCommand::Hint { read_only } => {
            recordable(access, "a hint")?;
            access.disk_mut().hint_read_only(read_only);
            Ok(json!({}))
        }
        ControlCommand::Clean { pages } => Ok(json!({ "more": access.command().clean(pages)? })),
        ControlCommand::Snapshot { to } => Ok(access.command().snapshot(&to).map(|()| json!({}))?),
        // It was done above. Only the lock was waited for, so that the command that was torn has ended.
        ControlCommand::Cut => Ok(json!({})),
        ControlCommand::Fault { seed, program_fail_rate, erase_fail_rate, bits } => {
            recordable(access, "a fault")?;
            if ![program_fail_rate, erase_fail_rate].iter().all(|rate| (0.0..=1.0).contains(rate)) {
                return Err(Undone::refused("a rate is a part of all operations, from 0 to 1"));
            }
            if bits.is_some_and(|bits| ![bits.fresh, bits.per_read].iter().all(|bits| (0.0..=1e6).contains(bits))) {
                return Err(Undone::refused("wrong bits are a number from 0 to a million"));
            }
            let bit_errors = bits.map(WrongBits::errors);
            access.disk_mut().inject(Faults {
                seed,
                program_fail_rate,
                erase_fail_rate,
                bit_errors,
                ..Faults::default()
            })?;
            Ok(json!({}))
        }
    }
}

/// Refuses what a recording cannot hold, because a replay would differ.
fn recordable(access: &Access<'_>, what: &str) -> Result<(), Undone> {
    if access.disk().is_recorded() {
        return Err(Undone::refused(format!("the disk is recorded, and a recording cannot hold {what}")));
    }
    Ok(())
}

/// Replaces a policy by the one of this name, if there is a name.
fn named<T>(policy: &mut T, flag: &str, name: Option<String>, parse: impl Fn(&str) -> Option<T>) -> Result<(), Undone> {
    let Some(name) = name else { return Ok(()) };
    *policy = parse(&name).ok_or_else(|| Undone::refused(format!("{flag}: there is no policy '{name}'")))?;
    Ok(())
}
