//! Runs the Andrew-like benchmark on a served disk.
//!
//! `andrew.sh` runs it on this machine's kernel, and records every request that reaches the served disk. This machine's
//! processor is some hundred times as fast as his, so all compiling of a run would be over before the first segment is
//! erased. So the recording is replayed on the same disk at the speed of his host. Each phase takes as long as it took
//! him in memory (the column MFS of the table), spread evenly over its requests, and each request waits for the chip.
//! The replay measures the time that the flash adds, and its erases and copies.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::{env, io};

use wearwell_serve::disk::{Disk, DiskConfig};
use wearwell_sim::{Op, Request, trace};

use crate::column::Figures;
use crate::experiment::{Benchmark, PARTS, Row};
use crate::source::Folder;
use crate::{CommandLine, PapersError, Watch};

const SCRIPT: &str = include_str!("andrew.sh");

/// The exit code of the script if this machine cannot run it.
const CANNOT: i32 = 77;

/// How long his cleaner sleeps when there is nothing to clean, while the host computes.
const LOOK_AGAIN_AFTER_US: u64 = 100_000;

/// Pages that cleaning moves at a time beside the host: FLIOCCCBLK copies 16 (table 2).
const STEP_PAGES: u32 = 16;

/// A row that is run on a served disk.
struct Job {
    config: DiskConfig,
    /// The same for the script.
    flags: String,
    bytes: u64,
    benchmark: Benchmark,
}

/// The recording of the script.
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

/// Checks that this machine can run the benchmark, before anything is run.
///
/// # Errors
/// What is missing.
pub(super) fn check() -> Result<(), PapersError> {
    let checked = script()?.arg("check").output().map_err(|error| not_started(&error))?;
    if checked.status.success() { Ok(()) } else { Err(refused(&String::from_utf8_lossy(&checked.stderr))) }
}

fn refused(why: &str) -> PapersError {
    PapersError::Refused(format!("--guests: {}", why.trim()))
}

fn not_started(error: &io::Error) -> PapersError {
    PapersError::Wrong(format!("sh: {error}"))
}

fn script() -> Result<Command, PapersError> {
    let program =
        env::current_exe().map_err(|error| PapersError::Wrong(format!("this program's own path: {error}")))?;
    let mut sh = Command::new("sh");
    sh.args(["-c", SCRIPT, "andrew"]).env("wearwell", program).env("LC_ALL", "C").stdin(Stdio::null());
    Ok(sh)
}

impl Job {
    /// Reads a row's arguments.
    fn new(
        folder: &Folder,
        commands: &dyn CommandLine,
        table: &str,
        row: &Row,
        seed: u64,
    ) -> Result<Self, PapersError> {
        let name = format!("{table}: {}", row.name);
        let refused = |why: String| PapersError::Refused(format!("{name}: {why}"));
        let (Some(args), Some(benchmark)) = (&row.args, &row.andrew) else {
            return Err(refused("it is no benchmark".to_owned()));
        };
        let mut words = folder.words(args);
        words.extend(["--seed".to_owned(), seed.to_string()]);
        let engine = commands.engine(&words).map_err(refused)?;
        let config = DiskConfig { engine: engine.clone(), ..DiskConfig::new(engine.chip) };
        // This disk is made for its size alone.
        let bytes = Disk::memory(&config).map_err(|error| refused(error.to_string()))?.bytes();
        let flags = format!("--memory {}", words.join(" "));
        Ok(Self { config, flags, bytes, benchmark: benchmark.clone() })
    }

    /// True if the file system sends the same requests to both disks.
    fn shares_recording(&self, other: &Self) -> bool {
        let of = |job: &Self| (job.bytes, job.benchmark.clone().on_no_host());
        of(self) == of(other)
    }
}

impl Benchmark {
    /// The job without the settings that only change the host's time.
    fn on_no_host(self) -> Self {
        Self { host_s: [0.0; PARTS], ..self }
    }
}

/// Runs the benchmark of each row.
///
/// # Errors
/// Arguments that `wearwell serve` would refuse.
pub(super) fn measure(
    rows: &[(String, &Row)],
    folder: &Folder,
    commands: &dyn CommandLine,
    seed: u64,
    watch: &dyn Watch,
) -> Result<Vec<Result<Figures, String>>, PapersError> {
    let job = |(name, row): &(String, &Row)| Job::new(folder, commands, name, row, seed);
    let jobs: Vec<Job> = rows.iter().map(job).collect::<Result<_, _>>()?;
    watch.begin("benchmarks on a served disk", jobs.len());
    Ok(run(&jobs, watch))
}

