//! The streams of `docs/src/design/peers.md` on a disk whose map is on flash, in 16 KiB of memory. Run with
//! `cargo run --release -p wearwell --example paged_peers -- SEED [ENTRIES [POLICIES]]`, with the policies as in
//! `greedy,separate-gc`.
//!
//! 1,024 blocks of 64 pages of 2 KiB. Each page is written once in order, and two for each at random: these writes are
//! not counted. Without the first of them, most of the disk would be empty where nine tenths of the writes go to a
//! tenth of the pages. `docs/src/design/peers/dhara.c` runs the same streams on Dhara, and is changed with this.

use wearwell::page::log::MapLog;
use wearwell::paged::place::{ByHandle, StreamPlacement};
use wearwell::paged::which::{Cat, Greedy, Lfs, VictimWorth};
use wearwell::{BlockDevice, Lpn, PagedConfig, PagedFtl, RamNand, Rng, WriteHint};

#[path = "paged_curve/chip.rs"]
mod chip;

use chip::{Chip, GEOMETRY, spread};

type Error = Box<dyn std::error::Error>;

/// As many as make a disk in 16 KiB on a processor of 32 bits: what is measured without another number of entries.
const CACHE_ENTRIES: u32 = 279;
/// 80 % and 90 % of what Dhara offers on this chip.
const PAGES: [u32; 2] = [38_259, 43_041];
const WRITES: u32 = 400_000;
const READS: u32 = 50_000;
const CUTS: u32 = 200;
const HOT_WRITES: u32 = 2_000_000;
const BETWEEN_CUTS: u32 = 10_000;

/// A disk under a stream of writes.
struct Disk<V, W> {
    ftl: PagedFtl<Chip, V, W>,
    config: PagedConfig<V, W>,
    rng: Rng,
    is_hot: bool,
}

impl<V: VictimWorth, W: StreamPlacement> Disk<V, W> {
    /// A formatted chip, with each page written once.
    fn new(config: PagedConfig<V, W>, is_hot: bool, seed: u64) -> Result<Self, Error> {
        let log = MapLog::with_map(Chip::new(RamNand::new(GEOMETRY)), 1)?;
        let ftl = PagedFtl::format(log, config)?;
        let mut disk = Self { ftl, config, rng: Rng::new(seed), is_hot };
        disk.fill()?;
        Ok(disk)
    }

    /// Writes each page in order.
    fn fill(&mut self) -> Result<(), Error> {
        for page in 0..self.config.logical_pages {
            self.ftl.write_page(Lpn(page), &[0; 2048], WriteHint::NONE)?;
        }
        Ok(())
    }

    /// Reads, programs and erases so far.
    fn ops(&self) -> [u64; 3] {
        let chip = self.ftl.log().chip();
        [chip.reads, chip.programs, chip.erases]
    }

    /// The next page, and what the host says of it: for which placement that matters, it names the hot tenth.
    fn page(&mut self) -> (Lpn, WriteHint) {
        let pages = self.config.logical_pages;
        let is_hot = self.is_hot && self.rng.below(10) > 0;
        let page = self.rng.below(if is_hot { pages / 10 } else { pages });
        (Lpn(page), WriteHint::stream(u16::from(self.is_hot && page < pages / 10)))
    }

    /// Writes so many pages. Returns the most operations of a call.
    fn write(&mut self, writes: u32, flushes: bool) -> Result<u64, Error> {
        let mut most = 0;
        for _ in 0..writes {
            let (before, (page, hint)): (u64, _) = (self.ops().iter().sum(), self.page());
            self.ftl.write_page(page, &[0; 2048], hint)?;
            if flushes {
                self.ftl.flush()?;
            }
            most = most.max(self.ops().iter().sum::<u64>() - before);
        }
        Ok(most)
    }

    /// Programs a write, and most operations of a call.
    fn cost(&mut self, flushes: bool) -> Result<(f64, u64), Error> {
        self.write(2 * self.config.logical_pages, flushes)?;
        let before = self.ops()[1];
        let most = self.write(WRITES, flushes)?;
        Ok(((self.ops()[1] - before) as f64 / f64::from(WRITES), most))
    }

    /// Reads a read.
    fn reads(&mut self, in_order: bool) -> Result<f64, Error> {
        let (before, mut page) = (self.ops()[0], [0; 2048]);
        for index in 0..READS {
            let lpn =
                if in_order { index % self.config.logical_pages } else { self.rng.below(self.config.logical_pages) };
            self.ftl.read_page(Lpn(lpn), &mut page)?;
        }
        Ok((self.ops()[0] - before) as f64 / f64::from(READS))
    }

