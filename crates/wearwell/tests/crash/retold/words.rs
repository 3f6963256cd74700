//! The words of the torture's histories: steps, and setups.

use wearwell::logblock::Scheme;
use wearwell::page::Policies;
use wearwell::{CleaningTrigger, PagedConfig, Placement, Reclamation, VictimPolicy, WearLeveling, WriteHint};
use wearwell_emu::ChipProfile;
use wearwell_flash::ProgramOrder;

use super::doubts::Layout;
use crate::block::{BlockRig, block, log_block};
use crate::model::Command;
use crate::paged::PagedRig;
use crate::rig::{NandRig, NorRig, nand, nor};

/// A step of a history.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Do(Command),
    /// A page is read, and has to hold what it was given last.
    Read(u32),
    /// All pages are.
    Verify,
    /// The power fails in the operation behind so many others.
    Cut(u64),
    /// The operation behind so many others fails, if it is a program or an erase.
    Fail(u64),
    /// The driver gives up on that operation.
    Other(u64),
    /// The mark behind so many operations fails.
    FailMark(u64),
    /// The engine gets other policies, if it has any.
    Policies(Policies),
    /// A page decays, the one of this number of those that hold something.
    Decay(u64),
    /// The power goes off, if it is on, and on again.
    Mount,
}

/// `3+2@1`: two from 3 on, in stream 1.
fn span(text: &str) -> (u32, u32, u16) {
    let (text, stream) = text.trim_end_matches('!').split_once('@').unwrap_or((text.trim_end_matches('!'), "0"));
    let (first, count) = text.split_once('+').unwrap_or((text, "1"));
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("no number: {text:?}"));
    (number(first), number(count), number(stream) as u16)
}

/// `12` of `12:977`. What is drawn behind the colon is the torture's.
fn number(text: &str) -> u64 {
    let (number, _) = text.split_once(':').unwrap_or((text, ""));
    number.parse().unwrap_or_else(|_| panic!("no number: {text:?}"))
}

/// Steps in words: `write 3+2 7, cut 12:977, mount`. If they are told exactly, with their hints, numbers and policies.
pub(super) fn steps(text: &str, per_page: u32, is_exact: bool) -> Vec<Step> {
    let mut found = Vec::new();
    for part in text.split(',') {
        let mut words = part.split_whitespace();
        let name = words.next().expect("a step has a name");
        let spans: Vec<&str> = words.collect();
        match name {
            "mount" => found.push(Step::Mount),
            "flush" => found.push(Step::Do(Command::Flush)),
            "shutdown" => found.push(Step::Do(Command::Shutdown)),
            "clean" if is_exact => {
                found.extend(spans.into_iter().map(|text| Step::Do(Command::Clean(span(text).0))));
            }
            "clean" => found.push(Step::Do(Command::Clean(4))),
            "write" if is_exact => found.extend(spans.into_iter().map(|text| {
                let (page, count, stream) = span(text);
                let mut hint = if text.ends_with('!') { WriteHint::read_only() } else { WriteHint::NONE };
                hint.stream = stream;
                Step::Do(Command::WriteHinted { page, count, hint })
            })),
            "write" => found.extend(spans.into_iter().map(|text| match span(text) {
                (page, 1, stream) => Step::Do(Command::Write { page, stream }),
                (page, count, _) => Step::Do(Command::WriteRun { page, count }),
            })),
            "part" => found.extend(spans.into_iter().map(|text| {
                let (sector, count, _) = span(text);
                Step::Do(Command::WritePart { page: sector / per_page, first: sector % per_page, count })
            })),
            "discard" => found.extend(spans.into_iter().map(|text| {
                let (sector, count, _) = span(text);
                // The model knows discards of whole pages.
                let (page, end) = (sector.div_ceil(per_page), (sector + count) / per_page);
                Step::Do(Command::Discard { page, count: end.saturating_sub(page) })
            })),
            "cut" => found.extend(spans.into_iter().map(|text| Step::Cut(number(text)))),
            "fail" => found.extend(spans.into_iter().map(|text| Step::Fail(number(text)))),
            "other" => found.extend(spans.into_iter().map(|text| Step::Other(number(text)))),
            "fail-mark" => found.extend(spans.into_iter().map(|text| Step::FailMark(number(text)))),
            "decay" => found.extend(spans.into_iter().map(|text| Step::Decay(number(text)))),
            "read" => found.extend(spans.into_iter().map(|text| Step::Read(span(text).0))),
            "verify" => found.push(Step::Verify),
            "policies" if is_exact => found.push(Step::Policies(policies(spans[0]))),
            // A change of policies is left out.
            "policies" => {}
            _ => panic!("no step: {part:?}"),
        }
    }
    found
}

