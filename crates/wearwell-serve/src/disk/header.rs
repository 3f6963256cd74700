//! The header of a disk image: its parameters, so that it can be opened without flags. SPEC.md ("Disk image") has every
//! byte.
//!
//! If the mark or the version is wrong and everything else matches, it is the damaged part. The checksum of version 2
//! covers the version, and that of version 1 does not, so no two versions have the same checksum over the same bytes.
//! Version 1 has no record of the disk's life.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::life::{self, PLACES_BYTES};
use crate::fdp::FdpSpec;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use wearwell::logblock::Recycling;
use wearwell::{CleaningTrigger, Placement, Reclamation, VictimPolicy, WearLeveling};
use wearwell_emu::ChipProfile;
use wearwell_sim::engine::{AwareMode, Engine, EnginePlan, EngineSpec, Layout, StreamSource};

const MARK: &[u8; 8] = b"WEARDISK";
const VERSION: u32 = 2;
/// Every version that is read.
const VERSIONS: [u32; 2] = [1, VERSION];
const CHIP_STEP: u64 = 65_536;
/// Texts are much shorter. A greater length is damage.
const HEAD_MAX: u64 = 16 * CHIP_STEP;

/// Where the fields of the header lie.
mod field {
    pub(super) const VERSION: usize = 8;
    pub(super) const CRC: usize = 12;
    /// The checksum is of the version, and of everything from here to the end of the text.
    pub(super) const CHECKED: usize = 16;
    pub(super) const CHIP_AT: usize = 16;
    pub(super) const TEXT_LEN: usize = 20;
    pub(super) const TEXT: usize = 24;
    /// Bytes of the holder, which lies right before the chip.
    pub(super) const HOLDER_BYTES: u64 = 4;
    /// How far before the chip the record of the disk's life begins. No file system has smaller blocks, so it has its
    /// space from the first holder on.
    pub(super) const LIFE_BYTES: u64 = 512;
}

/// What is wrong with the header of an image.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HeaderFault {
    /// The file does not begin with the mark.
    #[error("not a disk image (no mark at byte 0)")]
    Foreign,
    /// The file is a folder, a pipe or similar.
    #[error("not a disk image (no plain file)")]
    NoFile,
    /// Another version of the format.
    #[error("disk image format {found}, this program reads {supported} (byte 8)")]
    Version {
        /// The file's version.
        found: u32,
        /// The version that can be read.
        supported: u32,
    },
    /// The file ends in the header.
    #[error("the file ends in its header: {found} bytes, {expected} are needed")]
    Truncated {
        /// Bytes of the file.
        found: u64,
        /// Bytes that the header needs.
        expected: u64,
    },
    /// A length or place that no image has.
    #[error("the header is damaged: {what} is {value} (byte {at})")]
    Damaged {
        /// The field.
        what: &'static str,
        /// Its value.
        value: u32,
        /// Where it is.
        at: u64,
    },
    /// Everything matches except the mark.
    #[error("the header is damaged: the mark (byte {at})")]
    Mark {
        /// Its first wrong byte.
        at: u64,
    },
    /// The checksum does not match.
    #[error("the header is damaged (checksum at byte 12)")]
    Checksum,
    /// The text cannot be read.
    #[error("the header's text (from byte 24 on): {0}")]
    Text(String),
}

/// The text.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// Reclaim unit handles. Only images of disks that have some have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fdp: Option<FdpSpec>,
    engine: EngineChoices,
    chip: ChipProfile,
}

/// Every parameter of the engine, in the text form of the command line and the image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineChoices {
    /// The engine.
    pub ftl: String,
    /// How records lie on flash.
    pub layout: String,
    /// When cleaning runs.
    pub when: String,
    /// Which segment it takes.
    pub which: String,
    /// Where pages go.
    pub r#where: String,
    /// Wear leveling.
    pub wear: String,
    /// How block mapping recycles log blocks.
    pub recycle: String,
    /// Log blocks of block mapping.
    pub log_blocks: u32,
    /// When block mapping erases dead blocks. Images from before this choice existed lack it.
    #[serde(default = "at_once")]
    pub reclaim: String,
    /// Capacity for the host.
    pub logical_bytes: u64,
    /// The seed. It is a text, because TOML's integers end at 2^63.
    pub seed: String,
    /// Inference of dead data.
    pub aware: String,
    /// Least duration of its epochs, in seconds.
    pub hold_s: f64,
    /// Least number of flushes in one.
    pub hold_flushes: u32,
    /// Where streams come from.
    pub streams: String,
}

fn at_once() -> String {
    Reclamation::AtOnce.to_string()
}

