//! Postmark (Katcher, "PostMark: A New File System Benchmark", 1997): a pool of small files, as a mail server has.
//!
//! A transaction is a pair: create a file or delete one, and read one whole or append to one. The choices and the
//! file are random. Two settings follow Lee '07, section 6.1. That paper states the number and size of the files, and
//! that the tables of large files are rewritten while their data is written. Ours are the number of transactions, a
//! directory for each small file, and the number of large files.

use std::fmt;

use super::{Draw, Files, Program, need_room};
use crate::fat::FatError;
use crate::names::nearest;
use crate::size::{format_size, parse_size};
use crate::workload::WorkloadError;

/// Directories that fit a root directory of 512 entries, each with a long and a short name.
const MAX_DIRS: u32 = 240;

/// Files of a pool, at most.
const MAX_FILES: u32 = 100_000;

/// Bytes of a file, at most.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The denominator of a bias.
const BIAS_WHOLE: u32 = 10;

/// How often the first of two operations is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bias {
    /// Neither of the two is done.
    Off,
    /// This many times in ten.
    InTen(u32),
}

/// Where the files lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dirs {
    /// In this number of directories, made first; at least one.
    Fixed(u32),
    /// Each in a directory of its own, made and removed with it.
    Each,
}

/// When the file system writes its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// Once a file is written.
    File,
    /// After every block.
    Block,
}

/// The benchmark's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Postmark {
    /// Files in the pool at first; it grows to twice as many.
    pub files: u32,
    /// Where they lie.
    pub dirs: Dirs,
    /// Transactions of a run without `--write`.
    pub transactions: u64,
    /// Bytes of the smallest file.
    pub min_bytes: u32,
    /// Bytes of the largest file.
    pub max_bytes: u32,
    /// Read, rather than append.
    pub read: Bias,
    /// Create, rather than delete.
    pub create: Bias,
    /// Bytes that are read or written at a time.
    pub block_bytes: u32,
    /// When tables are written.
    pub sync: Sync,
}

/// The parameters as on the command line, with the values that each takes.
const KEYS: [(&str, &str); 8] = [
    ("files", "files=N needs a number from 1 to 100000, and at most 120 with dirs=each"),
    ("dirs", "dirs=N needs a number from 1 to 240, or `each`"),
    ("transactions", "transactions=N needs a number above 0"),
    ("size", "size=MIN..MAX needs two sizes from 1 to 64MiB, the smaller first"),
    ("read", "read=N needs a number from 0 to 10 (read N times in 10, else append), or `off`"),
    ("create", "create=N needs a number from 0 to 10 (create N times in 10, else delete), or `off`"),
    ("block", "block=SIZE needs a size from 1 to 64MiB"),
    ("sync", "sync=WHEN is `file` or `block`"),
];

impl Postmark {
    /// Katcher's own values, in one directory.
    pub const DEFAULT: Self = Self {
        files: 500,
        dirs: Dirs::Fixed(1),
        transactions: 500,
        min_bytes: 500,
        max_bytes: 10_000,
        read: Bias::InTen(5),
        create: Bias::InTen(5),
        block_bytes: 512,
        sync: Sync::File,
    };

    /// `small`: directories with a file of 512 bytes each, 50 at first, created and deleted (Lee '07, section 6.1).
    pub const SMALL: Self = Self {
        files: 50,
        dirs: Dirs::Each,
        transactions: 50_000,
        min_bytes: 512,
        max_bytes: 512,
        read: Bias::Off,
        ..Self::DEFAULT
    };

    /// `large`: files of 1 MiB, 20 at first, created and deleted, the tables "repeatedly modified while file data are
    /// sequentially written" (Lee '07, section 6.1).
    pub const LARGE: Self = Self {
        files: 20,
        transactions: 600,
        min_bytes: 1 << 20,
        max_bytes: 1 << 20,
        read: Bias::Off,
        block_bytes: 4096,
        sync: Sync::Block,
        ..Self::DEFAULT
    };

