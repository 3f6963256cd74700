//! Lines and columns over an axis, as the figures of papers are drawn.

use std::fmt::Write as _;

use super::scale::Scale;
use super::{WIDTH, escaped, figure, shortened};

const HEIGHT: f64 = 226.0;
const LEFT: f64 = 42.0;
const RIGHT: f64 = WIDTH - 10.0;
const BOTTOM: f64 = 40.0;
const LEGEND_HEIGHT: f64 = 15.0;
/// Approximate width of a character of the legend.
const CHAR: f64 = 5.5;
/// Number of colours and marks.
const STYLES: usize = 8;
/// A line with at most this many points gets a mark at each.
const MARKED_POINTS: usize = 16;

/// One of a chart's lines, or its columns of one colour.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// Places and values.
    pub points: Vec<(f64, f64)>,
    /// Half the width of the interval of each point; empty if no interval is known.
    pub spread: Vec<f64>,
    /// Points that were published.
    pub published: Vec<(f64, f64)>,
}

impl Series {
    /// Where the error bars end.
    fn ends(&self) -> impl Iterator<Item = f64> + Clone {
        self.points.iter().zip(&self.spread).flat_map(|(&(_, y), half)| [y - half, y + half])
    }
}

/// The axes of a chart.
#[derive(Debug, Clone, Default)]
pub struct Axes {
    /// The title below.
    pub x_title: String,
    /// The title at the side.
    pub y_title: String,
    /// Names of the places 0, 1, … on the x axis, if they are not numbers.
    pub places: Vec<String>,
    /// The y axis is of times in microseconds, and goes by powers of ten.
    pub is_time: bool,
    /// The y axis begins at zero, however far all values are from it.
    pub has_zero: bool,
}

/// The part of a chart that the axes enclose.
struct Frame<'a> {
    axes: &'a Axes,
    x: Scale,
    y: Scale,
    top: f64,
    bottom: f64,
}

impl Axes {
    /// Width of a place.
    fn band(&self) -> f64 {
        (RIGHT - LEFT) / self.places.len().max(1) as f64
    }
}

impl Frame<'_> {
    fn x(&self, value: f64) -> f64 {
        if self.axes.places.is_empty() { self.x.place(value) } else { LEFT + (value + 0.5) * self.axes.band() }
    }

    /// Grid, numbers and titles.
    fn draw(&self, text: &mut String) {
        for tick in self.y.ticks() {
            let (y, class) = (self.y.place(tick), if self.y.is_zero(tick) { "zero" } else { "grid" });
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 4.0,
                y + 3.0,
                self.y.tick_text(tick)
            );
        }
        if self.axes.places.is_empty() {
            for tick in self.x.ticks() {
                let x = self.x.place(tick);
                let _ = write!(
                    text,
                    "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{}\"/>",
                    self.top, self.bottom
                );
                self.below(x, 13.0, &self.x.tick_text(tick), text);
            }
        } else {
            let longest = self.axes.places.iter().map(|place| place.chars().count()).max().unwrap_or(0);
            let every = ((longest as f64 * CHAR + 6.0) / self.axes.band()).ceil().max(1.0) as usize;
            // Names that are slightly too long are set in two rows, so that none is left out.
            let (every, rows) = if every == 2 { (1, [10.0, 19.5]) } else { (every, [13.0; 2]) };
            for (at, place) in self.axes.places.iter().enumerate().step_by(every) {
                self.below(self.x(at as f64), rows[at % 2], place, text);
            }
        }
        let _ = write!(
            text,
            "<text class=\"title\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text class=\"title\" x=\"{}\" y=\"{}\" text-anchor=\"middle\" transform=\"rotate(-90 9 {})\">{}</text>",
            (LEFT + RIGHT) / 2.0,
            self.bottom + 29.0,
            escaped(&shortened(&self.axes.x_title, 56)),
            9.0,
            (self.top + self.bottom) / 2.0,
            (self.top + self.bottom) / 2.0,
            escaped(&shortened(&self.axes.y_title, 34))
        );
    }

    /// A number or a name, `distance` below the axis.
    fn below(&self, x: f64, distance: f64, number: &str, text: &mut String) {
        let y = self.bottom + distance;
        let _ = write!(
            text,
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
            escaped(number)
        );
    }
}

