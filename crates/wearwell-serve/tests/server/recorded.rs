//! A served disk and a simulated one agree to the last erase: what was recorded is replayed by a run.

use std::io::Write;
use std::sync::{Arc, Mutex};

use wearwell::clean::which::Age;
use wearwell::{Placement, Rng, VictimPolicy};
use wearwell_emu::ChipProfile;
use wearwell_serve::disk::{Disk, DiskConfig, Report};
use wearwell_serve::server::ServerConfig;
use wearwell_sim::engine::{DataMode, Engine};
use wearwell_sim::run::{self, RunConfig};
use wearwell_sim::trace::{self, TraceFormat};
use wearwell_sim::workload::WorkloadSpec;

use crate::client::{Client, FLUSH, FUA, NO_HOLE, READ, TRIM, WRITE, WRITE_ZEROES};
use crate::running::{Running, small};

/// A file in memory.
#[derive(Clone, Default)]
pub(crate) struct Recording(Arc<Mutex<Vec<u8>>>);

impl Write for Recording {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Recording {
    pub(crate) fn text(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }

    /// Calls to clean.
    fn cleanings(&self) -> usize {
        self.0.lock().unwrap().windows(3).filter(|bytes| bytes == b",C,").count()
    }
}

/// Sends `count` requests of any size at any place in batches of `depth`, whatever is answered.
fn drive(running: &Running, export: &str, seed: u64, count: u32, depth: u32) {
    let mut client = Client::connect(&running.socket, export);
    let mut rng = Rng::new(seed);
    for _ in 0..count / depth {
        let sent: Vec<(u64, u32)> = (0..depth).map(|_| send(&mut client, &mut rng, running.bytes)).collect();
        for (cookie, length) in sent {
            client.reply(cookie, length).unwrap();
        }
    }
}

/// Sends a request; returns its cookie, and how many bytes it is answered with.
fn send(client: &mut Client, rng: &mut Rng, bytes: u64) -> (u64, u32) {
    let step = if rng.below(2) == 0 { 2048 } else { 1 };
    let length = (1 + rng.below(12_000)).div_ceil(step) * step;
    // Nine tenths of the requests go to a quarter of the disk.
    let range = if rng.below(10) == 0 { bytes } else { bytes / 4 };
    let starts = (range - u64::from(length)) / u64::from(step);
    let offset = u64::from(rng.below(starts as u32 + 1) * step);
    let durable = if rng.below(20) == 0 { FUA } else { 0 };
    match rng.below(16) {
        0..9 => {
            let data = vec![rng.below(256) as u8; length as usize];
            (client.send(durable, WRITE, offset, length, &data), 0)
        }
        9..12 => (client.send(0, READ, offset, length, b""), length),
        12 => (client.send(0, TRIM, offset, length, b""), 0),
        13 => (client.send(durable, WRITE_ZEROES, offset, length, b""), 0),
        14 => (client.send(NO_HOLE, WRITE_ZEROES, offset, length, b""), 0),
        _ => (client.send(0, FLUSH, 0, 0, b""), 0),
    }
}

/// What the run of a recording says that was made on a disk of this configuration.
pub(crate) fn replayed(config: &DiskConfig, recording: &[u8]) -> Report {
    let trace = trace::parse("recording", &mut &*recording).unwrap();
    assert_eq!(trace.format, TraceFormat::Recording);
    let mut run = RunConfig::new(config.engine.chip.clone(), WorkloadSpec::Trace("recording".into()));
    run.engine = config.engine.clone();
    run.data = DataMode::Stored;
    run::run(&run, Some(&trace), &mut ()).unwrap()
}

/// Serves the disk to clients, and compares what it says with what the replay of its recording says.
fn agrees(config: &DiskConfig, mut disk: Disk, connections: u64, depth: u32, cleans_when_idle: bool) {
    let recording = Recording::default();
    disk.record(Box::new(recording.clone())).unwrap();
    let running = Running::start(disk, ServerConfig { cleans_when_idle, ..ServerConfig::default() });
    for round in 0..4 {
        std::thread::scope(|scope| {
            for stream in 0..connections {
                let (running, seed, count) = (&running, 8 * round + stream, 1600 / connections as u32);
                scope.spawn(move || drive(running, &format!("@stream={stream}"), seed, count, depth));
            }
        });
        let cleanings = recording.cleanings();
        while cleans_when_idle && recording.cleanings() == cleanings {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    // While it may still clean: what is recorded later is not in these counters.
    let (served, rows) = running.engine.access().unwrap().report();
    let (ended, _) = running.stop();
    ended.unwrap();
    let recording = recording.text();
    let lines = recording.split_inclusive(|&byte| byte == b'\n').take(1 + rows.unwrap().unwrap() as usize);
    let recording: Vec<u8> = lines.flatten().copied().collect();
    let replayed = replayed(config, &recording);
    assert!(served.erases > 100 && served.copied_pages > 100, "{} erases", served.erases);
    assert_eq!(same(&served), same(&replayed));
}

/// What has to be the same: all but times and names. Nobody waited for the chip, so that there are no latencies.
pub(crate) fn same(report: &Report) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        (report.erases, report.copied_pages, report.map_digest.clone()),
        (report.host_pages, report.programmed_pages, report.counters, report.erase_count),
        (report.live_pages, report.bad, report.utilization, report.wa_total),
        (report.latency_us, report.write_us_per_page),
    )
}

fn with(change: impl FnOnce(&mut DiskConfig)) -> DiskConfig {
    let mut config = small();
    change(&mut config);
    config
}

fn timed(config: &mut DiskConfig) {
    config.engine.chip.times = ChipProfile::by_name("w25n01gv").unwrap().times;
}

#[test]
fn one_connection_without_idle_cleaning() {
    let config = small();
    agrees(&config, Disk::memory(&config).unwrap(), 1, 1, false);
}

#[test]
fn four_connections_with_idle_cleaning() {
    let config = small();
    agrees(&config, Disk::memory(&config).unwrap(), 4, 16, true);
}

#[test]
fn ages_come_from_the_recorded_clock() {
    let config = with(|config| {
        timed(config);
        config.engine.which = VictimPolicy::CostBenefit { age: Age::Invalidated };
        config.engine.place = Placement::SeparateGc;
    });
    agrees(&config, Disk::memory(&config).unwrap(), 4, 16, true);
}

#[test]
fn streams_and_block_mapping() {
    let by_stream = with(|config| config.engine.place = Placement::ByStream);
    agrees(&by_stream, Disk::memory(&by_stream).unwrap(), 4, 16, true);
    let log_block = with(|config| {
        timed(config);
        config.engine.ftl = Engine::LogBlock;
    });
    agrees(&log_block, Disk::memory(&log_block).unwrap(), 4, 16, true);
}

#[test]
fn an_image_that_was_just_made() {
    let folder = tempfile::tempdir().unwrap();
    for (name, config) in [("untimed", small()), ("timed", with(timed))] {
        let path = folder.path().join(name);
        drop(Disk::create(&path, &config).unwrap());
        let (disk, _) = Disk::open(&path).unwrap();
        agrees(&config, disk, 4, 16, true);
    }
}
