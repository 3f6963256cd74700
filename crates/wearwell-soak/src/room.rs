//! File systems that fill up under a served image, and have room again.
//!
//! While there is no room, writes end with ENOSPC and reads go on. With room again the disk mounts itself, as after a
//! power cut: what was flushed is there, the next flush says that other writes may be lost, and writes succeed again.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use wearwell_soak::client::Client;

use crate::Canary;
use crate::failure::Failure;
use crate::kills::ended;
use crate::kinds::{KINDS, Kind};
use crate::server::{Image, Serving};
use crate::writer::{Batch, Excuses, Writer};

/// Bytes of a file system: an image, and some more.
const ROOM: &str = "size=12m";
/// Batches after which a disk counts as one that needs no more room.
const MOST_BATCHES: u32 = 400;
/// The part of the fillings that must be met.
const LEAST_MET_PERCENT: u64 = 90;
/// The part of an image that must have blocks of the file system where no write needs others. Its server has had no
/// idle time in which to give back those that were erased.
const LEAST_THERE_PERCENT: u64 = 90;
/// The time that a disk has to find that there is room again.
const PATIENCE: Duration = Duration::from_secs(30);

/// A file system in memory. It is unmounted when dropped.
struct Small(PathBuf);

impl Small {
    /// None if this user may not mount one.
    fn mount(folder: PathBuf) -> Result<Option<Self>, Failure> {
        fs::create_dir(&folder)?;
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", ROOM, "wearwell-soak"]).arg(&folder).output();
        Ok(mounted.is_ok_and(|mounted| mounted.status.success()).then(|| Self(folder)))
    }

    /// Takes all room that is left.
    fn fill(&self) -> Result<(), Failure> {
        let mut hog = File::create(self.hog())?;
        while hog.write_all(&[1; 4096]).is_ok() {}
        Ok(())
    }

    fn empty(&self) -> Result<(), Failure> {
        Ok(fs::remove_file(self.hog())?)
    }

    fn hog(&self) -> PathBuf {
        self.0.join("hog")
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// A disk on a file system of its own.
struct Subject {
    // Fields are dropped in this order: the server ends before its file system goes.
    serving: Serving,
    image: Image,
    writer: Writer,
    room: Small,
}

/// Fills file systems `fillings` times, in turn under a disk of each kind. False if this user may not mount any.
pub(crate) fn run(
    program: &Path,
    folder: &Path,
    seed: u64,
    fillings: u64,
    canary: Option<Canary>,
) -> Result<bool, Failure> {
    // A NOR chip has all of its room from the start.
    let kinds: Vec<&Kind> = KINDS.iter().filter(|kind| !kind.is_nor).collect();
    let mut subjects = Vec::new();
    for (index, kind) in kinds.iter().enumerate() {
        let home = folder.join(format!("room-{index}"));
        fs::create_dir(&home)?;
        let Some(room) = Small::mount(home.join("small"))? else { return Ok(false) };
        let image = Image::create(program, &room.0, kind)?;
        let serving = image.serve()?;
        let (_, export) = Client::connect_informed(&serving.socket, "")?;
        let mut writer = Writer::new(seed ^ ((index as u64) << 32), export, &home)?;
        writer.connect(&serving)?;
        subjects.push(Subject { serving, image, writer, room });
    }
    let mut met = 0;
    for filling in 0..fillings as usize {
        let at = filling % kinds.len();
        let name = kinds[at].name;
        let is_met = subjects[at].fill_and_empty(canary).inspect_err(|_| eprintln!("filling {filling}, {name}"))?;
        met += u64::from(is_met);
    }
    if met * 100 < fillings * LEAST_MET_PERCENT {
        return Err(Failure::Nothing("file systems were full, and too few writes met it"));
    }
    for (kind, Subject { writer, .. }) in kinds.iter().zip(&subjects) {
        println!(
            "{:<26} {:>7} requests, {:>5} of them ENOSPC; {:>8} sectors compared",
            kind.name, writer.counts.requests, writer.counts.full, writer.counts.checked_sectors
        );
    }
    println!("{met} of {fillings} full file systems were met by a write");
    Ok(true)
}

impl Subject {
    /// False if no write needed room that was not there.
    fn fill_and_empty(&mut self, canary: Option<Canary>) -> Result<bool, Failure> {
        self.writer.excuses = Excuses::default();
        for _ in 0..self.writer.rng.below(24) {
            self.batch()?;
        }
        self.room.fill()?;
        self.writer.note("no room")?;
        self.writer.excuses.wears_out = true;
        let before = self.writer.counts.full;
        let mut batches = 0;
        while self.writer.counts.full == before && batches < MOST_BATCHES {
            self.batch()?;
            batches += 1;
        }
        let is_met = self.writer.counts.full > before;
        if !is_met && !self.has_most_of_its_room()? {
            return Err(Failure::Nothing("the file system was full, and no write met it"));
        }
        self.writer.check_all(false)?;
        if canary == Some(Canary::LostFlush) {
            self.writer.pretend_flushed(&Batch::default());
        }
        self.room.empty()?;
        self.writer.note("room again")?;
        self.wait_until_healthy()?;
        self.writer.check_all(true)?;
        // This flush may say that writes were lost, and no other.
        self.writer.excuses = Excuses { wears_out: false, loses_data: true };
        self.writer.flush()?;
        self.writer.excuses = Excuses::default();
        if self.writer.rng.below(4) == 0 {
            self.begin_anew()?;
        }
        Ok(is_met)
    }

    fn has_most_of_its_room(&self) -> Result<bool, Failure> {
        let image = fs::metadata(self.image.path())?;
        // These blocks have 512 bytes on every file system.
        Ok(image.blocks() * 512 * 100 >= image.len() * LEAST_THERE_PERCENT)
    }

    fn batch(&mut self) -> Result<(), Failure> {
        self.writer.run_batch().map_err(|failure| ended(failure, &mut self.serving))
    }

    fn wait_until_healthy(&self) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let stats: Value =
                serde_json::from_str(&self.image.ctl(&["stats", "--json"])?).map_err(std::io::Error::from)?;
            if stats["health"]["state"] == "healthy" {
                return Ok(());
            }
            sleep(Duration::from_millis(20));
        }
        Err(Failure::Nothing("there is room again, and the disk does not recover"))
    }

    /// The next server finds what the kill left, and nothing is wrong with its image.
    fn begin_anew(&mut self) -> Result<(), Failure> {
        self.serving.end()?;
        self.image.check()?;
        self.serving = self.image.serve()?;
        self.writer.connect(&self.serving)?;
        self.writer.check_all(true)
    }
}
