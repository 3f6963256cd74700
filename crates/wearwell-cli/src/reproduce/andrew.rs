//! Table 8 of Kawaguchi '95: an Andrew-like benchmark on a real ext4 over a served disk, in the time of his host.
//!
//! `andrew.sh` runs it on this machine's kernel, and records every request that reaches the served disk. This machine's
//! processor is some hundred times as fast as his, and all of a run's compiling would be over before the first segment
//! is erased. So the recording is done again on the same disk in the time of his host: each phase takes what it took him
//! in memory (the column MFS of the table), spread evenly over its requests, and what the chip takes for a request is
//! waited for. What is measured is what the flash adds, and what it erases and copies.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::{env, fmt, io};

use clap::Parser;
use serde::Deserialize;
use wearwell_serve::disk::{Disk, DiskConfig};
use wearwell_sim::run::Progress;
use wearwell_sim::{Op, Request, trace};

use super::experiment::{Figures, Row};
use super::source::Papers;
use crate::args::EngineArgs;
use crate::failure::Failure;
use crate::progress::Bars;

const SCRIPT: &str = include_str!("andrew.sh");

/// What the script ends with where this machine cannot do it.
const CANNOT: i32 = 77;

/// Parts of a run: removing the oldest, and Andrew's five phases.
const PARTS: usize = 6;

/// How long his cleaner sleeps where there is nothing to do, in the time that the host computes.
const LOOK_AGAIN_AFTER_US: u64 = 100_000;

/// Pages that cleaning moves at a time beside the host: FLIOCCCBLK copies 16 (table 2).
const STEP_PAGES: u32 = 16;

/// How a row runs the benchmark.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Benchmark {
    /// Before each run after so many the oldest is removed.
    keep: u32,
    #[serde(default = "sixty")]
    runs: u32,
    /// Options of `mkfs.ext4`.
    mkfs: String,
    /// Options of `mount`.
    mount: String,
    /// Seconds that each part of a run takes the host alone: removing the oldest, then the phases.
    host_s: [f64; PARTS],
}

fn sixty() -> u32 {
    60
}

/// A row's arguments: the engine flags of `wearwell serve`.
#[derive(Parser)]
#[command(no_binary_name = true, args_override_self = true)]
struct RowCommand {
    #[command(flatten)]
    engine: EngineArgs,
}

/// A row that is run on a served disk.
pub(crate) struct Job {
    name: String,
    config: DiskConfig,
    /// The same for the script.
    flags: String,
    bytes: u64,
    benchmark: Benchmark,
}

/// What the script did.
struct Recording {
    calls: Vec<Request>,
    marks: Vec<Mark>,
    /// The largest share of the file system that was used, in percent.
    used_percent: f64,
}

/// The end of a part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    part: usize,
    /// Calls of the recording so far.
    calls: usize,
}

/// Finds out before anything is run whether this machine can do it.
///
/// # Errors
/// What is missing.
pub(crate) fn check() -> Result<(), Failure> {
    let checked = script()?.arg("check").output().map_err(|error| not_started(&error))?;
    if checked.status.success() { Ok(()) } else { Err(refused(&String::from_utf8_lossy(&checked.stderr))) }
}

fn refused(why: &str) -> Failure {
    Failure::Refused(format!("--guests: {}", why.trim()))
}

fn not_started(error: &io::Error) -> Failure {
    Failure::Wrong(format!("sh: {error}"))
}

fn script() -> Result<Command, Failure> {
    let program = env::current_exe().map_err(|error| Failure::Wrong(format!("this program's own path: {error}")))?;
    let mut sh = Command::new("sh");
    sh.args(["-c", SCRIPT, "andrew"]).env("wearwell", program).env("LC_ALL", "C").stdin(Stdio::null());
    Ok(sh)
}

impl Job {
    /// Reads a row's arguments.
    ///
    /// # Errors
    /// Arguments that `wearwell serve` would refuse, with the row's name.
    pub(crate) fn new(papers: &Papers, name: &str, row: &Row, benchmark: &Benchmark) -> Result<Self, Failure> {
        let seed = row.seeds.first().copied().unwrap_or(1);
        let refused = |failure: Failure| Failure::Refused(format!("{name}: {}", failure.line().unwrap_or_default()));
        let words: Vec<String> = row.args.split_whitespace().map(|word| papers.word(word)).collect();
        let with_seed = words.iter().cloned().chain(["--seed".to_owned(), seed.to_string()]);
        let parsed = RowCommand::try_parse_from(with_seed).map_err(|error| refused(error.into()))?;
        let spec = parsed.engine.spec();
        let config = DiskConfig { engine: spec.clone(), ..DiskConfig::new(spec.chip) };
        let bytes = Disk::memory(&config).map_err(|error| refused(error.into()))?.bytes();
        let flags = format!("--memory {bytes} {} --seed {seed}", words.join(" "));
        Ok(Self { name: name.to_owned(), config, flags, bytes, benchmark: benchmark.clone() })
    }

