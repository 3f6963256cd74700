//! Charts of runs, and pages of charts. A page is one file that loads nothing, for screens of any width and for paper.
//!
//! A chart is inline SVG, 360 units wide, so that its text is readable on a narrow screen. Colours come from the page's
//! style. The data of a chart are in a table below it, which opens with a click.

mod cells;
pub mod observed;
pub mod page;
pub mod plot;
mod scale;

/// Units that a chart is wide.
const WIDTH: f64 = 360.0;

/// A chart and its data.
pub struct Chart {
    /// The text above it.
    pub caption: String,
    /// Empty if there is nothing to show.
    pub svg: String,
    /// Its data.
    pub data: Data,
}

/// The data of a chart, to look at or to copy.
pub enum Data {
    /// Titles of the columns, of which all but the first are numbers, and the rows.
    Table(Vec<String>, Vec<Vec<String>>),
    /// A text, as a CSV file.
    Text(String),
}

/// A text in which nothing is markup.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A text, cut to `chars` characters.
fn shortened(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    text.chars().take(chars.saturating_sub(1)).chain(['…']).collect()
}

/// A number with as many digits as are useful.
pub fn figure(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => "–".to_owned(),
        size if size >= 1000.0 || value.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_an_escaped_text_is_markup() {
        assert_eq!(escaped("<a b='c'>\"&"), "&lt;a b=&#39;c&#39;&gt;&quot;&amp;");
    }

    #[test]
    fn texts_are_cut_by_characters() {
        assert_eq!((shortened("äöü", 3), shortened("äöüß", 3)), ("äöü".to_owned(), "äö…".to_owned()));
    }
}
