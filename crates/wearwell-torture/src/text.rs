//! Setups and histories as text: short enough to be kept in a test, and read from there.
//!
//! A history is steps with commas between them: `write 55 208+3@2!, cut 7:52235, mount`. `208+3@2!` are three pages
//! from page 208 on, in stream 2, with the promise not to write them again; `cut 7:52235` lets 7 operations pass and
//! draws 52235. Steps of one kind share its name.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use wearwell_flash::{NandGeometry, NorGeometry, ProgramOrder};

use crate::history::Step;
use crate::mode::{FIRST, LATER, PAGED, Temper};
use crate::setup::{
    BLOCK_RECLAIM, BLOCK_WEAR, DEFAULT_WEAR, Driver, Engine, PolicyNames, RECLAIM, RECYCLE, SCHEMES, Setup, Shape,
    WEAR, WHEN,
};

/// Columns of a printed test.
pub const COLUMNS: usize = 120;

/// A text that is no history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("step {number} of the history cannot be read: {text:?}")]
pub struct UnknownStep {
    /// Counted from 1.
    pub number: usize,
    /// The step.
    pub text: String,
}

/// A text that is no setup.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownSetup {
    /// Something is not said.
    #[error("the setup does not say {0}")]
    Missing(&'static str),
    /// A value is none of its key.
    #[error("the setup has {key}={value}, which cannot be read")]
    Value {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
    },
    /// A word has no meaning, at least for this chip and this engine, or is there twice.
    #[error("the setup has a word too many: {0:?}")]
    Surplus(String),
}

/// Pages or sectors that follow each other, and their stream.
struct Span(u32, u32, u16);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(first, count, stream) = self;
        write!(f, "{first}")?;
        if *count != 1 {
            write!(f, "+{count}")?;
        }
        if *stream != 0 {
            write!(f, "@{stream}")?;
        }
        Ok(())
    }
}

impl Span {
    fn read(text: &str) -> Option<Self> {
        let (span, stream) = text.split_once('@').unwrap_or((text, "0"));
        let (first, count) = span.split_once('+').unwrap_or((span, "1"));
        Some(Self(first.parse().ok()?, count.parse().ok()?, stream.parse().ok()?))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Write { page, count, stream, read_only } => {
                write!(f, "write {}{}", Span(page, count, stream), if read_only { "!" } else { "" })
            }
            Self::Part { sector, count, stream } => write!(f, "part {}", Span(sector, count, stream)),
            Self::Discard { sector, count } => write!(f, "discard {}", Span(sector, count, 0)),
            Self::Flush => f.write_str("flush"),
            Self::Clean { pages } => write!(f, "clean {pages}"),
            Self::Read { page } => write!(f, "read {page}"),
            Self::Verify => f.write_str("verify"),
            Self::Shutdown => f.write_str("shutdown"),
            Self::Policies(names) => write!(f, "policies {names}"),
            Self::Mount => f.write_str("mount"),
            Self::Cut { after, draw } => write!(f, "cut {after}:{draw}"),
            Self::Fail { after, draw } => write!(f, "fail {after}:{draw}"),
            Self::FailMark { after } => write!(f, "fail-mark {after}"),
            Self::Other { after, draw } => write!(f, "other {after}:{draw}"),
            Self::Refresh { after } => write!(f, "refresh {after}"),
            Self::Mark { draw } => write!(f, "mark {draw}"),
            Self::Decay { draw } => write!(f, "decay {draw}"),
        }
    }
}

