//! Chip profiles: the description of a part, as data. The embedded profiles are in `profiles/`, each with its source.

mod check;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wearwell_flash::{NandGeometry, NorGeometry, ProgramOrder};

/// Name and text of every embedded profile, in the order in which they are listed.
const EMBEDDED: &[(&str, &str)] = &[
    ("kawaguchi-28f008sa", include_str!("../profiles/kawaguchi-28f008sa.toml")),
    ("chiang-series2plus", include_str!("../profiles/chiang-series2plus.toml")),
    ("fsaf-tc58dvm72a", include_str!("../profiles/fsaf-tc58dvm72a.toml")),
    ("lee-k9l8g08u0m", include_str!("../profiles/lee-k9l8g08u0m.toml")),
    ("lee-slc-128mb", include_str!("../profiles/lee-slc-128mb.toml")),
    ("lim-slc-1gb", include_str!("../profiles/lim-slc-1gb.toml")),
    ("w25n01gv", include_str!("../profiles/w25n01gv.toml")),
    ("mlc-8gb", include_str!("../profiles/mlc-8gb.toml")),
    ("tlc-512gb", include_str!("../profiles/tlc-512gb.toml")),
    ("qlc-1tb", include_str!("../profiles/qlc-1tb.toml")),
];

/// The technology. It decides which trait an emulated chip of the profile implements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChipKind {
    /// Pages and spare bytes, corrected by a code, erased in the foreground.
    Nand,
    /// Bytes whose bits can be cleared one by one; erases go on in the background, a bank at a time.
    Nor,
}

impl fmt::Display for ChipKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nand => "nand",
            Self::Nor => "nor",
        })
    }
}

/// How a profile writes a [`ProgramOrder`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "ProgramOrder", rename_all = "lowercase")]
enum WrittenOrder {
    Ascending,
    Any,
}

/// How long operations take. An operation on `n` bytes keeps its bank busy for `fixed + n × per byte`, and the
/// channel for `n ÷ bus_bytes_per_us`; NAND parts have only fixed times, NOR parts only times per byte.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// Microseconds to read a page from the array into the chip's register.
    #[serde(default)]
    pub read_us: f64,
    /// Microseconds to read a byte.
    #[serde(default)]
    pub read_us_per_byte: f64,
    /// Microseconds to program a page from the chip's register.
    #[serde(default)]
    pub program_us: f64,
    /// Microseconds to program a byte.
    #[serde(default)]
    pub program_us_per_byte: f64,
    /// Microseconds to erase a block.
    pub erase_us: f64,
    /// Microseconds until a read that arrives at an erasing bank can use the array; absent if the chip cannot suspend
    /// an erase.
    pub suspend_us: Option<f64>,
    /// Bytes a microsecond over the bus of a channel; absent if the transfer is part of the other times.
    pub bus_bytes_per_us: Option<f64>,
}

/// A chip, or several driven as one.
///
/// A serialized profile can be read back; the caller must [`validate`](Self::validate) it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChipProfile {
    /// The name by which it is chosen.
    pub name: String,
    /// Other names for the same profile.
    pub aliases: Vec<String>,
    /// One line, with the maker's part number.
    pub description: String,
    /// Where the numbers come from: datasheet or paper and section.
    pub source: String,
    /// NAND or NOR.
    pub kind: ChipKind,
    /// Bytes of data in a page, the unit of mapping. A power of two from 512 to 65,536.
    pub page_bytes: u32,
    /// NAND: bytes beside a page that the code covers and leaves free. NOR: 0.
    pub spare_bytes: u32,
    /// Data pages in an erase block. On NOR the rest of `block_bytes` is for the header.
    pub pages_per_block: u32,
    /// Bytes in an erase block. NAND: `page_bytes × pages_per_block`.
    pub block_bytes: u32,
    /// Erase blocks over all banks.
    pub blocks: u32,
    /// Dies (NAND) or banks (NOR), each with `blocks / banks` consecutive blocks.
    pub banks: u32,
    /// Blocks of a segment, each of another bank: 1, or a divisor of `banks`.
    pub stripe: u32,
    /// Buses; bank `b` is on channel `b % channels`.
    pub channels: u32,
    /// Pages that share cells: 1 SLC, 2 MLC, 3 TLC, 4 QLC.
    pub paired_pages: u32,
    /// In which order the pages of a block may be programmed.
    #[serde(with = "WrittenOrder")]
    pub program_order: ProgramOrder,
    /// True if the chip copies a page within a die without moving it over the bus.
    pub copy_back: bool,
    /// Blocks that may be bad within the rated life, the factory-bad ones included.
    pub max_bad_blocks: u32,
    /// Bytes exported to the host by default, a multiple of `page_bytes`.
    pub logical_bytes: u64,
    /// The part's own cleaning watermarks, `LOW:HIGH` in segments, where its paper states them.
    pub watermark: Option<String>,
    /// Rated program/erase cycles of a block.
    pub endurance_cycles: u32,
    /// Standard deviation of the blocks' endurance, relative to `endurance_cycles`.
    pub endurance_spread: f64,
    /// Operation times; absent for a bare geometry.
    pub times: Option<Times>,
}

