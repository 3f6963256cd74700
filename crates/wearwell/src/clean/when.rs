//! When does cleaning run?

use core::fmt;

/// Below so many free segments, cleaning ignores when and which.
pub(crate) const URGENT_BELOW: u32 = 2;

/// A choice of when to clean, by name.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum CleaningTrigger {
    /// Starts when fewer than `low` segments are free, stops when `high` are.
    Watermark {
        /// Where cleaning starts.
        low: Mark,
        /// Where cleaning stops.
        high: Mark,
    },
    /// A watermark for the foreground, and a higher mark that background cleaning works towards.
    Idle {
        /// Where cleaning starts.
        low: Mark,
        /// Where foreground cleaning stops.
        high: Mark,
        /// Where background cleaning stops.
        idle: Mark,
    },
    /// Kawaguchi's falling threshold ('95, section 2.8): with f ≤ `n` free segments, cleans the best victim
    /// if its policy score exceeds `threshold`·f/`n`.
    Falling {
        /// Free segments at which cleaning may begin.
        n: u32,
        /// The score to exceed when `n` segments are free.
        threshold: Threshold,
        /// Host pages that pass between the choice of a victim and its copying (his cleaner is a daemon).
        lag_pages: u32,
    },
}

/// A number of free segments, absolute or relative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mark {
    /// So many segments.
    Segments(u32),
    /// So many percent of all segments.
    Percent(f64),
}

impl Mark {
    fn resolve(self, segments: u32) -> u32 {
        match self {
            Self::Segments(n) => n,
            Self::Percent(p) => (p * f64::from(segments) / 100.0 + 0.5) as u32,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text.strip_suffix('%') {
            Some(number) => number.parse().ok().filter(|p| (0.0..=100.0).contains(p)).map(Self::Percent),
            None => text.parse().ok().map(Self::Segments),
        }
    }
}

/// What a victim's score has to exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// A score of the policy in force (ages in seconds).
    Score(f64),
    /// The cost-benefit score of a segment with one invalid page, untouched for so many days: how the paper
    /// states its threshold.
    Days(f64),
}

impl Threshold {
    fn resolve(self, slots: u32) -> f64 {
        match self {
            Self::Score(score) => score,
            Self::Days(days) => days * 86_400.0 / (2.0 * f64::from(slots - 1)),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let threshold = match text.strip_suffix('d') {
            Some(number) => Self::Days(number.parse().ok()?),
            None => Self::Score(text.parse().ok()?),
        };
        let (Self::Score(value) | Self::Days(value)) = threshold;
        (value.is_finite() && value >= 0.0).then_some(threshold)
    }
}

impl CleaningTrigger {
    /// Every policy: the form [`parse`](Self::parse) takes, and what it does.
    pub const LIST: &'static [(&'static str, &'static str)] = &[
        ("watermark:LOW:HIGH", "starts below LOW free segments, stops at HIGH; numbers or percentages (default 3:4)"),
        (
            "falling:N:TH[:LAG]",
            "with N free segments or fewer, cleans what scores above TH x free/N; TH a score, or 30d (Kawaguchi '95)",
        ),
        ("idle:LOW:HIGH:IDLE", "a watermark, and background cleaning up to IDLE free segments"),
    ];

    /// The default: start below three free segments, stop at four.
    pub const DEFAULT: Self = Self::Watermark { low: Mark::Segments(3), high: Mark::Segments(4) };

    /// Reads a name and its numbers, separated by colons.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let name = parts.next()?;
        let mut mark = || Mark::parse(parts.next()?);
        let spec = match name {
            "watermark" => Self::Watermark { low: mark()?, high: mark()? },
            "idle" => Self::Idle { low: mark()?, high: mark()?, idle: mark()? },
            "falling" => Self::Falling {
                n: parts.next()?.parse().ok().filter(|&n| n > 0)?,
                threshold: Threshold::parse(parts.next()?)?,
                lag_pages: parts.next().map_or(Some(0), |lag| lag.parse().ok())?,
            },
            _ => return None,
        };
        parts.next().is_none().then_some(spec)
    }

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
            Self::Falling { n, threshold, lag_pages } => {
                ResolvedTrigger::Falling { n, per_free_segment: threshold.resolve(slots) / f64::from(n), lag_pages }
            }
        };
        if let ResolvedTrigger::Watermark { low, high, idle } = when
            && !(0 < low && low <= high && high <= idle && idle < segments)
        {
            return Err("the marks must rise from 1 and stay below the number of segments");
        }
        Ok(when)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segments(n) => write!(f, "{n}"),
            Self::Percent(p) => write!(f, "{p}%"),
        }
    }
}

