//! What a host may find after a power cut: the model beside the engine.

use wearwell::{BlockDevice, FtlError, Rng, Sectors, WriteHint};

/// Content of a page: a version for each sector, 0 being zeros.
pub(crate) type Content = Vec<u32>;

/// What one page may hold.
#[derive(Debug, Clone)]
struct Page {
    /// What it held at the last flush.
    flushed: Content,
    /// What it has held since, oldest first.
    since: Vec<Content>,
    /// The newest of these was given by a command that failed: it may be there or not.
    doubtful: bool,
}

impl Page {
    fn newest(&self) -> &Content {
        self.since.last().unwrap_or(&self.flushed)
    }

    fn may_hold(&self, found: &Content) -> bool {
        *found == self.flushed || self.since.contains(found)
    }
}

/// What is read of a page after damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// What it was given last.
    Newest,
    /// Something else that was written there.
    Older,
    /// Zeros, though something was written.
    Zeros,
    /// An error.
    Lost,
}

/// A plain array of pages, with everything each may hold after a cut.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pages: Vec<Page>,
    sectors_per_page: u32,
    next_version: u32,
}

/// A host command.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Command {
    Write {
        page: u32,
        stream: u16,
    },
    WritePart {
        page: u32,
        first: u32,
        count: u32,
    },
    /// Whole pages, one behind the other, in one command.
    WriteRun {
        page: u32,
        count: u32,
    },
    Discard {
        page: u32,
        count: u32,
    },
    Flush,
    Clean,
    Shutdown,
}

impl Command {
    /// A random command; writes prefer the first pages, so that there is something to clean.
    pub(crate) fn random(rng: &mut Rng, pages: u32, sectors_per_page: u32) -> Self {
        let hot = if rng.below(3) > 0 { pages.div_ceil(3) } else { pages };
        let page = rng.below(hot);
        match rng.below(40) {
            0..=2 => Self::Flush,
            3..=5 => Self::Discard { page, count: (1 + rng.below(6)).min(pages - page) },
            6 => Self::Clean,
            7..=12 if sectors_per_page > 1 => {
                let first = rng.below(sectors_per_page);
                Self::WritePart { page, first, count: 1 + rng.below(sectors_per_page - first) }
            }
            _ => Self::Write { page, stream: rng.below(3) as u16 },
        }
    }
}

impl Model {
    pub(crate) fn new(pages: u32, sectors_per_page: u32) -> Self {
        let page = Page { flushed: vec![0; sectors_per_page as usize], since: Vec::new(), doubtful: false };
        Self { pages: vec![page; pages as usize], sectors_per_page, next_version: 1 }
    }

    pub(crate) fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Writes every page once, in order.
    pub(crate) fn fill<F: BlockDevice>(&mut self, ftl: &mut F) {
        for page in 0..self.pages() {
            self.run(ftl, Command::Write { page, stream: 0 }).expect("the fill fits");
        }
    }

    /// Gives the command to the engine, and notes what it may have changed, before it is known to succeed.
    pub(crate) fn run<F: BlockDevice>(&mut self, ftl: &mut F, command: Command) -> Result<(), FtlError> {
        let done = self.give(ftl, command);
        let (pages, whole) = match command {
            Command::Write { page, .. } => (page..page + 1, true),
            Command::WritePart { page, .. } => (page..page + 1, false),
            Command::WriteRun { page, count } | Command::Discard { page, count } => (page..page + count, true),
            Command::Flush | Command::Clean | Command::Shutdown => (0..0, true),
        };
        for held in &mut self.pages[pages.start as usize..pages.end as usize] {
            held.doubtful = done.is_err() || (held.doubtful && !whole);
        }
        done
    }

    fn give<F: BlockDevice>(&mut self, ftl: &mut F, command: Command) -> Result<(), FtlError> {
        let per_page = self.sectors_per_page;
        match command {
            Command::Write { page, stream } => self.write(ftl, page, 0, per_page, stream),
            Command::WritePart { page, first, count } => self.write(ftl, page, first, count, 0),
            Command::WriteRun { page, count } => self.write_run(ftl, page, count),
            Command::Discard { page, count } => {
                for p in page..page + count {
                    self.pages[p as usize].since.push(vec![0; per_page as usize]);
                }
                let (start, count) = (u64::from(page * per_page), u64::from(count * per_page));
                ftl.discard(Sectors { start, count })
            }
            Command::Flush => {
                ftl.flush()?;
                self.settle();
                Ok(())
            }
            Command::Clean => ftl.clean(4).map(|_| ()),
            Command::Shutdown => {
                ftl.shutdown()?;
                self.settle();
                Ok(())
            }
        }
    }

    fn write_run<F: BlockDevice>(&mut self, ftl: &mut F, page: u32, count: u32) -> Result<(), FtlError> {
        let (version, per_page) = (self.next_version, self.sectors_per_page);
        self.next_version += 1;
        let mut data = Vec::new();
        for p in page..page + count {
            self.pages[p as usize].since.push(vec![version; per_page as usize]);
            for sector in 0..per_page {
                data.extend_from_slice(&sector_bytes(p, sector, version));
            }
        }
        let (start, count) = (u64::from(page * per_page), u64::from(count * per_page));
        ftl.write(Sectors { start, count }, &data, WriteHint::NONE)
    }

