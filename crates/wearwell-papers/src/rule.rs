//! The rule: when a measured figure agrees with the published one. It is the same for all papers.
//!
//! - A figure **agrees** if the measured mean differs from the published value by at most 10 % of the published value,
//!   or by at most the mean's 95 % confidence interval if that is wider. For shares and changes in percent the limit is
//!   5 points, or the interval.
//! - An ordering **agrees** if the interval of the difference lies on the claimed side of zero. If the paper states the
//!   size of the difference, the difference must also agree as a change in percent. If it calls the difference slight,
//!   the difference must be within 10 % (5 points). "As much" is such a difference on either side.
//!   Two figures of zero are no comparison.
//! - It **contradicts** if an ordering or the sign of a change comes out reversed: the interval lies on the other side.
//! - It is **explained** if one choice that the paper leaves open brings every published figure of the row within that
//!   tolerance, and no other item of the paper that agrees leaves its own ([`crate::judge`]).
//! - Otherwise it is **unexplained**.
//!
//! The data has no tolerance and cannot set one.

use serde::Serialize;

use crate::column::Column;
use crate::estimate::Estimate;
use crate::experiment::Order;

/// In percent of the published value.
const TOLERANCE_PERCENT: f64 = 10.0;

/// In points, for shares and changes in percent.
const TOLERANCE_POINTS: f64 = 5.0;

/// The verdict on a measured figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The mean lies within the tolerance of the published figure.
    Agrees,
    /// It does so with one choice that the paper leaves open.
    Explained,
    /// An ordering or a sign that the paper claims comes out reversed.
    Contradicts,
    /// Anything else, including a figure that was not measured.
    Unexplained,
    /// The row says why it cannot be run, or needs what was not asked for.
    NotRun,
}

impl Verdict {
    /// All, from the best to the worst.
    pub const ALL: [Self; 5] = [Self::Agrees, Self::Explained, Self::Contradicts, Self::Unexplained, Self::NotRun];

    /// True for verdicts that `--strict` accepts.
    #[must_use]
    pub fn is_good(self) -> bool {
        matches!(self, Self::Agrees | Self::Explained)
    }

    /// The verdict as text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Explained => "explained",
            Self::Contradicts => "contradicts",
            Self::Unexplained => "unexplained",
            Self::NotRun => "not run",
        }
    }
}

/// True if the mean lies within the tolerance of the published figure.
fn agrees(is_share: bool, published: f64, measured: Estimate) -> bool {
    let tolerance = if is_share { TOLERANCE_POINTS } else { published.abs() * TOLERANCE_PERCENT / 100.0 };
    // A value exactly at the limit is inside, in spite of rounding.
    (measured.mean - published).abs() <= tolerance.max(measured.half) + 1e-9 * published.abs()
}

/// The verdict on a figure before choices are tried.
pub(crate) fn on_figure(column: &Column, published: f64, measured: Option<Estimate>) -> Verdict {
    let Some(measured) = measured else { return Verdict::Unexplained };
    match () {
        () if agrees(column.is_share(), published, measured) => Verdict::Agrees,
        () if column.is_change() && side(measured) == -side(Estimate { mean: published, half: 0.0, runs: 1 }) => {
            // Both may be on no side. Then nothing is reversed.
            if side(measured) == 0 { Verdict::Unexplained } else { Verdict::Contradicts }
        }
        () => Verdict::Unexplained,
    }
}

/// The verdict on an ordering of a figure before choices are tried. `change` is the difference in the figure's unit.
pub(crate) fn on_order(column: &Column, order: Order, published: Option<f64>, change: Option<Estimate>) -> Verdict {
    let Some(change) = change else { return Verdict::Unexplained };
    let tolerance = if column.is_share() { TOLERANCE_POINTS } else { TOLERANCE_PERCENT };
    let is_near = change.mean.abs() <= tolerance.max(change.half);
    // The amount is in percent or in points already, so the limit is in points.
    let has_size = published.is_none_or(|amount| agrees(true, amount, change));
    let (claimed, fits) = match order {
        Order::More => (1, has_size),
        Order::Less => (-1, has_size),
        Order::SlightlyMore => (1, is_near && has_size),
        Order::SlightlyLess => (-1, is_near && has_size),
        Order::AsMuch if is_near => return Verdict::Agrees,
        Order::AsMuch => return Verdict::Unexplained,
    };
    match side(change) {
        side if side == -claimed => Verdict::Contradicts,
        side if side == claimed && fits => Verdict::Agrees,
        _ => Verdict::Unexplained,
    }
}

