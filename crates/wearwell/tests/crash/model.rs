//! What a host may find after a power cut: the model beside the engine, and commands for both.

use wearwell::{BlockDevice, FtlError, Rng, Sectors, WriteHint};
use wearwell_emu::{Held, Seq};

/// Content of a page: a version for each sector, 0 being zeros.
pub(crate) type Content = Vec<u32>;

/// What is read of a page after damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// What it was given last.
    Newest,
    /// Something else that was written there.
    Older,
    /// Zeros, though something was written.
    Zeros,
    /// An error.
    Lost,
}

/// What each page may hold, with the commands that change it.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Model {
    held: Held<Content>,
    sectors_per_page: u32,
    /// The number of the last command; the versions that it writes have the same.
    seq: Seq,
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
    /// The same with a hint.
    WriteHinted {
        page: u32,
        count: u32,
        hint: WriteHint,
    },
    Discard {
        page: u32,
        count: u32,
    },
    Flush,
    /// Moves so many pages at most.
    Clean(u32),
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
            6 => Self::Clean(4),
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
        Self { held: Held::new(pages, vec![0; sectors_per_page as usize]), sectors_per_page, seq: 0 }
    }

    pub(crate) fn pages(&self) -> u32 {
        self.held.units()
    }

    pub(crate) fn sectors_per_page(&self) -> u32 {
        self.sectors_per_page
    }

    /// The version that a page holds after all commands; 0 if it has no content.
    pub(crate) fn newest(&self, page: u32) -> u32 {
        self.held.newest(page)[0]
    }

    /// Writes every page once, in order.
    pub(crate) fn fill<F: BlockDevice>(&mut self, ftl: &mut F) {
        for page in 0..self.pages() {
            self.run(ftl, Command::Write { page, stream: 0 }).expect("the fill fits");
        }
    }

    /// Gives the command to the engine, and notes what it may have changed, before it is known to succeed.
    pub(crate) fn run<F: BlockDevice>(&mut self, ftl: &mut F, command: Command) -> Result<(), FtlError> {
        self.seq += 1;
        let per_page = self.sectors_per_page;
        match command {
            Command::Write { page, stream } => self.write(ftl, page, 0, per_page, WriteHint::stream(stream)),
            Command::WritePart { page, first, count } => self.write(ftl, page, first, count, WriteHint::NONE),
            Command::WriteRun { page, count } => self.write(ftl, page, 0, count * per_page, WriteHint::NONE),
            Command::WriteHinted { page, count, hint } => self.write(ftl, page, 0, count * per_page, hint),
            Command::Discard { page, count } => {
                for p in page..page + count {
                    self.held.sent(self.seq, p, vec![0; per_page as usize]);
                }
                let at = Sectors { start: u64::from(page * per_page), count: u64::from(count * per_page) };
                ftl.discard(at)?;
                self.note_written(page, count);
                Ok(())
            }
            Command::Flush => {
                ftl.flush()?;
                self.held.flushed(self.seq);
                Ok(())
            }
            Command::Clean(pages) => ftl.clean(pages).map(|_| ()),
            Command::Shutdown => {
                ftl.shutdown()?;
                self.held.flushed(self.seq);
                Ok(())
            }
        }
    }

    /// Writes sectors from sector `first` of a page on.
    fn write<F: BlockDevice>(
        &mut self,
        ftl: &mut F,
        page: u32,
        first: u32,
        count: u32,
        hint: WriteHint,
    ) -> Result<(), FtlError> {
        let (version, per_page) = (self.seq as u32, self.sectors_per_page);
        let mut data = Vec::new();
        let pages = (first + count).div_ceil(per_page);
        let mut first_in_page = first;
        for p in page..page + pages {
            let mut content = self.held.newest(p).clone();
            let end = (first + count - (p - page) * per_page).min(per_page);
            content[first_in_page as usize..end as usize].fill(version);
            self.held.sent(self.seq, p, content);
            (first_in_page..end).for_each(|sector| data.extend_from_slice(&sector_bytes(p, sector, version)));
            first_in_page = 0;
        }
        let at = Sectors { start: u64::from(page * per_page + first), count: u64::from(count) };
        ftl.write(at, &data, hint)?;
        self.note_written(page, pages);
        Ok(())
    }

    fn note_written(&mut self, page: u32, count: u32) {
        (page..page + count).for_each(|page| self.held.note_written(self.seq, page));
    }

    /// Reads every page and checks that it holds what it was last given.
    pub(crate) fn check_exact<F: BlockDevice>(&mut self, ftl: &mut F) -> Result<(), String> {
        (0..self.pages()).try_for_each(|page| self.check_page(ftl, page))
    }

    /// The same with one page.
    pub(crate) fn check_page<F: BlockDevice>(&mut self, ftl: &mut F, page: u32) -> Result<(), String> {
        let found = self.load(ftl, page)?;
        let read = self.held.read(self.seq, page, &found);
        read.map_err(|wrong| format!("page {page} holds {found:?}, not one of {:?}", wrong.allowed))
    }

    /// Reads every page after a mount, checks that it holds something it may, and takes that for its content:
    /// what has been served must stay.
    pub(crate) fn check_after_cut<F: BlockDevice>(&mut self, ftl: &mut F) -> Result<(), String> {
        for (page, found) in (0..).zip(self.check_held(ftl)?) {
            self.held.check_after_cut(page, found).map_err(|wrong| format!("{wrong:?}"))?;
        }
        Ok(())
    }

    /// Reads every page after a mount, and checks that it holds something it may. Where nothing could be written,
    /// that may still change.
    pub(crate) fn check_held<F: BlockDevice>(&self, ftl: &mut F) -> Result<Vec<Content>, String> {
        let check = |page: u32| {
            let found = self.load(ftl, page)?;
            let kept = self.held.kept(page, &found);
            kept.map_err(|wrong| format!("page {page} holds {found:?}; it may hold {:?}", wrong.allowed))?;
            Ok(found)
        };
        (0..self.pages()).map(check).collect()
    }

    /// True if a page may have this version in all its sectors, as after a cut.
    pub(crate) fn may_hold(&self, page: u32, version: u32) -> bool {
        self.may_hold_content(page, &vec![version; self.sectors_per_page as usize])
    }

    /// True if a page may have this content, as after a cut.
    pub(crate) fn may_hold_content(&self, page: u32, content: &Content) -> bool {
        self.held.kept(page, content).is_ok()
    }

    /// True if a page can only hold one thing: it was flushed since it was written.
    pub(crate) fn is_certain(&self, page: u32) -> bool {
        let nobody_wrote = vec![u32::MAX; self.sectors_per_page as usize];
        let allowed = self.held.kept(page, &nobody_wrote).err().map(|wrong| wrong.allowed);
        allowed.is_some_and(|allowed| allowed.iter().all(|content| *content == allowed[0]))
    }

    /// From now on a page holds this, and nothing else.
    pub(crate) fn settle(&mut self, page: u32, content: Content) {
        self.seq += 1;
        self.held.sent(self.seq, page, content);
        self.held.note_written(self.seq, page);
        self.held.note_durable(self.seq, page);
    }

    /// A page cannot be read: it may hold whatever it could.
    pub(crate) fn settle_none(&mut self, page: u32) {
        self.held.may_have_any(page);
    }

    /// Reads a page. The outer error is for bytes that were never written there.
    pub(crate) fn look<F: BlockDevice>(&self, ftl: &mut F, page: u32) -> Result<Result<Content, FtlError>, String> {
        let at = Sectors { start: u64::from(page * self.sectors_per_page), count: u64::from(self.sectors_per_page) };
        let mut data = vec![0xAA; self.sectors_per_page as usize * 512];
        if let Err(error) = ftl.read(at, &mut data) {
            return Ok(Err(error));
        }
        let sectors = (0..).zip(data.chunks(512));
        sectors.map(|(sector, bytes)| version_of(page, sector, bytes)).collect::<Result<Content, String>>().map(Ok)
    }

    /// The version of the first sector of a page.
    pub(crate) fn version<F: BlockDevice>(&self, ftl: &mut F, page: u32) -> Result<u32, String> {
        Ok(self.load(ftl, page)?[0])
    }

    /// Reads a page that may be damaged. Fails if it holds what was never written there.
    pub(crate) fn judge<F: BlockDevice>(&self, ftl: &mut F, page: u32) -> Result<Found, String> {
        let at = Sectors { start: u64::from(page * self.sectors_per_page), count: 1 };
        match ftl.read(at, &mut [0; 512]) {
            Err(FtlError::Unreadable { .. }) => return Ok(Found::Lost),
            Err(error) => return Err(error.to_string()),
            Ok(()) => {}
        }
        let found = self.load(ftl, page)?;
        Ok(if found == *self.held.newest(page) {
            Found::Newest
        } else if found.iter().all(|&version| version == 0) {
            Found::Zeros
        } else {
            Found::Older
        })
    }

    fn load<F: BlockDevice>(&self, ftl: &mut F, page: u32) -> Result<Content, String> {
        self.look(ftl, page)?.map_err(|error| format!("page {page} cannot be read: {error}"))
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

/// The logical page and the version that the first sector of a page holds, if it holds any.
pub(crate) fn content_of(bytes: &[u8]) -> Option<(u32, u32)> {
    let page = u32::from_le_bytes(bytes[..4].try_into().ok()?);
    let version = version_of(page, 0, bytes).ok()?;
    (version > 0).then_some((page, version))
}

/// The logical page and the versions that the first sectors of a page on the chip hold, if they hold any.
pub(crate) fn page_of(bytes: &[u8], sectors: u32) -> Option<(u32, Content)> {
    let sectors = || (0..sectors).zip(bytes.chunks(512));
    let page = sectors().find_map(|(sector, bytes)| {
        let page = u32::from_le_bytes(bytes[..4].try_into().ok()?);
        version_of(page, sector, bytes).ok().filter(|&version| version > 0).map(|_| page)
    })?;
    let versions = sectors().map(|(sector, bytes)| version_of(page, sector, bytes).ok());
    versions.collect::<Option<Content>>().map(|content| (page, content))
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
