//! Scales: from figures to places, and the ticks.

/// A range that ends at ticks, and its place in the chart.
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    step: f64,
    from: f64,
    to: f64,
    /// True if the scale is of microseconds, by powers of ten.
    is_time: bool,
}

impl Scale {
    /// A scale with zero and every value on it, from one place to another.
    pub(super) fn with_zero(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values.fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        Self::between(low, high, from, to)
    }

    /// A scale with every value on it. It includes zero unless all values are far from it.
    pub(super) fn over(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.clone().fold(f64::NEG_INFINITY, f64::max);
        if low > 0.0 && low > high * 0.6 {
            Self::between(low, high, from, to)
        } else {
            Self::with_zero(values, from, to)
        }
    }

    fn between(low: f64, high: f64, from: f64, to: f64) -> Self {
        let step = step(high - low);
        Self { low: (low / step).floor() * step, high: (high / step).ceil() * step, step, from, to, is_time: false }
    }

    /// A scale of powers of ten with every positive number of microseconds on it.
    pub(super) fn times(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let positive = values.filter(|value| *value > 0.0);
        // Without any positive value the loops below have to end, too.
        let low = positive.clone().fold(f64::INFINITY, f64::min).min(1e12);
        let high = positive.fold(low, f64::max);
        let (mut bottom, mut top) = (1.0, 1.0);
        while bottom > low && bottom > 1e-12 {
            bottom /= 10.0;
        }
        while bottom * 10.0 <= low {
            bottom *= 10.0;
        }
        while top < high || top <= bottom {
            top *= 10.0;
        }
        Self { low: bottom, high: top, step: 10.0, from, to, is_time: true }
    }

    /// The place of a value.
    pub(super) fn place(&self, value: f64) -> f64 {
        let part = if self.is_time {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low).max(self.step)
        };
        self.from + part * (self.to - self.from)
    }

    /// Values that get a line and a number.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.is_time {
            let mut value = self.low;
            let mut ticks = Vec::new();
            // Repeated products may miss the end by a rounding error.
            while value <= self.high * 1.01 {
                ticks.push(value);
                value *= 10.0;
            }
            return ticks;
        }
        let count = ((self.high - self.low) / self.step).round() as u32;
        (0..=count.max(1)).map(|tick| self.low + f64::from(tick) * self.step).collect()
    }

    /// The number at a tick.
    pub(super) fn tick_text(&self, value: f64) -> String {
        if self.is_time { time_text(value) } else { tick_text(value, self.step) }
    }

    /// True of the tick at zero.
    pub(super) fn is_zero(&self, value: f64) -> bool {
        !self.is_time && value.abs() < self.step / 2.0
    }
}

/// A step of 1, 2 or 5 times a power of ten, of which three to eight make a range.
fn step(range: f64) -> f64 {
    if !(range > 0.0 && range.is_finite()) {
        return 1.0;
    }
    let mut power = 1.0;
    while power * 10.0 <= range {
        power *= 10.0;
    }
    while power > range {
        power /= 10.0;
    }
    // The range is between 1 and 10 times the power.
    match range / power {
        times if times > 7.5 => power * 2.0,
        times if times > 3.0 => power,
        times if times > 1.5 => power / 2.0,
        _ => power / 5.0,
    }
}

fn tick_text(value: f64, step: f64) -> String {
    match () {
        () if value.abs() < step / 2.0 => "0".to_owned(),
        () if step >= 1e6 => format!("{:.0} M", value / 1e6),
        () if step >= 1e5 => format!("{:.1} M", value / 1e6),
        () if step >= 1e3 => format!("{:.0} k", value / 1e3),
        () if step >= 1.0 => format!("{value:.0}"),
        () if step >= 0.1 => format!("{value:.1}"),
        () => format!("{value:.2}"),
    }
}

/// A power of ten of microseconds, in the unit that needs the fewest digits.
fn time_text(us: f64) -> String {
    match () {
        () if us < 0.9 => format!("{:.0} ns", us * 1e3),
        () if us < 0.9e3 => format!("{us:.0} µs"),
        () if us < 0.9e6 => format!("{:.0} ms", us / 1e3),
        () => format!("{:.0} s", us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9
    }

    #[test]
    fn steps_are_round_and_few() {
        for (range, expected) in [(10.0, 2.0), (7.0, 1.0), (1_161_090.0, 200_000.0), (0.23, 0.05), (0.0, 1.0)] {
            assert!(near(step(range), expected), "{range}: {}", step(range));
        }
    }

    #[test]
    fn scales_hold_zero_and_every_value() {
        let scale = Scale::with_zero([-24.0, 3.0].into_iter(), 4.0, 288.0);
        assert!(near(scale.low, -25.0) && near(scale.high, 5.0));
        assert!(near(scale.place(-25.0), 4.0) && near(scale.place(5.0), 288.0));
        assert_eq!(scale.ticks().len(), 7);
        assert!(Scale::with_zero([0.0].into_iter(), 0.0, 1.0).place(0.0).is_finite());
        let far = Scale::over([230.0, 241.0].into_iter(), 0.0, 1.0);
        assert!(far.low > 200.0 && far.high >= 241.0);
        assert!(near(Scale::over([30.0, 241.0].into_iter(), 0.0, 1.0).low, 0.0));
    }

    #[test]
    fn powers_of_ten_are_evenly_apart() {
        let scale = Scale::times([0.0, 30.0, 4500.0].into_iter(), 0.0, 3.0);
        assert_eq!(scale.ticks(), [10.0, 100.0, 1000.0, 10_000.0]);
        assert!(near(scale.place(100.0), 1.0) && near(scale.place(0.0), 0.0));
        assert_eq!(
            [0.1, 10.0, 1000.0, 1e5, 1e6].map(|us| scale.tick_text(us)),
            ["100 ns", "10 µs", "1 ms", "100 ms", "1 s"]
        );
        assert!(Scale::times([0.0].into_iter(), 0.0, 1.0).place(5.0).is_finite());
    }
}