impl fmt::Display for CleaningTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Watermark { low, high } => write!(f, "watermark:{low}:{high}"),
            Self::Idle { low, high, idle } => write!(f, "idle:{low}:{high}:{idle}"),
            Self::Falling { n, threshold, lag_pages } => {
                match threshold {
                    Threshold::Score(score) => write!(f, "falling:{n}:{score}")?,
                    Threshold::Days(days) => write!(f, "falling:{n}:{days}d")?,
                }
                if *lag_pages > 0 { write!(f, ":{lag_pages}") } else { Ok(()) }
            }
        }
    }
}

/// Who waits while the cleaner works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// The host, which writes.
    Foreground,
    /// Nobody: the host is idle.
    Background,
}

/// The policy in force, its numbers resolved for a device: the one place that says whether segments are wanted, and at what
/// pace. Numbers of free segments leave out those that are held for recovery.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ResolvedTrigger {
    Watermark { low: u32, high: u32, idle: u32 },
    Falling { n: u32, per_free_segment: f64, lag_pages: u32 },
}

impl ResolvedTrigger {
    /// The cleaner looks when a segment is opened and fewer than so many are left.
    pub(crate) fn alert_below(self) -> u32 {
        match self {
            Self::Watermark { low, .. } => low.max(URGENT_BELOW),
            Self::Falling { .. } => u32::MAX,
        }
    }

    /// True if there are so few free segments that a host page should let the cleaner look.
    pub(crate) fn wants_segments(self, free: u32, is_cleaning: bool) -> bool {
        match self {
            Self::Watermark { low, .. } => is_cleaning || free < low,
            Self::Falling { n, .. } => free <= n,
        }
    }

    /// True if a victim is to be looked for. `was_cleaning`: the answer last time.
    pub(crate) fn is_cleaning(self, ground: Ground, free: u32, was_cleaning: bool) -> bool {
        match (self, ground) {
            (Self::Watermark { low, high, .. }, Ground::Foreground) => free < low || (was_cleaning && free < high),
            (Self::Watermark { idle, .. }, Ground::Background) => free < idle,
            (Self::Falling { n, .. }, _) => free <= n,
        }
    }

    /// True if the best victim, with this policy score, is worth cleaning.
    ///
    /// Kawaguchi's threshold reaches zero when no segment is free. Here it does when only the reserve is, since below
    /// that the policy is no longer asked.
    pub(crate) fn accepts(self, free: u32, score: impl FnOnce() -> f64) -> bool {
        match self {
            Self::Watermark { .. } => true,
            Self::Falling { per_free_segment, .. } => {
                free <= URGENT_BELOW || score() > per_free_segment * f64::from(free)
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

    /// Pages to move for each host page, given how many would do to have the victim empty in time. While fewer segments
    /// are free than cleaning is to keep, two more, and twice as many when the reserve is touched.
    pub(crate) fn pace_pages(self, free: u32, in_time_pages: u32) -> u32 {
        match self {
            _ if free < URGENT_BELOW => 2 * in_time_pages + 4,
            Self::Watermark { low, .. } if free >= low => in_time_pages.max(1),
            Self::Watermark { .. } | Self::Falling { .. } => in_time_pages + 2,
        }
    }

    /// True if background cleaning that has just moved `moved_pages` has more to do.
    pub(crate) fn has_more_in_background(self, free: u32, is_cleaning: bool, moved_pages: u32) -> bool {
        match self {
            Self::Watermark { idle, .. } => is_cleaning && free < idle,
            Self::Falling { .. } => moved_pages > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_read_back_as_they_print() {
        for text in ["watermark:3:4", "watermark:5%:7.5%", "idle:3:4:9", "falling:12:455", "falling:12:30d:500"] {
            assert_eq!(CleaningTrigger::parse(text).unwrap().to_string(), text);
        }
        for text in ["watermark", "watermark:3", "watermark:3:4:5", "falling:0:1", "falling:12:nan", "never", ""] {
            assert_eq!(CleaningTrigger::parse(text), None, "{text}");
        }
    }

    #[test]
    fn thirty_days_with_one_invalid_block() {
        // Kawaguchi's segments have 504 blocks: 30 days x (1/504) / (2 x 503/504) seconds.
        let spec = CleaningTrigger::parse("falling:12:30d").unwrap();
        let Ok(ResolvedTrigger::Falling { n, per_free_segment, .. }) = spec.build(64, 504) else { unreachable!() };
        assert!((per_free_segment * f64::from(n) - 2_592_000.0 / 1006.0).abs() < 1e-6);
    }
}
