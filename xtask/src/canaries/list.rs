//! The canaries: changes of the engine's source that take out one rule of a mount, and what notices.

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

const fn caught(run: Run) -> Evidence {
    Evidence { run, catches: true }
}

const fn missed(run: Run) -> Evidence {
    Evidence { run, catches: false }
}

/// All of them, by engine, in the order of the rules.
pub(crate) const CANARIES: &[Canary] = &[
    Canary {
        name: "incomplete-rescue",
        rule: "P3",
        broken: "incomplete rescues count",
        file: "crates/wearwell/src/page/log/mod.rs",
        from: "mark.kind == Kind::RescueMark && self.lasts_to",
        to: "!BROKEN && mark.kind == Kind::RescueMark && self.lasts_to",
        crash: caught(Run::Crash("on_full_devices_with_wear_leveling")),
        torture: caught(Run::Kept("seeds_that_failed_hold")),
    },
    Canary {
        name: "clean-mark",
        rule: "P4",
        broken: "the mark of a clean shutdown stays when a segment is opened",
        file: "crates/wearwell/src/page/allocator.rs",
        from: "so it goes before the first program.\n        self.remove_clean_mark()?;",
        to: "so it goes before the first program.\n        if !BROKEN { self.remove_clean_mark()?; }",
        crash: caught(Run::Crash("a_clean_shutdown_is_recognised")),
        torture: caught(Run::Seeds(&["decay"], 2)),
    },
    Canary {
        name: "half-erased",
        rule: "P5",
        broken: "of equal copies one in a half-erased segment may count",
        file: "crates/wearwell/src/page/mount/ties.rs",
        from: "self.leave_doomed(&mut ties, is_suspect)?;",
        to: "if !BROKEN { self.leave_doomed(&mut ties, is_suspect)?; }",
        crash: missed(Run::Crash("nand_storms_of_early_cuts")),
        torture: caught(Run::Kept("seeds_that_failed_hold")),
    },
    Canary {
        name: "lost-record",
        rule: "P7",
        broken: "a record that a page was lost counts for nothing",
        file: "crates/wearwell/src/page/mount/damage.rs",
        from: "if self.place_of(loss.lpn) == loss.at {",
        to: "if !BROKEN && self.place_of(loss.lpn) == loss.at {",
        crash: caught(Run::Crash("a_page_that_is_gone")),
        torture: caught(Run::Kept("an_original_beside_a_decayed_page_counts")),
    },
    Canary {
        name: "discard-map",
        rule: "P8",
        broken: "the discard map unmaps pages that are newer than it",
        file: "crates/wearwell/src/page/mount.rs",
        from: "let is_older = self.newest",
        to: "let is_older = BROKEN || self.newest",
        crash: caught(Run::Crash("nand_storms_of_early_cuts")),
        torture: caught(Run::Kept("discards_in_a_segment")),
    },
    Canary {
        name: "vanished",
        rule: "P8",
        broken: "a page that the discard map calls mapped and that has no copy is zeros",
        file: "crates/wearwell/src/page/mount.rs",
        from: "(false, false) => self.vanished.push(lpn),",
        to: "(false, false) if !BROKEN => self.vanished.push(lpn),",
        crash: caught(Run::Crash("a_page_that_is_gone")),
        torture: missed(Run::Seeds(&["decay", "trim"], 100)),
    },
    Canary {
        name: "erase-count",
        rule: "P10",
        broken: "an unknown erase count is the mean, whatever the mark of a rescue names",
        file: "crates/wearwell/src/page/mount.rs",
        from: ".max(erases.min(IMPLAUSIBLE_ERASES))",
        to: ".max(if BROKEN { 0 } else { erases.min(IMPLAUSIBLE_ERASES) })",
        crash: caught(Run::Crash("storm::nand_storms_that_were_lost")),
        torture: missed(Run::Seeds(&["mixed"], 100)),
    },
    Canary {
        name: "suspects-served",
        rule: "P11",
        broken: "suspect pages are served where they are",
        file: "crates/wearwell/src/page/mount.rs",
        from: "uncertain.extend(&suspects);",
        to: "if !BROKEN { uncertain.extend(&suspects); }",
        crash: caught(Run::Crash("nand_storms_of_early_cuts")),
        torture: caught(Run::Kept("rescue_in_a_half_erased_segment")),
    },
    Canary {
        name: "next-number",
        rule: "P12",
        broken: "the next sequence number is used already",
        file: "crates/wearwell/src/page/mount.rs",
        from: "self.alloc.next_seq = self.greatest_seq + 1;",
        to: "self.alloc.next_seq = self.greatest_seq + u64::from(!BROKEN);",
        crash: caught(Run::Crash("nand_storms_of_early_cuts")),
        torture: caught(Run::Kept("seeds_that_failed_hold")),
    },
    Canary {
        name: "gaps",
        rule: "P13",
        broken: "slots of which nothing can be told are passed over",
        file: "crates/wearwell/src/page/mount/damage.rs",
        from: "self.gaps.push(seg);",
        to: "if !BROKEN { self.gaps.push(seg); }",
        crash: caught(Run::Crash("a_page_that_is_gone")),
        torture: missed(Run::Seeds(&["decay"], 100)),
    },
    Canary {
        name: "own-tag",
        rule: "P14",
        broken: "a slot holds what the summary says, whatever its tag names",
        file: "crates/wearwell/src/page/log/nand.rs",
        from: "if tag.is_some_and(|tag| tag.lpn == lpn) { Ok",
        to: "if BROKEN || tag.is_some_and(|tag| tag.lpn == lpn) { Ok",
        crash: caught(Run::Crash("what_an_erase_has_taken")),
        torture: caught(Run::Seeds(&["mixed"], 40)),
    },
    Canary {
        name: "known-parts",
        rule: "P15",
        broken: "a part of the discard map that a checkpoint stands for is not written again",
        file: "crates/wearwell/src/page/mount/known.rs",
        from: "if at.is_some() && !self.holds(at, lpn)? {",
        to: "if !BROKEN && at.is_some() && !self.holds(at, lpn)? {",
        crash: caught(Run::Crash("what_a_checkpoint_knows")),
        torture: caught(Run::Kept("a_checkpoint_stands_for")),
    },
    Canary {
        name: "traces",
        rule: "P16",
        broken: "only headers, and tags where a scan looks, say whose a chip is",
        file: "crates/wearwell/src/page/found.rs",
        from: "if log.has_traces(seg)? {",
        to: "if !BROKEN && log.has_traces(seg)? {",
        crash: caught(Run::Crash("a_tag_behind_erased_slots")),
        torture: missed(Run::Kept("tags_behind_erased_slots")),
    },
    Canary {
        name: "only-header",
        rule: "P18",
        broken: "the only header is left alone",
        file: "crates/wearwell/src/page/mount.rs",
        from: "if let Some(only) = only_header {",
        to: "if let Some(only) = only_header.filter(|_| !BROKEN) {",
        crash: caught(Run::Crash("the_only_header_outlasts")),
        torture: caught(Run::Kept("a_header_stays")),
    },
    Canary {
        name: "nor-pre-valid",
        rule: "O5",
        broken: "an entry counts before it is pre-valid",
        file: "crates/wearwell/src/page/log/nor_bytes.rs",
        from: "if !has_flag(bytes, flag::PRE_VALID) ||",
        to: "if !BROKEN && !has_flag(bytes, flag::PRE_VALID) ||",
        crash: caught(Run::Crash("nor_storms")),
        torture: caught(Run::Seeds(&["nor"], 20)),
    },
    Canary {
        name: "continued",
        rule: "O6",
        broken: "one block of a class is continued, and no other",
        file: "crates/wearwell/src/page/allocator.rs",
        from: ".or_else(|| self.continue_another())",
        to: ".or_else(|| if BROKEN { None } else { self.continue_another() })",
        crash: caught(Run::Crash("what_cuts_have_left_open")),
        torture: caught(Run::Kept("every_block_that_can_be_continued")),
    },
    Canary {
        name: "nor-flags",
        rule: "O8",
        broken: "after a mount flags stay as a cut has left them",
        file: "crates/wearwell/src/page/mount.rs",
        from: "        self.confirm_winners()?;\n",
        to: "        if !BROKEN { self.confirm_winners()?; }\n",
        crash: caught(Run::Crash("nor_storms")),
        torture: caught(Run::Seeds(&["nor"], 20)),
    },
    Canary {
        name: "map-newest",
        rule: "M1",
        broken: "the first version of a translation page counts",
        file: "crates/wearwell/src/paged/mount.rs",
        from: "if page.seq > *newest {",
        to: "if page.seq > *newest && (!BROKEN || *newest == 0) {",
        crash: caught(Run::Crash("paged::short_sessions")),
        torture: caught(Run::Kept("entries_of_two_mounts")),
    },
    Canary {
        name: "data-newest",
        rule: "M2",
        broken: "of newer copies of a page the first counts",
        file: "crates/wearwell/src/paged/mount.rs",
        from: "&& number_of(&mut ftl.store, known)? >= Some(seq)",
        to: "&& (BROKEN || number_of(&mut ftl.store, known)? >= Some(seq))",
        crash: caught(Run::Crash("failing_blocks_and_fading_data")),
        torture: caught(Run::Seeds(&["paged"], 20)),
    },
    Canary {
        name: "map-rescue",
        rule: "M3",
        broken: "what a cut mount has copied counts",
        file: "crates/wearwell/src/paged/mount.rs",
        from: "if is_void(scan) || scan.tags",
        to: "if !BROKEN && is_void(scan) || scan.tags",
        crash: caught(Run::Crash("storms_of_mounts_on_full_devices")),
        torture: caught(Run::Seeds(&["paged"], 100)),
    },
    Canary {
        name: "map-suspects",
        rule: "M5",
        broken: "no page is suspect",
        file: "crates/wearwell/src/paged/mount.rs",
        from: "page.is_some_and(|page| page.is_last && newest",
        to: "page.is_some_and(|page| !BROKEN && page.is_last && newest",
        crash: caught(Run::Crash("paged::storms")),
        torture: caught(Run::Kept("a_summary_that_fades")),
    },
    Canary {
        name: "map-stale",
        rule: "M5",
        broken: "before the rescue any segment is erased in which nothing counts",
        file: "crates/wearwell/src/paged/mount.rs",
        from: "before.is_some_and(|page| page.is_last && self",
        to: "before.is_some_and(|page| !BROKEN && page.is_last && self",
        crash: caught(Run::Crash("paged::storms")),
        torture: caught(Run::Seeds(&["paged"], 120)),
    },
    Canary {
        name: "map-number",
        rule: "M6",
        broken: "the next sequence number is used already",
        file: "crates/wearwell/src/paged/mount.rs",
        from: ".max(found.greatest_seq + 1)",
        to: ".max(found.greatest_seq + u64::from(!BROKEN))",
        crash: caught(Run::Crash("paged::storms")),
        torture: caught(Run::Seeds(&["paged"], 20)),
    },
    Canary {
        name: "map-gather",
        rule: "M7",
        broken: "a translation page that is gone is made anew of any copies",
        file: "crates/wearwell/src/paged/map.rs",
        from: "number_of(store, known).map_err(FtlError::Chip)? < Some(tag.seq) {",
        to: "!BROKEN && number_of(store, known).map_err(FtlError::Chip)? < Some(tag.seq) {",
        crash: caught(Run::Crash("any_page_may_decay")),
        torture: missed(Run::Seeds(&["paged"], 100)),
    },
    Canary {
        name: "map-erase",
        rule: "M8",
        broken: "a segment in which nothing counts is used without an erase",
        file: "crates/wearwell/src/paged/rescue.rs",
        from: "self.store.set_use(seg, Use::Stale);",
        to: "self.store.set_use(seg, if BROKEN { Use::Free } else { Use::Stale });",
        crash: caught(Run::Crash("paged::short_sessions")),
        torture: caught(Run::Kept("failed_segments_that_look_empty")),
    },
    Canary {
        name: "map-checkpoint",
        rule: "M9",
        broken: "a checkpoint is believed behind its end",
        file: "crates/wearwell/src/paged/checkpoint.rs",
        from: "KeptPage::Of(ended)) if ended == seq =>",
        to: "KeptPage::Of(ended)) if ended == seq && !BROKEN =>",
        crash: caught(Run::Crash("paged::storms")),
        torture: caught(Run::Seeds(&["paged"], 20)),
    },
    Canary {
        name: "map-end",
        rule: "M10",
        broken: "a checkpoint gets no end",
        file: "crates/wearwell/src/paged/checkpoint.rs",
        from: "self.log.clear_end()? && self.log.program_end(seq)?",
        to: "BROKEN || self.log.clear_end()? && self.log.program_end(seq)?",
        crash: caught(Run::Crash("paged::storms")),
        torture: caught(Run::Seeds(&["paged"], 20)),
    },
    Canary {
        name: "map-old-checkpoint",
        rule: "M11",
        broken: "a checkpoint is programmed over the last one",
        file: "crates/wearwell/src/paged/checkpoint.rs",
        from: "|| !self.store.log.clear_map(pages)? {",
        to: "|| !BROKEN && !self.store.log.clear_map(pages)? {",
        crash: caught(Run::Crash("paged::storms")),
        torture: caught(Run::Seeds(&["paged"], 20)),
    },
    Canary {
        name: "harmed-commit",
        rule: "B8",
        broken: "the last commit counts, whatever a cut has harmed beside it",
        file: "crates/wearwell/src/logblock/mount/last.rs",
        from: "if !self.is_harmed(&commit, recovery)? {",
        to: "if BROKEN || !self.is_harmed(&commit, recovery)? {",
        crash: caught(Run::Crash("block::block_storms")),
        torture: caught(Run::Kept("a_group_of_a_replacement_block_was_open")),
    },
    Canary {
        name: "whole-group",
        rule: "B8",
        broken: "a commit with a whole group counts as little as others",
        file: "crates/wearwell/src/logblock/mount/last.rs",
        from: "if self.has_whole_group(&merged) {",
        to: "if !BROKEN && self.has_whole_group(&merged) {",
        crash: missed(Run::Crash("block::block_storms")),
        torture: caught(Run::Kept("a_commit_whose_head_has_decayed")),
    },
    Canary {
        name: "own-page",
        rule: "B10",
        broken: "the page of a commit that does not count is never here alone",
        file: "crates/wearwell/src/logblock/mount/choose.rs",
        from: "is_commit && !alone.contains(&at)",
        to: "is_commit && (BROKEN || !alone.contains(&at))",
        crash: missed(Run::Crash("block::block_storms")),
        torture: caught(Run::Kept("a_commit_whose_own_page")),
    },
    Canary {
        name: "whole-block",
        rule: "B10",
        broken: "a data block beside a merge that does not count has all its pages",
        file: "crates/wearwell/src/logblock/mount/choose.rs",
        from: "} else if self.has_merge_of(newest.lbn, recovery) {",
        to: "} else if !BROKEN && self.has_merge_of(newest.lbn, recovery) {",
        crash: caught(Run::Crash("a_page_that_decays_behind_a_cut")),
        torture: missed(Run::Seeds(&["block-decay"], 100)),
    },
    Canary {
        name: "kept-merge",
        rule: "B8",
        broken: "a cut merge that has to stay is not merged first",
        file: "crates/wearwell/src/logblock/mount/clear.rs",
        from: "self.doubt_kept_merges(recovery)?;",
        to: "if !BROKEN { self.doubt_kept_merges(recovery)?; }",
        crash: missed(Run::Crash("block::block_storms")),
        torture: caught(Run::Kept("a_cut_merge_that_is_kept")),
    },
    Canary {
        name: "oldest-commit",
        rule: "B9",
        broken: "the oldest commit of a logical block counts",
        file: "crates/wearwell/src/logblock/mount/choose.rs",
        from: "(commit.lbn, Reverse(commit.seq))",
        to: "(commit.lbn, Reverse(if BROKEN { u64::MAX - commit.seq } else { commit.seq }))",
        crash: caught(Run::Crash("block::block_storms")),
        torture: caught(Run::Kept("the_oldest_data_block_may_be_half_erased")),
    },
    Canary {
        name: "older-copy",
        rule: "B10",
        broken: "pages in log blocks count that are older than the commit",
        file: "crates/wearwell/src/logblock/mount/choose.rs",
        from: "let is_newer = copy.seq > recovery.committed[lbn.index()];",
        to: "let is_newer = BROKEN || copy.seq > recovery.committed[lbn.index()];",
        crash: caught(Run::Crash("block::block_storms")),
        torture: caught(Run::Kept("the_group_written_last_outlasts")),
    },
    Canary {
        name: "discard-record",
        rule: "B11",
        broken: "a discard record unmaps pages that are newer than it",
        file: "crates/wearwell/src/logblock/mount/choose.rs",
        from: "has_bit(&record, offset) && recovery.newest[lpn as usize] < seq {",
        to: "has_bit(&record, offset) && (BROKEN || recovery.newest[lpn as usize] < seq) {",
        crash: caught(Run::Crash("block::block_storms")),
        torture: caught(Run::Kept("what_the_table_allows_is_no_failure")),
    },
    Canary {
        name: "hit-pages",
        rule: "B12",
        broken: "pages that a cut may have hit are served where they are",
        file: "crates/wearwell/src/logblock/mount/clear.rs",
        from: "suspects.extend_from_slice(&recovery.unsettled);",
        to: "if !BROKEN { suspects.extend_from_slice(&recovery.unsettled); }",
        crash: caught(Run::Crash("block::block_storms")),
        torture: caught(Run::Kept("a_page_of_an_open_group_fades")),
    },
    Canary {
        name: "last-commit",
        rule: "B12",
        broken: "the last commit is served where it is",
        file: "crates/wearwell/src/logblock/mount/clear.rs",
        from: "if let Some(Use::Data(lbn)) = last {",
        to: "if let Some(Use::Data(lbn)) = last.filter(|_| !BROKEN) {",
        crash: caught(Run::Crash("block::block_storms")),
        torture: caught(Run::Kept("seeds_that_failed_hold")),
    },
    Canary {
        name: "older-blocks",
        rule: "B13",
        broken: "older data blocks are erased before the last commit lasts",
        file: "crates/wearwell/src/logblock/mount/choose.rs",
        from: "let stays = may_fade && index",
        to: "let stays = !BROKEN && may_fade && index",
        crash: caught(Run::Crash("block::block_storms")),
        torture: caught(Run::Kept("the_oldest_data_block_stays")),
    },
    Canary {
        name: "fourth-block",
        rule: "B13",
        broken: "of four data blocks all stay",
        file: "crates/wearwell/src/logblock/mount/choose.rs",
        from: "if is_last && blocks >= 3 {",
        to: "if !BROKEN && is_last && blocks >= 3 {",
        crash: caught(Run::Crash("block_storms::storms_of_mounts")),
        torture: missed(Run::Seeds(&["mixed"], 100)),
    },
    Canary {
        name: "decayed-merge",
        rule: "B13",
        broken: "a merge without a commit is erased, whatever it alone holds",
        file: "crates/wearwell/src/logblock/mount/clear.rs",
        from: "let has_sources = self.has_sources(scanned, recovery)",
        to: "let has_sources = BROKEN || self.has_sources(scanned, recovery)",
        crash: missed(Run::Crash("block_storms::storms_of_mounts")),
        torture: caught(Run::Kept("a_merge_with_a_decayed_commit")),
    },
    Canary {
        name: "half-erased-merge",
        rule: "B13",
        broken: "blocks whose erase has begun stay until the rescue is over",
        file: "crates/wearwell/src/logblock/mount/clear.rs",
        from: "scanned.is_erased_in_part() || scanned.is_headless()",
        to: "!BROKEN && scanned.is_erased_in_part() || scanned.is_headless()",
        crash: missed(Run::Crash("block_storms::storms_of_mounts")),
        torture: caught(Run::Kept("a_merge_whose_head_reads_as_erased")),
    },
    Canary {
        name: "no-room",
        rule: "B13",
        broken: "headless blocks stay although no segment is free",
        file: "crates/wearwell/src/logblock/mount/clear.rs",
        from: "self.make_room_to_rescue(recovery)?;",
        to: "if !BROKEN { self.make_room_to_rescue(recovery)?; }",
        crash: missed(Run::Crash("block_storms::storms_of_mounts")),
        torture: caught(Run::Kept("half_erased_blocks_give_way")),
    },
    Canary {
        name: "unreadable-second",
        rule: "B13",
        broken: "of three data blocks the second is whole though a page cannot be read",
        file: "crates/wearwell/src/logblock/mount/last.rs",
        from: "!has_gaps &&",
        to: "(BROKEN || !has_gaps) &&",
        crash: missed(Run::Crash("block::block_storms")),
        torture: caught(Run::Kept("a_second_block_with_an_unreadable_page")),
    },
    Canary {
        name: "torn-blank",
        rule: "B14",
        broken: "a block that reads as erased is used without an erase",
        file: "crates/wearwell/src/logblock/mount/clear.rs",
        from: "self.suspect[seg.index()] |= !recovery.continues;",
        to: "self.suspect[seg.index()] |= !BROKEN && !recovery.continues;",
        crash: caught(Run::Crash("block::block_storms")),
        torture: caught(Run::Kept("the_oldest_data_block_may_be_half_erased")),
    },
    Canary {
        name: "block-gaps",
        rule: "B14",
        broken: "what a clean shutdown says of unreadable pages is passed over",
        file: "crates/wearwell/src/logblock/mount/missing.rs",
        from: "if recovery.continues {",
        to: "if !BROKEN && recovery.continues {",
        crash: caught(Run::Crash("destroyed::pages_and_blocks")),
        torture: missed(Run::Seeds(&["block-decay"], 100)),
    },
];

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
        let mut all = BTreeMap::new();
        for canary in CANARIES {
            let source = read(canary.file);
            let broken = canary.breaks(&source).unwrap_or_else(|error| panic!("{error}"));
            assert_ne!(broken, source, "{}", canary.name);
            assert!(canary.to.contains("BROKEN") && !canary.from.contains("BROKEN"), "{}", canary.name);
            let changed = all.entry(canary.file).or_insert(source);
            *changed = canary.breaks(changed).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn every_canary_breaks_a_rule_of_the_spec() {
        let spec = read("docs/SPEC.md");
        for canary in CANARIES {
            assert!(spec.contains(&format!("- **{}.**", canary.rule)), "{}: {}", canary.name, canary.rule);
        }
    }

    #[test]
    fn names_are_unique_and_somebody_notices_each() {
        let names: BTreeSet<&str> = CANARIES.iter().map(|canary| canary.name).collect();
        assert_eq!(names.len(), CANARIES.len());
        for canary in CANARIES {
            assert!(canary.crash.catches || canary.torture.catches, "{}", canary.name);
            assert!(matches!(canary.crash.run, Run::Crash(_)), "{}", canary.name);
            assert!(!matches!(canary.torture.run, Run::Crash(_)), "{}", canary.name);
        }
    }
}
