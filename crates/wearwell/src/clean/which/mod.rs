//! Which segment cleaning takes. Each policy is a file. A new one is a file and a line in the list below.
//!
//! An engine is told by a [`VictimChoice`]. A [`VictimPolicy`] is any policy, chosen at run time, and links all of
//! them. What stands in [`only`] is one policy, and links no other.

mod age_weighted;
mod candidates;
mod cat;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod heaps;
mod lfs;
mod overruled;
mod own;
mod random;
mod settled;
#[cfg(all(test, feature = "names"))]
mod tests;
mod windowed_greedy;

use alloc::boxed::Box;
use core::fmt::Debug;

pub use cost_benefit::Age;
pub use overruled::Overruled;

use crate::addr::Seg;
use crate::random::Rng;
use crate::segments::Segments;

/// The moment of a choice, against which ages are measured.
#[derive(Debug, Clone, Copy)]
pub struct AgeClock {
    /// Now, in the units of the stamps in [`Segments`].
    pub now: u64,
    /// The value of one unit: 1 if ages are in host pages, 10⁻⁶ if they are in seconds and the stamps in microseconds.
    pub unit: f64,
}

impl AgeClock {
    /// Age of something stamped `since`.
    #[inline]
    pub fn age(self, since: u64) -> f64 {
        // `Segments::sealed` may run ahead of the clock (decision 35).
        self.now.saturating_sub(since) as f64 * self.unit
    }
}

/// A policy that chooses victims. It is told of every candidate. Candidates are closed segments that are neither full
/// nor empty.
///
/// A policy from outside this crate is put in force by [`PageFtl::set_own_victims`](crate::PageFtl::set_own_victims).
pub trait VictimSelection: Debug {
    /// True if it takes the candidate with the fewest valid pages, ties as for everyone: it need not be overruled.
    fn takes_fewest_valid(&self) -> bool {
        false
    }
    /// `seg` was closed with every page valid. Such a segment is no candidate yet, and nearly no policy cares.
    fn closed_full(&mut self, seg: Seg) {
        let _ = seg;
    }
    /// `seg` has become a candidate.
    fn added(&mut self, seg: Seg, segments: &Segments);
    /// Candidate `seg` lost a valid page, and still is one.
    fn invalidated(&mut self, seg: Seg, segments: &Segments);
    /// `seg` is no longer a candidate.
    fn removed(&mut self, seg: Seg, segments: &Segments);
    /// The candidate to clean first. Ties go to the least worn, then to the lowest number, except in `greedy-first`.
    fn best(&mut self, segments: &Segments, clock: AgeClock, rng: &mut Rng) -> Option<Seg>;
    /// As [`best`](Self::best), but only of those that are `wanted`: here those with the best score.
    fn best_among(&mut self, segments: &Segments, clock: AgeClock, wanted: &dyn Fn(Seg) -> bool) -> Option<Seg> {
        let candidates = segments.all().filter(|&seg| segments.is_candidate(seg) && wanted(seg));
        let score = |seg: &Seg| self.score(*seg, segments, clock);
        let worse = |a: &Seg, b: &Seg| {
            // `max_by` takes the greatest, which has to be the least worn, so `b` is compared with `a`.
            let by_wear = (segments.erases(*b), b.0).cmp(&(segments.erases(*a), a.0));
            score(a).total_cmp(&score(b)).then(by_wear)
        };
        candidates.max_by(worse)
    }
    /// The policy score of a candidate, which `falling` compares with its threshold: greater is better.
    fn score(&self, seg: Seg, segments: &Segments, clock: AgeClock) -> f64;
}

/// A policy that the engine overrules while the reserve is touched: it cleans what gives the most room then.
pub trait Overrulable: VictimSelection {
    /// The candidate with the fewest valid pages; of equal ones the least worn, then the lowest number.
    fn fewest_valid(&mut self, segments: &Segments, clock: AgeClock, rng: &mut Rng) -> Option<Seg>;
}

/// What an engine is told of its victim policy, and builds it from.
pub trait VictimChoice: Copy + PartialEq + Debug {
    /// The policy in force, with its state.
    type Policy: Overrulable + Debug;

    /// The policy for so many segments of `slots` pages.
    fn build(self, segments: u32, slots: u32) -> Self::Policy;

    /// The most bytes that the policy's lists take, with those for when it is overruled.
    fn table_bytes(self, segments: u32, slots: u32) -> u64 {
        let _ = (segments, slots);
        0
    }
}

/// The policies.
macro_rules! victim_policies {
    ($make:ident! $($head:tt)*) => { $make! { $($head)*
        Greedy (greedy::Greedy<true>) = "greedy", "the segment with the fewest valid pages";
        GreedyFirst (greedy::Greedy<false>) = "greedy-first",
            "as greedy, but of equal segments the lowest number, however worn it is";
        CostBenefit {
            /// What ages count from.
            age: Age = Age::Invalidated
        } (age_weighted::AgeWeighted<cost_benefit::CostBenefit<false>>) = "cost-benefit:invalidated",
            "greatest age x (1-u) / 2u, age since the last invalidation (Kawaguchi '95), or opened or sealed";
        CostBenefitSqrt {
            /// What ages count from.
            age: Age = Age::Invalidated
        } (age_weighted::AgeWeighted<cost_benefit::CostBenefit<true>>) = "cost-benefit-sqrt:invalidated",
            "greatest square root of age x (1-u) / 2u, ages as for cost-benefit";
        CostBenefitSettled (settled::Settled) = "cost-benefit-settled",
            "as cost-benefit:opened, but a segment that is losing pages is left alone until that has ended";
        Lfs (age_weighted::AgeWeighted<lfs::Lfs>) = "lfs",
            "greatest age x (1-u) / (1+u), age of the newest data (Rosenblum and Ousterhout '92)";
        Cat (age_weighted::AgeWeighted<cat::Cat>) = "cat",
            "least u / (1-u) x (erases + 1) / age, age since the segment was opened (Chiang '97)";
        Fifo (fifo::Fifo) = "fifo", "the segment closed longest ago";
        Random (random::Random) = "random", "any segment, uniformly";
        DChoices {
            /// Segments that are drawn.
            d: u32 = 10
        } (d_choices::DChoices) = "d-choices:10", "the fewest valid pages among D drawn at random";
        WindowedGreedy {
            /// Segments that are looked at.
            w: u32 = 64
        } (windowed_greedy::WindowedGreedy) = "windowed-greedy:64",
            "the fewest valid pages among the W closed longest ago";
    } };
}

