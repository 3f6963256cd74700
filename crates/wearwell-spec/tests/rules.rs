//! Every rule of SPEC.md is cited where it is followed, and every rule that is cited is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use wearwell_spec::SPEC;

/// The rules that SPEC.md has, and the parts of rules: the bold numbers that begin its lines.
fn written() -> BTreeSet<String> {
    let rules = SPEC.lines().filter_map(|line| line.trim_start().strip_prefix("- **")?.split_once(".**"));
    rules.map(|(rule, _)| rule.to_owned()).collect()
}

/// The rule that a part belongs to: `B13` for `B13.4`, and for itself.
fn whole(rule: &str) -> String {
    rule.split_once('.').map_or(rule, |(rule, _)| rule).to_owned()
}

/// The rules that a comment begins with: `N5, T2.` or `B13.4: why`.
fn cited_in(comment: &str) -> Vec<String> {
    let mut rules = Vec::new();
    for word in comment.split(' ') {
        rules.push(word.trim_end_matches([',', '.', ':']).to_owned());
        if !word.ends_with(',') {
            break;
        }
    }
    rules
}

/// Adds the rules that sources in a folder cite.
fn collect(folder: &Path, rules: &mut BTreeSet<String>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("a readable folder").path()) {
        if path.is_dir() {
            collect(&path, rules);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let cited = source.lines().filter_map(|line| line.trim_start().strip_prefix("// Spec "));
            rules.extend(cited.flat_map(cited_in));
        }
    }
}

#[test]
fn every_rule_is_cited_and_every_citation_is_a_rule() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cited = BTreeSet::new();
    for name in ["wearwell", "wearwell-emu", "wearwell-serve"] {
        collect(&crates.join(name).join("src"), &mut cited);
    }
    let written = written();
    assert!(written.len() > 30, "SPEC.md lost its rules");
    assert_eq!(cited.difference(&written).collect::<Vec<_>>(), Vec::<&String>::new(), "cited, but not in SPEC.md");
    let [written, cited] = [written, cited].map(|rules| rules.iter().map(|rule| whole(rule)).collect::<BTreeSet<_>>());
    assert_eq!(written.difference(&cited).collect::<Vec<_>>(), Vec::<&String>::new(), "in SPEC.md, but never cited");
}

#[test]
fn every_dump_can_be_read() {
    for name in SPEC.lines().filter_map(|line| line.strip_prefix("```hex ")) {
        assert!(!wearwell_spec::dump(name).is_empty(), "{name} is empty");
    }
}
