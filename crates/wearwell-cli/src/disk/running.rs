//! The command that a disk is served for: `wearwell serve --run`.

use std::io::{self, IsTerminal};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use wearwell_serve::server::Stopper;

use super::activation;
use super::system;
use crate::failure::Failure;

/// How long a command may take to end after a signal, before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is checked during that time.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A running command in a process group of its own, so that its children end with it when the server is told to stop.
///
/// If standard input is a terminal, the command shares our group. In a group of its own it could not read from the
/// terminal, and Ctrl-C would not reach it.
pub(crate) struct Running {
    id: Pid,
    has_group: bool,
    waiter: JoinHandle<io::Result<ExitStatus>>,
}

impl Running {
    pub(crate) fn start(
        line: &str,
        uri: Option<&String>,
        socket: Option<&Path>,
        stopper: Stopper,
    ) -> Result<Self, Failure> {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(line);
        shell.env("uri", uri.map_or("", String::as_str));
        shell.env("unixsocket", socket.unwrap_or(Path::new("")));
        for variable in activation::VARIABLES {
            shell.env_remove(variable);
        }
        let has_group = !io::stdin().is_terminal();
        if has_group {
            shell.process_group(0);
        }
        let mut child: Child = shell.spawn().map_err(|error| system(&error))?;
        let id = Pid::from_child(&child);
        // The main thread serves. This one waits, and tells the server to stop when the command ends.
        let waiter = thread::spawn(move || {
            let status = child.wait();
            stopper.stop();
            status
        });
        Ok(Self { id, has_group, waiter })
    }

    /// Ends with the command's exit code. If the command still runs because a signal came, it and its children are told
    /// to end, and are killed if they do not.
    pub(crate) fn end(self) -> Result<(), Failure> {
        if !self.waiter.is_finished() {
            self.send(Signal::TERM);
            let deadline = Instant::now() + PATIENCE;
            while self.lives() && Instant::now() < deadline {
                thread::sleep(LOOK_EVERY);
            }
            // The shell may have ended before its children, which are in its group.
            if self.lives() {
                self.send(Signal::KILL);
            }
        }
        // After the kill at the latest the shell has ended, so that this does not wait for long.
        let status = match self.waiter.join() {
            Ok(status) => status.map_err(|error| system(&error))?,
            Err(_) => return Err(Failure::Wrong("the command could not be waited for".to_owned())),
        };
        // A shell reports the end by a signal like this.
        let code = status.code().or_else(|| status.signal().map(|number| 128 + number));
        match code.map(|code| u8::try_from(code).unwrap_or(1)) {
            Some(0) => Ok(()),
            code => Err(Failure::Passed(code.unwrap_or(1))),
        }
    }

    /// An error means that no process is left.
    fn send(&self, signal: Signal) {
        let _ = if self.has_group { kill_process_group(self.id, signal) } else { kill_process(self.id, signal) };
    }

    fn lives(&self) -> bool {
        // A group lives as long as one process is in it. Its number is not given to others before.
        !self.waiter.is_finished() || (self.has_group && test_kill_process_group(self.id).is_ok())
    }
}
