//! Files of a crate use each other one way. The test here reads the sources.
//!
//! A file may use the module above it, to add to it: `page/host.rs` has the host's commands of `PageFtl`. Beyond that a
//! module and all below it count as one. No such one uses another that uses it, directly or through others.

use std::collections::{BTreeMap, BTreeSet};

use crate::house::files;

/// The path of a module: empty for the crate itself.
type Path = Vec<String>;

/// Something that a file names: in which module, and whether the file passes it on.
struct Named {
    module: Path,
    item: String,
    is_passed_on: bool,
}

/// The files of a crate by the paths of their modules, and what each of them names.
struct Modules(BTreeMap<Path, Vec<Named>>);

impl Modules {
    /// The files below `source`, which ends in a slash. Their tests do not count.
    fn of(source: &str, files: &BTreeMap<String, String>) -> Self {
        let mut texts = BTreeMap::new();
        for (name, text) in files {
            let Some(path) = name.strip_prefix(source).and_then(|path| path.strip_suffix(".rs")) else { continue };
            let mut path: Path = path.split('/').map(str::to_owned).collect();
            if path.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
                path.pop();
            }
            if path.last().is_none_or(|last| !last.ends_with("tests")) {
                texts.insert(path, without_tests(text));
            }
        }
        let names = |(path, text): (&Path, &String)| {
            let named = paths(text).into_iter().filter_map(|(named, is_passed_on)| {
                let (module, item) = resolve(&texts, path, &named)?;
                Some(Named { module, item, is_passed_on })
            });
            (path.clone(), named.collect())
        };
        Self(texts.iter().map(names).collect())
    }

    /// The module in which an item is, behind all that pass it on.
    fn home(&self, named: &Named) -> Path {
        let (mut module, mut seen) = (&named.module, BTreeSet::new());
        // Modules may pass an item on in a circle. Each is looked at once.
        while seen.insert(module) {
            let passed = self.0[module].iter().find(|other| other.is_passed_on && other.item == named.item);
            module = passed.map_or(module, |passed| &passed.module);
        }
        module.clone()
    }

    /// The modules that a file uses, without those above it.
    fn used(&self, path: &Path) -> BTreeSet<Path> {
        let names = self.0[path].iter().filter(|named| !named.is_passed_on);
        names.map(|named| self.home(named)).filter(|home| !path.starts_with(home)).collect()
    }

    /// The modules that use each other side by side: what each uses, and the first file in it that does.
    fn uses(&self) -> BTreeMap<Path, BTreeMap<Path, &Path>> {
        let mut uses: BTreeMap<Path, BTreeMap<Path, &Path>> = BTreeMap::new();
        for file in self.0.keys() {
            for used in self.used(file) {
                // The modules that the two files are in lie side by side where their paths part. A file above the one
                // that it uses is in the same module.
                let Some(parting) = file.iter().zip(&used).position(|(one, other)| one != other) else { continue };
                let user = uses.entry(file[..=parting].to_vec()).or_default();
                user.entry(used[..=parting].to_vec()).or_insert(file);
            }
        }
        uses
    }

    /// The uses that are part of a circle.
    fn circles(&self) -> Vec<String> {
        let uses = self.uses();
        let reached = |from: &Path| {
            let (mut reached, mut next) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(path) = next.pop() {
                let used = uses.get(&path).into_iter().flat_map(BTreeMap::keys);
                next.extend(used.filter(|path| reached.insert((*path).clone())).cloned());
            }
            reached
        };
        let triples = uses.iter().flat_map(|(path, used)| used.iter().map(move |(used, file)| (path, used, file)));
        let back = triples.filter(|(path, used, _)| reached(used).contains(*path));
        let names = |path: &Path| path.join("::");
        back.map(|(path, used, file)| format!("{} uses {}, in {}", names(path), names(used), names(file))).collect()
    }
}