/// Why a chip profile cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No embedded profile has this name.
    #[error(
        "no chip is called '{name}'{}",
        nearest.as_ref().map(|n| format!("; did you mean '{n}'?")).unwrap_or_default()
    )]
    Unknown {
        /// The name asked for.
        name: String,
        /// The nearest known name, if one is near.
        nearest: Option<String>,
    },
    /// A profile file cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The text is not TOML, or a field is missing, misspelled or of the wrong type.
    #[error("chip '{name}': {message}")]
    Syntax {
        /// The profile's name, or its file.
        name: String,
        /// What is wrong, and on which line.
        message: String,
    },
    /// A `geometry:` text has the wrong form.
    #[error("'{text}': {reason}; the form is geometry:PAGE:PAGES_PER_BLOCK:BLOCKS[:DIES]")]
    Geometry {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The fields contradict each other or describe no possible chip.
    #[error("chip '{name}': {reason}")]
    Invalid {
        /// The profile's name.
        name: String,
        /// What is wrong.
        reason: String,
    },
}

/// A profile as it is written. Fields with a default, and fields of one kind only, may be absent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    description: String,
    source: String,
    #[serde(default)]
    aliases: Vec<String>,
    kind: ChipKind,
    page_bytes: u32,
    #[serde(default)]
    spare_bytes: u32,
    pages_per_block: u32,
    block_bytes: Option<u32>,
    blocks: u32,
    #[serde(default = "one")]
    banks: u32,
    #[serde(default = "one")]
    stripe: u32,
    #[serde(default = "one")]
    channels: u32,
    #[serde(default = "one")]
    paired_pages: u32,
    #[serde(default, with = "WrittenOrder")]
    program_order: ProgramOrder,
    #[serde(default)]
    copy_back: bool,
    #[serde(default)]
    max_bad_blocks: u32,
    logical_bytes: Option<u64>,
    watermark: Option<String>,
    endurance_cycles: u32,
    #[serde(default)]
    endurance_spread: f64,
    times: Option<Times>,
}

fn one() -> u32 {
    1
}

/// The default exported capacity: 87.5 % of the physical pages, whole pages.
fn default_logical_bytes(page_bytes: u32, pages: u64) -> u64 {
    // Dividing first keeps the product in range: the profile is not validated yet.
    (pages / 8 * 7 + pages % 8 * 7 / 8).saturating_mul(u64::from(page_bytes))
}

impl ChipProfile {
    /// Every embedded profile, in listing order.
    pub fn all() -> Vec<Self> {
        EMBEDDED
            .iter()
            .map(|(name, text)| {
                Self::from_toml_str(name, text).expect("embedded profiles are valid: a test reads each")
            })
            .collect()
    }