impl Step {
    /// A step by its name and what follows it.
    fn read(name: &str, rest: &str) -> Option<Self> {
        let fault = || {
            let (after, draw) = rest.split_once(':')?;
            Some((after.parse().ok()?, draw.parse().ok()?))
        };
        Some(match name {
            "write" => {
                let promised = rest.strip_suffix('!');
                let Span(page, count, stream) = Span::read(promised.unwrap_or(rest))?;
                Self::Write { page, count, stream, read_only: promised.is_some() }
            }
            "part" => Span::read(rest).map(|Span(sector, count, stream)| Self::Part { sector, count, stream })?,
            "discard" => match Span::read(rest)? {
                Span(sector, count, 0) => Self::Discard { sector, count },
                _ => return None,
            },
            "flush" if rest.is_empty() => Self::Flush,
            "clean" => Self::Clean { pages: rest.parse().ok()? },
            "read" => Self::Read { page: rest.parse().ok()? },
            "verify" if rest.is_empty() => Self::Verify,
            "shutdown" if rest.is_empty() => Self::Shutdown,
            "policies" => Self::Policies(PolicyNames::read(rest)?),
            "mount" if rest.is_empty() => Self::Mount,
            "cut" => fault().map(|(after, draw)| Self::Cut { after, draw })?,
            "fail" => fault().map(|(after, draw)| Self::Fail { after, draw })?,
            "fail-mark" => Self::FailMark { after: rest.parse().ok()? },
            "other" => fault().map(|(after, draw)| Self::Other { after, draw })?,
            "refresh" => Self::Refresh { after: rest.parse().ok()? },
            "mark" => Self::Mark { draw: rest.parse().ok()? },
            "decay" => Self::Decay { draw: rest.parse().ok()? },
            _ => return None,
        })
    }
}

/// A history in words.
pub fn history(steps: &[Step]) -> String {
    let (mut text, mut last) = (String::new(), String::new());
    for step in steps.iter().map(Step::to_string) {
        match step.split_once(' ') {
            Some((name, rest)) if name == last => text += &format!(" {rest}"),
            _ if text.is_empty() => text += &step,
            _ => text += &format!(", {step}"),
        }
        last = step.split_once(' ').map(|(name, _)| name.to_owned()).unwrap_or_default();
    }
    text
}

/// Reads what [`history`] has written. Lines may be broken anywhere between words.
pub fn read_history(text: &str) -> Result<Vec<Step>, UnknownStep> {
    let mut steps = Vec::new();
    for part in text.split(',') {
        let (name, rest) = part.trim().split_once(char::is_whitespace).unwrap_or((part.trim(), ""));
        // A step that consists of its name, such as `flush`, is one step all the same.
        let alone = rest.is_empty().then_some("");
        for rest in rest.split_whitespace().chain(alone) {
            let unknown = || UnknownStep { number: steps.len() + 1, text: format!("{name} {rest}").trim().to_owned() };
            let step = Step::read(name, rest).ok_or_else(unknown)?;
            steps.push(step);
        }
    }
    Ok(steps)
}

impl fmt::Display for PolicyNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&[self.when, self.which, self.place, self.wear, self.reclaim].join("/"))
    }
}