/// Runs the benchmark once for all rows that share its requests, and replays the requests for each row.
fn run(jobs: &[Job], watch: &dyn Watch) -> Vec<Result<Figures, String>> {
    let mut recordings: Vec<(usize, Result<Recording, String>)> = Vec::new();
    let told = |error: PapersError| error.to_string();
    let mut figures = Vec::with_capacity(jobs.len());
    for (at, job) in jobs.iter().enumerate() {
        let known = recordings.iter().position(|&(of, _)| jobs[of].shares_recording(job));
        let known = known.unwrap_or_else(|| {
            recordings.push((at, record(job).map_err(told)));
            recordings.len() - 1
        });
        let recording = recordings[known].1.as_ref().map_err(Clone::clone);
        figures.push(recording.and_then(|recording| replay(job, recording).map_err(told)));
        watch.done();
    }
    figures
}

/// Runs the script.
fn record(job: &Job) -> Result<Recording, PapersError> {
    let Benchmark { keep, runs, mkfs, mount, .. } = &job.benchmark;
    let mut command = script()?;
    command.args([&runs.to_string(), &keep.to_string(), mkfs, mount, &job.flags]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| not_started(&error))?;
    // If reading fails, the pipe closes here and the script cleans up.
    let recording = child.stdout.take().ok_or_else(|| not_understood("")).and_then(read);
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        // Output that cannot be read is left out of the message.
        let _ = stderr.read_to_string(&mut said);
    }
    let status = child.wait().map_err(|error| not_started(&error))?;
    match status.code() {
        Some(0) => recording,
        Some(CANNOT) => Err(refused(&said)),
        _ => Err(PapersError::Wrong(format!("the benchmark ended with {status}: {}", said.trim()))),
    }
}

fn not_understood(line: &str) -> PapersError {
    PapersError::Wrong(format!("the benchmark said what is not understood: '{}'", line.trim()))
}

/// Reads the output of the script: the marks, then the recording.
fn read(out: impl Read + Send) -> Result<Recording, PapersError> {
    let mut out = BufReader::new(out);
    let (mut marks, mut used_percent) = (Vec::new(), f64::NAN);
    loop {
        let mut line = String::new();
        out.read_line(&mut line).map_err(|error| not_understood(&error.to_string()))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["mark", _, part, calls] => {
                let number = |word: &str| word.parse::<usize>().map_err(|_| not_understood(&line));
                marks.push(Mark { part: number(part)?.min(PARTS - 1), calls: number(calls)? });
            }
            ["used", percent] => used_percent = percent.parse().map_err(|_| not_understood(&line))?,
            ["recording"] => break,
            _ => return Err(not_understood(&line)),
        }
    }
    let recording = trace::parse("the served disk's recording", &mut out);
    let calls = recording.map_err(|error| PapersError::Wrong(error.to_string()))?.requests;
    Ok(Recording { calls, marks, used_percent })
}

/// A host with its own time.
struct Host {
    disk: Disk,
    now_us: u64,
    zeros: Vec<u8>,
}

impl Host {
    /// Computes for `us` microseconds, while his daemon cleans.
    fn compute(&mut self, us: u64) -> Result<(), PapersError> {
        let until_us = self.now_us + us;
        while self.now_us < until_us {
            self.disk.set_time_us(self.now_us);
            let goes_on = self.disk.clean(STEP_PAGES)?;
            let done_us = self.disk.sim_us() as u64;
            // At least a microsecond passes, so that the loop ends on a chip without times as well.
            let next_us = if goes_on { done_us.max(self.now_us + 1) } else { self.now_us + LOOK_AGAIN_AFTER_US };
            self.now_us = next_us.min(until_us);
        }
        Ok(())
    }

    /// Issues a call and waits for the chip.
    fn call(&mut self, call: &Request) -> Result<(), PapersError> {
        self.disk.set_time_us(self.now_us);
        let (offset, bytes) = (call.offset_bytes, call.length_bytes);
        if self.zeros.len() < bytes as usize && matches!(call.op, Op::Read | Op::Write) {
            self.zeros.resize(bytes as usize, 0);
        }
        let done = match call.op {
            Op::Read => self.disk.read(offset, &mut self.zeros[..bytes as usize]),
            Op::Write => self.disk.write(offset, &self.zeros[..bytes as usize], call.stream),
            Op::Discard => self.disk.discard(offset, bytes),
            Op::WriteZeroes => self.disk.write_zeroes(offset, bytes, call.stream, false),
            Op::Flush => self.disk.flush(),
            // A recording of a new disk without idle cleaning has none of these.
            Op::Clean | Op::EndSegment | Op::Mount => Ok(()),
        };
        done?;
        self.now_us = self.now_us.max(self.disk.sim_us() as u64);
        Ok(())
    }
}

