//! The requests of a journaling file system under a program that writes through, after ext4 and IOzone as in Lim '14,
//! section 4. Some requests go to the journal, the others to the blocks' own places.
//!
//! Formatting writes the structures by which the journal is found. Of everything else only the amount and the place
//! matter.
//!
//! The volume lies in the part of the device that was filled, in blocks of 4 KiB: metadata, the journal, the files, and
//! behind them data that the program does not touch. A transaction is [`Journal::sync`] requests of the program and the
//! writes that make them durable:
//!
//! - with `mode=ordered` the data is written to its place; with `mode=data` it goes through the journal too;
//! - descriptor blocks and the blocks that changed are written to the journal, a ring that is overwritten in order;
//! - a flush, the commit block, and a flush.
//!
//! When the ring is full, the oldest transactions are checkpointed until a quarter of it is free. Their blocks are
//! written to their places, unless a later transaction holds a newer version, and the journal's own first block is
//! rewritten.

mod format;
mod layout;
mod ring;
mod settings;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub use format::Metadata;
pub use settings::{FileOp, Journal, JournalMode};

use super::WorkloadError;
use super::generator::below;
use crate::request::{Op, Request};
use layout::{Layout, Run};
use ring::Ring;

/// Writes in a step of aging.
const AGING_STEP: u64 = 1024;

/// Bytes of a file system's block.
pub(crate) const BLOCK_BYTES: u64 = 4096;

/// Blocks of a file: "IOzone generates 8MB files" (Lim '14, section 4).
const FILE_BLOCKS: u64 = (8 << 20) / BLOCK_BYTES;

/// The IDs of Lim's host: "home data of file system, whose ID is 0", which is also what the fill has.
const HOME_STREAM: u16 = 0;
const JOURNAL_STREAM: u16 = 1;

/// A file system and the program on it. Its requests depend on the settings, the range and the seed. `hints` changes
/// only streams.
pub struct JournalWorkload {
    settings: Journal,
    layout: Layout,
    ring: Ring,
    rng: Xoshiro256PlusPlus,
    /// The file being written.
    file: u64,
    /// Its requests, by their place in the file, in the order of writing.
    order: Vec<u32>,
    /// Requests of the file that are done.
    done: usize,
    requests: Vec<Request>,
}

impl JournalWorkload {
    /// A file system in the first `range_bytes` of a device.
    ///
    /// # Errors
    /// A range that is too small for the journal or the number of files.
    pub fn new(settings: Journal, range_bytes: u64, seed: u64) -> Result<Self, WorkloadError> {
        let layout = Layout::new(&settings, range_bytes / BLOCK_BYTES)?;
        let ring = Ring::new(layout.journal);
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Ok(Self { settings, layout, ring, rng, file: 0, order: Vec::new(), done: 0, requests: Vec::new() })
    }

    /// Files of the volume.
    pub fn files(&self) -> u64 {
        self.layout.files
    }

    /// The blocks by which the journal is found, with their bytes.
    pub fn metadata(&self) -> Metadata {
        Metadata::new(&self.layout)
    }

    /// Writes the blocks by which the journal is found.
    pub fn format(&mut self) -> &[Request] {
        self.requests.clear();
        let stream = self.stream(HOME_STREAM);
        self.requests.extend(self.metadata().runs().map(|run| write(run, stream)));
        self.requests.push(FLUSH);
        &self.requests
    }

    /// Makes file number `file` of [`files`](Self::files): the requests of writing it in order, as the program does.
    pub fn create(&mut self, file: u64) -> &[Request] {
        self.requests.clear();
        self.begin_file(file, FileOp::Write);
        while self.done < self.order.len() {
            self.write_transaction(FileOp::Write);
        }
        &self.requests
    }

    /// Steps of [`age`](Self::age).
    pub fn aging_steps(&self) -> u64 {
        self.settings.age.of(self.layout.data().blocks).div_ceil(AGING_STEP)
    }

