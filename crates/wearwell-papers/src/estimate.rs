//! The mean of a figure over seeds, and its 95 % confidence interval.

use serde::Serialize;

/// The 97.5 % quantiles of Student's t distribution, by degrees of freedom from 1.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// A mean and half the width of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean over the runs.
    pub mean: f64,
    /// Zero where all runs gave the same, and where there was one.
    pub half: f64,
    /// How many runs there were.
    pub runs: usize,
}

impl Estimate {
    /// Of a figure in each run; none if there are no runs, or the figure is not finite in one.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let count = values.len() as f64;
        // Equal values have no interval, whatever rounding does to their mean.
        if values.iter().all(|value| *value == values[0]) {
            return Some(Self { mean: values[0], half: 0.0, runs: values.len() });
        }
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        // Beyond the table the last quantile is a little too wide, which is the safe side.
        // The table begins with one degree of freedom, that of two values. A single value is equal to itself.
        let t = T[(values.len() - 2).min(T.len() - 1)];
        Some(Self { mean, half: t * (variance / count).sqrt(), runs: values.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        // t(4) = 2.776; the standard error is sqrt(2.5 / 5).
        let found = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((found.mean, found.runs), (3.0, 5));
        assert!((found.half - 2.776 * 0.5_f64.sqrt()).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn what_does_not_vary_has_no_interval() {
        assert_eq!(Estimate::of(&[0.1; 7]).map(|e| (e.mean, e.half)), Some((0.1, 0.0)));
        assert_eq!(Estimate::of(&[4.0]).map(|e| e.half), Some(0.0));
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[1.0, f64::NAN]), None);
    }
}