    /// The embedded profile of this name or alias.
    ///
    /// # Errors
    /// [`ProfileError::Unknown`], with the nearest known name.
    pub fn by_name(name: &str) -> Result<Self, ProfileError> {
        let mut all = Self::all();
        if let Some(at) = all.iter().position(|p| p.name == name || p.aliases.iter().any(|a| a == name)) {
            return Ok(all.swap_remove(at));
        }
        let known = all.iter().flat_map(|p| std::iter::once(&p.name).chain(&p.aliases));
        let nearest = known
            .map(|k| (strsim::normalized_damerau_levenshtein(name, k), k))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .filter(|(likeness, _)| *likeness > 0.4)
            .map(|(_, k)| k.clone());
        Err(ProfileError::Unknown { name: name.to_owned(), nearest })
    }

    /// The profile that a `--chip` argument means: `geometry:…`, a file whose name ends in `.toml`, or a name.
    ///
    /// # Errors
    /// As [`from_geometry_str`](Self::from_geometry_str), [`from_file`](Self::from_file) or
    /// [`by_name`](Self::by_name).
    pub fn resolve(arg: &str) -> Result<Self, ProfileError> {
        if arg.starts_with("geometry:") {
            Self::from_geometry_str(arg)
        } else if Path::new(arg).extension().is_some_and(|e| e.eq_ignore_ascii_case("toml")) {
            Self::from_file(Path::new(arg))
        } else {
            Self::by_name(arg)
        }
    }

    /// The profile in a TOML file; the file's stem becomes its name.
    ///
    /// # Errors
    /// `Io` if the file cannot be read, else as [`from_toml_str`](Self::from_toml_str).
    pub fn from_file(path: &Path) -> Result<Self, ProfileError> {
        let text = std::fs::read_to_string(path).map_err(|error| ProfileError::Io { path: path.to_owned(), error })?;
        let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        Self::from_toml_str(&name, &text)
    }

    /// The profile in a TOML text.
    ///
    /// # Errors
    /// `Syntax` if it is not such a text, `Invalid` if it describes no possible chip.
    pub fn from_toml_str(name: &str, text: &str) -> Result<Self, ProfileError> {
        let w: Written = toml::from_str(text)
            .map_err(|e| ProfileError::Syntax { name: name.to_owned(), message: told(text, &e) })?;
        let pages = u64::from(w.blocks) * u64::from(w.pages_per_block);
        let profile = Self {
            name: name.to_owned(),
            aliases: w.aliases,
            description: w.description,
            source: w.source,
            kind: w.kind,
            page_bytes: w.page_bytes,
            spare_bytes: w.spare_bytes,
            pages_per_block: w.pages_per_block,
            // A product that saturates is not the true one, which `validate` notices.
            block_bytes: w.block_bytes.unwrap_or(w.page_bytes.saturating_mul(w.pages_per_block)),
            blocks: w.blocks,
            banks: w.banks,
            stripe: w.stripe,
            channels: w.channels,
            paired_pages: w.paired_pages,
            program_order: w.program_order,
            copy_back: w.copy_back,
            max_bad_blocks: w.max_bad_blocks,
            logical_bytes: w.logical_bytes.unwrap_or(default_logical_bytes(w.page_bytes, pages)),
            watermark: w.watermark,
            endurance_cycles: w.endurance_cycles,
            endurance_spread: w.endurance_spread,
            times: w.times,
        };
        profile.validate()?;
        Ok(profile)
    }