victim_policies! { policies!
    /// Which segment cleaning takes.
    #[derive(Eq)]
    VictimPolicy:
}

/// Makes each policy a choice of its own.
macro_rules! only {
    ($(
        $variant:ident $({ $($(#[$note:meta])* $param:ident: $number:ty = $default:expr),+ })? ($type:ty)
            = $form:literal, $about:literal;
    )+) => {
        /// Each policy by itself: an engine that is told one of these links no other.
        pub mod only {
            use super::Age;

            $(choice! { $about $variant $({ $($(#[$note])* $param: $number),+ })? })+
        }

        $(impl VictimChoice for only::$variant {
            type Policy = Overruled<$type>;

            fn build(self, segments: u32, slots: u32) -> Self::Policy {
                $(let Self { $($param),+ } = self;)?
                Overruled::new(<$type>::new(segments, slots $($(, $param)+)?))
            }

            fn table_bytes(self, segments: u32, slots: u32) -> u64 {
                <$type>::table_bytes(segments, slots)
            }
        })+
    };
}

victim_policies!(only!);

/// Makes the policy in force: an enum with one variant for each policy, and the dispatch.
macro_rules! selector {
    ($(
        $variant:ident $({ $($(#[$note:meta])* $param:ident: $number:ty = $default:expr),+ })? ($type:ty)
            = $form:literal, $about:literal;
    )+) => {
        impl VictimChoice for VictimPolicy {
            type Policy = VictimSelector;

            fn build(self, segments: u32, slots: u32) -> VictimSelector {
                match self { $(
                    Self::$variant $({ $($param),+ })? => {
                        VictimSelector::$variant(Overruled::new(<$type>::new(segments, slots $($(, $param)+)?)))
                    }
                )+ }
            }

            fn table_bytes(self, segments: u32, slots: u32) -> u64 {
                match self { $(Self::$variant { .. } => <$type>::table_bytes(segments, slots),)+ }
            }
        }

        /// The policy in force, where it may be any.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum VictimSelector {
            $(
                #[doc = $about]
                $variant(Overruled<$type>),
            )+
            /// One from outside this crate.
            Own(Overruled<own::Own>),
        }

        impl VictimSelector {
            /// A policy from outside this crate.
            pub(crate) fn own(policy: Box<dyn VictimSelection + Send>) -> Self {
                Self::Own(Overruled::new(own::Own(policy)))
            }
        }

        impl Overrulable for VictimSelector {
            fn fewest_valid(&mut self, segments: &Segments, clock: AgeClock, rng: &mut Rng) -> Option<Seg> {
                match self {
                    $(Self::$variant(p) => p.fewest_valid(segments, clock, rng),)+
                    Self::Own(p) => p.fewest_valid(segments, clock, rng),
                }
            }
        }

        impl VictimSelection for VictimSelector {
            fn closed_full(&mut self, seg: Seg) {
                match self { $(Self::$variant(p) => p.closed_full(seg),)+ Self::Own(p) => p.closed_full(seg) }
            }
            fn added(&mut self, seg: Seg, segments: &Segments) {
                match self { $(Self::$variant(p) => p.added(seg, segments),)+ Self::Own(p) => p.added(seg, segments) }
            }
            #[inline(always)]
            fn invalidated(&mut self, seg: Seg, segments: &Segments) {
                match self {
                    $(Self::$variant(p) => p.invalidated(seg, segments),)+
                    Self::Own(p) => p.invalidated(seg, segments),
                }
            }
            fn removed(&mut self, seg: Seg, segments: &Segments) {
                match self {
                    $(Self::$variant(p) => p.removed(seg, segments),)+
                    Self::Own(p) => p.removed(seg, segments),
                }
            }
            fn best(&mut self, segments: &Segments, clock: AgeClock, rng: &mut Rng) -> Option<Seg> {
                match self {
                    $(Self::$variant(p) => p.best(segments, clock, rng),)+
                    Self::Own(p) => p.best(segments, clock, rng),
                }
            }
            fn best_among(
                &mut self,
                segments: &Segments,
                clock: AgeClock,
                wanted: &dyn Fn(Seg) -> bool,
            ) -> Option<Seg> {
                match self {
                    $(Self::$variant(p) => p.best_among(segments, clock, wanted),)+
                    Self::Own(p) => p.best_among(segments, clock, wanted),
                }
            }
            fn score(&self, seg: Seg, segments: &Segments, clock: AgeClock) -> f64 {
                match self {
                    $(Self::$variant(p) => p.score(seg, segments, clock),)+
                    Self::Own(p) => p.score(seg, segments, clock),
                }
            }
        }
    };
}

victim_policies!(selector!);
