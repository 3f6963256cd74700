//! What the host writes: named patterns with the generator that draws from them, programs over files, and a journaling
//! file system.

pub mod files;
mod generator;
pub mod journal;
mod zipf;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

pub use files::{FileWorkload, FilesSpec};
pub use generator::Generator;
pub(crate) use generator::below;
pub use journal::{Journal, JournalWorkload, Metadata};

use crate::names::nearest;
use crate::size::{Percent, format_size};
use files::{Day, Postmark, Sizes};

/// Every workload: the form of its name, and a line about it.
pub const WORKLOADS: [(&str, &str); 17] = [
    ("sequential", "every unit in order, then again from the first"),
    ("random", "every unit equally likely"),
    ("hot:X/Y", "X % of writes to the first Y % of the range, the others to the rest of it (Chiang, section 5.2)"),
    ("scattered:X/Y", "as hot:X/Y, but the units that are hot lie scattered over the range"),
    ("640-116", "60 % of writes to one eighth, 40 % to another, the rest never (Kawaguchi, section 3.3)"),
    ("zipf:THETA", "the k-th most popular unit with probability as 1/k^THETA; popular units lie scattered"),
    ("trace:FILE", "the requests recorded in a file"),
    ("postmark:small", "Postmark on a FAT volume: directories with a file of 512 bytes each (Lee, section 6.1)"),
    ("postmark:large", "Postmark on a FAT volume: files of 1 MiB (Lee, section 6.1)"),
    (
        "postmark:KEY=VALUE,...",
        "Postmark on a FAT volume: files, dirs, transactions, size, read, create, block (Katcher), sync",
    ),
    ("fax", "a fax machine on a FAT volume: pages come and go (after Gal and Toledo)"),
    ("cell-phone", "a cell phone on a FAT volume: calls, messages, appointments (after Gal and Toledo)"),
    ("cell-phone:KEY=VALUE,...", "the same with other numbers a day of calls, messages, appointments, addresses"),
    ("event-recorder", "an event recorder on a FAT volume: a cyclic file of records (after Gal and Toledo)"),
    (
        "files:SIZE",
        "files of a size, of sizes MIN..MAX, or huge, medium, small come and go on a FAT32 volume 80 % full (FSAF, \
         section 5.1)",
    ),
    ("camera", "photos fill a FAT32 volume, of which some are then deleted (FSAF, figure 1)"),
    (
        "journal:KEY=VALUE,...",
        "files of 8 MiB on a journaling file system (Lim '14): mode, op, request, files, journal, age, sync, hints",
    ),
];

/// What a host writes, by its name on the command line.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkloadSpec {
    /// `sequential`: every unit in order, over and over.
    Sequential,
    /// `random`: every unit equally likely.
    Random,
    /// `hot:X/Y`: X % of the writes spread evenly over the first Y % of the range, the other writes over
    /// the rest, as Chiang's section 5.2 defines x/y.
    Hot {
        /// The part of the writes that goes to the first part of the range; above 0 %.
        writes: Percent,
        /// The first part of the range; above 0 %.
        range: Percent,
        /// `scattered:X/Y`: the units of that part lie anywhere in the range instead.
        is_scattered: bool,
    },
    /// `640-116`, Kawaguchi's section 3.3: with the 4 KiB units dealt out to eight parts in turn, 60 % of
    /// the writes go anywhere in the first part, 40 % anywhere in the second, none to the others.
    HotAndCold640,
    /// `zipf:THETA`: the k-th most popular unit has a probability proportional to 1/k^θ.
    Zipf {
        /// θ; above 0 and finite.
        theta: f64,
    },
    /// `trace:FILE`: recorded requests.
    Trace(PathBuf),
    /// A program that works on the files of a FAT volume.
    Files(FilesSpec),
    /// `journal:…`: files on a journaling file system.
    Journal(Journal),
}

/// Why a workload was not understood or makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WorkloadError {
    /// An unknown name.
    #[error("unknown workload `{name}`; did you mean `{nearest}`?")]
    UnknownName {
        /// What was given.
        name: String,
        /// The known workload that looks most like it.
        nearest: &'static str,
    },
    /// A parameter with an unknown name.
    #[error("unknown parameter `{key}`; did you mean `{nearest}`?")]
    UnknownKey {
        /// What was given.
        key: String,
        /// The known name that looks most like it.
        nearest: &'static str,
    },
    /// A known workload with parameters that it does not take.
    #[error("`{text}` is not a workload: {expected}")]
    BadParameter {
        /// What was given.
        text: String,
        /// What the workload needs.
        expected: &'static str,
    },
    /// More units than a generator can number, or none.
    #[error("{units} units to write; it must be at least 1 and fewer than 2^32")]
    Units {
        /// How many there are.
        units: u64,
    },
    /// A part of the range that is written to but holds no whole unit.
    #[error("{workload} over {units} units leaves {part} without a unit to write")]
    EmptyPart {
        /// The workload.
        workload: String,
        /// Units in the range.
        units: u64,
        /// Which part has none.
        part: &'static str,
    },
    /// A unit that does not fit 640-116.
    #[error("640-116 is defined on units of 4 KiB: a unit must divide 4096 bytes, which {unit_bytes} does not")]
    UnitSize {
        /// The size asked for.
        unit_bytes: u64,
    },
    /// A volume that does not fit.
    #[error(
        "journal needs {} for its files, journal and metadata, and has {}",
        format_size(*.needed_bytes), format_size(*.range_bytes)
    )]
    Volume {
        /// Bytes that it takes.
        needed_bytes: u64,
        /// Bytes available.
        range_bytes: u64,
    },
    /// A trace or a program, where a pattern is needed.
    #[error("a trace or a program has requests of its own; nothing can be drawn from it")]
    NotSynthetic,
}