    /// One step of aging before the program runs: single blocks anywhere in the data are overwritten, each equally
    /// likely. After that, data of one age no longer lies together on flash.
    pub fn age(&mut self) -> &[Request] {
        self.requests.clear();
        let (data, stream) = (self.layout.data(), self.stream(HOME_STREAM));
        // The last step is as long as the others, so a little more is written than asked for.
        for _ in 0..AGING_STEP {
            let start = data.start + u64::from(below(self.rng.next_u64(), data.blocks as u32));
            self.requests.push(write(Run { start, blocks: 1 }, stream));
        }
        &self.requests
    }

    /// The requests of the next transaction. Files are drawn, each equally likely, and written whole.
    pub fn transact(&mut self) -> &[Request] {
        self.requests.clear();
        if self.done == self.order.len() {
            let file = u64::from(below(self.rng.next_u64(), self.layout.files as u32));
            self.begin_file(file, self.settings.op);
        }
        self.write_transaction(self.settings.op);
        &self.requests
    }

    fn begin_file(&mut self, file: u64, op: FileOp) {
        self.file = file;
        self.done = 0;
        self.order.clear();
        self.order.extend(0..(FILE_BLOCKS / self.settings.request_blocks()) as u32);
        if op == FileOp::RandomWrite {
            // IOzone visits every record once, in a shuffled order.
            for end in (1..self.order.len()).rev() {
                let other = below(self.rng.next_u64(), end as u32 + 1);
                self.order.swap(end, other as usize);
            }
        }
    }

    /// Adds the file's next requests, and the writes that make them durable.
    fn write_transaction(&mut self, op: FileOp) {
        let blocks = self.settings.request_blocks();
        let count = (self.settings.sync as usize).min(self.order.len() - self.done);
        let chosen = &self.order[self.done..self.done + count];
        let first = self.layout.file(self.file);
        let data = chosen.iter().map(|&nth| Run { start: first + u64::from(nth) * blocks, blocks });
        let mut logged = self.layout.changed(self.file, op, self.done == 0);
        self.done += count;
        match self.settings.mode {
            JournalMode::Ordered => {
                let stream = self.stream(HOME_STREAM);
                self.requests.extend(data.map(|run| write(run, stream)));
            }
            JournalMode::Data => logged.extend(data.flat_map(|run| run.start..run.start + run.blocks)),
        }
        self.commit(&logged);
    }

    /// Writes a transaction of blocks to the journal. If the journal is full, it writes the oldest ones home first.
    fn commit(&mut self, logged: &[u64]) {
        let (home, journal) = (self.stream(HOME_STREAM), self.stream(JOURNAL_STREAM));
        let homes = self.ring.make_room(logged.len() as u64);
        // The blocks have to be home before the journal's first block lets their transactions go.
        if !homes.is_empty() {
            self.requests.extend(homes.into_iter().map(|run| write(run, home)));
            self.requests.push(FLUSH);
            self.requests.push(write(self.ring.superblock(), journal));
        }
        // The body is durable before its commit block is written, as ext4 orders them: the commit block vouches for the
        // body.
        let (body, commit) = self.ring.append(logged);
        self.requests.extend(body.map(|run| write(run, journal)));
        self.requests.push(FLUSH);
        self.requests.push(write(commit, journal));
        self.requests.push(FLUSH);
    }

    fn stream(&self, stream: u16) -> u16 {
        if self.settings.hints { stream } else { 0 }
    }
}

const FLUSH: Request = Request { time_us: 0, op: Op::Flush, offset_bytes: 0, length_bytes: 0, stream: 0 };

fn write(run: Run, stream: u16) -> Request {
    let (offset_bytes, length_bytes) = (run.start * BLOCK_BYTES, run.blocks * BLOCK_BYTES);
    Request { time_us: 0, op: Op::Write, offset_bytes, length_bytes, stream }
}

#[cfg(test)]
mod tests;