impl PolicyNames {
    fn read(text: &str) -> Option<Self> {
        let mut names = text.split('/');
        let mut name = |names_of: &[&'static str]| known(names_of, names.next()?);
        let when = name(WHEN)?;
        let which = name(&[FIRST.which, LATER.which].concat())?;
        let place = name(&[FIRST.place, LATER.place].concat())?;
        let (wear, reclaim) = (name(&[WEAR, &[DEFAULT_WEAR]].concat())?, name(RECLAIM)?);
        names.next().is_none().then_some(Self { when, which, place, wear, reclaim })
    }
}

fn known(names: &[&'static str], name: &str) -> Option<&'static str> {
    names.iter().find(|known| **known == name).copied()
}

/// Three lines: the chip, the engine, and the rest.
impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shape {
            Shape::Nand(chip) => {
                write!(f, "nand page-bytes={} spare-bytes={}", chip.page_bytes, chip.spare_bytes)?;
                write!(f, " pages-per-block={} blocks={} dies={}", chip.pages_per_block, chip.blocks, chip.dies)?;
                write!(f, " paired-pages={}", chip.paired_pages)?;
                f.write_str(if chip.program_order == ProgramOrder::Any { " any-order" } else { "" })?;
            }
            Shape::Nor(chip) => {
                write!(f, "nor block-bytes={} blocks={} banks={}", chip.block_bytes, chip.blocks, chip.banks)?;
            }
        }
        f.write_str(if self.temper.mixed_erases { " mixed-erases" } else { "" })?;
        f.write_str(if self.temper.uneven_erases { " uneven-erases" } else { "" })?;
        f.write_str(if self.temper.fading_pairs { " fading-pairs" } else { "" })?;
        if self.driver != Driver::Honest {
            write!(f, " driver={:?}", self.driver)?;
        }
        match self.engine {
            Engine::Page { blocks_per_segment, policies, aware, checkpoint } => {
                write!(f, "\npage blocks-per-segment={blocks_per_segment} policies={policies}")?;
                f.write_str(if aware { " aware" } else { "" })?;
                f.write_str(if checkpoint { " checkpoint" } else { "" })?;
            }
            Engine::Paged { blocks_per_segment, cache_entries, policies } => {
                write!(f, "\npaged blocks-per-segment={blocks_per_segment} cache-entries={cache_entries}")?;
                if policies != PAGED[0] {
                    write!(f, " policies={policies}")?;
                }
            }
            Engine::NorPage { slots, page_bytes, policies } => {
                write!(f, "\nnor-page slots={slots} page-bytes={page_bytes} policies={policies}")?;
            }
            Engine::Block { blocks_per_segment, scheme, recycle, log_blocks, wear, reclaim } => {
                write!(f, "\nblock blocks-per-segment={blocks_per_segment} scheme={scheme} recycle={recycle}")?;
                write!(f, " log-blocks={log_blocks} wear={wear} reclaim={reclaim}")?;
            }
        }
        write!(f, "\nlogical-pages={} endurance={} seed={}", self.logical_pages, self.endurance, self.seed)
    }
}

impl FromStr for Setup {
    type Err = UnknownSetup;

    /// Reads what `Display` has written. Lines may be broken anywhere between words, and the words may have any order.
    fn from_str(text: &str) -> Result<Self, UnknownSetup> {
        let mut words = Words(BTreeMap::new());
        for word in text.split_whitespace() {
            let (key, value) = word.split_once('=').map_or((word, None), |(key, value)| (key, Some(value)));
            if words.0.insert(key, value).is_some() {
                return Err(UnknownSetup::Surplus(key.to_owned()));
            }
        }
        let setup = Self {
            shape: words.shape()?,
            temper: Temper {
                mixed_erases: words.flag("mixed-erases"),
                uneven_erases: words.flag("uneven-erases"),
                fading_pairs: words.flag("fading-pairs"),
            },
            driver: words.driver()?,
            engine: words.engine()?,
            logical_pages: words.number("logical-pages")?,
            endurance: words.number("endurance")?,
            seed: words.number("seed")?,
        };
        words.0.keys().next().map_or(Ok(setup), |key| Err(UnknownSetup::Surplus((*key).to_owned())))
    }
}

/// The words of a setup that are not read yet.
struct Words<'a>(BTreeMap<&'a str, Option<&'a str>>);

impl Words<'_> {
    fn flag(&mut self, key: &'static str) -> bool {
        // A flag with a value stays, and is reported as a word too many.
        self.0.get(key).is_some_and(Option::is_none) && self.0.remove(key).is_some()
    }

    fn value<T>(&mut self, key: &'static str, read: impl Fn(&str) -> Option<T>) -> Result<T, UnknownSetup> {
        let value = self.0.remove(key).flatten().ok_or(UnknownSetup::Missing(key))?;
        read(value).ok_or_else(|| UnknownSetup::Value { key, value: value.to_owned() })
    }

