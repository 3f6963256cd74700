//! The header of a disk image: its parameters, so that it can be opened without flags. SPEC.md ("Disk image") has every
//! byte.
//!
//! The mark and the version are outside the checksum. If they are wrong and everything else matches, they are the
//! damaged part. So a later version must not have the same checksum over the same bytes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::fdp::FdpSpec;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use wearwell::logblock::Recycling;
use wearwell::{CleaningTrigger, Placement, Reclamation, VictimPolicy, WearLeveling};
use wearwell_emu::ChipProfile;
use wearwell_sim::engine::{AwareMode, Engine, EnginePlan, EngineSpec, Layout, StreamSource};

const MARK: &[u8; 8] = b"WEARDISK";
const VERSION: u32 = 1;
const CHIP_STEP: u64 = 65_536;
/// Texts are much shorter. A greater length is damage.
const HEAD_MAX: u64 = 16 * CHIP_STEP;

/// Where the fields of the header lie.
mod field {
    pub(super) const VERSION: usize = 8;
    pub(super) const CRC: usize = 12;
    /// The checksum is of everything from here to the end of the text.
    pub(super) const CHECKED: usize = 16;
    pub(super) const CHIP_AT: usize = 16;
    pub(super) const TEXT_LEN: usize = 20;
    pub(super) const TEXT: usize = 24;
    /// Bytes of the holder, which lies right before the chip.
    pub(super) const HOLDER_BYTES: u64 = 4;
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
    bytes: Vec<u8>,
}

impl Header {
    /// Makes the header of a disk.
    ///
    /// # Errors
    /// If the profile's texts are longer than a header.
    pub(super) fn of(plan: &EnginePlan, fdp: Option<FdpSpec>) -> Result<Self, HeaderFault> {
        let text = toml::to_string(&Written::of(plan, fdp)).map_err(|error| HeaderFault::Text(error.to_string()))?;
        let chip_at = (field::TEXT as u64 + text.len() as u64 + field::HOLDER_BYTES).next_multiple_of(CHIP_STEP);
        if chip_at > HEAD_MAX {
            return Err(HeaderFault::Text(format!("{} bytes are too many", text.len())));
        }
        Ok(Self { chip_at, fdp, bytes: encode(chip_at as u32, &text) })
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
        Some(u32::from_le_bytes(word)).filter(|&pid| pid != 0)
    }

    /// The bytes between the text and the holder that are not zero.
    pub(super) fn changed_unused(&self, file: &File) -> io::Result<Vec<u64>> {
        let from = self.bytes.len() as u64;
        let mut unused = vec![0; (self.chip_at - field::HOLDER_BYTES - from) as usize];
        file.read_exact_at(&mut unused, from)?;
        Ok((from..).zip(unused).filter(|(_, byte)| *byte != 0).map(|(at, _)| at).collect())
    }

    /// Reads the header of a file, and decodes its parameters.
    ///
    /// # Errors
    /// Outside: errors of reading. Inside: what is wrong with the header.
    pub(super) fn read(file: &File) -> io::Result<Result<(Self, EngineSpec), HeaderFault>> {
        let len = file.metadata()?.len();
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
        match (wrong_at, version) {
            // Spec D1.
            (Some(at), _) if read.is_ok() => Err(HeaderFault::Mark { at: at as u64 }),
            _ if !has_mark => Err(HeaderFault::Foreign),
            // Spec D2.
            (_, Some(value)) if value != VERSION && read.is_ok() => {
                Err(HeaderFault::Damaged { what: "the version", value, at: field::VERSION as u64 })
            }
            (_, Some(found)) if found != VERSION => Err(HeaderFault::Version { found, supported: VERSION }),
            _ => read,
        }
    }

    /// Reads everything after the mark and the version.
    fn parse_body(mut bytes: Vec<u8>, file_bytes: u64) -> Result<(Self, EngineSpec), HeaderFault> {
        let (chip_at, end) = decode(&bytes, file_bytes)?;
        bytes.truncate(end);
        let text = std::str::from_utf8(&bytes[field::TEXT..]).map_err(|error| HeaderFault::Text(error.to_string()))?;
        // Spec D4.
        let written: Written =
            toml::from_str(text).map_err(|error| HeaderFault::Text(error.to_string().trim_end().to_owned()))?;
        Ok((Self { chip_at, fdp: written.fdp, bytes }, written.spec()?))
    }
}

/// The bytes of a header, up to the end of its text.
fn encode(chip_at: u32, text: &str) -> Vec<u8> {
    let mut bytes = vec![0; field::TEXT];
    bytes[..MARK.len()].copy_from_slice(MARK);
    put_word(&mut bytes, field::VERSION, VERSION);
    put_word(&mut bytes, field::CHIP_AT, chip_at);
    put_word(&mut bytes, field::TEXT_LEN, text.len() as u32);
    bytes.extend_from_slice(text.as_bytes());
    let crc = crc32fast::hash(&bytes[field::CHECKED..]);
    put_word(&mut bytes, field::CRC, crc);
    bytes
}

/// The start of the chip and the end of the text, in a header whose checksum matches.
fn decode(bytes: &[u8], file_bytes: u64) -> Result<(u64, usize), HeaderFault> {
    let word = |at| word(bytes, at).ok_or(HeaderFault::Truncated { found: file_bytes, expected: CHIP_STEP });
    let (crc, chip_at, text_len) = (word(field::CRC)?, word(field::CHIP_AT)?, word(field::TEXT_LEN)?);
    let damaged = |what, value, at| Err(HeaderFault::Damaged { what, value, at: at as u64 });
    // Spec D3.
    if chip_at == 0 || !u64::from(chip_at).is_multiple_of(CHIP_STEP) || u64::from(chip_at) > HEAD_MAX {
        return damaged("the chip's place", chip_at, field::CHIP_AT);
    }
    let end = field::TEXT as u64 + u64::from(text_len);
    if end > u64::from(chip_at) - field::HOLDER_BYTES {
        return damaged("the text's length", text_len, field::TEXT_LEN);
    }
    if file_bytes < u64::from(chip_at) {
        return Err(HeaderFault::Truncated { found: file_bytes, expected: u64::from(chip_at) });
    }
    let end = end as usize;
    if bytes.get(field::CHECKED..end).map(crc32fast::hash) != Some(crc) {
        return Err(HeaderFault::Checksum);
    }
    Ok((u64::from(chip_at), end))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes)
}

fn put_word(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_the_spec_is_what_is_written() {
        let text = "a = 1\n";
        let spec = wearwell_spec::dump("disk-header");
        assert_eq!(encode(CHIP_STEP as u32, text), spec);
        let mut bytes = spec;
        let end = bytes.len();
        bytes.resize(CHIP_STEP as usize, 0);
        assert_eq!(decode(&bytes, CHIP_STEP), Ok((CHIP_STEP, end)));
        assert_eq!(&bytes[field::TEXT..end], text.as_bytes());
    }
}
