//! When cleaning runs, and at what pace. This is the only place of the rule.

/// Below this number of free segments, they are urgent.
const URGENT_BELOW: u32 = 2;

/// How many segments are free, as far as it matters whatever the policies say. Those held for recovery do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Supply {
    /// One or none. Cleaning ignores the policies of when and which, and only a copy opens a segment.
    Urgent,
    /// Two. The host or a copy may open one of them. Wear leveling waits, and discards are written to flash before
    /// anything is cleaned.
    Scarce,
    /// More.
    Enough,
}

impl Supply {
    #[inline(always)]
    pub(crate) fn of(free: u32) -> Self {
        if free > URGENT_BELOW {
            Self::Enough
        } else if free == URGENT_BELOW {
            Self::Scarce
        } else {
            Self::Urgent
        }
    }
}

policies! {
    /// When cleaning runs.
    CleaningTrigger:
    Watermark {
        /// Free segments below which cleaning starts.
        low: Mark,
        /// Where cleaning stops.
        high: Mark
    } = "watermark:LOW:HIGH", "starts below LOW free segments, stops at HIGH; numbers or percentages (default 3:4)";
    Falling {
        /// Free segments at which cleaning may begin.
        n: u32,
        /// The score to exceed when `n` segments are free: with f ≤ `n` of them, the best victim is cleaned if its
        /// policy score exceeds `threshold`·f/`n` (Kawaguchi '95, section 2.8).
        threshold: Threshold,
        /// Host pages between the choice of a victim and its copying.
        lag: LagPages = LagPages(0)
    } = "falling:N:TH[:LAG]",
        "with N free segments or fewer, cleans what scores above TH x free/N; TH a score, or 30d (Kawaguchi '95)";
    Idle {
        /// Where cleaning starts.
        low: Mark,
        /// Where foreground cleaning stops.
        high: Mark,
        /// Where background cleaning stops.
        idle: Mark
    } = "idle:LOW:HIGH:IDLE", "a watermark, and background cleaning up to IDLE free segments";
}

/// Host pages that pass between the choice of a victim and its copying (Kawaguchi's cleaner is a daemon).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LagPages(pub u32);

/// A number of free segments, absolute or relative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mark {
    /// A number of segments.
    Segments(u32),
    /// A percentage of all segments.
    Percent(f64),
}

impl Mark {
    fn resolve(self, segments: u32) -> u32 {
        match self {
            Self::Segments(n) => n,
            Self::Percent(p) => (p * f64::from(segments) / 100.0 + 0.5) as u32,
        }
    }
}

/// The threshold for a victim's score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// A score of the policy in force (ages in seconds).
    Score(f64),
    /// The cost-benefit score of a segment with one invalid page that was not touched for this number of days. The
    /// paper states its threshold like this.
    Days(f64),
}

impl Threshold {
    fn resolve(self, slots: u32) -> f64 {
        match self {
            Self::Score(score) => score,
            // age × (1−u) / 2u, for u = (slots − 1) / slots.
            Self::Days(days) => days * 86_400.0 / (2.0 * f64::from(slots - 1)),
        }
    }
}

impl CleaningTrigger {
    /// The default: start below three free segments, stop at four.
    pub const DEFAULT: Self = Self::Watermark { low: Mark::Segments(3), high: Mark::Segments(4) };

    /// True if ages are measured in seconds under this policy.
    pub(crate) fn ages_in_seconds(self) -> bool {
        matches!(self, Self::Falling { .. })
    }

    pub(crate) fn build(self, segments: u32, slots: u32) -> Result<ResolvedTrigger, &'static str> {
        let when = match self {
            Self::Watermark { low, high } => {
                let high = high.resolve(segments);
                ResolvedTrigger::Watermark { low: low.resolve(segments), high, idle: high }
            }
            Self::Idle { low, high, idle } => ResolvedTrigger::Watermark {
                low: low.resolve(segments),
                high: high.resolve(segments),
                idle: idle.resolve(segments),
            },
            Self::Falling { n, threshold, lag } => {
                // The threshold is in proportion to the free segments (Kawaguchi '95, section 2.8).
                let per_free_segment = threshold.resolve(slots) / f64::from(n);
                ResolvedTrigger::Falling { n, per_free_segment, lag_pages: lag.0 }
            }
        };
        // With a mark of 0 cleaning would never start, and with one of all segments it would never stop.
        if let ResolvedTrigger::Watermark { low, high, idle } = when
            && !(0 < low && low <= high && high <= idle && idle < segments)
        {
            return Err("the marks must rise from 1 and stay below the number of segments");
        }
        Ok(when)
    }
}

/// What the cleaner does at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Pages to move,
    pub(crate) pages: u32,
    /// for so many host pages.
    pub(crate) host_pages: u32,
}