impl FromStr for WorkloadSpec {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let bad = |expected| WorkloadError::BadParameter { text: text.to_owned(), expected };
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        match (name, parameter) {
            ("sequential", None) => Ok(Self::Sequential),
            ("random", None) => Ok(Self::Random),
            ("640-116", None) => Ok(Self::HotAndCold640),
            ("fax", None) => Ok(Self::Files(FilesSpec::Fax)),
            ("cell-phone", None) => Ok(Self::Files(FilesSpec::CellPhone(Day::USUAL))),
            ("cell-phone", Some(day)) => Day::parse(day).map(|day| Self::Files(FilesSpec::CellPhone(day))),
            ("event-recorder", None) => Ok(Self::Files(FilesSpec::EventRecorder)),
            ("camera", None) => Ok(Self::Files(FilesSpec::Camera)),
            ("sequential" | "random" | "640-116" | "fax" | "event-recorder" | "camera", Some(_)) => {
                Err(bad("it takes no parameter"))
            }
            ("files", _) => {
                let sizes = parameter.and_then(Sizes::parse);
                let sizes = sizes.ok_or_else(|| {
                    bad("files:SIZE needs a size of at most 64 MiB, as in files:1MiB, two \
                    as in files:2KiB..64KiB, or `huge`, `medium` or `small`")
                })?;
                Ok(Self::Files(FilesSpec::Media(sizes)))
            }
            ("postmark", _) => {
                let expected =
                    "postmark needs `small`, `large`, or parameters as in postmark:files=500,size=500..10000";
                let parameters = parameter.filter(|parameters| !parameters.is_empty()).ok_or_else(|| bad(expected))?;
                Postmark::parse(parameters).map(|postmark| Self::Files(FilesSpec::Postmark(postmark)))
            }
            ("journal", _) => {
                let expected = "journal needs parameters, as in journal:op=random-write,request=4KiB";
                let parameters = parameter.filter(|parameters| !parameters.is_empty()).ok_or_else(|| bad(expected))?;
                Journal::parse(parameters).map(Self::Journal)
            }
            ("hot" | "scattered", _) => {
                let expected = "X/Y needs two percentages above 0 and at most 100, as in hot:90/10 or scattered:90/10";
                parameter.and_then(|parts| parse_hot(parts, name == "scattered")).ok_or_else(|| bad(expected))
            }
            ("zipf", _) => {
                let theta = parameter.and_then(|text| text.parse::<f64>().ok());
                let theta = theta.filter(|theta| theta.is_finite() && *theta > 0.0);
                let theta = theta.ok_or_else(|| bad("zipf:THETA needs a number above 0, as in zipf:0.99"))?;
                Ok(Self::Zipf { theta })
            }
            ("trace", _) => {
                let file = parameter.filter(|file| !file.is_empty());
                Ok(Self::Trace(file.ok_or_else(|| bad("trace:FILE needs the name of a file"))?.into()))
            }
            _ => Err(WorkloadError::UnknownName { name: text.to_owned(), nearest: nearest_workload(name) }),
        }
    }
}

fn parse_hot(parameter: &str, is_scattered: bool) -> Option<WorkloadSpec> {
    let (writes, range) = parameter.split_once('/')?;
    let (writes, range) = (Percent::from_number(writes)?, Percent::from_number(range)?);
    (!writes.is_zero() && !range.is_zero()).then_some(WorkloadSpec::Hot { writes, range, is_scattered })
}

/// The known workload whose name before the colon is nearest.
fn nearest_workload(name: &str) -> &'static str {
    let base = |known: &'static str| known.split_once(':').map_or(known, |(base, _)| base);
    let known = || WORKLOADS.iter().map(|&(known, _)| known);
    let nearest = nearest(name, known().map(base));
    // The list is not empty, so there always is a nearest name.
    known().find(|&known| Some(base(known)) == nearest).unwrap_or("random")
}

