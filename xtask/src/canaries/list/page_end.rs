//! Page mapping: how a mount ends.

use super::{Canary, Run, caught};

/// In the order of the rules.
pub(super) const PAGE_END: &[Canary] = &[
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
        torture: caught(Run::Kept("a_tag_behind_erased_slots_is")),
    },
    Canary {
        name: "passed-over",
        rule: "P17",
        broken: "a device that is mounted read-only forgets copies in segments that are erased in part",
        file: "crates/wearwell/src/page/mount/worn.rs",
        from: ".chain(passed_over)",
        to: ".chain(if BROKEN { &[] } else { passed_over })",
        crash: caught(Run::Crash("retold::said")),
        torture: caught(Run::Kept("a_read_only_device_reads_what_seems")),
    },
    Canary {
        name: "kept-original",
        rule: "P17",
        broken: "a device that is mounted read-only forgets what a suspect copy in a needed segment was made from",
        file: "crates/wearwell/src/page/mount/ties.rs",
        from: "is_suspect(self.place_of(lpn)) || copies",
        to: "(!BROKEN && is_suspect(self.place_of(lpn))) || copies",
        crash: caught(Run::Crash("retold::said")),
        torture: caught(Run::Kept("the_original_of_a_suspect_copy")),
    },
    Canary {
        name: "only-header",
        rule: "P18",
        broken: "the only header is left alone",
        file: "crates/wearwell/src/page/mount.rs",
        from: "add_header(headless)?",
        to: "add_header(if BROKEN { &[] } else { headless })?",
        crash: caught(Run::Crash("the_only_header_outlasts")),
        torture: caught(Run::Kept("the_only_header_of_an_empty")),
    },
    Canary {
        name: "second-header",
        rule: "P18",
        broken: "both of two headers last, whatever a cut may have hit",
        file: "crates/wearwell/src/page/mount/states.rs",
        from: "&& table.valid(seg) > 0 && !is_doubted(seg));",
        to: "&& (BROKEN || table.valid(seg) > 0 && !is_doubted(seg)));",
        crash: caught(Run::Crash("retold::page_mapping")),
        torture: caught(Run::Kept("a_second_header_may_fade")),
    },
];