impl EngineChoices {
    pub(super) fn of(plan: &EnginePlan) -> Self {
        let spec = &plan.spec;
        Self {
            ftl: spec.ftl.to_string(),
            layout: plan.layout.to_string(),
            when: plan.when.to_string(),
            which: spec.which.to_string(),
            r#where: spec.place.to_string(),
            wear: plan.wear.to_string(),
            recycle: spec.recycle.to_string(),
            log_blocks: spec.log_blocks,
            reclaim: spec.reclaim.to_string(),
            logical_bytes: plan.logical_bytes,
            seed: spec.seed.to_string(),
            aware: spec.aware.to_string(),
            hold_s: spec.hold_s,
            hold_flushes: spec.hold_flushes,
            streams: spec.streams.to_string(),
        }
    }
}

impl Written {
    fn of(plan: &EnginePlan, fdp: Option<FdpSpec>) -> Self {
        Self { fdp, engine: EngineChoices::of(plan), chip: plan.spec.chip.clone() }
    }

    fn spec(self) -> Result<EngineSpec, HeaderFault> {
        let Self { engine: e, chip, .. } = self;
        chip.validate().map_err(|error| HeaderFault::Text(error.to_string()))?;
        Ok(EngineSpec {
            ftl: choice("ftl", &e.ftl, Engine::parse)?,
            layout: Some(choice("layout", &e.layout, Layout::parse)?),
            when: Some(choice("when", &e.when, CleaningTrigger::parse)?),
            which: choice("which", &e.which, VictimPolicy::parse)?,
            place: choice("where", &e.r#where, Placement::parse)?,
            wear: Some(choice("wear", &e.wear, WearLeveling::parse)?),
            recycle: choice("recycle", &e.recycle, Recycling::parse)?,
            log_blocks: e.log_blocks,
            reclaim: choice("reclaim", &e.reclaim, Reclamation::parse)?,
            logical_bytes: Some(e.logical_bytes),
            seed: choice("seed", &e.seed, |text| text.parse().ok())?,
            aware: choice("aware", &e.aware, AwareMode::parse)?,
            hold_s: e.hold_s,
            hold_flushes: e.hold_flushes,
            streams: choice("streams", &e.streams, StreamSource::parse)?,
            chip,
        })
    }
}

fn choice<T>(key: &str, text: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, HeaderFault> {
    parse(text).ok_or_else(|| HeaderFault::Text(format!("engine.{key} is '{text}', which this program does not know")))
}

/// A header, read or to be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    /// Where the chip begins.
    pub(super) chip_at: u64,
    /// Reclaim unit handles.
    pub(super) fdp: Option<FdpSpec>,
    version: u32,
    bytes: Vec<u8>,
}

impl Header {
    /// Makes the header of a disk.
    ///
    /// # Errors
    /// If the profile's texts are longer than a header.
    pub(super) fn of(plan: &EnginePlan, fdp: Option<FdpSpec>) -> Result<Self, HeaderFault> {
        let text = toml::to_string(&Written::of(plan, fdp)).map_err(|error| HeaderFault::Text(error.to_string()))?;
        // The chip is mapped into memory, which wants a multiple of the machine's pages.
        let chip_at = (field::TEXT as u64 + text.len() as u64 + field::LIFE_BYTES).next_multiple_of(CHIP_STEP);
        if chip_at > HEAD_MAX {
            return Err(HeaderFault::Text(format!("{} bytes are too many", text.len())));
        }
        Ok(Self { chip_at, fdp, version: VERSION, bytes: encode(VERSION, chip_at as u32, &text) })
    }

    /// Writes it.
    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        file.write_all_at(&self.bytes, 0)
    }

    /// Notes which process has the image open.
    pub(super) fn write_holder(&self, file: &File) -> io::Result<()> {
        file.write_all_at(&std::process::id().to_le_bytes(), self.chip_at - field::HOLDER_BYTES)
    }

    /// The process that has the image open.
    pub(super) fn read_holder(&self, file: &File) -> Option<u32> {
        let mut word = [0; 4];
        file.read_exact_at(&mut word, self.chip_at - field::HOLDER_BYTES).ok()?;
        // 0 is no process.
        Some(u32::from_le_bytes(word)).filter(|&pid| pid != 0)
    }

    /// Where both places of the disk's life are; none in version 1.
    pub(super) fn life_at(&self) -> Option<Range<u64>> {
        let start = self.chip_at - field::LIFE_BYTES;
        // The text of an image of version 1 may reach into that place.
        (self.version > 1).then_some(start..start + PLACES_BYTES as u64)
    }

    /// The bytes of both places; zeros if there are none.
    pub(super) fn read_life(&self, file: &File) -> io::Result<[u8; PLACES_BYTES]> {
        let mut places = [0; PLACES_BYTES];
        if let Some(at) = self.life_at() {
            file.read_exact_at(&mut places, at.start)?;
        }
        Ok(places)
    }

