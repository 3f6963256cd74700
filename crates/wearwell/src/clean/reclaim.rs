//! When dead blocks are erased. This is the only place of the rule (FSAF '09, section 4.3 and figure 4).

policies! {
    /// When blocks without live pages are erased.
    Reclamation:
    AtOnce = "at-once", "erases a block as soon as nothing in it is needed";
    Proactive {
        /// Its parameters.
        rule: Proactive = Proactive::PAPER
    } = "proactive:DELTA:MU:LOW",
        "erases dead blocks once dead pages exceed DELTA of all and used blocks MU, down to LOW \
         (FSAF '09; 0.2:0.85:0.18)";
}

/// Proactive reclamation: erases dead blocks before space runs out, but not all at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proactive {
    /// δ: it begins when dead pages are more than this part of all pages,
    pub above: f64,
    /// μ: and blocks in use are more than this part of all blocks.
    pub used: f64,
    /// Δ: it ends when dead pages are at most this part of all pages.
    pub until: f64,
}

/// How full a device is, and how much of it is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    /// Pages discarded and not yet erased.
    pub dead_pages: u64,
    /// All pages.
    pub pages: u64,
    /// Blocks that are not free.
    pub used_blocks: u32,
    /// All good blocks.
    pub blocks: u32,
}

impl Proactive {
    /// The values of FSAF '09 (section 5.2).
    pub const PAPER: Self = Self { above: 0.20, used: 0.85, until: 0.18 };

    /// True if dead blocks are to be erased now. `is_running` says whether they were being erased before.
    pub fn goes_on(&self, is_running: bool, now: Occupancy) -> bool {
        let (dead, pages) = (now.dead_pages as f64, now.pages as f64);
        if is_running {
            return dead > self.until * pages;
        }
        dead > self.above * pages && f64::from(now.used_blocks) > self.used * f64::from(now.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_above_both_marks_and_ends_at_the_third() {
        let now = |dead_pages, used_blocks| Occupancy { dead_pages, pages: 100, used_blocks, blocks: 100 };
        let goes_on = |is_running, dead, used| Proactive::PAPER.goes_on(is_running, now(dead, used));
        assert!(goes_on(false, 21, 86));
        assert!(!goes_on(false, 20, 86) && !goes_on(false, 21, 85));
        assert!(goes_on(true, 19, 10), "once begun, it goes on whatever is in use");
        assert!(!goes_on(true, 18, 100));
    }
}