    /// True if the file system sends both disks the same requests.
    fn shares_recording(&self, other: &Self) -> bool {
        let of = |job: &Self| (job.bytes, job.benchmark.clone().on_no_host());
        of(self) == of(other)
    }
}

impl fmt::Display for Benchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keep, runs, mkfs, mount, .. } = self;
        write!(f, "{runs} runs, {keep} kept, on mkfs.ext4 {mkfs}; mount -o {mount}")
    }
}

impl Benchmark {
    /// Without what only the time of the host changes.
    fn on_no_host(self) -> Self {
        Self { host_s: [0.0; PARTS], ..self }
    }
}

/// Runs the benchmark once for all rows that share its requests, and does these again for each row.
pub(crate) fn measure(jobs: &[Job], bars: &Bars) -> Vec<Result<Figures, String>> {
    let mut recordings: Vec<(usize, Result<Recording, String>)> = Vec::new();
    let told = |failure: Failure| failure.line().unwrap_or_default();
    let mut figures = Vec::with_capacity(jobs.len());
    for (at, job) in jobs.iter().enumerate() {
        let known = recordings.iter().position(|&(of, _)| jobs[of].shares_recording(job));
        let known = known.unwrap_or_else(|| {
            recordings.push((at, record(job, bars).map_err(told)));
            recordings.len() - 1
        });
        let recording = recordings[known].1.as_ref().map_err(Clone::clone);
        figures.push(recording.and_then(|recording| replay(job, recording).map_err(told)));
    }
    figures
}

/// Runs the script.
fn record(job: &Job, bars: &Bars) -> Result<Recording, Failure> {
    let Benchmark { keep, runs, mkfs, mount, .. } = &job.benchmark;
    let mut command = script()?;
    command.args([&runs.to_string(), &keep.to_string(), mkfs, mount, &job.flags]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| not_started(&error))?;
    let mut bar = bars.bar(&job.name);
    bar.begin("ext4", u64::from(*runs));
    // If reading fails the pipe closes here, and the script cleans up.
    let recording = child.stdout.take().ok_or_else(|| not_understood("")).and_then(|out| read(out, &mut bar));
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        // What cannot be read is not told.
        let _ = stderr.read_to_string(&mut said);
    }
    let status = child.wait().map_err(|error| not_started(&error))?;
    match status.code() {
        Some(0) => recording,
        Some(CANNOT) => Err(refused(&said)),
        _ => Err(Failure::Wrong(format!("the benchmark ended with {status}: {}", said.trim()))),
    }
}

fn not_understood(line: &str) -> Failure {
    Failure::Wrong(format!("the benchmark said what is not understood: '{}'", line.trim()))
}

/// What the script prints: the marks, then the recording.
fn read(out: impl Read, progress: &mut dyn Progress) -> Result<Recording, Failure> {
    let mut out = BufReader::new(out);
    let (mut marks, mut used_percent) = (Vec::new(), f64::NAN);
    loop {
        let mut line = String::new();
        out.read_line(&mut line).map_err(|error| not_understood(&error.to_string()))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["mark", run, part, calls] => {
                let number = |word: &str| word.parse::<usize>().map_err(|_| not_understood(&line));
                marks.push(Mark { part: number(part)?.min(PARTS - 1), calls: number(calls)? });
                progress.advance(number(run)? as u64);
            }
            ["used", percent] => used_percent = percent.parse().map_err(|_| not_understood(&line))?,
            ["recording"] => break,
            _ => return Err(not_understood(&line)),
        }
    }
    let calls = trace::parse("the served disk's recording", &mut out)?.requests;
    Ok(Recording { calls, marks, used_percent })
}

/// A host with a time of its own.
struct Host {
    disk: Disk,
    now_us: u64,
    zeros: Vec<u8>,
}

impl Host {
    /// Computes for so long; his daemon cleans beside it.
    fn compute(&mut self, us: u64) -> Result<(), Failure> {
        let until_us = self.now_us + us;
        while self.now_us < until_us {
            self.disk.set_time_us(self.now_us);
            let goes_on = self.disk.clean(STEP_PAGES)?;
            let done_us = self.disk.sim_us() as u64;
            let next_us = if goes_on { done_us.max(self.now_us + 1) } else { self.now_us + LOOK_AGAIN_AFTER_US };
            self.now_us = next_us.min(until_us);
        }
        Ok(())
    }

    /// Issues a call, and waits until the chip is done.
    fn call(&mut self, call: &Request) -> Result<(), Failure> {
        self.disk.set_time_us(self.now_us);
        let (offset, bytes) = (call.offset_bytes, call.length_bytes);
        if self.zeros.len() < bytes as usize && matches!(call.op, Op::Read | Op::Write) {
            self.zeros.resize(bytes as usize, 0);
        }
        match call.op {
            Op::Read => self.disk.read(offset, &mut self.zeros[..bytes as usize])?,
            Op::Write => self.disk.write(offset, &self.zeros[..bytes as usize], call.stream)?,
            Op::Discard => self.disk.discard(offset, bytes)?,
            Op::WriteZeroes => self.disk.write_zeroes(offset, bytes, call.stream, false)?,
            Op::Flush => self.disk.flush()?,
            // A new disk without idle cleaning has neither.
            Op::Clean | Op::Mount => {}
        }
        self.now_us = self.now_us.max(self.disk.sim_us() as u64);
        Ok(())
    }
}