/// A chart of lines.
pub fn lines(label: &str, axes: &Axes, series: &[Series]) -> String {
    let draw = |frame: &Frame<'_>, text: &mut String| {
        for (at, one) in series.iter().enumerate() {
            line(frame, at % STYLES, one, text);
        }
    };
    chart(label, axes, series, draw)
}

/// A chart of columns side by side, for axes with places.
pub fn columns(label: &str, axes: &Axes, series: &[Series]) -> String {
    let width = axes.band() * if series.len() > 1 { 0.84 } else { 0.9 } / series.len().max(1) as f64;
    let draw = |frame: &Frame<'_>, text: &mut String| {
        let zero = frame.y.place(frame.y.low.max(0.0));
        for (at, one) in series.iter().enumerate() {
            let shift = (at as f64 - series.len() as f64 / 2.0) * width;
            for &(place, value) in &one.points {
                let (x, y) = (frame.x(place) + shift, frame.y.place(value));
                let _ = write!(
                    text,
                    "<rect class=\"c{}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}: \
                     {}</title></rect>",
                    at % STYLES,
                    y.min(zero),
                    (width - 0.6).max(0.5),
                    (zero - y).abs(),
                    escaped(&one.name),
                    figure(value)
                );
            }
            error_bars(frame, one, shift + width / 2.0, text);
            for &(place, value) in &one.published {
                // Its place shows which column it belongs to. Its colour would not be visible on its column.
                published("", frame.x(place) + shift + width / 2.0, frame.y.place(value), value, text);
            }
        }
    };
    chart(label, axes, series, draw)
}

/// Axes and legend around what is drawn.
fn chart(label: &str, axes: &Axes, series: &[Series], draw: impl FnOnce(&Frame<'_>, &mut String)) -> String {
    let points = || series.iter().flat_map(|one| one.points.iter().chain(&one.published));
    let ends = || series.iter().flat_map(Series::ends);
    if points().next().is_none() {
        return String::new();
    }
    let mut body = String::new();
    let top = legend(series, &mut body) + 6.0;
    let bottom = HEIGHT - BOTTOM;
    let values = points().map(|point| point.1).chain(ends());
    let y = match axes {
        Axes { is_time: true, .. } => Scale::times(values, bottom, top),
        Axes { has_zero: true, .. } => Scale::with_zero(values, bottom, top),
        _ => Scale::over(values, bottom, top),
    };
    let x = Scale::over(points().map(|point| point.0), LEFT, RIGHT);
    let frame = Frame { axes, x, y, top, bottom };
    frame.draw(&mut body);
    draw(&frame, &mut body);
    format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">{body}</svg>\n", escaped(label))
}

/// Draws the names of the series above the chart. Returns where the legend ends.
fn legend(series: &[Series], text: &mut String) -> f64 {
    let has_published = series.iter().any(|one| !one.published.is_empty());
    if series.len() < 2 && !has_published {
        return 4.0;
    }
    let (mut x, mut y) = (LEFT, 10.0);
    let mut entry = |name: &str, mark: &dyn Fn(f64, f64, &mut String), text: &mut String| {
        let width = 26.0 + name.chars().count() as f64 * CHAR;
        if x > LEFT && x + width > RIGHT {
            (x, y) = (LEFT, y + LEGEND_HEIGHT);
        }
        mark(x + 5.0, y - 3.5, text);
        let _ = write!(text, "<text class=\"label\" x=\"{:.1}\" y=\"{y}\">{}</text>", x + 14.0, escaped(name));
        x += width;
    };
    for (at, one) in series.iter().enumerate() {
        entry(&shortened(&one.name, 50), &|x, y, text| mark(at % STYLES, x, y, text), text);
    }
    if has_published {
        entry("published", &|x, y, text| published("", x, y, f64::NAN, text), text);
    }
    y + 4.0
}

fn line(frame: &Frame<'_>, style: usize, series: &Series, text: &mut String) {
    let mut path = String::new();
    for &(x, y) in &series.points {
        let _ = write!(path, "{}{:.1} {:.1}", if path.is_empty() { "M" } else { "L" }, frame.x(x), frame.y.place(y));
    }
    let _ = write!(text, "<path class=\"l{style}\" d=\"{path}\"><title>{}</title></path>", escaped(&series.name));
    if series.points.len() <= MARKED_POINTS {
        for &(x, y) in &series.points {
            mark(style, frame.x(x), frame.y.place(y), text);
        }
    }
    error_bars(frame, series, 0.0, text);
    for &(x, y) in &series.published {
        published(&format!(" r{style}"), frame.x(x), frame.y.place(y), y, text);
    }
}