/// Approximate pages that one step of the cleaner moves. They are few against a segment, so that copies and host writes
/// mix evenly, and few in absolute number, so that no command waits long. Steps of single pages would halve the
/// simulator's speed.
fn step_pages(slots: u32) -> u32 {
    (slots / 8).clamp(1, 64)
}

/// Who waits while the cleaner works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// The host waits: it is writing.
    Foreground,
    /// Nobody waits: the host is idle.
    Background,
}

/// The policy in force, with its numbers resolved for a device. Only this type decides whether segments are wanted, and
/// at what pace. Numbers of free segments do not include those held for recovery.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ResolvedTrigger {
    Watermark { low: u32, high: u32, idle: u32 },
    Falling { n: u32, per_free_segment: f64, lag_pages: u32 },
}

impl ResolvedTrigger {
    /// The cleaner is asked when a segment is opened and fewer than this number are left.
    pub(crate) fn alert_below(self) -> u32 {
        match self {
            // The cleaner looks after the reserve, wherever the marks are.
            Self::Watermark { low, .. } => low.max(URGENT_BELOW),
            // The threshold falls with every segment that is opened, so each may make a victim worth cleaning.
            Self::Falling { .. } => u32::MAX,
        }
    }

    /// True if there are so few free segments that the cleaner should be asked at a host page.
    pub(crate) fn wants_segments(self, free: u32, is_cleaning: bool) -> bool {
        match self {
            Self::Watermark { low, .. } => is_cleaning || free < low,
            Self::Falling { n, .. } => free <= n,
        }
    }

    /// True if a victim is to be chosen. `was_cleaning` is the previous answer.
    pub(crate) fn is_cleaning(self, ground: Ground, free: u32, was_cleaning: bool) -> bool {
        match (self, ground) {
            // Between the marks the last answer stands, so that cleaning goes on until it has reached the upper one.
            (Self::Watermark { low, high, .. }, Ground::Foreground) => free < low || (was_cleaning && free < high),
            (Self::Watermark { idle, .. }, Ground::Background) => free < idle,
            (Self::Falling { n, .. }, _) => free <= n,
        }
    }

    /// True if the best victim, with this policy score, is worth cleaning.
    ///
    /// Kawaguchi's threshold reaches zero when no segment is free. Here it reaches zero when only the reserve is free,
    /// because the policy is not asked below that.
    pub(crate) fn accepts(self, free: u32, score: impl FnOnce() -> f64) -> bool {
        match self {
            Self::Watermark { .. } => true,
            Self::Falling { per_free_segment, .. } => {
                Supply::of(free) < Supply::Enough || score() > per_free_segment * f64::from(free)
            }
        }
    }

    /// Host pages that pass between the choice of a victim and its copying.
    pub(crate) fn lag_pages(self) -> u32 {
        match self {
            Self::Watermark { .. } => 0,
            Self::Falling { lag_pages, .. } => lag_pages,
        }
    }

    /// The next step of a job in segments of `slots` pages. For each host page, `in_time_pages` would empty the victim
    /// in time. Several host pages are paid for at once, because single pages would cost too much time.
    pub(crate) fn next_step(self, free: u32, in_time_pages: u32, slots: u32) -> Step {
        // No pace is 0, so it can be divided by.
        let pages = self.pace_pages(free, in_time_pages);
        let host_pages = (step_pages(slots) / pages).max(1);
        Step { pages: pages * host_pages, host_pages }
    }

    /// Pages to move for each host page. There are two more than `in_time_pages` while fewer segments are free than
    /// cleaning is to keep, and twice as many when the reserve is touched.
    fn pace_pages(self, free: u32, in_time_pages: u32) -> u32 {
        match self {
            // Twice what is moved below the mark.
            _ if Supply::of(free) == Supply::Urgent => 2 * in_time_pages + 4,
            // A victim that frees more than it holds has a pace of 0, rounded down, and would never be emptied.
            Self::Watermark { low, .. } if free >= low => in_time_pages.max(1),
            Self::Watermark { .. } | Self::Falling { .. } => in_time_pages + 2,
        }
    }

    /// True if background cleaning has more to do, after it has just moved `moved_pages`.
    pub(crate) fn has_more_in_background(self, free: u32, is_cleaning: bool, moved_pages: u32) -> bool {
        match self {
            Self::Watermark { idle, .. } => is_cleaning && free < idle,
            // There is no mark to reach. It goes on while there was a victim worth cleaning.
            Self::Falling { .. } => moved_pages > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_days_with_one_invalid_block() {
        // Kawaguchi's segments have 504 blocks: 30 days x (1/504) / (2 x 503/504) seconds.
        let spec = CleaningTrigger::Falling { n: 12, threshold: Threshold::Days(30.0), lag: LagPages(0) };
        let Ok(ResolvedTrigger::Falling { n, per_free_segment, .. }) = spec.build(64, 504) else { unreachable!() };
        assert!((per_free_segment * f64::from(n) - 2_592_000.0 / 1006.0).abs() < 1e-6);
    }
}
