//! Faults of the chip while the disk is served.
//!
//! A disk goes through stages with different faults. Reads are compared all the time, and the whole disk at the end of
//! a stage. Failing programs and erases, and bits that a code corrects, must not be visible until no good block is
//! left. Then writes end with ENOSPC, and everything can still be read. Last come bit errors that no code corrects:
//! lost data must be an error and nothing else.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use wearwell::Rng;
use wearwell_soak::client::Client;

use crate::Canary;
use crate::failure::Failure;
use crate::kills::ended;
use crate::kinds::{KINDS, Kind};
use crate::server::{Image, Serving};
use crate::writer::{Excuses, Writer};

/// Stages of a disk in which nothing may be lost.
const SAFE_STAGES: u32 = 8;
/// Later stages in which the chip may lose data.
const LOSSY_STAGES: u32 = 3;

/// Counts for the disks of a kind.
#[derive(Debug, Default)]
struct Tally {
    disks: u64,
    /// Disks whose chip took no more writes.
    worn: u64,
    requests: u64,
    checked_sectors: u64,
    retired_segments: u64,
    /// Requests that were answered with EIO.
    lost: u64,
}

/// Whether a disk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    GoesOn,
    IsWorn,
}

/// Injects faults for `seconds`, in turn on new disks of each kind.
pub(crate) fn run(
    program: &Path,
    folder: &Path,
    seed: u64,
    seconds: u64,
    canary: Option<Canary>,
) -> Result<(), Failure> {
    // The first disk is run to its end, however slow the machine is.
    let (end, mut until) = (Instant::now() + Duration::from_secs(seconds), None);
    let mut tallies: Vec<Tally> = KINDS.iter().map(|_| Tally::default()).collect();
    let mut life: u32 = 0;
    while until.is_none_or(|until| Instant::now() < until) {
        let index = life as usize % KINDS.len();
        let home = folder.join(format!("faults-{index}"));
        std::fs::create_dir_all(&home)?;
        // The highest bit keeps these disks apart from those of the kills.
        let seed = seed ^ (u64::from(life) << 32) ^ (1 << 63);
        live(program, &home, &KINDS[index], seed, until, &mut tallies[index], canary)
            .inspect_err(|_| eprintln!("disk {life}, {}: {}", KINDS[index].name, home.display()))?;
        life += 1;
        until = Some(end);
    }
    for (kind, tally) in KINDS.iter().zip(&tallies) {
        println!(
            "{:<26} {:>4} disks, {:>3} worn out, {:>5} segments retired; {:>7} requests, {:>5} of them EIO; {:>8} \
             sectors compared",
            kind.name,
            tally.disks,
            tally.worn,
            tally.retired_segments,
            tally.requests,
            tally.lost,
            tally.checked_sectors
        );
    }
    let sum = |part: fn(&Tally) -> u64| tallies.iter().map(part).sum::<u64>();
    if sum(|tally| tally.retired_segments) == 0 || sum(|tally| tally.lost) == 0 {
        return Err(Failure::Nothing("no segment failed, or no data was lost: the faults showed nothing"));
    }
    Ok(())
}