    /// Reads what follows `postmark:`.
    pub(in crate::workload) fn parse(text: &str) -> Result<Self, WorkloadError> {
        match text {
            "small" => return Ok(Self::SMALL),
            "large" => return Ok(Self::LARGE),
            _ => {}
        }
        let mut postmark = Self::DEFAULT;
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let Some(&(key, expected)) = KEYS.iter().find(|(known, _)| *known == key) else {
                let known = ["small", "large"].into_iter().chain(KEYS.iter().map(|&(known, _)| known));
                let nearest = nearest(key, known).unwrap_or("small");
                return Err(WorkloadError::UnknownKey { key: key.to_owned(), nearest });
            };
            let bad = || WorkloadError::BadParameter { text: part.to_owned(), expected };
            postmark.set(key, value).ok_or_else(bad)?;
        }
        // The pool may double, and its directories must fit the root directory.
        if postmark.dirs == Dirs::Each && postmark.files > MAX_DIRS / 2 {
            let text = format!("files={}", postmark.files);
            return Err(WorkloadError::BadParameter { text, expected: KEYS[0].1 });
        }
        Ok(postmark)
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "files" => self.files = number(value, 1, MAX_FILES)?,
            "dirs" if value == "each" => self.dirs = Dirs::Each,
            "dirs" => self.dirs = Dirs::Fixed(number(value, 1, MAX_DIRS)?),
            "transactions" => self.transactions = value.parse().ok().filter(|&transactions| transactions > 0)?,
            "size" => {
                let (min, max) = value.split_once("..")?;
                (self.min_bytes, self.max_bytes) = (file_bytes(min)?, file_bytes(max)?);
                return (self.min_bytes <= self.max_bytes).then_some(());
            }
            "read" => self.read = bias(value)?,
            "create" => self.create = bias(value)?,
            "block" => self.block_bytes = file_bytes(value)?,
            _ => {
                self.sync = match value {
                    "file" => Sync::File,
                    "block" => Sync::Block,
                    _ => return None,
                }
            }
        }
        Some(())
    }
}

fn number(text: &str, min: u32, max: u32) -> Option<u32> {
    text.parse().ok().filter(|number| (min..=max).contains(number))
}

fn file_bytes(text: &str) -> Option<u32> {
    let bytes = parse_size(text).ok().filter(|bytes| (1..=MAX_FILE_BYTES).contains(bytes))?;
    u32::try_from(bytes).ok()
}

fn bias(text: &str) -> Option<Bias> {
    if text == "off" { Some(Bias::Off) } else { number(text, 0, BIAS_WHOLE).map(Bias::InTen) }
}

impl fmt::Display for Bias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::InTen(times) => write!(f, "{times}"),
        }
    }
}

impl fmt::Display for Dirs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each => f.write_str("each"),
            Self::Fixed(number) => write!(f, "{number}"),
        }
    }
}

impl fmt::Display for Postmark {
    /// The name of a setting, or every parameter.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            // Parameters that are those of a setting are printed by its name, however they were given.
            Self::SMALL => return f.write_str("small"),
            Self::LARGE => return f.write_str("large"),
            _ => {}
        }
        let Self { files, dirs, transactions, min_bytes, max_bytes, read, create, block_bytes, sync } = *self;
        let (min, max) = (format_size(min_bytes.into()), format_size(max_bytes.into()));
        let block = format_size(block_bytes.into());
        write!(f, "files={files},dirs={dirs},transactions={transactions},size={min}..{max}")?;
        let sync = match sync {
            Sync::File => "file",
            Sync::Block => "block",
        };
        write!(f, ",read={read},create={create},block={block},sync={sync}")
    }
}

/// A file of the pool.
struct Member {
    path: String,
    bytes: u32,
}

