//! What the faults of a course leave: as a seed draws it, or in words, one for each fault.

use std::vec;

use wearwell::Rng;
use wearwell_emu::CutOutcome;

/// How the draws of a seed differ from the torture's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// In what each cut leaves.
    Plain,
    /// Cuts also come up to two operations earlier or later.
    Shifted,
    /// Half of the cuts leave each page its own way, which few draws do.
    Mixed,
    /// What failed programs leave may fade.
    Fading,
    /// Most cuts leave a few pages each its own way, and the others as they were. With it the chip has groups of pages
    /// that share cells, or has none.
    Uneven { has_groups: bool },
}

impl Turn {
    fn of(seed: u64) -> Self {
        match seed % 4 {
            0 => Self::Shifted,
            2 => Self::Mixed,
            3 => Self::Fading,
            _ => Self::Plain,
        }
    }
}

/// The draws of a course.
#[derive(Debug)]
pub(super) struct Draws<'a> {
    turn: Turn,
    rng: Rng,
    /// A word for each cut, each failure and each page that decays, in their order.
    words: Option<vec::IntoIter<&'a str>>,
}

impl<'a> Draws<'a> {
    pub(super) fn of(seed: u64) -> Self {
        Self { turn: Turn::of(seed), rng: Rng::new(seed), words: None }
    }

    /// Draws that hardly any seed of [`of`](Self::of) has.
    pub(super) fn uneven(seed: u64, has_groups: bool) -> Self {
        Self { turn: Turn::Uneven { has_groups }, ..Self::of(seed) }
    }

    /// `gone 0x3102`: the first cut leaves an uncorrectable page, the second one each page another way.
    pub(super) fn said(words: &'a str) -> Self {
        Self {
            turn: Turn::Plain,
            rng: Rng::new(0),
            words: Some(words.split_whitespace().collect::<Vec<_>>().into_iter()),
        }
    }

    /// True if each fault has its word.
    pub(super) fn are_said(&self) -> bool {
        self.words.is_some()
    }

    /// An operation later or earlier, on some turns.
    pub(super) fn shifted(&mut self, after: u64) -> u64 {
        let is_shifted = self.turn == Turn::Shifted;
        if is_shifted { (after + u64::from(self.rng.below(5))).saturating_sub(2) } else { after }
    }

    fn word(&mut self) -> Option<&'a str> {
        self.words.as_mut().map(|words| words.next().expect("a word for each fault"))
    }

    /// What a cut leaves.
    pub(super) fn outcome(&mut self) -> CutOutcome {
        if let Some(word) = self.word() {
            return outcome_of(word);
        }
        let seed = self.rng.next_u64();
        if let Turn::Uneven { has_groups } = self.turn
            && self.rng.below(4) > 0
        {
            return CutOutcome::Each { states: self.uneven_states(has_groups) };
        }
        if self.turn != Turn::Mixed || self.rng.below(2) == 0 {
            return CutOutcome::Seeded { seed };
        }
        if self.rng.below(2) == 0 {
            return CutOutcome::ProgramHarmsSomePairs { seed };
        }
        CutOutcome::EraseMixed { seed }
    }

    /// As in [`CutOutcome::Each`]. How many pages are harmed is drawn first.
    fn uneven_states(&mut self, has_groups: bool) -> u128 {
        let one_of = 1 + self.rng.below(8);
        let mut states = 0;
        for page in 0..32 {
            let state = match 1 + self.rng.below(15) {
                _ if self.rng.below(one_of) > 0 => 0,
                // A program that is cut does not erase the earlier pages of its group.
                2 if has_groups && page > 0 => 1,
                state => state,
            };
            states |= u128::from(state) << (4 * page);
        }
        states
    }

    /// What a failure leaves: the seed of the chip's draws, and what is said of it.
    pub(super) fn failure(&mut self) -> (u64, Option<u8>) {
        match self.word() {
            Some(word) => (0, Some(bits_of(word) as u8)),
            None => (self.rng.next_u64(), None),
        }
    }

    /// The seed that decides whether an operation that the driver gives up has happened.
    pub(super) fn given_up(&mut self) -> u64 {
        let word = self.word().map(|word| word.parse().expect("a seed"));
        word.unwrap_or_else(|| self.rng.next_u64())
    }

    /// The number of the page that decays.
    pub(super) fn decayed(&mut self, number: u64) -> u64 {
        let word = self.word().map(|word| word.parse().expect("a number"));
        word.unwrap_or_else(|| self.shifted(number))
    }

    /// True if what failed programs leave may fade.
    pub(super) fn failed_pages_fade(&self) -> bool {
        self.turn == Turn::Fading
    }
}

/// `0x3102`, as in [`CutOutcome::Each`].
fn bits_of(word: &str) -> u128 {
    let digits = word.strip_prefix("0x").unwrap_or_else(|| panic!("no outcome: {word}"));
    u128::from_str_radix(digits, 16).unwrap_or_else(|_| panic!("no outcome: {word}"))
}

/// A program is unwritten, written, gone or blank; an erase kept, whole, spoilt or weak.
fn outcome_of(word: &str) -> CutOutcome {
    match word {
        "unwritten" => CutOutcome::ProgramOld,
        "written" => CutOutcome::ProgramNew,
        "gone" => CutOutcome::ProgramUncorrectable,
        "blank" => CutOutcome::ProgramLooksErased,
        "kept" => CutOutcome::EraseOld,
        "whole" => CutOutcome::EraseDone,
        "spoilt" => CutOutcome::EraseUncorrectable,
        "weak" => CutOutcome::EraseWeak,
        "unmarked" => CutOutcome::MarkOld,
        "marked" => CutOutcome::MarkNew,
        _ => match word.strip_prefix("seed:") {
            Some(seed) => CutOutcome::Seeded { seed: seed.parse().expect("a seed") },
            None => CutOutcome::Each { states: bits_of(word) },
        },
    }
}
