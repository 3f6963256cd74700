//! Closed forms and fixed points of write amplification under uniform random writes. Runs are checked against them.
//!
//! All take α = T/U > 1. T counts the physical pages that can hold data, without the segments kept free, and U the
//! logical pages. All count data only: `wa_data` of a run in the layout `plain`.

/// Write amplification when the oldest segment is always cleaned: A = α / (α + W₀(−α e^(−α))), W₀ being
/// Lambert's function on its upper branch. It follows from A = 1/(1 − u) with u = e^(−α/A), the part of
/// a segment that survives one turn of the log, T/A host writes.
///
/// NaN for α ≤ 1, where there is no room to clean.
pub fn fifo(alpha: f64) -> f64 {
    if alpha <= 1.0 {
        return f64::NAN;
    }
    alpha / (alpha + lambert_w0(-alpha * libm::exp(-alpha)))
}

/// Write amplification when a segment is chosen at random: every victim is as full as the device, so
/// that A = 1/(1 − 1/α) = α / (α − 1).
///
/// NaN for α ≤ 1.
pub fn random(alpha: f64) -> f64 {
    if alpha <= 1.0 {
        return f64::NAN;
    }
    alpha / (alpha - 1.0)
}

/// Write amplification when the segment with the fewest valid pages is cleaned, of segments of N pages:
/// A = N / (N − X), where X, the mean valid pages of a victim, solves N (H_N − H_X) / (N − X) = α and H is
/// the harmonic number.
///
/// X is rarely whole. Then victims are a mix of the two adjacent whole numbers, and H_X lies on the straight line
/// between their harmonic numbers: with j c m_j = 1 for the part m_j of segments with j valid pages above the mix, and
/// with a part f of victims at j − 1, both Σ m_j = 1 and Σ j m_j = N/α come out as the equation above with X = j − f
/// and H_X = H_j − f/j. This is the limit of [`d_choices`].
///
/// 1 where α is so large (above H_N) that victims hold nothing. NaN for α ≤ 1, and for no pages.
pub fn greedy(alpha: f64, pages_per_segment: u32) -> f64 {
    if alpha <= 1.0 || pages_per_segment == 0 {
        return f64::NAN;
    }
    let pages = f64::from(pages_per_segment);
    // H_N − H_j, from j = N downwards.
    let mut difference = 0.0;
    for valid in (1..=pages_per_segment).rev() {
        let valid = f64::from(valid);
        let next_difference = difference + 1.0 / valid;
        let free = pages - valid;
        // N (H_N − H_X) / (N − X) passes α between X = j and X = j − 1. The part solves the equation for X = j − f.
        if pages * next_difference > alpha * (free + 1.0) {
            let part = (alpha * free - pages * difference) / (pages / valid - alpha);
            return pages / (free + part);
        }
        difference = next_difference;
    }
    1.0
}

/// Write amplification when the segment with the fewest valid pages *of `choices` drawn at random* is
/// cleaned, in a large device: the fixed point of the mean-field model (Van Houdt, SIGMETRICS 2013).
///
/// Let S_j be the part of segments with j valid pages or more, N the pages of a segment. A victim has j
/// or more with probability S_j^d. In the time of one cleaning each valid page is overwritten with some
/// probability c/#segments, so that segments leave j by overwriting at a rate of j c (S_j − S_{j+1}), and
/// those that fall below j are balanced by victims that had fewer and became full:
///
/// j c (S_j − S_{j+1}) = 1 − S_j^d, for j = N … 1, S_{N+1} = 0.
///
/// For a given c each S_j follows from the one above, and c is chosen so that ΣS_j = N/α, the mean number of valid
/// pages. Host writes per cleaning are then cN/α, so that A = α/c.
///
/// NaN for α ≤ 1, no pages or no choices.
pub fn d_choices(alpha: f64, pages_per_segment: u32, choices: u32) -> f64 {
    if alpha <= 1.0 || pages_per_segment == 0 || choices == 0 {
        return f64::NAN;
    }
    let mean_valid = f64::from(pages_per_segment) / alpha;
    // A lies between 1 and its value for random choice, so c lies between α − 1 and α. The more is overwritten between
    // two cleanings, the fewer valid pages there are.
    let rate = bisect(alpha - 1.0, alpha, |rate| mean_field_valid(rate, pages_per_segment, choices) > mean_valid);
    alpha / rate
}

