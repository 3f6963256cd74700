//! Bars with their labels above them: what was published beside what was measured.

use std::fmt::Write as _;

use super::scale::Scale;
use super::{WIDTH, escaped, shortened};

/// Where bars begin and end; behind it is room for a figure.
const LEFT: f64 = 4.0;
const RIGHT: f64 = 288.0;
const LABEL_HEIGHT: f64 = 14.0;
const BAR_HEIGHT: f64 = 10.0;
const GAP: f64 = 7.0;
const AXIS_HEIGHT: f64 = 18.0;
/// Characters of a label that fit.
const LABEL_CHARS: usize = 58;

/// One of a group's bars; its class is a colour of the style.
pub(crate) struct Bar {
    pub(crate) class: &'static str,
    pub(crate) value: f64,
    pub(crate) text: String,
}

/// A label and its bars.
pub(crate) struct Group {
    pub(crate) label: String,
    pub(crate) bars: Vec<Bar>,
}

/// A chart of bars; empty if there are none.
pub(crate) fn bars(title: &str, groups: &[Group]) -> String {
    let values = || groups.iter().flat_map(|group| &group.bars).map(|bar| bar.value);
    if values().next().is_none() {
        return String::new();
    }
    let scale = Scale::with_zero(values(), LEFT, RIGHT);
    let mut body = String::new();
    let mut y = 0.0;
    for group in groups {
        draw(group, &scale, &mut y, &mut body);
    }
    let height = y + AXIS_HEIGHT;
    let axis = axis(&scale, y);
    format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">{axis}{body}</svg>\n", escaped(title))
}

/// Draws a label and its bars below what is there.
fn draw(group: &Group, scale: &Scale, y: &mut f64, body: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(
        body,
        "<text class=\"label\" x=\"{}\" y=\"{}\">{}</text>",
        LEFT + 2.0,
        *y + LABEL_HEIGHT - 4.0,
        escaped(&shortened(&group.label, LABEL_CHARS))
    );
    *y += LABEL_HEIGHT;
    let zero = scale.place(0.0);
    for bar in &group.bars {
        let x = scale.place(bar.value);
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

/// Lines and numbers at the ticks, the numbers below `y`.
fn axis(scale: &Scale, y: f64) -> String {
    let mut text = String::new();
    for (at, value) in scale.ticks().into_iter().enumerate() {
        let x = scale.place(value);
        let class = if scale.is_zero(value) { "zero" } else { "grid" };
        let anchor = if at == 0 { "start" } else { "middle" };
        let _ = write!(
            text,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{y}\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            y + 12.0,
            scale.tick_text(value)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_is_drawn_below_its_label() {
        let bar = |value| Bar { class: "measured", value, text: value.to_string() };
        let group = |label: &str, values: &[f64]| Group {
            label: label.to_owned(),
            bars: values.iter().map(|&v| bar(v)).collect(),
        };
        let svg = bars("t", &[group("a & b", &[1.0, 2.0]), group("c", &[-1.0])]);
        assert_eq!((svg.matches("<rect").count(), svg.matches("class=\"label\"").count()), (3, 2));
        assert!(svg.contains("a &amp; b"));
        assert_eq!(bars("t", &[group("a", &[])]), "");
    }
}