/// The lines of a file without comments, up to its tests.
fn without_tests(text: &str) -> String {
    let lines = text.lines().take_while(|line| !line.starts_with("mod tests {"));
    lines.map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// The paths that a text names, and whether it passes them on: those it declares, and those it writes out.
fn paths(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let (before, tree) = line.trim_start().split_once("use ").unwrap_or((line, ""));
        let is_use = !tree.is_empty() && (before.is_empty() || before.starts_with("pub"));
        if is_use {
            let mut tree = tree.to_owned();
            // A `use` may go over several lines. It ends with a semicolon, or the file does.
            while !tree.contains(';') {
                tree += lines.next().unwrap_or(";").trim();
            }
            let is_passed_on = !before.is_empty();
            expand(tree.trim_end_matches(';'), "", &mut |path| found.push((path.to_owned(), is_passed_on)));
            continue;
        }
        for start in ["crate::", "super::"] {
            for (at, _) in line.match_indices(start) {
                // In a longer path, such as super::super::, the first word counts.
                let is_part = line[..at].ends_with(|c: char| c.is_alphanumeric() || "_:$".contains(c));
                let end = line[at..].find(|c: char| !c.is_alphanumeric() && !"_:".contains(c));
                if !is_part {
                    found.push((line[at..][..end.unwrap_or(line.len() - at)].trim_end_matches(':').to_owned(), false));
                }
            }
        }
    }
    found
}

/// Tells every path of a tree such as `a::{b, c::{d, self}}`.
fn expand(tree: &str, before: &str, tell: &mut impl FnMut(&str)) {
    let Some((head, rest)) = tree.split_once('{') else {
        return tell(&format!("{before}{}", tree.split(" as ").next().unwrap_or(tree).trim()));
    };
    let (before, mut depth, mut start) = (format!("{before}{}", head.trim()), 0, 0);
    for (at, c) in rest.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                if !rest[start..at].trim().is_empty() {
                    expand(&rest[start..at], &before, tell);
                }
                start = at + 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
}

/// The module and the item that a path in `from` names; none for paths of other crates.
fn resolve(texts: &BTreeMap<Path, String>, from: &[String], named: &str) -> Option<(Path, String)> {
    let mut words: Vec<&str> = named.split("::").collect();
    let mut base = from.to_vec();
    match words[0] {
        "crate" => base.clear(),
        "self" | "super" => {}
        first => {
            let child: Path = from.iter().cloned().chain([first.to_owned()]).collect();
            texts.contains_key(&child).then_some(())?;
        }
    }
    while let Some(at @ ("crate" | "self" | "super")) = words.first().copied() {
        if at == "super" {
            base.pop();
        }
        words.remove(0);
    }
    let full: Path = base.into_iter().chain(words.iter().map(|word| (*word).to_owned())).collect();
    // The longest beginning that is a module. What is behind it is an item.
    let length = (0..=full.len()).rev().find(|&length| texts.contains_key(&full[..length]))?;
    Some((full[..length].to_vec(), full.get(length).cloned().unwrap_or_default()))
}

#[test]
fn files_use_each_other_one_way() {
    let files = files("rs");
    let sources = |name: &String| name.find("/src/").map(|at| name[..at + "/src/".len()].to_owned());
    let sources: BTreeSet<String> = files.keys().filter_map(sources).collect();
    let mut found = Vec::new();
    for source in sources {
        found.extend(Modules::of(&source, &files).circles().iter().map(|circle| format!("{source}: {circle}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_circle_is_found() {
    let crate_of = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(name, text)| (format!("x/src/{name}"), (*text).to_owned())).collect();
        Modules::of("x/src/", &files).circles()
    };
    let above = ("a/mod.rs", "mod b;\nmod c;\npub use c::{\n    C, D as E,\n};\npub struct A;\n");
    let b = ("a/b.rs", "use super::{A, C};\nimpl A {}\n");
    let tests = "mod tests {\n    use crate::a::b;\n}\n";
    assert!(crate_of(&[("lib.rs", "mod a;\n"), above, b, ("a/c.rs", &format!("use std::fmt;\n{tests}"))]).is_empty());
    let back = "fn f() -> crate::a::b::B { b() }\n";
    assert_eq!(crate_of(&[above, b, ("a/c.rs", back)]), ["a::b uses a::c, in a::b", "a::c uses a::b, in a::c"]);
    // What is used of a folder is not the file that uses something in return.
    let (below, beside) = (("a/b.rs", "use crate::d::D;\n"), ("d.rs", "use crate::a::A;\n"));
    assert_eq!(crate_of(&[above, below, ("a/c.rs", ""), beside]), ["a uses d, in a::b", "d uses a, in d"]);
}
