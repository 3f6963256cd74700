//! A page around charts and tables.

use std::fmt::Write as _;

use super::{Chart, Data, escaped};

const STYLE: &str = include_str!("page.css");

/// A whole page; the body is markup. `typed` is the command line that made it.
pub fn page(title: &str, body: &str, typed: &str) -> String {
    let (title, typed, version) = (escaped(title), escaped(typed), env!("CARGO_PKG_VERSION"));
    let main = format!(
        "<h1>{title}</h1>\n{body}<footer>\n<p>Made by wearwell {version} with</p>\n<pre>{typed}</pre>\n</footer>\n"
    );
    document(&format!("{title} · wearwell"), &main)
}

/// A page to be shown inside another one, of a notebook: the body alone.
pub fn inner(body: &str) -> String {
    document("wearwell", body)
}

fn document(title: &str, main: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{main}</main>\n</body>\n</html>\n"
    )
}

/// Charts side by side where there is room; those with nothing to show are left out.
pub fn charts(charts: &[Chart], text: &mut String) {
    text.push_str("<div class=\"charts\">\n");
    for chart in charts {
        figure(chart, text);
    }
    text.push_str("</div>\n");
}

/// A chart, and its data, which open with a click.
fn figure(chart: &Chart, text: &mut String) {
    if chart.svg.is_empty() {
        return;
    }
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "<figure>\n<figcaption>{}</figcaption>\n{}<details><summary>Data</summary>\n",
        escaped(&chart.caption),
        chart.svg
    );
    match &chart.data {
        Data::Table(head, rows) => table(head, rows, text),
        Data::Text(data) => {
            let _ = writeln!(text, "<pre>{}</pre>", escaped(data));
        }
    }
    text.push_str("</details>\n</figure>\n");
}

/// A table; all but the first column are numbers.
pub fn table(head: &[String], rows: &[Vec<String>], text: &mut String) {
    let class = |at: usize| if at == 0 { "" } else { " class=\"number\"" };
    text.push_str("<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>");
    for (at, title) in head.iter().enumerate() {
        let _ = write!(text, "<th{}>{}</th>", class(at), escaped(title));
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        text.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let _ = write!(text, "<td{}>{}</td>", class(at), escaped(cell));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody>\n</table></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The elements that are never closed.
    const VOID: [&str; 1] = ["meta"];

    /// Asserts that every element that is opened is closed, in order.
    fn assert_balanced(html: &str) {
        let mut open: Vec<&str> = Vec::new();
        for tag in html.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').expect("a tag ends");
            let name = tag.split_whitespace().next().expect("a tag has a name");
            if let Some(name) = name.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "{tag}");
            } else if !(tag.ends_with('/') || tag.starts_with('!') || VOID.contains(&name)) {
                open.push(name);
            }
        }
        assert_eq!(open, Vec::<&str>::new());
    }

    /// Asserts that the page loads nothing from elsewhere and runs nothing.
    fn assert_alone(html: &str) {
        for outside in ["http:", "https:", "src=", "@import", "url(", "<link", "<script"] {
            assert!(!html.contains(outside), "{outside}");
        }
    }

    #[test]
    fn charts_have_their_data_behind_them() {
        let chart = |svg: &str| Chart {
            caption: "c < d".to_owned(),
            svg: svg.to_owned(),
            data: Data::Table(vec!["x".to_owned(), "y".to_owned()], vec![vec!["1".to_owned(), "2 & 3".to_owned()]]),
        };
        let mut body = String::new();
        charts(&[chart("<svg></svg>"), chart("")], &mut body);
        let page = page("a <title>", &body, "wearwell run --name '<x>'");
        for page in [&page, &inner(&body)] {
            assert_balanced(page);
            assert_alone(page);
        }
        assert_eq!((page.matches("<figure>").count(), page.matches("<summary>Data").count()), (1, 1));
        assert!(page.contains("<h1>a &lt;title&gt;</h1>") && page.contains("2 &amp; 3") && page.contains("c &lt; d"));
        let typed = "<pre>wearwell run --name &#39;&lt;x&gt;&#39;</pre>";
        assert!(page.contains(typed) && page.contains(concat!("wearwell ", env!("CARGO_PKG_VERSION"), " with")));
    }
}