/// Replays a recording at the speed of the row's host.
fn replay(job: &Job, recording: &Recording) -> Result<Figures, PapersError> {
    let benchmark = &job.benchmark;
    let disk = Disk::memory(&job.config)?;
    let mut host = Host { disk, now_us: 0, zeros: Vec::new() };
    let mut part_us = [0; PARTS];
    let mut begin = 0;
    for mark in &recording.marks {
        let calls = recording.calls.get(begin..mark.calls).ok_or_else(|| {
            PapersError::Wrong(format!("the recording ends at call {}, before {}", recording.calls.len(), mark.calls))
        })?;
        begin = mark.calls;
        let began_us = host.now_us;
        // A pause before each call, and one behind the last.
        let pause_us = (benchmark.host_s[mark.part] * 1e6 / (calls.len() + 1) as f64) as u64;
        for call in calls {
            host.compute(pause_us)?;
            host.call(call)?;
        }
        host.compute(pause_us)?;
        part_us[mark.part] += host.now_us - began_us;
    }
    let report = host.disk.report();
    let mut report = serde_json::to_value(&report).map_err(|error| PapersError::Wrong(format!("JSON: {error}")))?;
    let runs = f64::from(benchmark.runs.max(1));
    // The first part removes the oldest run, which is no phase of Andrew's.
    let phases_s: Vec<f64> = part_us[1..].iter().map(|&us| us as f64 / 1e6 / runs).collect();
    let run_s: f64 = phases_s.iter().sum();
    let life_days = life_days(&job.config, &report, run_s * runs);
    report["andrew"] = serde_json::json!({
        "phases_s": phases_s,
        "run_s": run_s,
        "flash_s": run_s - benchmark.host_s[1..].iter().sum::<f64>(),
        "used_percent": recording.used_percent,
        "life_days": life_days,
    });
    Ok(Figures::of_report(&report))
}

/// Days that the segments last under the load of the benchmark, from the erases of all runs, `load_s` seconds long.
fn life_days(config: &DiskConfig, report: &serde_json::Value, load_s: f64) -> Option<f64> {
    let chip = &config.engine.chip;
    let all = f64::from(chip.blocks) * f64::from(chip.endurance_cycles);
    Some(all / report["erases"].as_f64().filter(|erases| *erases > 0.0)? * load_s / 86_400.0)
}

#[cfg(test)]
mod tests {
    use wearwell_emu::ChipProfile;
    use wearwell_sim::engine::EngineSpec;

    use super::*;
    use crate::column::Column;

    fn job(which: &str, more: &str) -> Job {
        let benchmark =
            format!("keep = 2\nmkfs = '-b 4096'\nmount = 'dirsync'\nhost_s = [0.5, 1, 2, 3, 4, 5]\n{more}\n");
        let engine = EngineSpec::new(ChipProfile::resolve("kawaguchi-28f008sa").unwrap());
        let config = DiskConfig { engine: engine.clone(), ..DiskConfig::new(engine.chip) };
        let bytes = Disk::memory(&config).unwrap().bytes();
        Job { config, flags: which.to_owned(), bytes, benchmark: toml::from_str(&benchmark).unwrap() }
    }

    /// Two runs, each of which removes nothing, writes 4 KiB in its first phase, and 8 KiB in its last.
    const SAID: &str = "mark 1 0 0\nmark 1 1 1\nmark 1 2 1\nmark 1 3 1\nmark 1 4 1\nmark 1 5 2\n\
        mark 2 0 2\nmark 2 1 3\nmark 2 2 3\nmark 2 3 3\nmark 2 4 3\nmark 2 5 5\nused 56.1\nrecording\n\
        clock_us,op,offset,length,stream\n1,W,0,4096,0\n2,W,4096,8192,0\n3,W,0,4096,0\n3,W,4096,8192,0\n4,F,0,0,0\n";

    #[test]
    fn a_run_takes_what_the_host_takes_and_what_the_chip_writes() {
        let figures = replay(&job("", "runs = 2"), &read(SAID.as_bytes()).unwrap()).unwrap();
        // 400 KiB/s; nothing is cleaned.
        let phases = [("make_s", 1.0 + 4.0 / 400.0), ("copy_s", 2.0), ("compile_s", 5.0 + 8.0 / 400.0)];
        let sums = [("flash_s", 12.0 / 400.0), ("run_s", 15.0 + 12.0 / 400.0), ("used_percent", 56.1)];
        for (name, expected) in phases.into_iter().chain(sums) {
            let found = figures.get(Column::named(name).unwrap()).unwrap();
            assert!((found - expected).abs() < 1e-3, "{name}: {found}");
        }
    }

    #[test]
    fn rows_share_a_recording_unless_the_file_system_sees_a_difference() {
        let one = job("", "");
        assert!(one.shares_recording(&job("--which cost-benefit", "")));
        let smaller = Job { bytes: one.bytes / 2, ..job("", "") };
        assert!(!one.shares_recording(&smaller) && !one.shares_recording(&job("", "runs = 3")));
    }

    #[test]
    fn what_the_script_should_not_say_is_told() {
        for said in ["", "mark 1 0\n", "mark 1 0 x\n", "recording\nno header\n"] {
            assert!(read(said.as_bytes()).is_err(), "{said:?}");
        }
        let ended_early = read("mark 1 1 9\nrecording\nclock_us,op,offset,length,stream\n".as_bytes()).unwrap();
        assert!(replay(&job("", ""), &ended_early).is_err());
    }
}
