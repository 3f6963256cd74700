//! The canaries: changes of the engine's source that take out one rule of a mount, and what notices.

mod block;
mod block_end;
mod nor;
mod page;
mod page_end;
mod page_tags;
mod paged;

use std::fmt;

/// An engine that is broken on purpose.
#[derive(Debug)]
pub(crate) struct Canary {
    pub(crate) name: &'static str,
    /// The rule of docs/SPEC.md that is taken out.
    pub(crate) rule: &'static str,
    /// What the engine does instead.
    pub(crate) broken: &'static str,
    pub(crate) file: &'static str,
    /// This occurs once in the file, and is replaced.
    from: &'static str,
    /// By this, where `BROKEN` is true for this canary only.
    to: &'static str,
    pub(crate) crash: Evidence,
    pub(crate) torture: Evidence,
}

/// Some tests or some torture, and whether they notice. If nothing is known that does, they are those closest to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evidence {
    pub(crate) run: Run,
    pub(crate) catches: bool,
}

/// What is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run {
    /// The crash tests whose paths have one of these words.
    Crash(&'static str),
    /// The histories of the torture, likewise.
    Kept(&'static str),
    /// The torture: modes, and how many seeds of each, from 1.
    Seeds(&'static [&'static str], u64),
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crash(words) | Self::Kept(words) => {
                write!(f, "`{}`", words.split_whitespace().collect::<Vec<_>>().join("`, `"))
            }
            Self::Seeds(modes, seeds) => write!(f, "mode `{}`, seeds 1 to {seeds}", modes.join("`, `")),
        }
    }
}

impl Canary {
    /// The source with the change. An error if the text to be replaced is not there, or more than once.
    pub(crate) fn breaks(&self, source: &str) -> Result<String, String> {
        match source.matches(self.from).count() {
            1 => {
                let asked = format!("crate::is_broken({:?})", self.name);
                Ok(source.replacen(self.from, &self.to.replace("BROKEN", &asked), 1))
            }
            count => Err(format!("{}: its text occurs {count} times in {}", self.name, self.file)),
        }
    }
}

/// Canaries that nobody notices any more. The histories that once failed without these rules hold without them, since
/// later rules came, or take another course; nothing shows either that the rules can go. Their evidence is what comes
/// closest.
pub(crate) const UNNOTICED: &[&str] = &["map-comes-back", "map-known-entries", "map-unfound", "erased-faded"];

const fn caught(run: Run) -> Evidence {
    Evidence { run, catches: true }
}

const fn missed(run: Run) -> Evidence {
    Evidence { run, catches: false }
}

/// All of them, by engine.
pub(crate) fn all() -> impl Iterator<Item = &'static Canary> {
    let of_pages = page::PAGE.iter().chain(page_tags::PAGE_TAGS).chain(page_end::PAGE_END);
    of_pages.chain(nor::NOR).chain(paged::PAGED).chain(block::BLOCK).chain(block_end::BLOCK_END)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    use super::*;

    fn read(name: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Each in the source as it is, and all of them behind one another.
    #[test]
    fn every_canary_changes_one_place() {
        let mut sources = BTreeMap::new();
        for canary in all() {
            let source = read(canary.file);
            let broken = canary.breaks(&source).unwrap_or_else(|error| panic!("{error}"));
            assert_ne!(broken, source, "{}", canary.name);
            assert!(canary.to.contains("BROKEN") && !canary.from.contains("BROKEN"), "{}", canary.name);
            let changed = sources.entry(canary.file).or_insert(source);
            *changed = canary.breaks(changed).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn every_canary_breaks_a_rule_of_the_spec() {
        let spec = read("docs/SPEC.md");
        for canary in all() {
            assert!(spec.contains(&format!("- **{}.**", canary.rule)), "{}: {}", canary.name, canary.rule);
        }
    }

    #[test]
    fn names_are_unique_and_somebody_notices_all_but_those_listed() {
        let names: BTreeSet<&str> = all().map(|canary| canary.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(UNNOTICED.iter().all(|name| names.contains(name)), "a canary that is not there is not unnoticed");
        for canary in all() {
            let is_noticed = canary.crash.catches || canary.torture.catches;
            assert_eq!(is_noticed, !UNNOTICED.contains(&canary.name), "{}", canary.name);
            assert!(matches!(canary.crash.run, Run::Crash(_)), "{}", canary.name);
            assert!(!matches!(canary.torture.run, Run::Crash(_)), "{}", canary.name);
        }
    }
}