    fn write<F: BlockDevice>(
        &mut self,
        ftl: &mut F,
        page: u32,
        first: u32,
        count: u32,
        stream: u16,
    ) -> Result<(), FtlError> {
        let version = self.next_version;
        self.next_version += 1;
        let held = &mut self.pages[page as usize];
        let mut content = held.newest().clone();
        content[first as usize..(first + count) as usize].fill(version);
        held.since.push(content);
        let data: Vec<[u8; 512]> = (first..first + count).map(|sector| sector_bytes(page, sector, version)).collect();
        let at = Sectors { start: u64::from(page * self.sectors_per_page + first), count: u64::from(count) };
        ftl.write(at, data.as_flattened(), WriteHint::stream(stream))
    }

    /// What every page holds now is what it holds for good.
    fn settle(&mut self) {
        for page in self.pages.iter_mut().filter(|page| !page.doubtful) {
            if let Some(newest) = page.since.pop() {
                page.flushed = newest;
                page.since.clear();
            }
        }
    }

    /// Reads every page and checks that it holds what it was last given.
    pub(crate) fn check_exact<F: BlockDevice>(&self, ftl: &mut F) -> Result<(), String> {
        for page in 0..self.pages.len() as u32 {
            let found = self.read(ftl, page)?;
            let held = &self.pages[page as usize];
            let expected = held.newest();
            if found != *expected && !(held.doubtful && held.may_hold(&found)) {
                return Err(format!("page {page} holds {found:?}, not {expected:?}"));
            }
        }
        Ok(())
    }

    /// Reads every page after a mount, checks that it holds something it may, and takes that for its content:
    /// what has been served must stay.
    pub(crate) fn check_after_cut<F: BlockDevice>(&mut self, ftl: &mut F) -> Result<(), String> {
        for (page, found) in self.check_held(ftl)?.into_iter().enumerate() {
            self.pages[page] = Page { flushed: found, since: Vec::new(), doubtful: false };
        }
        Ok(())
    }

    /// Reads every page after a mount, and checks that it holds something it may. Where nothing could be written,
    /// that may still change.
    pub(crate) fn check_held<F: BlockDevice>(&self, ftl: &mut F) -> Result<Vec<Content>, String> {
        let check = |page: u32| {
            let found = self.read(ftl, page)?;
            let held = &self.pages[page as usize];
            if held.may_hold(&found) {
                return Ok(found);
            }
            let Page { flushed, since, .. } = held;
            Err(format!("page {page} holds {found:?}; flushed {flushed:?}, since then {since:?}"))
        };
        (0..self.pages.len() as u32).map(check).collect()
    }

    /// Reads a page that may be damaged. Fails if it holds what was never written there.
    pub(crate) fn judge<F: BlockDevice>(&self, ftl: &mut F, page: u32) -> Result<Held, String> {
        let at = Sectors { start: u64::from(page * self.sectors_per_page), count: 1 };
        match ftl.read(at, &mut [0; 512]) {
            Err(FtlError::Unreadable { .. }) => return Ok(Held::Lost),
            Err(error) => return Err(error.to_string()),
            Ok(()) => {}
        }
        let found = self.read(ftl, page)?;
        Ok(if found == *self.pages[page as usize].newest() {
            Held::Newest
        } else if found.iter().all(|&version| version == 0) {
            Held::Zeros
        } else {
            Held::Older
        })
    }

    fn read<F: BlockDevice>(&self, ftl: &mut F, page: u32) -> Result<Content, String> {
        let per_page = self.sectors_per_page;
        let mut data = vec![0xAA; per_page as usize * 512];
        let at = Sectors { start: u64::from(page * per_page), count: u64::from(per_page) };
        ftl.read(at, &mut data).map_err(|error| format!("page {page} cannot be read: {error}"))?;
        (0..per_page).zip(data.chunks(512)).map(|(sector, bytes)| version_of(page, sector, bytes)).collect()
    }
}

/// Bytes of a version of a sector: four words that say what it is, again and again.
fn sector_bytes(page: u32, sector: u32, version: u32) -> [u8; 512] {
    let words = [page, sector, version, page ^ sector.rotate_left(8) ^ version.rotate_left(16)];
    let mut pattern = [0; 16];
    for (bytes, word) in pattern.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    let mut sector = [0; 512];
    for bytes in sector.chunks_exact_mut(16) {
        bytes.copy_from_slice(&pattern);
    }
    sector
}

/// The version that a sector holds, if it is one of this sector's.
fn version_of(page: u32, sector: u32, bytes: &[u8]) -> Result<u32, String> {
    if bytes == [0; 512] {
        return Ok(0);
    }
    let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    if bytes == sector_bytes(page, sector, version) {
        Ok(version)
    } else {
        Err(format!("page {page} sector {sector} holds bytes never written there: {:02x?}", &bytes[..16]))
    }
}
