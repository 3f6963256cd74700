//! Wear leveling. Each policy is a file. A new one is a file and a line in the list below.

mod dynamic;
mod none;
mod static_threshold;
mod swap;

/// The spread of erase counts after the erase of a segment.
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
    /// True if the least worn free segment is opened first, rather than the one that has been free the longest.
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
            /// Percent of the rated erases from which on segments change places.
            percent: u32 = 90
        } (swap::Swap) = "swap:90",
            "near the rated limit (PERCENT of it), the least and the most worn segment change places (Chiang '97, 4)";
        StaticThreshold {
            /// The greatest tolerated difference of erase counts.
            threshold: u32 = 15
        } (static_threshold::StaticThreshold) = "static-threshold:15",
            "when max - min erase count exceeds THRESHOLD, the least worn segment's data moves to a worn one (FSAF \
             '09)";
    } };
}

wear_levelings! { policies!
    /// How wear is leveled.
    #[derive(Eq)]
    WearLeveling:
}

/// Calls the rule of the chosen policy, whose only state is its parameters.
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