/// A mark of a series. Each series has another shape, for readers who cannot tell the colours apart.
fn mark(style: usize, x: f64, y: f64, text: &mut String) {
    let d = match style % 4 {
        0 => format!("M{:.1} {y:.1}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", x - 3.0),
        1 => format!("M{:.1} {:.1}h5.4v5.4h-5.4z", x - 2.7, y - 2.7),
        2 => format!("M{x:.1} {:.1}l3.6 6.2h-7.2z", y - 3.8),
        _ => format!("M{x:.1} {:.1}l3.8 3.8l-3.8 3.8l-3.8 -3.8z", y - 3.8),
    };
    let _ = write!(text, "<path class=\"c{style}\" d=\"{d}\"/>");
}

/// The interval of every point: a line with two ends, moved to the right by `shift`.
fn error_bars(frame: &Frame<'_>, series: &Series, shift: f64, text: &mut String) {
    for (&(x, y), half) in series.points.iter().zip(&series.spread).filter(|(_, half)| **half > 0.0) {
        let (x, low, high) = (frame.x(x) + shift, frame.y.place(y - half), frame.y.place(y + half));
        let _ = write!(
            text,
            "<path class=\"bar\" d=\"M{:.1} {low:.1}h4M{x:.1} {low:.1}V{high:.1}M{:.1} {high:.1}h4\"/>",
            x - 2.0,
            x - 2.0
        );
    }
}

/// A published point: a ring, with its colour as a second class.
fn published(colour: &str, x: f64, y: f64, value: f64, text: &mut String) {
    let title = if value.is_nan() { String::new() } else { format!("<title>published: {}</title>", figure(value)) };
    let _ = write!(text, "<circle class=\"ring{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.2\">{title}</circle>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.to_owned(), points: points.to_vec(), ..Series::default() }
    }

    #[test]
    fn a_line_has_its_points_and_those_published() {
        let mut one = series("a < b", &[(0.0, 1.0), (5.0, 9.0)]);
        one.published = vec![(5.0, 8.0)];
        one.spread = vec![0.0, 2.0];
        let svg = lines("l", &Axes::default(), &[one, series("c", &[(0.0, 2.0)])]);
        let count = |what: &str| svg.matches(what).count();
        assert_eq!((count("class=\"l0\""), count("class=\"l1\""), count("class=\"ring")), (1, 1, 2));
        assert_eq!(count("class=\"bar\""), 1, "no bar where nothing varies");
        assert!(svg.contains("a &lt; b"));
        assert_eq!(lines("l", &Axes::default(), &[series("empty", &[])]), "");
    }

    #[test]
    fn columns_stand_side_by_side_on_zero() {
        let axes = Axes { places: vec!["x".to_owned(), "y".to_owned()], has_zero: true, ..Axes::default() };
        let svg = columns("l", &axes, &[series("a", &[(0.0, 5.0), (1.0, 10.0)]), series("b", &[(0.0, 10.0)])]);
        let heights: Vec<f64> =
            svg.split("height=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse().ok()).collect();
        assert_eq!(heights.len(), 3);
        assert!((heights[0] * 2.0 - heights[1]).abs() < 0.2 && (heights[1] - heights[2]).abs() < 0.2, "{heights:?}");
    }

    #[test]
    fn names_that_are_little_too_long_stand_in_two_rows() {
        let rows = |name: &str| {
            let axes = Axes { places: (0..4).map(|at| format!("{name}{at}")).collect(), ..Axes::default() };
            let svg = columns("l", &axes, &[series("a", &[(0.0, 1.0), (3.0, 2.0)])]);
            let names = svg.split("<text class=\"tick\"").filter(|tick| tick.contains(name));
            let rows: Vec<&str> = names.filter_map(|tick| tick.split("y=\"").nth(1)?.split('"').next()).collect();
            let mut different = rows.clone();
            different.sort_unstable();
            different.dedup();
            (rows.len(), different.len())
        };
        assert_eq!((rows("short"), rows("merge+migration"), rows(&"long".repeat(8))), ((4, 1), (4, 2), (2, 1)));
    }

    #[test]
    fn many_points_have_no_marks() {
        let many: Vec<(f64, f64)> = (0..100).map(|x| (f64::from(x), 1.0)).collect();
        assert_eq!(lines("l", &Axes::default(), &[series("a", &many)]).matches("class=\"c0\"").count(), 0);
    }
}