    /// A NAND chip without times from `geometry:PAGE:PAGES_PER_BLOCK:BLOCKS[:DIES]`, PAGE in bytes or as in `4KiB`. Its
    /// spare is 64 bytes, or a thirty-second of the page if that is more; it exports 87.5 %.
    ///
    /// # Errors
    /// `Geometry` if the text has another form, `Invalid` if no chip has this geometry.
    pub fn from_geometry_str(text: &str) -> Result<Self, ProfileError> {
        let fail = |reason: String| ProfileError::Geometry { text: text.to_owned(), reason };
        let rest = text.strip_prefix("geometry:").ok_or_else(|| fail("it does not begin with 'geometry:'".into()))?;
        let mut numbers = Vec::new();
        for part in rest.split(':') {
            // Only the first number, the page, may have a unit.
            let (number, is_what) = match numbers.is_empty() {
                true => (page_bytes_of(part), "page size: a power of two from 512 to 65536, or from 1KiB to 64KiB"),
                false => (part.parse().ok(), "number below 2^32"),
            };
            numbers.push(number.ok_or_else(|| fail(format!("'{part}' is not a {is_what}")))?);
        }
        let (page_bytes, pages_per_block, blocks, banks) = match numbers[..] {
            [page, per_block, blocks] => (page, per_block, blocks, 1),
            [page, per_block, blocks, dies] => (page, per_block, blocks, dies),
            _ => return Err(fail(format!("it has {} numbers", numbers.len()))),
        };
        let profile = Self {
            name: text.to_owned(),
            aliases: Vec::new(),
            description: format!("a NAND chip of {blocks} blocks of {pages_per_block} pages of {page_bytes} bytes"),
            source: "given geometry".to_owned(),
            kind: ChipKind::Nand,
            page_bytes,
            spare_bytes: (page_bytes / 32).max(64),
            pages_per_block,
            block_bytes: page_bytes.saturating_mul(pages_per_block),
            blocks,
            banks,
            stripe: 1,
            channels: 1,
            paired_pages: 1,
            program_order: ProgramOrder::Ascending,
            copy_back: true,
            max_bad_blocks: 0,
            logical_bytes: default_logical_bytes(page_bytes, u64::from(blocks) * u64::from(pages_per_block)),
            watermark: None,
            endurance_cycles: 100_000,
            endurance_spread: 0.0,
            times: None,
        };
        profile.validate()?;
        Ok(profile)
    }

    /// Data pages of the whole chip.
    pub fn pages(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.pages_per_block)
    }

    /// Data pages that a segment of `stripe` blocks holds.
    pub fn pages_per_segment(&self) -> u32 {
        self.pages_per_block * self.stripe
    }

    /// Bytes of data pages of the whole chip.
    pub fn physical_bytes(&self) -> u64 {
        self.pages() * u64::from(self.page_bytes)
    }

    /// The shape as NAND. For a NOR profile: its data pages, for a layer above that needs no headers.
    pub fn nand_geometry(&self) -> NandGeometry {
        NandGeometry {
            page_bytes: self.page_bytes,
            spare_bytes: self.spare_bytes,
            pages_per_block: self.pages_per_block,
            blocks: self.blocks,
            dies: self.banks,
            paired_pages: self.paired_pages,
            program_order: self.program_order,
        }
    }

    /// The shape as NOR: blocks of bytes.
    pub fn nor_geometry(&self) -> NorGeometry {
        NorGeometry { block_bytes: self.block_bytes, blocks: self.blocks, banks: self.banks }
    }
}

/// Says on one line what is wrong with a TOML text, and where.
fn told(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().trim_end().replace('\n', "; ");
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else { return message };
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    format!("line {line}, column {column}: {message}")
}

