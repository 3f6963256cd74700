//! A `wearwell serve` process, and the commands for its image.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::Failure;
use crate::kinds::Kind;

/// A disk image, and the program that serves it.
#[derive(Debug)]
pub(crate) struct Image {
    program: PathBuf,
    folder: PathBuf,
}

/// A server that clients can connect to. It is killed when dropped.
#[derive(Debug)]
pub(crate) struct Serving {
    child: Child,
    pub(crate) socket: PathBuf,
    /// What it printed when it was ready.
    announced: String,
}

impl Image {
    /// Makes an image in `folder`, in place of an existing one.
    pub(crate) fn create(program: &Path, folder: &Path, kind: &Kind) -> Result<Self, Failure> {
        let image = Self { program: program.to_owned(), folder: folder.to_owned() };
        match std::fs::remove_file(image.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let chip = folder.join("chip.toml");
        std::fs::write(&chip, kind.chip)?;
        image.command(&["create", &image.path().to_string_lossy(), "--chip", &chip.to_string_lossy()], kind.flags)?;
        Ok(image)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join("disk.ww")
    }

    /// Runs `wearwell` with these arguments; it must end with exit code 0. Returns what it printed.
    fn command(&self, words: &[&str], flags: &[&str]) -> Result<String, Failure> {
        let output = Command::new(&self.program).args(words).args(flags).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let command = [words, flags].concat().join(" ");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        Err(Failure::Command { command, status: output.status, said })
    }

    /// `wearwell ctl` with these arguments.
    pub(crate) fn ctl(&self, flags: &[&str]) -> Result<String, Failure> {
        self.command(&["ctl", &self.path().to_string_lossy()], flags)
    }

    /// `wearwell check`.
    pub(crate) fn check(&self) -> Result<String, Failure> {
        self.command(&["check", &self.path().to_string_lossy()], &[])
    }

    /// Starts a server, which may not have mounted the image yet. Its messages go to `serve.log`.
    pub(crate) fn begin_to_serve(&self) -> Result<Serving, Failure> {
        let log = OpenOptions::new().append(true).create(true).open(self.folder.join("serve.log"))?;
        let socket = self.folder.join("disk.ww.sock");
        let mut command = Command::new(&self.program);
        // With port 0 the system chooses a free one, which the announcement names.
        command.arg("serve").arg(self.path()).arg("--socket").arg(&socket).args(["--nvme", "127.0.0.1:0"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn()?;
        Ok(Serving { child, socket, announced: String::new() })
    }

    /// Starts a server and waits until it is ready.
    pub(crate) fn serve(&self) -> Result<Serving, Failure> {
        let mut serving = self.begin_to_serve()?;
        if let Some(stdout) = serving.child.stdout.as_mut() {
            BufReader::new(stdout).read_line(&mut serving.announced)?;
        }
        // The pipe ended without a line, so the server has ended.
        if serving.announced.is_empty() {
            let status = serving.child.wait()?;
            return Err(Failure::Ended { status, when: "while it mounted the image" });
        }
        Ok(serving)
    }
}

impl Serving {
    /// The address and the name of its NVMe subsystem.
    pub(crate) fn subsystem(&self) -> io::Result<(SocketAddr, &str)> {
        let uri = self.announced.split_whitespace().find_map(|word| word.strip_prefix("nvme+tcp://"));
        let parts = uri.and_then(|uri| uri.split_once('/'));
        let found = parts.and_then(|(address, nqn)| Some((address.parse().ok()?, nqn)));
        found.ok_or_else(|| io::Error::other("the server did not say where its NVMe subsystem is"))
    }

    /// Kills it, as a power cut would. It must still have been running.
    pub(crate) fn kill(mut self) -> Result<(), Failure> {
        self.end()
    }

    /// As [`kill`](Self::kill), before another server takes its place.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        if let Some(status) = self.child.try_wait()? {
            return Err(Failure::Ended { status, when: "before it was killed" });
        }
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Tells it to stop, which must end with one of these exit codes: 0, or 1 of a disk that is not healthy.
    pub(crate) fn stop(mut self, codes: &[i32]) -> Result<(), Failure> {
        self.signal(Signal::TERM)?;
        let status = self.child.wait()?;
        if status.code().is_some_and(|code| codes.contains(&code)) {
            Ok(())
        } else {
            Err(Failure::Ended { status, when: "when it was told to stop" })
        }
    }

    /// Freezes it in the middle of whatever it does, so that it receives nothing more.
    pub(crate) fn freeze(&self) -> Result<(), Failure> {
        self.signal(Signal::STOP)
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        kill_process(Pid::from_child(&self.child), signal).map_err(|error| Failure::System(error.into()))
    }

    /// Its exit status, if it has ended.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
