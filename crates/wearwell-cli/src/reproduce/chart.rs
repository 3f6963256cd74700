//! Bars as inline SVG: what was published beside what was measured.
//!
//! A chart is drawn for a narrow screen, 360 units wide with labels above their bars, so that its text can be read at
//! that width and grows with the page on a wider one. Colours come from the page's style.

use std::fmt::Write as _;

use super::evaluate::{ExperimentResult, Verdict};
use super::experiment::Column;
use super::html::escaped;

const WIDTH: f64 = 360.0;
/// Where bars begin and end; behind it is room for a figure.
const LEFT: f64 = 4.0;
const RIGHT: f64 = 288.0;
const LABEL_HEIGHT: f64 = 14.0;
const BAR_HEIGHT: f64 = 10.0;
const GAP: f64 = 7.0;
const AXIS_HEIGHT: f64 = 18.0;
/// Characters of a label that fit.
const LABEL_CHARS: usize = 58;

/// One of a row's two bars.
struct Bar {
    class: &'static str,
    value: f64,
    text: String,
}

/// A label and its bars.
struct Group {
    label: String,
    bars: Vec<Bar>,
}

/// A column of a result as a chart; empty if none of its rows has a figure.
pub(crate) fn bars(result: &ExperimentResult, column: &Column) -> String {
    let groups: Vec<Group> = result.rows.iter().filter_map(|row| group(row, column)).collect();
    let values = || groups.iter().flat_map(|group| &group.bars).map(|bar| bar.value);
    if groups.is_empty() {
        return String::new();
    }
    let scale = Scale::over(values());
    let title = format!("{}: {}", result.title, column.title);
    let mut body = String::new();
    let mut y = 0.0;
    for group in &groups {
        draw(group, &scale, &mut y, &mut body);
    }
    let height = y + AXIS_HEIGHT;
    let axis = scale.axis(y);
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">{axis}{body}</svg>\n",
        escaped(&title)
    )
}

fn group(row: &super::evaluate::RowResult, column: &Column) -> Option<Group> {
    let item = row.figures.iter().find(|item| item.figure == column.name)?;
    let mut bars = Vec::new();
    if let Some(value) = item.published.filter(|value| value.is_finite()) {
        bars.push(Bar { class: "published", value, text: item.published_text() });
    }
    if let Some(value) = item.measured.filter(|value| value.is_finite()) {
        let class = if item.verdict == Some(Verdict::Unexplained) { "off" } else { "measured" };
        bars.push(Bar { class, value, text: column.shown(Some(value)) });
    }
    let mark = if row.sensitivity { "↳ " } else { "" };
    (!bars.is_empty()).then(|| Group { label: format!("{mark}{}", row.name), bars })
}

/// Draws a label and its bars below what is there.
fn draw(group: &Group, scale: &Scale, y: &mut f64, body: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(
        body,
        "<text class=\"label\" x=\"{}\" y=\"{}\">{}</text>",
        LEFT + 2.0,
        *y + LABEL_HEIGHT - 4.0,
        escaped(&shortened(&group.label))
    );
    *y += LABEL_HEIGHT;
    let zero = scale.x(0.0);
    for bar in &group.bars {
        let x = scale.x(bar.value);
        let (from, width) = (x.min(zero), (x - zero).abs().max(0.5));
        let (class, height, middle) = (bar.class, BAR_HEIGHT - 1.0, *y + BAR_HEIGHT - 2.0);
        let _ = write!(
            body,
            "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\"/>\
             <text class=\"value\" x=\"{:.1}\" y=\"{middle}\">{}</text>",
            from + width + 3.0,
            escaped(&bar.text)
        );
        *y += BAR_HEIGHT;
    }
    *y += GAP;
}

fn shortened(label: &str) -> String {
    if label.chars().count() <= LABEL_CHARS {
        return label.to_owned();
    }
    label.chars().take(LABEL_CHARS - 1).chain(['…']).collect()
}

/// From figures to places.
struct Scale {
    low: f64,
    high: f64,
    step: f64,
}

impl Scale {
    /// A scale with zero and every value on it, which ends at ticks.
    fn over(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let step = step(high - low);
        Self { low: (low / step).floor() * step, high: (high / step).ceil() * step, step }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + (value - self.low) / (self.high - self.low).max(self.step) * (RIGHT - LEFT)
    }

    /// Lines and numbers at the ticks, the numbers below `y`.
    fn axis(&self, y: f64) -> String {
        let ticks = ((self.high - self.low) / self.step).round() as u32;
        let mut text = String::new();
        for tick in 0..=ticks {
            let value = self.low + f64::from(tick) * self.step;
            let x = self.x(value);
            let class = if value.abs() < self.step / 2.0 { "zero" } else { "grid" };
            let anchor = if tick == 0 { "start" } else { "middle" };
            let _ = write!(
                text,
                "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{y}\"/>\
                 <text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
                y + 12.0,
                tick_text(value, self.step)
            );
        }
        text
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
    // The range is 1 to 10 times the power.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::evaluate::tests::result;

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
        let scale = Scale::over([-24.0, 3.0].into_iter());
        assert!(near(scale.low, -25.0) && near(scale.high, 5.0));
        assert!(near(scale.x(-25.0), LEFT) && near(scale.x(5.0), RIGHT));
        assert!(Scale::over([0.0].into_iter()).x(0.0).is_finite());
    }

    #[test]
    fn a_row_has_a_bar_for_what_was_published_and_one_for_what_was_measured() {
        let rows = "[[row]]\nname = 'a'\nargs = ''\nseeds = [1]\npublished = { erases = 100 }\n\
                    [[row]]\nname = 'b'\nargs = ''\nseeds = [1]\n[[row]]\nname = 'c'\nargs = ''\nseeds = [1]";
        let result = result(rows, &[&[("erases", 150.0)], &[("erases", 50.0)], &[]]);
        let svg = bars(&result, result.columns[0]);
        let count = |what: &str| svg.matches(what).count();
        assert_eq!((count("class=\"published\""), count("class=\"off\""), count("class=\"measured\"")), (1, 1, 1));
        assert_eq!(count("class=\"label\""), 2, "what was not measured has no bars");
        assert_eq!(bars(&result, result.columns[1]), "");
    }
}
