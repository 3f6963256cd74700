//! Policies by name, for command lines, images and reports (feature `names`): how parameters are read and written. The
//! names themselves are in the lists of policies.

use core::fmt;
use core::str::Split;

use crate::clean::reclaim::Proactive;
use crate::clean::when::{LagPages, Mark, Threshold};
use crate::clean::which::Age;
use crate::place::ClassCount;

/// The parts of a policy's text, separated by colons.
pub(crate) type Parts<'a> = Split<'a, char>;

/// A parameter of a policy.
pub(crate) trait Parameter: Sized {
    /// Takes it from the front of the parts.
    fn take(parts: &mut Parts<'_>) -> Option<Self>;
    /// Writes it after a colon; nothing if it has its empty value.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// The name at the front of a form.
pub(crate) fn base(form: &str) -> &str {
    form.split(':').next().unwrap_or(form)
}

/// The next parameter, or its default if no parts are left.
pub(crate) fn take_or<T: Parameter>(parts: &mut Parts<'_>, default: Option<T>) -> Option<T> {
    // A colon with nothing behind it is a part that is empty, and is refused.
    if parts.clone().next().is_none() { default } else { T::take(parts) }
}

/// Numbers must be whole and above 0.
impl Parameter for u32 {
    fn take(parts: &mut Parts<'_>) -> Option<Self> {
        parts.next()?.parse().ok().filter(|&number| number > 0)
    }
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{self}")
    }
}

impl Parameter for Option<u32> {
    fn take(parts: &mut Parts<'_>) -> Option<Self> {
        u32::take(parts).map(Some)
    }
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.map_or(Ok(()), |number| number.write(f))
    }
}

impl Parameter for LagPages {
    fn take(parts: &mut Parts<'_>) -> Option<Self> {
        parts.next()?.parse().ok().map(Self)
    }
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 0 { self.0.write(f) } else { Ok(()) }
    }
}

/// The age of the paper is not written, as it was before there were others.
impl Parameter for Age {
    fn take(parts: &mut Parts<'_>) -> Option<Self> {
        match parts.next()? {
            "opened" => Some(Self::Opened),
            "sealed" => Some(Self::Sealed),
            "invalidated" => Some(Self::Invalidated),
            _ => None,
        }
    }
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened => f.write_str(":opened"),
            Self::Sealed => f.write_str(":sealed"),
            Self::Invalidated => Ok(()),
        }
    }
}

impl Parameter for ClassCount {
    fn take(parts: &mut Parts<'_>) -> Option<Self> {
        u32::take(parts).and_then(Self::new)
    }
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}", self.get())
    }
}

impl Parameter for Mark {
    fn take(parts: &mut Parts<'_>) -> Option<Self> {
        let text = parts.next()?;
        match text.strip_suffix('%') {
            Some(number) => number.parse().ok().filter(|p| (0.0..=100.0).contains(p)).map(Self::Percent),
            None => text.parse().ok().map(Self::Segments),
        }
    }
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segments(n) => write!(f, ":{n}"),
            Self::Percent(p) => write!(f, ":{p}%"),
        }
    }
}

impl Parameter for Threshold {
    fn take(parts: &mut Parts<'_>) -> Option<Self> {
        let text = parts.next()?;
        let threshold = match text.strip_suffix('d') {
            Some(number) => Self::Days(number.parse().ok()?),
            None => Self::Score(text.parse().ok()?),
        };
        let (Self::Score(value) | Self::Days(value)) = threshold;
        // `parse` also takes `nan` and `inf`.
        (value.is_finite() && value >= 0.0).then_some(threshold)
    }
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Score(score) => write!(f, ":{score}"),
            Self::Days(days) => write!(f, ":{days}d"),
        }
    }
}

/// Three fractions. The last one must not be greater than the first.
impl Parameter for Proactive {
    fn take(parts: &mut Parts<'_>) -> Option<Self> {
        let mut part = || parts.next()?.parse().ok().filter(|part| (0.0..=1.0).contains(part));
        let rule = Self { above: part()?, used: part()?, until: part()? };
        (rule.until <= rule.above).then_some(rule)
    }
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}:{}:{}", self.above, self.used, self.until)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use core::fmt::{Debug, Display};

    use super::base;
    use crate::logblock::Recycling;
    use crate::{CleaningTrigger, Placement, Reclamation, VictimPolicy, WearLeveling};

    fn check<T: Display + Debug + PartialEq>(parse: impl Fn(&str) -> Option<T>, known: &[&str], refused: &[&str]) {
        for text in known {
            assert_eq!(parse(text).map(|policy| policy.to_string()).as_deref(), Some(*text));
        }
        for text in refused.iter().chain(&["", ":", "never"]) {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn names_read_back_as_they_print_and_numbers_must_make_sense() {
        check(
            CleaningTrigger::parse,
            &["watermark:3:4", "watermark:5%:7.5%", "idle:3:4:9", "falling:12:455", "falling:12:30d:500"],
            &["watermark", "watermark:3", "watermark:3:4:5", "falling:0:1", "falling:12:nan", "falling:12:1:x"],
        );
        assert_eq!(CleaningTrigger::parse("falling:12:455:0"), CleaningTrigger::parse("falling:12:455"));
        check(
            VictimPolicy::parse,
            &["greedy", "d-choices:3", "cost-benefit", "cost-benefit:opened", "cost-benefit-sqrt:sealed"],
            &["greedy:3", "d-choices:0", "d-choices:", "d-choices:3:4", "cost-benefit:3", "cost-benefit:opened:sealed"],
        );
        check(Placement::parse, &["single", "by-stream-shared", "dac:15"], &["single:1", "dac:16", "dac:0"]);
        check(WearLeveling::parse, &["none", "swap:7"], &["none:1", "swap:0", "static-threshold:-1"]);
        check(Recycling::parse, &["optimal", "periodic", "periodic:20"], &["merge-only:3", "periodic:0"]);
        check(
            Reclamation::parse,
            &["at-once", "proactive:0.2:0.85:0.18", "proactive:1:0:0.5"],
            &["at-once:1", "proactive:0.2", "proactive:0.2:0.85:0.3", "proactive:1.1:0:0", "proactive:x:0:0"],
        );
        assert_eq!(Reclamation::parse("proactive"), Reclamation::parse("proactive:0.2:0.85:0.18"));
    }

    #[test]
    fn what_a_form_shows_is_the_default() {
        fn check<T: Debug + PartialEq>(parse: impl Fn(&str) -> Option<T>, list: &[(&str, &str)]) {
            for (form, _) in list {
                assert!(parse(form).is_some(), "{form}");
                assert_eq!(parse(form), parse(base(form)), "{form}");
            }
        }
        check(VictimPolicy::parse, VictimPolicy::LIST);
        check(WearLeveling::parse, WearLeveling::LIST);
        check(Placement::parse, Placement::LIST);
    }
}
