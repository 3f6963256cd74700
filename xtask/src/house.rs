//! The rules of the house that a program can see. The tests here read the sources and the texts: lines, functions and
//! files have an end.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const LINE_COLUMNS: usize = 120;
const FILE_LINES: usize = 600;
/// "70 or so", and some more for a table of cases.
const FUNCTION_LINES: usize = 80;

/// Histories as the torture prints them: the longest is the longest function of the project.
const PRINTED: &str = "crates/wearwell-torture/tests/regressions/";

/// The sources and the texts of the project, by their paths from its root. Of the root itself only what lies in it.
pub(crate) fn files(ending: &str) -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeMap::new();
    let mut folders: Vec<PathBuf> =
        ["", "crates", "docs", "fuzz", "no-std-proof", "xtask"].map(|f| root.join(f)).into();
    while let Some(folder) = folders.pop() {
        let is_root = folder == root.join("");
        for path in
            fs::read_dir(folder).expect("a folder can be listed").map(|entry| entry.expect("it is there").path())
        {
            let is_built = path.ends_with("target");
            if path.is_dir() && !is_built && !is_root {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                let text = fs::read_to_string(&path).expect("a source is text");
                let name = path.strip_prefix(&root).expect("it is below the root").to_string_lossy().replace('\\', "/");
                found.insert(name, text);
            }
        }
    }
    found
}

/// Numbers of the lines that are too long, from 1. Tables, what programs have printed, and addresses cannot be broken.
fn long_lines(name: &str, text: &str) -> Vec<usize> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let bare = line.trim_start().trim_start_matches(['/', '!']).trim_start();
        is_code ^= bare.starts_with("```");
        let is_free = bare.starts_with('|') || bare.starts_with("![") || is_code && name.ends_with(".md");
        if line.chars().count() > LINE_COLUMNS && !is_free {
            found.push(number);
        }
    }
    found
}

/// Functions that are too long, with their lines. The format of the sources puts the end where the beginning is.
fn long_functions(text: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function(line) else { continue };
        let indent = line.len() - line.trim_start().len();
        let end = |other: &&&str| other.trim_end() == format!("{}}}", " ".repeat(indent));
        let length = lines[at..].iter().take_while(|other| !end(other)).count() + 1;
        if !line.ends_with(['}', ';']) && length > FUNCTION_LINES {
            found.push((name, length));
        }
    }
    found
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let words = line.trim_start();
    let before = words.split("fn ").next()?;
    let is_one = before.split_whitespace().all(|word| {
        word.starts_with("pub") || ["const", "unsafe", "async", "extern", "\"C\"", "super)", "crate)"].contains(&word)
    });
    let rest = words.strip_prefix(before)?.strip_prefix("fn ")?;
    is_one.then(|| rest.split(['(', '<']).next().unwrap_or(rest))
}

fn check(ending: &str, wrong: impl Fn(&str, &str) -> Vec<String>) {
    let found: Vec<String> = files(ending).iter().flat_map(|(name, text)| wrong(name, text)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn lines_have_an_end() {
    let wrong = |name: &str, text: &str| -> Vec<String> {
        long_lines(name, text)
            .iter()
            .map(|line| format!("{name}:{line} has more than {LINE_COLUMNS} columns"))
            .collect()
    };
    check("rs", wrong);
    check("md", wrong);
}

#[test]
fn functions_have_an_end() {
    check("rs", |name, text| {
        let long = long_functions(text).into_iter().filter(|_| !name.starts_with(PRINTED));
        long.map(|(function, lines)| format!("{name}: {function} has {lines} lines")).collect()
    });
}

#[test]
fn files_have_an_end() {
    check("rs", |name, text| {
        let lines = text.lines().count();
        if lines > FILE_LINES { vec![format!("{name} has {lines} lines")] } else { Vec::new() }
    });
}

#[test]
fn what_is_too_long_is_found() {
    let long = "x".repeat(LINE_COLUMNS + 1);
    assert_eq!(long_lines("a.rs", &format!("{long}\n/// | {long} |\n/// {long}\n")), [1, 3]);
    assert_eq!(long_lines("a.md", &format!("{long}\n```text\n{long}\n```\n{long}\n")), [1, 5]);
    let body = "        f();\n".repeat(FUNCTION_LINES);
    let text = format!("impl A {{\n    pub(super) const fn a<T>() {{\n{body}    }}\n\n    fn b() {{}}\n{body}}}\n");
    assert_eq!(long_functions(&text), [("a", FUNCTION_LINES + 2)]);
}