/// The page of a `geometry:` text: bytes, or KiB.
fn page_bytes_of(text: &str) -> Option<u32> {
    let lower = text.to_ascii_lowercase();
    match lower.strip_suffix("kib") {
        Some(kib) => kib.parse::<u32>().ok()?.checked_mul(1024),
        None => lower.strip_suffix('b').unwrap_or(&lower).parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_profile_is_valid_and_found_by_its_name() {
        let all = ChipProfile::all();
        assert_eq!(all.len(), EMBEDDED.len());
        for p in all {
            assert!(p.times.is_some() && !p.source.is_empty(), "{}", p.name);
            assert!(p.logical_bytes < p.physical_bytes(), "{} has no over-provisioning", p.name);
            assert_eq!(ChipProfile::by_name(&p.name).expect("by name"), p);
        }
    }

    #[test]
    fn the_papers_chips_have_the_papers_sizes() {
        let k = ChipProfile::by_name("kawaguchi-28f008sa").expect("known");
        assert_eq!((k.pages(), k.logical_bytes, k.blocks / k.banks), (32_256, 14 << 20, 8));
        let times = k.times.expect("times");
        assert_eq!(times.program_us_per_byte * 400.0 * 1024.0, 1e6);
        assert_eq!(times.read_us_per_byte * 4096.0 * 1024.0, 1e6);
        let c = ChipProfile::by_name("chiang-series2plus").expect("known");
        assert_eq!((c.blocks, c.logical_bytes), (192, 188 * 31 * 4096));
        assert!(ChipProfile::by_name("tlc-512gb").expect("known").physical_bytes() >= 256 << 30);
        assert_eq!(ChipProfile::by_name("slc-1gb").expect("alias").name, "lim-slc-1gb");
        let in_any_order = ChipProfile::all().into_iter().filter(|p| p.program_order == ProgramOrder::Any);
        assert_eq!(in_any_order.map(|p| p.name).collect::<Vec<_>>(), ["fsaf-tc58dvm72a"]);
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        let error = ChipProfile::by_name("w25n01gw").expect_err("unknown");
        assert!(error.to_string().contains("did you mean 'w25n01gv'"), "{error}");
        let error = ChipProfile::by_name("zzzzzzzz").expect_err("unknown");
        assert!(matches!(error, ProfileError::Unknown { nearest: None, .. }));
    }

    #[test]
    fn geometry_text_is_read_and_checked() {
        let p = ChipProfile::resolve("geometry:4096:256:1152:4").expect("valid");
        assert_eq!((p.page_bytes, p.pages_per_block, p.blocks, p.banks), (4096, 256, 1152, 4));
        assert_eq!((p.spare_bytes, p.times, p.logical_bytes), (128, None, 1152 * 256 / 8 * 7 * 4096));
        for page in ["4096B", "4KiB", "4kib"] {
            let same = ChipProfile::resolve(&format!("geometry:{page}:256:1152:4")).expect(page);
            assert_eq!((same.page_bytes, same.blocks), (4096, 1152), "{page}");
        }
        for (text, what) in [
            ("geometry:4096:256", "2 numbers"),
            ("geometry:4096:256:x", "'x' is not a number"),
            ("geometry:4K:256:8", "'4K' is not a page size: a power of two from 512 to 65536, or from 1KiB to 64KiB"),
            ("geometry:1MiB:64:100", "'1MiB' is not a page size: a power of two from 512 to 65536, or from 1KiB"),
            ("geometry:4096:1KiB:8", "'1KiB' is not a number"),
            ("geometry:4194304KiB:256:8", "'4194304KiB' is not a page size"),
            ("geometry:1000:256:8", "power of two"),
            ("geometry:4096:0:8", "pages_per_block is 0"),
            ("geometry:4096:256:10:4", "do not divide"),
            ("geometry:4096:65536:65536", "less than 2^32 - 1"),
            ("geometry:4096:4294967295:1", "less than 2^32 - 1"),
        ] {
            let error = ChipProfile::resolve(text).expect_err(text).to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }

    #[test]
    fn contradictions_in_a_file_are_named() {
        let good = include_str!("../profiles/kawaguchi-28f008sa.toml");
        for (from, to, what) in [
            ("pages_per_block = 504", "pages_per_block = 513", "do not fit a block"),
            ("kind = \"nor\"", "kind = \"nand\"", "block_bytes is 262144"),
            ("logical_bytes = 14680064", "logical_bytes = 16777216", "more than the 16515072 physical bytes"),
            ("erase_us = 1000000.0", "erase_us = -1.0", "times.erase_us is -1"),
            ("blocks = 64", "blokcs = 64", "column 1: unknown field `blokcs`"),
            ("read_us_per_byte = 0.2384185791015625", "read_us_per_byte = 1e8", "to read a page takes"),
        ] {
            let error = ChipProfile::from_toml_str("test", &good.replace(from, to)).expect_err(what).to_string();
            assert!(error.contains(what), "{what}: {error}");
        }
    }

    #[test]
    fn a_profile_file_takes_its_name_from_the_file() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("my-chip.toml");
        std::fs::write(&path, include_str!("../profiles/w25n01gv.toml")).expect("write");
        let p = ChipProfile::resolve(path.to_str().expect("utf-8")).expect("valid");
        assert_eq!((p.name.as_str(), p.spare_bytes), ("my-chip", 16));
        std::fs::remove_file(&path).expect("remove");
        assert!(matches!(ChipProfile::from_file(&path), Err(ProfileError::Io { .. })));
    }
}
