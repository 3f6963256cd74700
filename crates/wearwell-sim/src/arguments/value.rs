//! How the text of an argument is read, and the messages for one that makes no sense.

use thiserror::Error;
use wearwell::logblock::Recycling;
use wearwell::place::ClassCount;
use wearwell::{CleaningTrigger, Placement, Reclamation, VictimPolicy, WearLeveling};
use wearwell_emu::{ChipProfile, ProfileError};

use crate::engine::{AwareMode, DataMode, Engine, Layout, StreamSource};
use crate::names::nearest;
use crate::size::{Percent, SizeError, parse_size};
use crate::workload::{WorkloadError, WorkloadSpec};

/// Why a value was not understood. Messages do not repeat the value.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// A name that is on no list.
    #[error("did you mean {near}? There are {names}")]
    Unknown {
        /// The nearest one.
        near: String,
        /// All of them.
        names: String,
    },
    /// A known name with a number that it does not take.
    #[error("its number must be whole and above 0, as in {form}")]
    Number {
        /// How it is written.
        form: &'static str,
    },
    /// A placement with a number of classes that it cannot have.
    #[error("its number must be whole and from 1 to {}, as in {form}", ClassCount::MOST)]
    Classes {
        /// How it is written.
        form: &'static str,
    },
    /// A victim policy with an age that there is not.
    #[error("its age is invalidated, opened or sealed, as in {form}")]
    Age {
        /// How it is written.
        form: &'static str,
    },
    /// A known name in the wrong form.
    #[error("the form is {form}")]
    Form {
        /// How it is written.
        form: &'static str,
    },
    /// A known name that takes no number, with one.
    #[error("{form} takes no number")]
    NoNumber {
        /// How it is written.
        form: &'static str,
    },
    /// A known name with a parameter that it does not have.
    #[error("did you mean {near}=? It takes {names}")]
    Parameter {
        /// The nearest one.
        near: &'static str,
        /// All of them, in order.
        names: String,
    },
    /// More than all of the rated erases.
    #[error("its number is a percentage of the rated erases, as in swap:90: at most 100")]
    SwapPercent,
    /// Not a number, or not one that the argument takes.
    #[error("{wanted}")]
    NotANumber {
        /// What it takes.
        wanted: &'static str,
    },
    /// No such chip.
    #[error(transparent)]
    Chip(#[from] ProfileError),
    /// No size or percentage.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// No such workload.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

/// The error for a name that is on no list: the form of the known name that was misused, or the nearest name.
fn unknown(text: &str, list: &[(&'static str, &'static str)]) -> ValueError {
    fn base(name: &str) -> &str {
        name.split(':').next().unwrap_or_default()
    }
    let given = base(text);
    if let Some(&(form, _)) = list.iter().find(|(form, _)| base(form) == given) {
        return match form.split_once(':') {
            // Forms show a number by an example, and everything else by a word.
            Some((_, numbers)) if numbers.starts_with(|c: char| c.is_ascii_digit()) => ValueError::Number { form },
            Some(_) => ValueError::Form { form },
            None => ValueError::NoNumber { form },
        };
    }
    let bases: Vec<&str> = list.iter().map(|(form, _)| base(form)).collect();
    let near = nearest(given, bases.iter().copied()).unwrap_or_default();
    ValueError::Unknown { near: near.to_owned(), names: bases.join(", ") }
}

/// The error for a policy that makes no sense. `parameters` are those of the policy that is named.
fn no_policy(
    text: &str,
    list: &[(&'static str, &'static str)],
    parameters: impl Iterator<Item = &'static str>,
) -> ValueError {
    let parameters: Vec<&str> = parameters.collect();
    let keys = text.split(':').skip(1).filter_map(|part| part.split_once('=')).map(|(key, _)| key);
    match keys.filter(|key| !parameters.contains(key)).find_map(|key| nearest(key, parameters.iter().copied())) {
        Some(near) => ValueError::Parameter { near, names: parameters.join(", ") },
        None => unknown(text, list),
    }
}

/// Readers of what is chosen by name. Policies may have parameters.
macro_rules! by_name {
    ($($(#[$about:meta])* $name:ident: $type:ident $($policy:ident)?;)*) => { $(
        $(#[$about])*
        ///
        /// # Errors
        /// With the nearest name, or the form of the one that was misused.
        pub fn $name(text: &str) -> Result<$type, ValueError> {
            $type::parse(text).ok_or_else(|| by_name!(@error $type text $($policy)?))
        }
    )* };
    (@error $type:ident $text:ident) => { unknown($text, $type::LIST) };
    (@error $type:ident $text:ident policy) => { no_policy($text, $type::LIST, $type::parameters($text)) };
}

by_name! {
    /// Whether bytes are kept.
    data: DataMode;
    /// A translation layer.
    engine: Engine;
    /// How records lie on flash.
    layout: Layout;
    /// How much is inferred.
    aware: AwareMode;
    /// Where streams come from.
    streams: StreamSource;
    /// When cleaning runs.
    when: CleaningTrigger policy;
    /// How log blocks are recycled.
    recycle: Recycling policy;
    /// When dead blocks are erased.
    reclaim: Reclamation policy;
}

/// Which segment cleaning takes.
///
/// # Errors
/// As for other names, and the ages that there are.
pub fn which(text: &str) -> Result<VictimPolicy, ValueError> {
    VictimPolicy::parse(text).ok_or_else(|| {
        match no_policy(text, VictimPolicy::LIST, VictimPolicy::parameters(text)) {
            // An age is the only parameter that is no number.
            ValueError::Form { form } => ValueError::Age { form },
            error => error,
        }
    })
}

/// Where pages go.
///
/// # Errors
/// As for other names, and how many classes there can be.
pub fn place(text: &str) -> Result<Placement, ValueError> {
    Placement::parse(text).ok_or_else(|| match no_policy(text, Placement::LIST, Placement::parameters(text)) {
        ValueError::Number { form } => ValueError::Classes { form },
        error => error,
    })
}

/// How wear is leveled.
///
/// # Errors
/// As for other names, and a percentage above 100.
pub fn wear(text: &str) -> Result<WearLeveling, ValueError> {
    match WearLeveling::parse(text) {
        Some(WearLeveling::Swap { percent }) if percent > 100 => Err(ValueError::SwapPercent),
        found => found.ok_or_else(|| no_policy(text, WearLeveling::LIST, WearLeveling::parameters(text))),
    }
}

/// A chip: its name, the file of its profile, or a geometry.
///
/// # Errors
/// As [`ChipProfile::resolve`].
pub fn chip(text: &str) -> Result<ChipProfile, ValueError> {
    Ok(ChipProfile::resolve(text)?)
}

/// A size in bytes.
///
/// # Errors
/// As [`parse_size`].
pub fn size(text: &str) -> Result<u64, ValueError> {
    Ok(parse_size(text)?)
}

/// A percentage.
///
/// # Errors
/// A text that is none.
pub fn percent(text: &str) -> Result<Percent, ValueError> {
    Ok(text.parse::<Percent>()?)
}

/// A workload.
///
/// # Errors
/// As the reader of [`WorkloadSpec`].
pub fn workload(text: &str) -> Result<WorkloadSpec, ValueError> {
    Ok(text.parse::<WorkloadSpec>()?)
}

/// When the requests of a trace arrive: `chip` or `trace`. True for `trace`.
///
/// # Errors
/// Any other name.
pub fn pace(text: &str) -> Result<bool, ValueError> {
    match text {
        "chip" => Ok(false),
        "trace" => Ok(true),
        _ => Err(unknown(text, &[("chip", ""), ("trace", "")])),
    }
}

/// Whether the host gives hints.
///
/// # Errors
/// Any other name.
pub fn hints(text: &str) -> Result<bool, ValueError> {
    match text {
        "none" => Ok(false),
        "read-only" => Ok(true),
        _ => Err(unknown(text, &[("none", ""), ("read-only", "")])),
    }
}

/// A number.
pub(super) fn number<T: std::str::FromStr>(text: &str, wanted: &'static str) -> Result<T, ValueError> {
    text.parse().map_err(|_| ValueError::NotANumber { wanted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_find_the_nearest_and_known_ones_their_form() {
        let said = |error: Option<ValueError>| error.map(|error| error.to_string()).unwrap_or_default();
        assert!(said(which("gredy").err()).starts_with("did you mean greedy? There are greedy, "));
        assert!(said(which("d-choices:0").err()).ends_with("as in d-choices:10"));
        assert_eq!(said(which("greedy:3").err()), "greedy takes no number");
        assert_eq!(said(when("watermark:3").err()), "the form is watermark:LOW:HIGH");
        assert_eq!(said(place("dac:region=6").err()), "did you mean regions=? It takes regions");
        assert_eq!(said(when("idle:low=3:hi=4:9").err()), "did you mean high=? It takes low, high, idle");
        assert_eq!(said(reclaim("proactive:above=1:0:0").err()), "did you mean low=? It takes delta, mu, low");
        assert_eq!(said(wear("swap:percents=9").err()), "did you mean percent=? It takes percent");
        assert_eq!(said(place("single:regions=6").err()), "single takes no number");
        for text in ["dac:0", "dac:16", "dac:regions=16", "dac:many"] {
            assert_eq!(said(place(text).err()), "its number must be whole and from 1 to 15, as in dac:6", "{text}");
        }
        for text in ["cost-benefit:created", "cost-benefit-sqrt:age=new", "cost-benefit:"] {
            assert!(said(which(text).err()).starts_with("its age is invalidated, opened or sealed, as in"), "{text}");
        }
        assert!(wear("swap:100").is_ok() && said(wear("swap:101").err()).contains("at most 100"));
    }
}