    fn number<T: FromStr>(&mut self, key: &'static str) -> Result<T, UnknownSetup> {
        self.value(key, |value| value.parse().ok())
    }

    fn shape(&mut self) -> Result<Shape, UnknownSetup> {
        if self.flag("nor") {
            return Ok(Shape::Nor(NorGeometry {
                block_bytes: self.number("block-bytes")?,
                blocks: self.number("blocks")?,
                banks: self.number("banks")?,
            }));
        }
        if !self.flag("nand") {
            return Err(UnknownSetup::Missing("nand or nor"));
        }
        Ok(Shape::Nand(NandGeometry {
            page_bytes: self.number("page-bytes")?,
            spare_bytes: self.number("spare-bytes")?,
            pages_per_block: self.number("pages-per-block")?,
            blocks: self.number("blocks")?,
            dies: self.number("dies")?,
            paired_pages: self.number("paired-pages")?,
            program_order: if self.flag("any-order") { ProgramOrder::Any } else { ProgramOrder::Ascending },
        }))
    }

    fn driver(&mut self) -> Result<Driver, UnknownSetup> {
        if !self.0.contains_key("driver") {
            return Ok(Driver::Honest);
        }
        self.value("driver", |name| Driver::ALL.into_iter().find(|driver| format!("{driver:?}") == name))
    }

    fn engine(&mut self) -> Result<Engine, UnknownSetup> {
        if self.flag("page") {
            return Ok(Engine::Page {
                blocks_per_segment: self.number("blocks-per-segment")?,
                policies: self.value("policies", PolicyNames::read)?,
                aware: self.flag("aware"),
                checkpoint: self.flag("checkpoint"),
            });
        }
        if self.flag("paged") {
            return Ok(Engine::Paged {
                blocks_per_segment: self.number("blocks-per-segment")?,
                cache_entries: self.number("cache-entries")?,
                policies: match self.0.contains_key("policies") {
                    true => self.value("policies", |name| known(PAGED, name))?,
                    false => PAGED[0],
                },
            });
        }
        if self.flag("nor-page") {
            return Ok(Engine::NorPage {
                slots: self.number("slots")?,
                page_bytes: self.number("page-bytes")?,
                policies: self.value("policies", PolicyNames::read)?,
            });
        }
        if !self.flag("block") {
            return Err(UnknownSetup::Missing("page, paged, nor-page or block"));
        }
        Ok(Engine::Block {
            blocks_per_segment: self.number("blocks-per-segment")?,
            scheme: self.value("scheme", |name| known(SCHEMES, name))?,
            recycle: self.value("recycle", |name| known(RECYCLE, name))?,
            log_blocks: self.number("log-blocks")?,
            wear: self.value("wear", |name| known(BLOCK_WEAR, name))?,
            reclaim: self.value("reclaim", |name| known(BLOCK_RECLAIM, name))?,
        })
    }
}

/// A Rust test that replays a history, to be pasted into a file of `tests/regressions`.
pub fn as_test(name: &str, setup: &Setup, steps: &[Step]) -> String {
    let lines = |text: &str| text.lines().map(wrapped).collect::<Vec<_>>().join("\n         ");
    let (setup, history) = (lines(&setup.to_string()), lines(&history(steps)));
    format!("#[test]\nfn {name}() {{\n    assert_holds(\n        \"{setup}\",\n        \"{history}\",\n    );\n}}\n")
}

/// Breaks a line of a literal so that it fits, with its quote and a comma.
fn wrapped(line: &str) -> String {
    // Eight columns of indentation and the quote.
    let (mut text, mut column) = (String::new(), 9);
    for word in line.split(' ') {
        if !text.is_empty() && column + word.len() + 3 > COLUMNS {
            (text, column) = (text + "\n         ", 9);
        } else if !text.is_empty() {
            (text, column) = (text + " ", column + 1);
        }
        text += word;
        column += word.len();
    }
    text
}