/// The life of a disk.
fn live(
    program: &Path,
    folder: &Path,
    kind: &Kind,
    seed: u64,
    until: Option<Instant>,
    tally: &mut Tally,
    canary: Option<Canary>,
) -> Result<(), Failure> {
    let image = Image::create(program, folder, kind)?;
    let mut serving = image.serve()?;
    let (_, export) = Client::connect_informed(&serving.socket, "")?;
    let mut writer = Writer::new(seed, export, folder)?;
    writer.connect(&serving)?;
    tally.disks += 1;
    let last = if kind.is_nor { SAFE_STAGES } else { SAFE_STAGES + LOSSY_STAGES };
    // A short run then covers both kinds of stages.
    let first = if !kind.is_nor && tally.disks.is_multiple_of(2) { SAFE_STAGES } else { 0 };
    for stage in first..last {
        let is_lossy = stage >= SAFE_STAGES;
        writer.excuses = Excuses { wears_out: true, loses_data: is_lossy && canary != Some(Canary::LostData) };
        let faults = if is_lossy { lossy(&mut writer.rng) } else { safe(&mut writer.rng, kind) };
        writer.note(&faults.join(" "))?;
        image.ctl(&faults.iter().map(String::as_str).collect::<Vec<_>>())?;
        let fate = write(&mut writer).map_err(|failure| ended(failure, &mut serving))?;
        writer.check_all(false).map_err(|failure| ended(failure, &mut serving))?;
        serving = end_of_stage(&image, serving, &mut writer, tally)?;
        if fate == Fate::IsWorn {
            tally.worn += 1;
            break;
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
    }
    count_retired(&image, tally)?;
    tally.requests += writer.counts.requests;
    tally.checked_sectors += writer.counts.checked_sectors;
    tally.lost += writer.counts.lost;
    serving.kill()
}

/// Programs and erases that fail, and bit errors that a code corrects and cleaning moves in time.
fn safe(rng: &mut Rng, kind: &Kind) -> Vec<String> {
    let mut rate = |rates: [&str; 4]| rates[rng.below(4) as usize].to_owned();
    let erase = rate(["0", "0.001", "0.003", "0.01"]);
    // A page of NOR takes six programs, and is smaller.
    let program = if kind.is_nor { ["0", "0.00001", "0.00003", "0.0001"] } else { ["0", "0.0001", "0.0003", "0.001"] };
    let program = rate(program);
    let mut faults = fault(rng);
    faults.extend(["--program".to_owned(), program, "--erase".to_owned(), erase]);
    if !kind.is_nor && rng.below(2) == 0 {
        faults.extend(["--bits-per-read".to_owned(), "0.002".to_owned()]);
    }
    faults
}

/// Bit errors that no code corrects, in some pages.
fn lossy(rng: &mut Rng) -> Vec<String> {
    // The chip's code corrects eight bits. So 2, 10 or 50 % of the pages have one too many.
    let bits = ["8.02", "8.1", "8.5"][rng.below(3) as usize];
    let mut faults = fault(rng);
    faults.extend(["--bits".to_owned(), bits.to_owned()]);
    faults
}

fn fault(rng: &mut Rng) -> Vec<String> {
    vec!["fault".to_owned(), "--seed".to_owned(), rng.next_u64().to_string()]
}

/// Writes and reads for a stage, or until the chip takes no more writes.
fn write(writer: &mut Writer) -> Result<Fate, Failure> {
    for _ in 0..10 + writer.rng.below(60) {
        writer.run_batch()?;
        if writer.counts.full > 0 {
            return Ok(Fate::IsWorn);
        }
        if writer.rng.below(16) == 0 {
            // Idle cleaning moves what fades.
            sleep(Duration::from_millis(15));
        }
    }
    Ok(Fate::GoesOn)
}

/// Counts what the chip did since the server began.
fn count_retired(image: &Image, tally: &mut Tally) -> Result<(), Failure> {
    let stats = image.ctl(&["stats", "--json"])?;
    let stats: Value = serde_json::from_str(&stats).map_err(std::io::Error::from)?;
    tally.retired_segments += stats["retired_segments"].as_u64().unwrap_or(0);
    Ok(())
}

/// Counts what the chip did. Some servers are then stopped or killed, so that the next one mounts what the faults left.
fn end_of_stage(image: &Image, serving: Serving, writer: &mut Writer, tally: &mut Tally) -> Result<Serving, Failure> {
    let ending = writer.rng.below(6);
    if ending > 1 {
        return Ok(serving);
    }
    // Before the server ends: its counters end with it.
    count_retired(image, tally)?;
    if ending == 0 && writer.counts.full == 0 {
        writer.flush()?;
    }
    // A disk whose chip takes no more writes cannot be shut down either.
    if ending == 0 && writer.counts.full == 0 && writer.counts.lost == 0 {
        serving.stop(&[0, 1])?;
        writer.was_shut_down();
    } else {
        serving.kill()?;
        writer.note("killed")?;
    }
    let serving = image.serve()?;
    writer.connect(&serving)?;
    writer.check_all(true)?;
    Ok(serving)
}