/// The side of zero on which the whole interval lies; 0 if it contains zero.
fn side(estimate: Estimate) -> i8 {
    match () {
        () if estimate.mean - estimate.half > 0.0 => 1,
        () if estimate.mean + estimate.half < 0.0 => -1,
        () => 0,
    }
}

#[cfg(test)]
mod tests {
    use Verdict::{Agrees, Contradicts, Unexplained};

    use super::*;

    fn estimate(mean: f64, half: f64) -> Option<Estimate> {
        Some(Estimate { mean, half, runs: 10 })
    }

    #[test]
    fn a_figure_agrees_within_ten_percent_or_the_interval() {
        let of = |published, mean, half| on_figure(Column::named("erases").unwrap(), published, estimate(mean, half));
        assert_eq!([of(100.0, 110.0, 0.0), of(100.0, 90.0, 0.0)], [Agrees, Agrees]);
        assert_eq!([of(100.0, 110.1, 0.0), of(100.0, 89.9, 0.0)], [Unexplained, Unexplained]);
        assert_eq!([of(100.0, 125.0, 25.0), of(100.0, 125.0, 24.0)], [Agrees, Unexplained]);
        assert_eq!([of(0.0, 0.0, 0.0), of(0.0, 1.0, 0.0)], [Agrees, Unexplained]);
        assert_eq!(on_figure(Column::named("erases").unwrap(), 5.0, None), Unexplained);
    }

    #[test]
    fn a_change_agrees_within_five_points_and_contradicts_on_the_other_side() {
        let of = |published, mean, half| {
            on_figure(Column::named("time_change_percent").unwrap(), published, estimate(mean, half))
        };
        assert_eq!([of(-26.0, -21.0, 0.0), of(-26.0, -20.9, 1.0)], [Agrees, Unexplained]);
        assert_eq!([of(-26.0, 3.0, 2.0), of(-26.0, 3.0, 4.0)], [Contradicts, Unexplained]);
        assert_eq!(of(-2.0, 2.0, 0.0), Agrees, "within five points a sign says nothing");
    }

    #[test]
    fn an_ordering_needs_its_side_and_its_size() {
        use Order::{AsMuch, Less, More, SlightlyLess, SlightlyMore};
        let [erases, share] = ["erases", "copied_share_percent"].map(|name| Column::named(name).unwrap());
        let of = |order, published, mean, half| on_order(erases, order, published, estimate(mean, half));
        assert_eq!([of(More, None, 3.0, 2.0), of(More, None, 3.0, 4.0)], [Agrees, Unexplained]);
        assert_eq!([of(More, None, -3.0, 2.0), of(Less, None, -3.0, 2.0)], [Contradicts, Agrees]);
        assert_eq!([of(Less, Some(-55.0), -51.0, 1.0), of(Less, Some(-55.0), -40.0, 1.0)], [Agrees, Unexplained]);
        assert_eq!(of(More, None, 0.0, 0.0), Unexplained, "no difference is no order");
        assert_eq!([of(AsMuch, None, -9.0, 0.0), of(AsMuch, None, 11.0, 0.5)], [Agrees, Unexplained]);
        assert_eq!([of(SlightlyMore, None, 9.0, 1.0), of(SlightlyMore, None, 11.0, 1.0)], [Agrees, Unexplained]);
        assert_eq!([of(SlightlyLess, None, 9.0, 1.0), of(SlightlyLess, None, -9.0, 10.0)], [Contradicts, Unexplained]);
        let of_share = |mean| on_order(share, AsMuch, None, estimate(mean, 0.0));
        assert_eq!([of_share(5.0), of_share(5.1)], [Agrees, Unexplained]);
        assert_eq!(on_order(erases, More, None, None), Unexplained);
    }
}