    /// Turns the power off and on. Returns the reads of the mount.
    fn mount(self) -> Result<(Self, u64), Error> {
        let before = self.ops()[0];
        let Self { ftl, config, rng, is_hot } = self;
        let (ftl, _) = PagedFtl::mount(ftl.into_log(), config)?;
        let disk = Self { ftl, config, rng, is_hot };
        let reads = disk.ops()[0] - before;
        Ok((disk, reads))
    }
}

fn measure<V: VictimWorth, W: StreamPlacement>(config: PagedConfig<V, W>, seed: u64) -> Result<(), Error> {
    let (logical_pages, cache_entries) = (config.logical_pages, config.cache_entries);
    println!("\n{logical_pages} pages, {cache_entries} entries, seed {seed}\n\n| | |\n| --- | --- |");
    let mut disk = Disk::new(config, false, seed)?;
    let (programs, most) = disk.cost(false)?;
    println!("| programs a write, random | {programs:.2} |\n| operations of one write, at most | {most} |");
    println!("| reads a read, random and in order | {:.2}, {:.2} |", disk.reads(false)?, disk.reads(true)?);
    let mut worst = 0;
    for _ in 0..CUTS {
        let writes = disk.rng.below(500);
        disk.write(writes, false)?;
        let reads;
        (disk, reads) = disk.mount()?;
        worst = worst.max(reads);
    }
    disk.ftl.shutdown()?;
    let (mut disk, clean) = disk.mount()?;
    println!("| reads of a mount: clean; the worst of {CUTS} behind cuts | {clean}; {worst} |");
    let before = disk.ops();
    for _ in 0..CUTS {
        disk.write(1, true)?;
        (disk, _) = disk.mount()?;
    }
    let of_session = |index: usize| (disk.ops()[index] - before[index]) as f64 / f64::from(CUTS);
    println!("| programs and erases of a session of one page | {:.1}, {:.2} |", of_session(1), of_session(2));
    let mut disk = Disk::new(config, false, seed)?;
    disk.fill()?;
    let before: u64 = disk.ops().iter().sum();
    disk.ftl.flush()?;
    let flush = disk.ops().iter().sum::<u64>() - before;
    println!("| operations of a flush behind a second write of each page, in order | {flush} |");
    let (programs, most) = Disk::new(config, false, seed)?.cost(true)?;
    println!("| programs a write, synced after each | {programs:.2}, at most {most} operations |");
    let mut disk = Disk::new(config, true, seed)?;
    let (programs, most) = disk.cost(false)?;
    println!("| programs a write, nine tenths to a tenth | {programs:.2}, at most {most} operations |");
    let before = disk.ops()[1];
    let most = disk.write(HOT_WRITES, false)?;
    let programs = (disk.ops()[1] - before) as f64 / f64::from(HOT_WRITES);
    println!("| the same, {HOT_WRITES} more of them | {programs:.2}, at most {most} operations |");
    println!("| erases differ by then | {} |", spread(&disk.ftl));
    let before = disk.ops()[1];
    for _ in 0..WRITES / BETWEEN_CUTS {
        disk.write(BETWEEN_CUTS, false)?;
        (disk, _) = disk.mount()?;
    }
    let programs = (disk.ops()[1] - before) as f64 / f64::from(WRITES);
    println!("| the same, a cut and a mount behind each {BETWEEN_CUTS} writes | {programs:.2} |");
    Ok(())
}

fn main() -> Result<(), Error> {
    let number = |index, otherwise| std::env::args().nth(index).map_or(Ok(otherwise), |arg| arg.parse());
    let (seed, cache_entries) = (number(1, 1)?.into(), number(2, CACHE_ENTRIES)?);
    let policies = std::env::args().nth(3);
    for pages in PAGES {
        let config = PagedConfig::new(pages, cache_entries);
        match policies.as_deref() {
            None => measure(config, seed)?,
            Some("greedy,separate-gc") => measure(config.which(Greedy), seed)?,
            Some("lfs,separate-gc") => measure(config.which(Lfs), seed)?,
            Some("cat,separate-gc") => measure(config.which(Cat), seed)?,
            Some("cost-benefit,by-handle") => measure(config.place(ByHandle), seed)?,
            Some("greedy,by-handle") => measure(config.which(Greedy).place(ByHandle), seed)?,
            Some(other) => return Err(format!("{other}: no policies that are measured").into()),
        }
    }
    Ok(())
}