/// Policies by their five names.
fn policies(text: &str) -> Policies {
    let [when, which, place, wear, reclaim] = text.split('/').collect::<Vec<_>>()[..] else { panic!("five policies") };
    Policies {
        when: CleaningTrigger::parse(when).expect("listed"),
        which: VictimPolicy::parse(which).expect("listed"),
        place: Placement::parse(place).expect("listed"),
        wear: WearLeveling::parse(wear).expect("listed"),
        reclaim: Reclamation::parse(reclaim).expect("listed"),
    }
}

/// The chip and the engine of a history: words with their values. `exact` is a word of ours: the engine has the
/// torture's seed, and the steps are told exactly.
pub(super) struct Words<'a>(pub(super) &'a str);

impl Words<'_> {
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.split_whitespace().any(|word| word == name)
    }

    fn text(&self, name: &str) -> &str {
        let value = |word: &'_ str| word.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')).map(str::len);
        let found = self.0.split_whitespace().find_map(|word| value(word).map(|len| &word[word.len() - len..]));
        found.unwrap_or_else(|| panic!("{} has no {name}", self.0))
    }

    pub(super) fn number(&self, name: &str) -> u32 {
        self.text(name).parse().unwrap_or_else(|_| panic!("{name} is no number"))
    }

    fn nand(&self) -> NandRig {
        let shape = ["page-bytes", "pages-per-block", "blocks", "dies"].map(|name| self.number(name));
        let (stripe, pages) = (self.number("blocks-per-segment"), self.number("logical-pages"));
        let mut rig = nand(shape, stripe, self.number("paired-pages"), pages, "single");
        rig.0.endurance = self.number("endurance");
        let profile: &mut ChipProfile = &mut rig.0.profile;
        profile.spare_bytes = self.number("spare-bytes");
        if self.has("any-order") {
            profile.program_order = ProgramOrder::Any;
        }
        rig
    }

    fn seed(&self) -> u64 {
        if self.has("exact") { self.text("seed").parse().expect("a seed") } else { 1 }
    }

    pub(super) fn page_mapping(&self) -> NandRig {
        let mut rig = self.nand();
        (rig.0.policies, rig.0.seed) = (policies(self.text("policies")), self.seed());
        rig.0.has_checkpoint = self.has("checkpoint");
        rig
    }

    pub(super) fn on_nor(&self) -> NorRig {
        let [slots, blocks, banks, pages] = ["slots", "blocks", "banks", "logical-pages"].map(|name| self.number(name));
        let mut rig = nor(slots, blocks, banks, pages, "single");
        (rig.0.policies, rig.0.seed) = (policies(self.text("policies")), self.seed());
        rig.0.endurance = self.number("endurance");
        rig.0.profile.page_bytes = self.number("page-bytes");
        rig.0.profile.block_bytes = self.number("block-bytes");
        rig
    }

    pub(super) fn map_on_flash(&self) -> PagedRig {
        let config = PagedConfig::new(self.number("logical-pages"), self.number("cache-entries"));
        PagedRig { profile: self.nand().0.profile, config }
    }

    /// What the promises of the table depend on.
    pub(super) fn layout(&self) -> Layout {
        if self.has("nor") {
            return Layout::default();
        }
        let stripe = self.number("blocks-per-segment");
        let shares_logs = || self.text("scheme").starts_with("fast");
        Layout {
            pages_per_block: self.number("pages-per-block"),
            blocks_per_die: self.number("blocks") / self.number("dies"),
            stripe,
            blocks: self.has("block").then(shares_logs),
            has_tag_pages: self.has("page") && self.number("spare-bytes") < 16 && self.number("paired-pages") == 1,
            paired_pages: self.number("paired-pages"),
            shows_losses: self.has("exact")
                && self.has("page")
                && !self.has("aware")
                && stripe == 1
                && self.number("spare-bytes") >= 16,
        }
    }

    pub(super) fn block_mapping(&self) -> BlockRig {
        let scheme = match self.text("scheme") {
            "log-block" => log_block(self.text("recycle")),
            "primary-replacement" => Scheme::PrimaryReplacement,
            "fast" => Scheme::Fast,
            _ => Scheme::FastByStream,
        };
        let mut rig = block([512, 4, 8, 1], 1, self.number("logical-pages"), scheme);
        rig.profile = self.nand().0.profile;
        rig.config.log_blocks = self.number("log-blocks");
        rig.config.wear = WearLeveling::parse(self.text("wear")).expect("listed");
        rig.config.reclaim = Reclamation::parse(self.text("reclaim")).expect("listed");
        rig.config.endurance = self.number("endurance");
        rig
    }
}
