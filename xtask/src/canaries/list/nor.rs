//! Page mapping: records on NOR.

use super::{Canary, Run, caught};

/// In the order of the rules.
pub(super) const NOR: &[Canary] = &[
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
        crash: caught(Run::Crash("retold::said")),
        torture: caught(Run::Kept("a_block_found_open_is_the_only_room")),
    },
    Canary {
        name: "nor-begun",
        rule: "O6",
        broken: "a slot that was begun is passed over",
        file: "crates/wearwell/src/page/log/nor.rs",
        from: "if is_begun {",
        to: "if is_begun && !BROKEN {",
        crash: caught(Run::Crash("retold::page_mapping_with_little_room")),
        torture: caught(Run::Kept("nine_cut_mounts_on_nor")),
    },
    Canary {
        name: "nor-in-the-way",
        rule: "O6",
        broken: "a slot that was begun takes any copy",
        file: "crates/wearwell/src/page/log/nor.rs",
        from: "Ok(!fits)",
        to: "Ok(!fits && !BROKEN)",
        crash: caught(Run::Crash("nor")),
        torture: caught(Run::Seeds(&["nor"], 100)),
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
];
