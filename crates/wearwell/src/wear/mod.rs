//! Wear leveling: one file a policy; a new one is its file and a line in the list below.

mod dynamic;
mod none;
mod static_threshold;
mod swap;

/// The spread of erase counts, as a policy sees it when a segment has been erased.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    /// Least erase count of a good segment.
    pub min_erases: u32,
    /// Greatest erase count of a good segment.
    pub max_erases: u32,
    /// Erases that the chip is rated for.
    pub endurance: u32,
}

/// A wear-leveling policy.
pub trait WearRule {
    /// True if the least worn free segment is to be opened first, rather than the one free the longest.
    fn opens_least_worn(&self) -> bool {
        false
    }
    /// True if the data of the least worn segment should move to the most worn free one.
    fn wants_move(&self, spread: Spread) -> bool {
        let _ = spread;
        false
    }
}

/// Makes the list of policies: an enum with one variant each, their names, and the dispatch.
macro_rules! policies {
    ($($variant:ident($type:ident) = $name:literal $(, $param:ident: $default:literal)?, $about:literal;)*) => {
        /// A choice of wear leveling, by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum WearLeveling { $(
            #[doc = $about]
            $variant($type),
        )* }

        impl WearLeveling {
            /// Every policy: its name as [`parse`](Self::parse) takes it, and what it does.
            pub const LIST: &'static [(&'static str, &'static str)] = &[$(
                (concat!($name $(, ":", stringify!($default))?), $about),
            )*];

            /// Reads a name, with a number behind a colon where the policy has one.
            pub fn parse(text: &str) -> Option<Self> {
                let (name, number) = match text.split_once(':') {
                    Some((name, number)) => (name, Some(number.parse::<u32>().ok().filter(|&n| n > 0)?)),
                    None => (text, None),
                };
                match (name, number) {
                    $(($name, number) => policies!(@parse $variant($type) number $($param $default)?),)*
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for WearLeveling {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self { $(
                    #[allow(unused_variables, reason = "only some policies have a number")]
                    Self::$variant(policy) => {
                        f.write_str($name)?;
                        $(write!(f, ":{}", policy.$param)?;)?
                        Ok(())
                    }
                )* }
            }
        }

        impl WearRule for WearLeveling {
            fn opens_least_worn(&self) -> bool {
                match self { $(Self::$variant(p) => p.opens_least_worn(),)* }
            }
            fn wants_move(&self, spread: Spread) -> bool {
                match self { $(Self::$variant(p) => p.wants_move(spread),)* }
            }
        }
    };
    (@parse $variant:ident($type:ident) $number:ident) => {
        if $number.is_none() { Some(Self::$variant(<$type>::default())) } else { None }
    };
    (@parse $variant:ident($type:ident) $number:ident $param:ident $default:literal) => {
        Some(Self::$variant($type { $param: $number.unwrap_or($default) }))
    };
}

pub use dynamic::Dynamic;
pub use none::NoLeveling;
pub use static_threshold::StaticThreshold;
pub use swap::Swap;

policies! {
    None(NoLeveling) = "none", "free segments are used in the order in which they became free";
    Dynamic(Dynamic) = "dynamic", "the least worn free segment is used first";
    Swap(Swap) = "swap", percent: 90,
        "near the rated limit (PERCENT of it), the least and the most worn segment change places (Chiang '97, 4)";
    StaticThreshold(StaticThreshold) = "static-threshold", threshold: 15,
        "when max - min erase count exceeds THRESHOLD, the least worn segment's data moves to a worn one (FSAF '09)";
}
