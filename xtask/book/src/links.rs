//! The links between the pages of the book. Links to other sites are not checked, because tests need no network.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A link to something that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    page: PathBuf,
    link: String,
    why: &'static str,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.page.display(), self.link, self.why)
    }
}

/// The links and headings of a page.
#[derive(Debug, Default)]
struct Page {
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

impl Page {
    fn read(path: &Path) -> io::Result<Self> {
        Ok(Self::parse(&fs::read_to_string(path)?))
    }

    fn parse(text: &str) -> Self {
        let (mut page, mut heading) = (Self::default(), None);
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors.extend(heading.take().map(|heading| anchor(&heading)));
                }
                _ => {}
            }
        }
        page
    }
}

/// The anchor that mdBook makes from a heading: lower case, hyphens for spaces; letters, digits and underscores stay.
fn anchor(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        _ if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    heading.trim().chars().filter_map(kept).collect()
}

/// The broken links of all pages in a folder and its subfolders.
pub(crate) fn broken_in(folder: &Path) -> io::Result<Vec<Broken>> {
    let mut broken = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            broken.extend(broken_in(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let page = Page::read(&path)?;
            for link in &page.links {
                let why = check(&path, &page, link)?;
                broken.extend(why.map(|why| Broken { page: path.clone(), link: link.clone(), why }));
            }
        }
    }
    Ok(broken)
}

/// What is wrong with a link of a page.
fn check(path: &Path, page: &Page, link: &str) -> io::Result<Option<&'static str>> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(None);
    }
    let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
    let target = path.parent().unwrap_or(Path::new("")).join(file);
    if !file.is_empty() && !target.exists() {
        return Ok(Some("there is no such file"));
    }
    let has_anchor = match file {
        _ if fragment.is_empty() => true,
        "" => page.anchors.contains(fragment),
        _ => Page::read(&target)?.anchors.contains(fragment),
    };
    Ok((!has_anchor).then_some("the page has no such heading"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_headings_are_found() {
        let page = Page::parse("# The `nand` layout, again\n\n[a](b.md#c) ![d](e.png)\n\n```\n[no](link.md)\n```\n");
        assert_eq!(page.links, ["b.md#c", "e.png"]);
        assert!(page.anchors.contains("the-nand-layout-again"));
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let page = Page::parse("# Here\n");
        let check = |link| check(&here, &page, link).expect("readable");
        assert_eq!(check("#here"), None);
        assert_eq!(check("#there"), Some("the page has no such heading"));
        assert_eq!(check("src/main.rs"), None);
        assert_eq!(check("src/none.rs"), Some("there is no such file"));
        assert_eq!(check("https://example.org/none"), None);
    }
}