/// Does a recording again, in the time of the row's host.
fn replay(job: &Job, recording: &Recording) -> Result<Figures, Failure> {
    let benchmark = &job.benchmark;
    let disk = Disk::memory(&job.config)?;
    let mut host = Host { disk, now_us: 0, zeros: Vec::new() };
    let mut part_us = [0; PARTS];
    let mut begin = 0;
    for mark in &recording.marks {
        let calls = recording.calls.get(begin..mark.calls).ok_or_else(|| {
            Failure::Wrong(format!("the recording ends at call {}, before {}", recording.calls.len(), mark.calls))
        })?;
        begin = mark.calls;
        let began_us = host.now_us;
        let pause_us = (benchmark.host_s[mark.part] * 1e6 / (calls.len() + 1) as f64) as u64;
        for call in calls {
            host.compute(pause_us)?;
            host.call(call)?;
        }
        host.compute(pause_us)?;
        part_us[mark.part] += host.now_us - began_us;
    }
    let report = host.disk.report();
    let mut report = serde_json::to_value(&report).map_err(|error| Failure::Wrong(format!("JSON: {error}")))?;
    let runs = f64::from(benchmark.runs.max(1));
    let phases_s: Vec<f64> = part_us[1..].iter().map(|&us| us as f64 / 1e6 / runs).collect();
    let run_s: f64 = phases_s.iter().sum();
    report["andrew"] = serde_json::json!({
        "phases_s": phases_s,
        "run_s": run_s,
        "flash_s": run_s - benchmark.host_s[1..].iter().sum::<f64>(),
        "used_percent": recording.used_percent,
    });
    Ok(Figures::of_report(&report))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::reproduce::experiment::Table;

    fn job(args: &str, more: &str) -> Job {
        let row = format!(
            "title = 't'\n[[row]]\nname = 'r'\nargs = '--chip kawaguchi-28f008sa {args}'\nseeds = [1]\n\
             [row.andrew]\nkeep = 2\nmkfs = '-b 4096'\nmount = 'dirsync'\nhost_s = [0.5, 1, 2, 3, 4, 5]\n{more}\n"
        );
        let table: Table = toml::from_str(&row).unwrap();
        Job::new(&Papers::folder(Path::new("/nowhere")), "r", &table.row[0], table.row[0].andrew.as_ref().unwrap())
            .unwrap()
    }

    /// Two runs, each of which removes nothing, writes 4 KiB in its first phase, and 8 KiB in its last.
    const SAID: &str = "mark 1 0 0\nmark 1 1 1\nmark 1 2 1\nmark 1 3 1\nmark 1 4 1\nmark 1 5 2\n\
        mark 2 0 2\nmark 2 1 3\nmark 2 2 3\nmark 2 3 3\nmark 2 4 3\nmark 2 5 5\nused 56.1\nrecording\n\
        clock_us,op,offset,length,stream\n1,W,0,4096,0\n2,W,4096,8192,0\n3,W,0,4096,0\n3,W,4096,8192,0\n4,F,0,0,0\n";

    #[test]
    fn a_run_takes_what_the_host_takes_and_what_the_chip_writes() {
        let figures = replay(&job("", "runs = 2"), &read(SAID.as_bytes(), &mut ()).unwrap()).unwrap();
        // 400 KiB/s; nothing is cleaned.
        let phases = [("make_s", 1.0 + 4.0 / 400.0), ("copy_s", 2.0), ("compile_s", 5.0 + 8.0 / 400.0)];
        let sums = [("flash_s", 12.0 / 400.0), ("run_s", 15.0 + 12.0 / 400.0), ("used_percent", 56.1)];
        for (name, expected) in phases.into_iter().chain(sums) {
            let found = figures.get(name).unwrap();
            assert!((found - expected).abs() < 1e-3, "{name}: {found}");
        }
    }

    #[test]
    fn rows_share_a_recording_unless_the_file_system_sees_a_difference() {
        let one = job("", "");
        assert!(one.shares_recording(&job("--which cost-benefit --when falling:12:30d", "")));
        assert!(!one.shares_recording(&job("--logical 13MiB", "")) && !one.shares_recording(&job("", "runs = 3")));
    }

    #[test]
    fn what_the_script_should_not_say_is_told() {
        for said in ["", "mark 1 0\n", "mark 1 0 x\n", "recording\nno header\n"] {
            assert!(read(said.as_bytes(), &mut ()).is_err(), "{said:?}");
        }
        let ended_early =
            read("mark 1 1 9\nrecording\nclock_us,op,offset,length,stream\n".as_bytes(), &mut ()).unwrap();
        assert!(replay(&job("", ""), &ended_early).is_err());
    }
}
