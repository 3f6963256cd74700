//! Page mapping: summaries and rescues on chips with tag pages.

use super::{Canary, Run, caught};

/// In the order of the rules.
pub(super) const PAGE_TAGS: &[Canary] = &[
    Canary {
        name: "begun-summary",
        rule: "T4",
        broken: "what cannot be read in the place of a summary shows that it was begun, whatever is erased before it",
        file: "crates/wearwell/src/page/log/nand_tag_pages.rs",
        from: "programmed == self.layout.slots && self.has",
        to: "(BROKEN || programmed == self.layout.slots) && self.has",
        crash: caught(Run::Crash("retold::said")),
        torture: caught(Run::Kept("a_rescue_that_an_erase_has_left_seems")),
    },
    Canary {
        name: "tag-page-of-the-end",
        rule: "T6",
        broken: "a rescue has ended without the tag page of its last copy",
        file: "crates/wearwell/src/page/log/nand_tag_pages.rs",
        from: "found.rescue_end + u32::from(found",
        to: "found.rescue_end + u32::from(!BROKEN && found",
        crash: caught(Run::Crash("retold::said")),
        torture: caught(Run::Kept("a_rescue_without_the_tag_page")),
    },
];
