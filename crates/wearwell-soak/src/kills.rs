//! Kills servers, and checks what the next one finds.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use wearwell_soak::client::Client;

use crate::Canary;
use crate::failure::Failure;
use crate::kinds::{KINDS, Kind};
use crate::server::{Image, Serving};
use crate::writer::Writer;

/// Cycles of a disk between two runs of `wearwell check` on its image.
const CHECKED_EVERY: u64 = 8;

/// A disk and what it may hold.
struct Subject {
    image: Image,
    writer: Writer,
    /// Orderly stops, which do not count as kills.
    stops: u64,
    cycles: u64,
    /// Kills in which the connections were of NVMe/TCP.
    nvme_kills: u64,
}

/// Kills servers `kills` times, in turn on a disk of each kind.
pub(crate) fn run(program: &Path, folder: &Path, seed: u64, kills: u64, canary: Option<Canary>) -> Result<(), Failure> {
    let mut subjects = Vec::new();
    for (index, kind) in KINDS.iter().enumerate() {
        subjects.push(subject(program, &folder.join(format!("kills-{index}")), kind, seed ^ ((index as u64) << 32))?);
    }
    let (mut turn, mut killed) = (0, 0);
    while killed < kills {
        let (kind, subject) = (&KINDS[turn % KINDS.len()], &mut subjects[turn % KINDS.len()]);
        match subject.cycle(canary) {
            Ok(was_killed) => killed += u64::from(was_killed),
            Err(failure) => {
                eprintln!("turn {turn}, {}: {}", kind.name, subject.image.path().display());
                return Err(failure);
            }
        }
        turn += 1;
    }
    for (kind, subject) in KINDS.iter().zip(&subjects) {
        let counts = subject.writer.counts;
        println!(
            "{:<26} {:>4} kills, {:>4} of them over NVMe/TCP, {:>3} stops; {:>7} requests, {:>5} of them cut off, \
             {:>5} flushes; {:>8} sectors compared",
            kind.name,
            subject.cycles - subject.stops,
            subject.nvme_kills,
            subject.stops,
            counts.requests,
            counts.unanswered,
            counts.flushes,
            counts.checked_sectors
        );
    }
    Ok(())
}

fn subject(program: &Path, folder: &Path, kind: &Kind, seed: u64) -> Result<Subject, Failure> {
    std::fs::create_dir(folder)?;
    let image = Image::create(program, folder, kind)?;
    // Only to learn the size of the disk.
    let serving = image.serve()?;
    let (_, export) = Client::connect_informed(&serving.socket, "")?;
    serving.stop(&[0])?;
    let mut writer = Writer::new(seed, export, folder)?;
    writer.cuts_sectors = true;
    Ok(Subject { image, writer, stops: 0, cycles: 0, nvme_kills: 0 })
}

impl Subject {
    /// Serves the disk, compares all of it, writes, and ends the server by a kill or an orderly stop.
    fn cycle(&mut self, canary: Option<Canary>) -> Result<bool, Failure> {
        self.cycles += 1;
        let stops = self.stops;
        let mut serving = self.image.serve()?;
        self.writer.connect(&serving)?;
        self.writer.check_all(true)?;
        if canary == Some(Canary::FlippedBit) {
            self.writer.flips_in = 10;
        }
        for _ in 0..1 + self.writer.rng.below(24) {
            self.writer.run_batch().map_err(|failure| ended(failure, &mut serving))?;
        }
        match self.writer.rng.below(16) {
            _ if canary == Some(Canary::LostFlush) => self.loses_a_flush(serving)?,
            0 => {
                serving.stop(&[0])?;
                self.writer.was_shut_down();
                self.stops += 1;
            }
            1 | 2 => {
                self.pause_ms(12, 40);
                serving.kill()?;
            }
            _ => self.kill_in_a_batch(serving)?,
        }
        self.writer.note("ended")?;
        if self.writer.rng.below(4) == 0 {
            self.kill_in_a_mount()?;
        }
        if self.cycles.is_multiple_of(CHECKED_EVERY) {
            self.image.check()?;
        }
        let was_killed = stops == self.stops;
        self.nvme_kills += u64::from(was_killed && self.writer.is_over_nvme());
        Ok(was_killed)
    }

    /// Kills in the middle of requests. The exact moment is the only thing that the seed does not determine.
    fn kill_in_a_batch(&mut self, serving: Serving) -> Result<(), Failure> {
        let wait_us = [50, 400, 3000][self.writer.rng.below(3) as usize];
        let wait_us = self.writer.rng.below(wait_us);
        let batch = self.writer.send_batch()?;
        sleep(Duration::from_micros(u64::from(wait_us)));
        serving.kill()?;
        // Replies that were sent before the kill are still in the socket, and the disk has to keep what they say.
        self.writer.answers(batch, true)
    }

    /// Idle cleaning runs during the pause.
    fn pause_ms(&mut self, least: u32, below: u32) {
        sleep(Duration::from_millis(u64::from(least + self.writer.rng.below(below - least))));
    }

    /// Kills the next server, which may still be recovering from the last kill.
    fn kill_in_a_mount(&mut self) -> Result<(), Failure> {
        let wait_us = self.writer.rng.below(12_000);
        let serving = self.image.begin_to_serve()?;
        sleep(Duration::from_micros(u64::from(wait_us)));
        serving.kill()
    }

    /// The canary: counts a flush that the server has never received.
    fn loses_a_flush(&mut self, serving: Serving) -> Result<(), Failure> {
        // A frozen server asks for no data.
        let mut batch = self.writer.send_batch()?;
        serving.freeze()?;
        self.writer.send_flush(&mut batch)?;
        serving.kill()?;
        self.writer.pretend_flushed(&batch);
        Ok(())
    }
}

/// Reports a connection that broke because the server ended as the end of the server.
pub(crate) fn ended(failure: Failure, serving: &mut Serving) -> Failure {
    match serving.ended() {
        Some(status) if matches!(failure, Failure::System(_)) => Failure::Ended { status, when: "while it served" },
        _ => failure,
    }
}