impl fmt::Display for WorkloadSpec {
    /// The name as on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequential => f.write_str("sequential"),
            Self::Random => f.write_str("random"),
            Self::Hot { writes, range, is_scattered } => {
                write!(f, "{}:{writes}/{range}", if *is_scattered { "scattered" } else { "hot" })
            }
            Self::HotAndCold640 => f.write_str("640-116"),
            Self::Zipf { theta } => write!(f, "zipf:{theta}"),
            Self::Trace(file) => write!(f, "trace:{}", file.display()),
            Self::Files(files) => files.fmt(f),
            Self::Journal(journal) => write!(f, "journal:{journal}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_as_they_are_written() {
        for text in [
            "sequential",
            "random",
            "hot:90/10",
            "hot:66.6/12.5",
            "scattered:90/10",
            "640-116",
            "zipf:0.99",
            "trace:a:b.csv",
            "postmark:small",
            "postmark:large",
            "postmark:files=7,dirs=each,transactions=9,size=1..1.5KiB,read=off,create=10,block=4KiB,sync=block",
            "fax",
            "cell-phone",
            "cell-phone:calls=10,messages=12,appointments=0,addresses=1",
            "event-recorder",
            "files:huge",
            "files:1MiB",
            "files:2KiB..64KiB",
            "camera",
            "journal:mode=data,op=random-write,request=64KiB,files=7,journal=4MiB,age=12.5%,sync=3,hints=off",
            "journal:mode=ordered,op=write,request=4KiB,journal=16MiB,age=100%,sync=1,hints=on",
        ] {
            let spec: WorkloadSpec = text.parse().expect(text);
            assert_eq!(spec.to_string(), text);
        }
    }

    #[test]
    fn misspelt_names_find_the_nearest() {
        for (typed, meant) in [
            ("squential", "sequential"),
            ("rand", "random"),
            ("hott:90/10", "hot:X/Y"),
            ("640116", "640-116"),
            ("zip:1", "zipf:THETA"),
            ("traces:x", "trace:FILE"),
            ("postmrk:small", "postmark:small"),
            ("cellphone", "cell-phone"),
            ("event-rec", "event-recorder"),
            ("jurnal:op=write", "journal:KEY=VALUE,..."),
        ] {
            let expected = WorkloadError::UnknownName { name: typed.into(), nearest: meant };
            assert_eq!(typed.parse::<WorkloadSpec>(), Err(expected));
        }
    }

    #[test]
    fn misspelt_parameters_find_the_nearest() {
        for (typed, meant) in [("fils=3", "files"), ("smal", "small"), ("size=1..2,trans=7", "transactions")] {
            let error = format!("postmark:{typed}").parse::<WorkloadSpec>().expect_err(typed);
            assert!(matches!(error, WorkloadError::UnknownKey { nearest, .. } if nearest == meant), "{error}");
        }
        let error = "cell-phone:message=3".parse::<WorkloadSpec>().expect_err("misspelt");
        assert!(matches!(error, WorkloadError::UnknownKey { nearest: "messages", .. }), "{error}");
        let error = "journal:op=write,requests=4KiB".parse::<WorkloadSpec>().expect_err("misspelt");
        assert!(matches!(error, WorkloadError::UnknownKey { nearest: "request", .. }), "{error}");
    }

    #[test]
    fn parameters_are_checked() {
        for wrong in [
            "hot",
            "hot:",
            "hot:90",
            "hot:0/10",
            "hot:90/0",
            "hot:101/1",
            "hot:a/b",
            "hot:90/10/5",
            "zipf",
            "zipf:0",
            "zipf:-1",
            "zipf:nan",
            "zipf:inf",
            "trace",
            "trace:",
            "random:3",
            "fax:3",
            "camera:3",
            "files",
            "files:tiny",
            "files:0",
            "files:65MiB",
            "files:4KiB..2KiB",
            "files:4KiB..",
            "postmark",
            "postmark:",
            "postmark:files=0",
            "postmark:files=121,dirs=each",
            "postmark:dirs=241",
            "postmark:size=10..1",
            "postmark:size=10",
            "postmark:size=1..65MiB",
            "postmark:read=11",
            "postmark:create=on",
            "postmark:block=0",
            "postmark:sync=often",
            "postmark:transactions=",
            "journal",
            "journal:",
            "journal:mode=writeback",
            "journal:op=read",
            "journal:request=2KiB",
            "journal:request=12KiB",
            "journal:request=16MiB",
            "journal:files=0",
            "journal:journal=2MiB",
            "journal:journal=1GiB",
            "journal:journal=4097KiB",
            "journal:sync=0",
            "journal:age=101%",
            "journal:mode=data,request=64KiB,sync=16,journal=4MiB",
            "journal:hints=maybe",
        ] {
            let error = wrong.parse::<WorkloadSpec>().expect_err(wrong);
            assert!(matches!(error, WorkloadError::BadParameter { .. }), "{wrong}: {error}");
        }
    }
}