/// The running benchmark.
///
/// Invariant: `members` are the files on the volume, at most twice as many as at first.
pub(super) struct Pool {
    spec: Postmark,
    members: Vec<Member>,
    /// Files created so far, which name the next one.
    created: u32,
}

impl Pool {
    pub(super) fn new(spec: Postmark) -> Self {
        Self { spec, members: Vec::new(), created: 0 }
    }

    fn draw_bytes(&self, draw: &mut Draw) -> u32 {
        draw.between(self.spec.min_bytes, self.spec.max_bytes)
    }

    fn create(&mut self, bytes: u32, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        let number = self.created;
        // A number is not used again, so every name is new.
        self.created += 1;
        let path = match self.spec.dirs {
            Dirs::Fixed(dirs) => format!("D{:03}/F{number:07}", draw.below(dirs)),
            Dirs::Each => {
                files.make_dir(&format!("D{number:07}"))?;
                format!("D{number:07}/FILE")
            }
        };
        files.create(&path, draw.content(bytes))?;
        self.members.push(Member { path, bytes });
        Ok(())
    }

    fn delete(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        let chosen = draw.below(self.members.len() as u32);
        let member = self.members.swap_remove(chosen as usize);
        files.remove(&member.path)?;
        // Behind the file, because only an empty directory can be removed.
        if let (Dirs::Each, Some((dir, _))) = (self.spec.dirs, member.path.split_once('/')) {
            files.remove(dir)?;
        }
        Ok(())
    }

    /// Creates or deletes a file. If the pool or the volume is full, it deletes; without files, it creates.
    fn create_or_delete(&mut self, in_ten: u32, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        let wants = draw.below(BIAS_WHOLE) < in_ten || self.members.is_empty();
        let bytes = self.draw_bytes(draw);
        // Twice the pool is what `parse` has checked the directories for.
        let is_full = self.members.len() as u64 >= 2 * u64::from(self.spec.files);
        if wants && !is_full && files.has_room(bytes.into())? {
            self.create(bytes, files, draw)
        } else if self.members.is_empty() {
            Ok(())
        } else {
            self.delete(files, draw)
        }
    }

    /// Reads a file, or appends a random amount to it, up to the largest size.
    fn read_or_append(&mut self, in_ten: u32, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        let reads = draw.below(BIAS_WHOLE) < in_ten;
        let chosen = draw.below(self.members.len() as u32);
        let max_bytes = self.spec.max_bytes;
        let member = &mut self.members[chosen as usize];
        if reads {
            return files.read(&member.path);
        }
        if member.bytes == max_bytes {
            return Ok(());
        }
        // The file is smaller than the largest, so there is something to draw.
        let bytes = draw.between(1, max_bytes - member.bytes);
        if !files.has_room(bytes.into())? {
            return Ok(());
        }
        files.append(&member.path, draw.content(bytes))?;
        member.bytes += bytes;
        Ok(())
    }
}

impl Program for Pool {
    fn set_up(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        files.set_block_bytes(self.spec.block_bytes as usize);
        files.set_syncs_blocks(self.spec.sync == Sync::Block);
        if let Dirs::Fixed(dirs) = self.spec.dirs {
            for dir in 0..dirs {
                // The footprint of an empty file has the two clusters that a directory may take.
                need_room(files, 0, || format!("directory {} of {dirs}", dir + 1))?;
                files.make_dir(&format!("D{dir:03}"))?;
            }
        }
        for file in 0..self.spec.files {
            let bytes = self.draw_bytes(draw);
            need_room(files, bytes.into(), || format!("file {} of {}", file + 1, self.spec.files))?;
            self.create(bytes, files, draw)?;
        }
        Ok(())
    }

    fn transact(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        if let Bias::InTen(in_ten) = self.spec.create {
            self.create_or_delete(in_ten, files, draw)?;
        }
        match self.spec.read {
            Bias::InTen(in_ten) if !self.members.is_empty() => self.read_or_append(in_ten, files, draw),
            _ => Ok(()),
        }
    }
}
