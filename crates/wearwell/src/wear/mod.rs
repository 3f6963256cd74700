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

/// The policies.
macro_rules! wear_levelings {
    ($make:ident! $($head:tt)*) => { $make! { $($head)*
        None (none::NoLeveling) = "none", "free segments are used in the order in which they became free";
        Dynamic (dynamic::Dynamic) = "dynamic", "the least worn free segment is used first";
        Swap {
            /// Of the rated erases, from which on segments change places.
            percent: u32 = 90
        } (swap::Swap) = "swap:90",
            "near the rated limit (PERCENT of it), the least and the most worn segment change places (Chiang '97, 4)";
        StaticThreshold {
            /// Greatest difference of erase counts that is left alone.
            threshold: u32 = 15
        } (static_threshold::StaticThreshold) = "static-threshold:15",
            "when max - min erase count exceeds THRESHOLD, the least worn segment's data moves to a worn one (FSAF '09)";
    } };
}

wear_levelings! { policies!
    /// How wear is leveled.
    #[derive(Eq)]
    WearLeveling:
}

/// Lets the choice ask the policy's rule, which has nothing but its parameters.
macro_rules! rule {
    ($(
        $variant:ident $({ $($(#[$note:meta])* $param:ident: $number:ty = $default:expr),+ })? ($($rule:tt)+)
            = $form:literal, $about:literal;
    )+) => {
        impl WearRule for WearLeveling {
            fn opens_least_worn(&self) -> bool {
                match *self { $(
                    Self::$variant $({ $($param),+ })? => $($rule)+ { $($($param),+)? }.opens_least_worn(),
                )+ }
            }
            fn wants_move(&self, spread: Spread) -> bool {
                match *self { $(
                    Self::$variant $({ $($param),+ })? => $($rule)+ { $($($param),+)? }.wants_move(spread),
                )+ }
            }
        }
    };
}

wear_levelings!(rule!);