    /// Begins the disk's life.
    pub(super) fn write_life(&self, file: &File) -> io::Result<()> {
        self.life_at().map_or(Ok(()), |at| file.write_all_at(&life::new_places(), at.start))
    }

    /// The bytes between the text and the holder that have no meaning and are not zero.
    pub(super) fn changed_unused(&self, file: &File) -> io::Result<Vec<u64>> {
        let from = self.bytes.len() as u64;
        let mut unused = vec![0; (self.chip_at - field::HOLDER_BYTES - from) as usize];
        file.read_exact_at(&mut unused, from)?;
        let used = self.life_at().unwrap_or(0..0);
        let changed = (from..).zip(unused).filter(|(at, byte)| *byte != 0 && !used.contains(at));
        Ok(changed.map(|(at, _)| at).collect())
    }

    /// Reads the header of a file, and decodes its parameters.
    ///
    /// # Errors
    /// Outside: errors of reading. Inside: what is wrong with the header.
    pub(super) fn read(file: &File) -> io::Result<Result<(Self, EngineSpec), HeaderFault>> {
        let len = file.metadata()?.len();
        // A header is never longer, and an image may have gigabytes.
        let mut bytes = vec![0; len.min(HEAD_MAX) as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(Self::parse(bytes, len))
    }

    /// Reads a header from the first bytes of a file of `file_bytes` bytes. A wrong mark or version is believed only if
    /// the rest does not match either. If the rest matches, the mark or the version is damaged.
    fn parse(bytes: Vec<u8>, file_bytes: u64) -> Result<(Self, EngineSpec), HeaderFault> {
        let has_mark = bytes.starts_with(MARK);
        let wrong_at = MARK.iter().zip(&bytes).position(|(mark, byte)| mark != byte);
        let version = word(&bytes, field::VERSION);
        let read = Self::parse_body(bytes, file_bytes);
        match (wrong_at, version, &read) {
            // Spec D1.
            (Some(at), _, Ok(_)) => Err(HeaderFault::Mark { at: at as u64 }),
            _ if !has_mark => Err(HeaderFault::Foreign),
            // Spec D2.
            (_, Some(value), Ok((header, _))) if value != header.version => {
                Err(HeaderFault::Damaged { what: "the version", value, at: field::VERSION as u64 })
            }
            (_, Some(found), Err(_)) if !VERSIONS.contains(&found) => {
                Err(HeaderFault::Version { found, supported: VERSION })
            }
            _ => read,
        }
    }

    /// Reads everything after the mark and the version.
    fn parse_body(mut bytes: Vec<u8>, file_bytes: u64) -> Result<(Self, EngineSpec), HeaderFault> {
        let Decoded { version, chip_at, end } = decode(&bytes, file_bytes)?;
        bytes.truncate(end);
        let text = std::str::from_utf8(&bytes[field::TEXT..]).map_err(|error| HeaderFault::Text(error.to_string()))?;
        // Spec D4.
        let written: Written =
            toml::from_str(text).map_err(|error| HeaderFault::Text(error.to_string().trim_end().to_owned()))?;
        Ok((Self { chip_at, fdp: written.fdp, version, bytes }, written.spec()?))
    }
}

/// The bytes of a header, up to the end of its text.
fn encode(version: u32, chip_at: u32, text: &str) -> Vec<u8> {
    let mut bytes = vec![0; field::TEXT];
    bytes[..MARK.len()].copy_from_slice(MARK);
    put_word(&mut bytes, field::VERSION, version);
    put_word(&mut bytes, field::CHIP_AT, chip_at);
    put_word(&mut bytes, field::TEXT_LEN, text.len() as u32);
    bytes.extend_from_slice(text.as_bytes());
    let code = code(version, &bytes[field::CHECKED..]);
    put_word(&mut bytes, field::CRC, code);
    bytes
}

/// The checksum of a header.
fn code(version: u32, checked: &[u8]) -> u32 {
    let mut code = crc32fast::Hasher::new();
    if version > 1 {
        code.update(&version.to_le_bytes());
    }
    code.update(checked);
    code.finalize()
}

/// A header whose checksum matches.
#[derive(Debug, PartialEq)]
struct Decoded {
    /// The version that the checksum is of.
    version: u32,
    /// Where the chip begins.
    chip_at: u64,
    /// Where the text ends.
    end: usize,
}

fn decode(bytes: &[u8], file_bytes: u64) -> Result<Decoded, HeaderFault> {
    let word = |at| word(bytes, at).ok_or(HeaderFault::Truncated { found: file_bytes, expected: CHIP_STEP });
    let (crc, chip_at, text_len) = (word(field::CRC)?, word(field::CHIP_AT)?, word(field::TEXT_LEN)?);
    let damaged = |what, value, at| Err(HeaderFault::Damaged { what, value, at: at as u64 });
    // Spec D3.
    if chip_at == 0 || !u64::from(chip_at).is_multiple_of(CHIP_STEP) || u64::from(chip_at) > HEAD_MAX {
        return damaged("the chip's place", chip_at, field::CHIP_AT);
    }
    // In 64 bits: the length is the file's, and the sum could overflow.
    let end = field::TEXT as u64 + u64::from(text_len);
    if end > u64::from(chip_at) - field::HOLDER_BYTES {
        return damaged("the text's length", text_len, field::TEXT_LEN);
    }
    if file_bytes < u64::from(chip_at) {
        return Err(HeaderFault::Truncated { found: file_bytes, expected: u64::from(chip_at) });
    }
    let end = end as usize;
    let checked = bytes.get(field::CHECKED..end).ok_or(HeaderFault::Checksum)?;
    // The version of the checksum counts. That in the file may be what is damaged.
    let version = VERSIONS.into_iter().find(|&version| code(version, checked) == crc).ok_or(HeaderFault::Checksum)?;
    if version > 1 && end as u64 > u64::from(chip_at) - field::LIFE_BYTES {
        return damaged("the text's length", text_len, field::TEXT_LEN);
    }
    Ok(Decoded { version, chip_at: u64::from(chip_at), end })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes)
}