/// ΣS_j, the mean number of valid pages of a segment at overwrite rate c.
fn mean_field_valid(rate: f64, pages_per_segment: u32, choices: u32) -> f64 {
    let exponent = f64::from(choices);
    let mut above = 0.0;
    let mut sum = 0.0;
    for valid in (1..=pages_per_segment).rev() {
        let outflow = f64::from(valid) * rate;
        // Newton's method from 1 on a convex, rising function converges to the root from the right.
        let mut at_least: f64 = 1.0;
        for _ in 0..60 {
            let power = libm::pow(at_least, exponent - 1.0);
            let value = outflow * (at_least - above) + power * at_least - 1.0;
            let step = value / (outflow + exponent * power);
            at_least -= step;
            // From the right every step is positive, until rounding makes one tiny or negative.
            if step < 1e-15 {
                break;
            }
        }
        sum += at_least;
        above = at_least;
    }
    sum
}

/// W₀(x), the solution w ≥ −1 of w e^w = x, for −1/e ≤ x ≤ 0, by Newton's method.
fn lambert_w0(x: f64) -> f64 {
    // w e^w is convex above −2 and rises above −1, so Newton's method converges to the root from 0, which is right of
    // it. Near x = −1/e it is slow, because the slope vanishes there.
    let mut w: f64 = 0.0;
    for _ in 0..200 {
        let power = libm::exp(w);
        let slope = power * (w + 1.0);
        if slope <= 0.0 {
            break;
        }
        let step = (w * power - x) / slope;
        w -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    w
}

/// The point between `low` and `high` up to which a condition holds.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    // Enough halvings to reach the last digit.
    for _ in 0..60 {
        let middle = low + (high - low) / 2.0;
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALPHAS: [f64; 7] = [1.02, 1.07, 1.125, 1.2, 1.28, 1.5, 3.0];

    fn assert_near(found: f64, expected: f64, tolerance: f64) {
        assert!((found / expected - 1.0).abs() < tolerance, "{found} is not {expected}");
    }

    #[test]
    fn lambert_inverts() {
        for w in [-0.99, -0.5, -0.1, -1e-9, 0.0] {
            let found = lambert_w0(w * libm::exp(w));
            assert!((found - w).abs() < 1e-9, "{found} {w}");
        }
    }

    #[test]
    fn fifo_is_its_own_fixed_point() {
        for alpha in ALPHAS {
            let wa = fifo(alpha);
            assert!(wa > 1.0);
            assert_near(1.0 / (1.0 - libm::exp(-alpha / wa)), wa, 1e-9);
        }
    }

    #[test]
    fn greedy_solves_its_equation_by_plain_sums() {
        // At whole X the equation needs no mix: from X to α and back.
        let pages = 64;
        for valid in [1, 10, 32, 60, 62] {
            let sum: f64 = (valid + 1..=pages).map(|k| 1.0 / f64::from(k)).sum();
            let free = f64::from(pages - valid);
            let alpha = f64::from(pages) * sum / free;
            assert_near(greedy(alpha, pages as u32), f64::from(pages) / free, 1e-9);
        }
        assert_eq!(greedy(100.0, 64), 1.0);
    }

    #[test]
    fn one_choice_is_random() {
        for alpha in ALPHAS {
            for pages in [1, 16, 256] {
                assert_near(d_choices(alpha, pages, 1), random(alpha), 1e-9);
            }
        }
    }

    #[test]
    fn many_choices_come_down_to_greedy() {
        for alpha in ALPHAS {
            for pages in [16, 64, 256] {
                assert_near(d_choices(alpha, pages, 100_000), greedy(alpha, pages), 1e-3);
            }
        }
    }

    #[test]
    fn known_figures() {
        // Measured elsewhere on thousands of segments of 256 pages.
        assert_near(d_choices(1.125, 256, 2), 6.32, 3e-3);
        assert_near(d_choices(1.125, 256, 10), 4.73, 1e-3);
        assert_near(fifo(1.125), 4.680, 1e-4);
        assert_near(greedy(1.125, 256), 4.6026, 1e-4);
    }

    #[test]
    fn policies_rank_as_they_must() {
        for alpha in ALPHAS {
            let ranked = [1.0, greedy(alpha, 256), d_choices(alpha, 256, 10), d_choices(alpha, 256, 2), random(alpha)];
            assert!(ranked.is_sorted(), "{alpha}: {ranked:?}");
            assert!(greedy(alpha, 256) < fifo(alpha) && fifo(alpha) < random(alpha));
            // Larger segments even out, so that greedy approaches FIFO.
            assert!(greedy(alpha, 64) < greedy(alpha, 4096) && greedy(alpha, 4096) < fifo(alpha));
            assert_near(greedy(alpha, 1 << 24), fifo(alpha), 2e-3);
        }
    }

    #[test]
    fn no_room_is_no_number() {
        assert!(fifo(1.0).is_nan() && random(0.5).is_nan() && greedy(1.0, 8).is_nan() && d_choices(1.0, 8, 2).is_nan());
    }
}
