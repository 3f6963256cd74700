//! The layers of the project: which crate may use which. The tests here read the manifests, and ARCHITECTURE.md.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// The crates, lowest first: the number of a layer is a place in this list, from 1. A crate uses only those before it.
const LAYERS: &[&str] = &[
    "wearwell-flash",
    "wearwell-mtd",
    "wearwell",
    "wearwell-aware",
    "wearwell-emu",
    "wearwell-sim",
    "wearwell-serve",
    "wearwell-papers",
    "wearwell-py",
    "wearwell-cli",
];

/// Crates beside the layers, and the crates that they use. No layer uses them, but tests may.
const BESIDE: &[(&str, &[&str])] = &[
    // A static library for C: no crate can use it.
    ("wearwell-c", &["wearwell"]),
    ("wearwell-spec", &[]),
    // It shares nothing with the emulator, so that it does not share the emulator's assumptions.
    ("wearwell-torture", &["wearwell-flash", "wearwell", "wearwell-aware"]),
    // The library's sources are its modules.
    ("wearwell-c-torture", &["wearwell-flash", "wearwell", "wearwell-torture"]),
    // It uses random numbers and the model of what a disk may hold: it drives the `wearwell` command.
    ("wearwell-soak", &["wearwell", "wearwell-emu"]),
    ("xtask", &[]),
    ("wearwell-book", &[]),
    ("wearwell-header", &[]),
    ("no-std-proof", &["wearwell-flash", "wearwell", "wearwell-aware"]),
    (
        "wearwell-fuzz",
        &["wearwell-flash", "wearwell", "wearwell-aware", "wearwell-emu", "wearwell-sim", "wearwell-serve"],
    ),
];

/// Tests that use a crate that is not below theirs.
const TESTS_USE: &[(&str, &str)] = &[
    // The crash proofs live with what they prove, and need chips that lose power.
    ("wearwell", "wearwell-emu"),
    ("wearwell-aware", "wearwell-emu"),
    // A disk on the driver, over a chip that loses power.
    ("wearwell-mtd", "wearwell"),
    ("wearwell-mtd", "wearwell-emu"),
    // File systems under load come from the simulator's workloads.
    ("wearwell-aware", "wearwell-sim"),
    // The client of the servers' tests.
    ("wearwell-serve", "wearwell-soak"),
    ("wearwell-cli", "wearwell-soak"),
    ("wearwell", "wearwell-spec"),
    ("wearwell-emu", "wearwell-spec"),
    ("wearwell-serve", "wearwell-spec"),
    ("wearwell-mtd", "wearwell-spec"),
];

/// A crate of the project, from its manifest.
struct Manifest {
    name: String,
    uses: BTreeSet<String>,
    tests_use: BTreeSet<String>,
}

impl Manifest {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a manifest can be read");
        let table: Table = text.parse().expect("a manifest is TOML");
        let name = table["package"]["name"].as_str().expect("a package has a name").to_owned();
        let (mut uses, mut tests_use) = (BTreeSet::new(), BTreeSet::new());
        let targets = table.get("target").and_then(Value::as_table).into_iter().flat_map(|targets| targets.values());
        for table in targets.filter_map(Value::as_table).chain([&table]) {
            add(table, "dependencies", &mut uses);
            add(table, "build-dependencies", &mut uses);
            add(table, "dev-dependencies", &mut tests_use);
        }
        Self { name, uses, tests_use }
    }
}

/// Adds the project's own crates among the dependencies of one kind.
fn add(table: &Table, kind: &str, used: &mut BTreeSet<String>) {
    let names = table.get(kind).and_then(Value::as_table).into_iter().flat_map(Table::keys);
    used.extend(names.filter(|name| is_known(name)).cloned());
}

fn is_known(name: &str) -> bool {
    layer(name).is_some() || BESIDE.iter().any(|(beside, _)| *beside == name)
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| *layer == name)
}

/// The crates that a crate uses and must not use.
fn violations(manifest: &Manifest) -> Vec<String> {
    let name = manifest.name.as_str();
    let may_use = |used: &str| match (layer(name), BESIDE.iter().find(|(beside, _)| *beside == name)) {
        (Some(own), _) => layer(used).is_some_and(|layer| layer < own),
        (None, Some((_, uses))) => uses.contains(&used),
        // A crate that is on no list uses nothing, until somebody lists it.
        (None, None) => false,
    };
    // A crate's tests may use the crate itself, with more features.
    let tests_may_use = |used: &str| used == name || may_use(used) || TESTS_USE.contains(&(name, used));
    let uses = manifest.uses.iter().filter(|used| !may_use(used)).map(|used| format!("{name} uses {used}"));
    let tests = manifest.tests_use.iter().filter(|used| !tests_may_use(used));
    let mut found: Vec<String> = uses.chain(tests.map(|used| format!("the tests of {name} use {used}"))).collect();
    if !is_known(name) {
        found.push(format!("{name} is on no list"));
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn manifests() -> Vec<Manifest> {
    let folders = fs::read_dir(root().join("crates")).expect("the crates can be listed");
    let crates = folders.map(|entry| entry.expect("the crates can be listed").path());
    let others = ["xtask", "xtask/book", "xtask/header", "fuzz", "no-std-proof"].map(|folder| root().join(folder));
    let paths = crates.chain(others).map(|folder| folder.join("Cargo.toml"));
    paths.filter(|path| path.exists()).map(|path| Manifest::read(&path)).collect()
}

#[test]
fn crates_use_only_lower_layers() {
    let found: Vec<String> = manifests().iter().flat_map(violations).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_is_listed_exists() {
    let manifests = manifests();
    let find = |name: &str| manifests.iter().find(|manifest| manifest.name == name);
    for name in LAYERS.iter().copied().chain(BESIDE.iter().map(|(name, _)| *name)) {
        assert!(find(name).is_some(), "there is no crate {name}");
    }
    for (name, used) in TESTS_USE {
        assert!(find(name).is_some_and(|manifest| manifest.tests_use.contains(*used)), "{name} does not use {used}");
    }
}

#[test]
fn a_crate_that_uses_a_higher_layer_is_found() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let manifest = |name: &str, uses: &[&str], tests: &[&str]| Manifest {
        name: name.to_owned(),
        uses: set(uses),
        tests_use: set(tests),
    };
    let cases: [(&str, &[&str], &[&str], usize); 6] = [
        ("wearwell-emu", &["wearwell-flash"], &[], 0),
        ("wearwell", &["wearwell-flash", "wearwell-emu"], &["wearwell-emu"], 1),
        ("wearwell-emu", &[], &["wearwell-sim"], 1),
        ("wearwell-torture", &["wearwell-emu"], &[], 1),
        ("wearwell-sim", &["wearwell-spec"], &[], 1),
        ("wearwell-new", &[], &[], 1),
    ];
    for (name, uses, tests, count) in cases {
        let found = violations(&manifest(name, uses, tests));
        assert_eq!(found.len(), count, "{found:?}");
    }
}

#[test]
fn architecture_md_shows_the_layers() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md can be read");
    let row = |line: &str| {
        let (number, rest) = line.strip_prefix("| ")?.split_once(" | `")?;
        let number: usize = number.parse().ok()?;
        rest.split_once('`').map(|(name, _)| (number, name.to_owned()))
    };
    let mut shown: Vec<(usize, String)> = text.lines().filter_map(row).collect();
    shown.retain(|(_, name)| name.starts_with("wearwell"));
    shown.sort();
    let listed: Vec<(usize, String)> = (1..).zip(LAYERS.iter().map(|name| (*name).to_owned())).collect();
    assert_eq!(shown, listed);
}