fn put_word(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_header_of_the_spec_is_what_is_written() {
        let text = "a = 1\n";
        let spec = wearwell_spec::dump("disk-header");
        assert_eq!(encode(VERSION, CHIP_STEP as u32, text), spec);
        let mut bytes = spec;
        let end = bytes.len();
        bytes.resize(CHIP_STEP as usize, 0);
        assert_eq!(decode(&bytes, CHIP_STEP), Ok(Decoded { version: VERSION, chip_at: CHIP_STEP, end }));
        assert_eq!(&bytes[field::TEXT..end], text.as_bytes());
    }

    /// The keys of a table, with those of the tables in it behind a dot.
    fn keys(table: &toml::Table, before: &str, found: &mut BTreeSet<String>) {
        for (key, value) in table {
            match value {
                toml::Value::Table(inner) => keys(inner, &format!("{before}{key}."), found),
                _ => drop(found.insert(format!("{before}{key}"))),
            }
        }
    }

    #[test]
    fn the_keys_of_the_spec_are_those_of_a_header() {
        let plan = crate::disk::DiskConfig::of_size(1 << 20).expect("valid").plan().expect("fits");
        let mut written = Written::of(&plan, Some(FdpSpec::parse("8").expect("handles")));
        // What may be missing is there.
        written.chip.watermark = Some("3:4".to_owned());
        let times = "erase_us = 1.0\nsuspend_us = 1.0\nbus_bytes_per_us = 1.0";
        written.chip.times = Some(toml::from_str(times).expect("the others may be missing"));
        let text = toml::to_string(&written).expect("it can be written");
        let mut in_header = BTreeSet::new();
        keys(&text.parse().expect("TOML"), "", &mut in_header);
        let rows = wearwell_spec::SPEC
            .lines()
            .filter(|line| ["| `fdp`", "| `engine.", "| `chip."].iter().any(|key| line.starts_with(key)));
        let cells = rows.filter_map(|line| line.split('|').nth(1));
        let in_spec: BTreeSet<String> =
            cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect();
        assert_eq!(in_spec, in_header);
    }

    #[test]
    fn an_older_header_is_read_and_a_changed_version_is_damage() {
        let plan = crate::disk::DiskConfig::of_size(1 << 20).expect("valid").plan().expect("fits");
        let new = Header::of(&plan, None).expect("short");
        let text = std::str::from_utf8(&new.bytes[field::TEXT..]).expect("a text");
        let parsed = |mut bytes: Vec<u8>, version: u32| {
            put_word(&mut bytes, field::VERSION, version);
            bytes.resize(new.chip_at as usize, 0);
            Header::parse(bytes, new.chip_at).map(|(header, _)| (header.version, header.life_at()))
        };
        let old = encode(1, new.chip_at as u32, text);
        assert_eq!(parsed(old.clone(), 1), Ok((1, None)));
        assert_eq!(parsed(new.bytes.clone(), 2), Ok((2, Some(new.chip_at - 512..new.chip_at - 384))));
        for (bytes, version) in [(&old, 2), (&old, 7), (&new.bytes, 1), (&new.bytes, 7)] {
            let damaged = HeaderFault::Damaged { what: "the version", value: version, at: 8 };
            assert_eq!(parsed(bytes.clone(), version), Err(damaged));
        }
        let later = encode(3, new.chip_at as u32, text);
        assert_eq!(parsed(later, 3), Err(HeaderFault::Version { found: 3, supported: 2 }));
    }
}
