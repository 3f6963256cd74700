//! Policies by name, for command lines, images and reports (feature `names`): how parameters are read and written. The
//! names themselves are in the lists of policies.

use core::fmt;
use core::str::Split;

use crate::clean::reclaim::Proactive;
use crate::clean::when::{LagPages, Mark, Threshold};
use crate::clean::which::Age;
use crate::place::ClassCount;

/// The parameters in a policy's text, each behind a colon. Those given as `NAME=VALUE` are found by their names. The
/// others are taken in order.
#[derive(Debug, Clone)]
pub(crate) struct Parts<'a> {
    all: Split<'a, char>,
    in_order: Split<'a, char>,
    left: usize,
}

impl<'a> Parts<'a> {
    /// The name at the front of a text, and the parameters behind it.
    pub(crate) fn of(text: &'a str) -> (&'a str, Self) {
        let mut all = text.split(':');
        let name = all.next().unwrap_or(text);
        (name, Self { in_order: all.clone(), left: all.clone().count(), all })
    }

    /// The value of the parameter with this name.
    pub(crate) fn take(&mut self, name: &str) -> Option<&'a str> {
        let by_name = |part: &'a str| part.split_once('=').filter(|&(key, _)| key == name);
        // Of two with the same name the first is taken. The other stays left over, so the text is refused.
        let value = match self.all.clone().find_map(by_name) {
            Some((_, value)) => value,
            None => self.in_order.find(|part| !part.contains('='))?,
        };
        self.left = self.left.checked_sub(1)?;
        Some(value)
    }

    /// True if nothing is left: each part was taken once.
    pub(crate) fn is_empty(&self) -> bool {
        self.left == 0
    }
}

/// A parameter of a policy.
pub(crate) trait Parameter: Sized {
    /// The names of its values, if there are several. The name of a single one is that of the field.
    const NAMES: &'static [&'static str] = &[];
    /// Takes it from the parts. `name` is that of the field.
    fn take(parts: &mut Parts<'_>, name: &str) -> Option<Self>;
    /// Writes it after a colon; nothing if it has its empty value.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// The name at the front of a form.
pub(crate) fn base(form: &str) -> &str {
    form.split(':').next().unwrap_or(form)
}

/// The names under which a parameter is given, which is in this field.
pub(crate) const fn names_of<'a, T: Parameter>(field: &'a [&'a str]) -> &'a [&'a str] {
    if T::NAMES.is_empty() { field } else { T::NAMES }
}

/// The parameter in the field `name`, or its default if none of its values is given.
pub(crate) fn take_or<T: Parameter>(parts: &mut Parts<'_>, name: &str, default: Option<T>) -> Option<T> {
    let is_given = names_of::<T>(&[name]).iter().any(|name| parts.clone().take(name).is_some());
    // A colon with nothing behind it is a part that is empty, and is refused.
    if is_given { T::take(parts, name) } else { default }
}

/// Numbers must be whole and above 0.
impl Parameter for u32 {
    fn take(parts: &mut Parts<'_>, name: &str) -> Option<Self> {
        parts.take(name)?.parse().ok().filter(|&number| number > 0)
    }
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{self}")
    }
}

impl Parameter for Option<u32> {
    fn take(parts: &mut Parts<'_>, name: &str) -> Option<Self> {
        u32::take(parts, name).map(Some)
    }
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.map_or(Ok(()), |number| number.write(f))
    }
}

impl Parameter for LagPages {
    fn take(parts: &mut Parts<'_>, name: &str) -> Option<Self> {
        parts.take(name)?.parse().ok().map(Self)
    }
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 0 { self.0.write(f) } else { Ok(()) }
    }
}

/// The age of the paper is not written, as it was before there were others.
impl Parameter for Age {
    fn take(parts: &mut Parts<'_>, name: &str) -> Option<Self> {
        match parts.take(name)? {
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
    fn take(parts: &mut Parts<'_>, name: &str) -> Option<Self> {
        u32::take(parts, name).and_then(Self::new)
    }
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}", self.get())
    }
}

impl Parameter for Mark {
    fn take(parts: &mut Parts<'_>, name: &str) -> Option<Self> {
        let text = parts.take(name)?;
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
    fn take(parts: &mut Parts<'_>, name: &str) -> Option<Self> {
        let text = parts.take(name)?;
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
    const NAMES: &'static [&'static str] = &["delta", "mu", "low"];
    fn take(parts: &mut Parts<'_>, _name: &str) -> Option<Self> {
        let mut part = |name| parts.take(name)?.parse().ok().filter(|part| (0.0..=1.0).contains(part));
        let rule = Self { above: part("delta")?, used: part("mu")?, until: part("low")? };
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
    fn parameters_are_found_by_name_and_printed_in_order() {
        let same = |texts: &[&str], parse: &dyn Fn(&str) -> Option<alloc::string::String>, printed: Option<&str>| {
            for text in texts {
                assert_eq!(parse(text).as_deref(), printed, "{text}");
            }
        };
        let when = |text: &str| CleaningTrigger::parse(text).map(|policy| policy.to_string());
        same(
            &["watermark:low=3:high=5%", "watermark:high=5%:low=3", "watermark:3:high=5%"],
            &when,
            Some("watermark:3:5%"),
        );
        same(&["falling:12:30d:lag=9", "falling:threshold=30d:n=12:9"], &when, Some("falling:12:30d:9"));
        same(&["watermark:low=3", "watermark:low=3:4:5", "idle:low=3:low=4:9", "falling:12:x=9:1"], &when, None);
        let place = |text: &str| Placement::parse(text).map(|policy| policy.to_string());
        same(&["dac:regions=4", "dac:4"], &place, Some("dac:4"));
        same(
            &["dac:regions=4:4", "dac:4:regions=4", "dac:regions=", "dac:=4", "dac:classes=4", "dac:regions=16"],
            &place,
            None,
        );
        let which = |text: &str| VictimPolicy::parse(text).map(|policy| policy.to_string());
        same(&["cost-benefit:age=opened"], &which, Some("cost-benefit:opened"));
        let reclaim = |text: &str| Reclamation::parse(text).map(|policy| policy.to_string());
        same(&["proactive:low=0:mu=0.3:delta=0.1", "proactive:0.1:0.3:low=0"], &reclaim, Some("proactive:0.1:0.3:0"));
        same(&["proactive:delta=0.1", "proactive:rule=0.1", "at-once:delta=0.1"], &reclaim, None);
        let recycle = |text: &str| Recycling::parse(text).map(|policy| policy.to_string());
        same(&["periodic:limit=20"], &recycle, Some("periodic:20"));
    }

    #[test]
    fn policies_tell_the_names_of_their_parameters() {
        let names = |names: &mut dyn Iterator<Item = &'static str>| names.collect::<alloc::vec::Vec<_>>();
        assert_eq!(names(&mut CleaningTrigger::parameters("falling:12")), ["n", "threshold", "lag"]);
        assert_eq!(names(&mut Reclamation::parameters("proactive")), ["delta", "mu", "low"]);
        assert_eq!(names(&mut Placement::parameters("dac:6")), ["regions"]);
        assert!(
            names(&mut Placement::parameters("sepbit")).is_empty()
                && names(&mut WearLeveling::parameters("x")).is_empty()
        );
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
