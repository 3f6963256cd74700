//! The parameters of `journal:`.

use std::fmt;

use super::{BLOCK_BYTES, FILE_BLOCKS};
use crate::names::nearest;
use crate::size::{Percent, format_size, parse_size};
use crate::workload::WorkloadError;

/// Blocks that one descriptor block of the journal describes: 16 bytes each, after its header.
const DESCRIPTOR_TAGS: u64 = 254;

/// The least journal that ext4 makes.
const MIN_JOURNAL_BYTES: u64 = 4 << 20;

/// The largest that the extents in an inode reach.
const MAX_JOURNAL_BYTES: u64 = 512 << 20;

/// What goes through the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalMode {
    /// Metadata. Data goes home first.
    Ordered,
    /// Metadata and data.
    Data,
}

/// What the program does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOp {
    /// Writes it again, from start to end.
    Write,
    /// Writes every part of it once, in random order.
    RandomWrite,
}

/// The workload's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Journal {
    /// What goes through the journal.
    pub mode: JournalMode,
    /// What the program does.
    pub op: FileOp,
    /// Bytes that it writes at a time: whole blocks that divide a file of 8 MiB.
    pub request_bytes: u64,
    /// Files; by default as many as fit.
    pub files: Option<u32>,
    /// Bytes of the journal: whole blocks.
    pub journal_bytes: u64,
    /// Single blocks that are overwritten at random first, as a part of the data.
    pub age: Percent,
    /// Requests of a transaction.
    pub sync: u32,
    /// Whether requests name their stream.
    pub hints: bool,
}

/// The parameters as on the command line, with the values that each takes.
const KEYS: [(&str, &str); 8] = [
    ("mode", "mode=MODE is `ordered` or `data`"),
    ("op", "op=OP is `write` or `random-write`"),
    ("request", "request=SIZE needs whole blocks of 4KiB that make 8MiB, as 4KiB, 8KiB, 16KiB or 64KiB"),
    ("files", "files=N needs a number above 0"),
    ("journal", "journal=SIZE needs whole blocks of 4KiB, 4MiB to 512MiB"),
    ("age", "age=P% needs a percentage"),
    ("sync", "sync=N needs a number of requests above 0, which fill no more than a quarter of the journal"),
    ("hints", "hints=on or off"),
];

impl Journal {
    /// IOzone's smallest requests, each written through; a journal as ext4 makes it for 512 MiB to 1 GiB.
    pub const DEFAULT: Self = Self {
        mode: JournalMode::Ordered,
        op: FileOp::Write,
        request_bytes: BLOCK_BYTES,
        files: None,
        journal_bytes: 16 << 20,
        age: Percent::FULL,
        sync: 1,
        hints: true,
    };

    /// Reads what follows `journal:`.
    pub(in crate::workload) fn parse(text: &str) -> Result<Self, WorkloadError> {
        let mut journal = Self::DEFAULT;
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let Some(&(key, expected)) = KEYS.iter().find(|(known, _)| *known == key) else {
                let nearest = nearest(key, KEYS.iter().map(|&(known, _)| known)).unwrap_or("mode");
                return Err(WorkloadError::UnknownKey { key: key.to_owned(), nearest });
            };
            let bad = || WorkloadError::BadParameter { text: part.to_owned(), expected };
            journal.set(key, value).ok_or_else(bad)?;
        }
        // jbd2 closes a transaction at a quarter of the journal. Settings that ask for more are refused.
        if journal.largest_transaction() > (journal.journal_blocks() - 1) / 4 {
            let text = format!("sync={}", journal.sync);
            return Err(WorkloadError::BadParameter { text, expected: KEYS[6].1 });
        }
        Ok(journal)
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "mode" => self.mode = one_of(value, [("ordered", JournalMode::Ordered), ("data", JournalMode::Data)])?,
            "op" => self.op = one_of(value, [("write", FileOp::Write), ("random-write", FileOp::RandomWrite)])?,
            "request" => {
                let blocks = blocks(value)?;
                self.request_bytes = FILE_BLOCKS.is_multiple_of(blocks).then_some(blocks * BLOCK_BYTES)?;
            }
            "files" => self.files = Some(value.parse().ok().filter(|&files| files > 0)?),
            "journal" => {
                let bytes = blocks(value)? * BLOCK_BYTES;
                self.journal_bytes = (MIN_JOURNAL_BYTES..=MAX_JOURNAL_BYTES).contains(&bytes).then_some(bytes)?;
            }
            "age" => self.age = value.parse().ok()?,
            "sync" => self.sync = value.parse().ok().filter(|&requests| requests > 0)?,
            // `parse` has found the key in the list, so `hints` is left.
            _ => self.hints = one_of(value, [("on", true), ("off", false)])?,
        }
        Some(())
    }

    pub(super) fn request_blocks(&self) -> u64 {
        self.request_bytes / BLOCK_BYTES
    }

    pub(super) fn journal_blocks(&self) -> u64 {
        self.journal_bytes / BLOCK_BYTES
    }

    /// Most blocks of the journal that a transaction takes: five of metadata, and its data.
    fn largest_transaction(&self) -> u64 {
        let data = match self.mode {
            JournalMode::Ordered => 0,
            JournalMode::Data => (u64::from(self.sync) * self.request_blocks()).min(FILE_BLOCKS),
        };
        length_of(5 + data)
    }
}

/// Blocks that a transaction of `logged` blocks takes: descriptors, the blocks, the commit block.
pub(super) fn length_of(logged: u64) -> u64 {
    logged.div_ceil(DESCRIPTOR_TAGS) + logged + 1
}

fn one_of<T>(value: &str, choices: [(&str, T); 2]) -> Option<T> {
    choices.into_iter().find(|(name, _)| *name == value).map(|(_, choice)| choice)
}

/// Whole blocks, at least one.
fn blocks(text: &str) -> Option<u64> {
    let bytes = parse_size(text).ok().filter(|&bytes| bytes > 0 && bytes.is_multiple_of(BLOCK_BYTES))?;
    Some(bytes / BLOCK_BYTES)
}

impl fmt::Display for Journal {
    /// The parameters as on the command line; `files` is left out if as many as fit are meant.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.mode == JournalMode::Ordered { "ordered" } else { "data" };
        let op = if self.op == FileOp::Write { "write" } else { "random-write" };
        write!(f, "mode={mode},op={op},request={}", format_size(self.request_bytes))?;
        if let Some(files) = self.files {
            write!(f, ",files={files}")?;
        }
        let hints = if self.hints { "on" } else { "off" };
        write!(f, ",journal={},age={}%,sync={}", format_size(self.journal_bytes), self.age, self.sync)?;
        write!(f, ",hints={hints}")
    }
}
