//! A server at work, with what it says and the page it shows.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{BIN, line_in, signal};

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server whose standard error goes to a file.
pub(crate) struct Served {
    child: Child,
    /// Not beside the image, whose file system may be full.
    log: tempfile::NamedTempFile,
    pub(crate) page: String,
}

impl Served {
    pub(crate) fn start(image: &str, args: &[&str]) -> Self {
        let log = tempfile::NamedTempFile::new().expect("a file");
        let ready = PathBuf::from(format!("{image}.pid"));
        let mut command = Command::new(BIN);
        command.args(["serve", image, "--http", "127.0.0.1:0", "--pid-file"]).arg(&ready).args(args);
        if !args.contains(&"--idle") {
            command.args(["--idle", "off"]);
        }
        let errors = log.reopen().expect("a file");
        let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().expect("it can be started");
        let mut line = String::new();
        let out = child.stdout.as_mut().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("a line");
        line_in(&ready);
        let page = line.split_once("http://").map(|(_, at)| at.trim_end().trim_end_matches('/').to_owned());
        Self { child, log, page: page.unwrap_or_else(|| panic!("{line}")) }
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.log.path()).expect("a log")
    }

    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.page).expect("a page");
        stream.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
    }

    /// Stops it, and returns its exit code.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        signal(&self.child, "-TERM");
        let code = self.child.wait().expect("an end").code();
        (code, self.said())
    }
}

/// No test leaves a server behind: neither one that fails, nor one to which the end does not matter.
impl Drop for Served {
    fn drop(&mut self) {
        // This does nothing to one that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
