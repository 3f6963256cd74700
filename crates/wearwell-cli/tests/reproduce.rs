//! `wearwell reproduce` from outside: its files, its refusals and its exit codes, on experiments of a few pages.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const BIN: &str = env!("CARGO_BIN_EXE_wearwell");

/// A folder of one paper with one table of two rows, and room for the report.
struct Tiny(TempDir);

impl Tiny {
    /// What follows in the second row.
    fn new(second: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        fs::create_dir_all(folder.path().join("papers/tiny26")).expect("a new folder");
        let args = "--chip geometry:2048:16:64 --logical 1536KiB --write 1MiB --workload";
        let table = format!(
            "title = 'Table 1: <small>'\n\
             [[row]]\nname = 'sequential'\nargs = '{args} sequential'\nseeds = [1]\npublished = {{ copied_pages = 0 }}\n\
             [[row]]\nname = 'random & more'\nargs = '{args} random'\nseeds = [1, 2]\n{second}\n"
        );
        fs::write(folder.path().join("papers/tiny26/table1.toml"), table).expect("a new file");
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn reproduce(&self, more: &[&str]) -> Output {
        let mut command = Command::new(BIN);
        command.arg("reproduce").arg("--papers").arg(self.path("papers")).arg("--out").arg(self.path("a/b")).args(more);
        command.output().expect("the command can be started")
    }

    fn report(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("a/b/report.json")).expect("a report")).expect("JSON")
    }

    fn measured(&self, row: usize, figure: &str) -> f64 {
        let figures = self.report()["experiments"][0]["rows"][row]["figures"].clone();
        let item = figures.as_array().expect("figures").iter().find(|item| item["figure"] == figure).cloned();
        item.and_then(|item| item["measured"].as_f64()).expect("a measured figure")
    }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_reproduction_writes_three_files_and_the_tables() {
    let tiny = Tiny::new("");
    let marked = "before\n<!-- results: tiny26/table1.toml -->\n<!-- end of results -->\nbehind\n";
    fs::write(tiny.path("TABLES.md"), marked).expect("a new file");
    let markdown = tiny.path("TABLES.md").to_string_lossy().into_owned();
    let output = tiny.reproduce(&["tiny26", "--only", "table1", "--jobs", "2", "--markdown", &markdown]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("agrees") && said.contains("1 agree, 0 explained, 0 unexplained"), "{said}");
    assert_eq!(tiny.report()["agree"], 1);
    let csv = fs::read_to_string(tiny.path("a/b/report.csv")).expect("CSV");
    assert!(csv.starts_with("paper,item,row,") && csv.contains("tiny26,table1,random & more,false,erases,,"), "{csv}");
    let html = fs::read_to_string(tiny.path("a/b/report.html")).expect("HTML");
    assert!(html.contains("random &amp; more") && html.contains("Table 1: &lt;small&gt;"));
    let text = fs::read_to_string(&markdown).expect("the tables");
    assert!(
        text.starts_with("before\n") && text.ends_with("\nbehind\n") && text.contains("**Table 1: <small>**"),
        "{text}"
    );
}

#[test]
fn a_row_measures_what_wearwell_run_measures() {
    let tiny = Tiny::new("");
    assert_eq!(tiny.reproduce(&[]).status.code(), Some(0));
    let erases = |seed: &str| {
        let mut command = Command::new(BIN);
        command.args("run --chip geometry:2048:16:64 --logical 1536KiB --write 1MiB --workload random".split(' '));
        let output = command.args(["--seed", seed, "--json", "-"]).output().expect("the command can be started");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        report["erases"].as_f64().expect("erases")
    };
    assert_eq!(tiny.measured(1, "erases"), (erases("1") + erases("2")) / 2.0);
}

#[test]
fn only_what_is_unexplained_ends_with_one() {
    let code = |second: &str| Tiny::new(second).reproduce(&[]).status.code();
    let published = "published = { erases = 1000000 }";
    assert_eq!(code(published), Some(1));
    // A run that copies less: with it the figure is as published.
    let chip = "--chip geometry:2048:16:64 --logical 1536KiB --write 1MiB";
    let named = |workload: &str| {
        let choice =
            format!("[[row]]\nname = 'choice'\nsensitivity = true\nargs = '{chip} --workload {workload}'\nseeds = [1]");
        format!(
            "published = {{ copied_pages = 0 }}\ntolerance_percent = {{ copied_pages = inf }}\nexplained_by = 'choice'\n{choice}"
        )
    };
    let off = "published = { copied_pages = 0 }\ntolerance_percent = { copied_pages = inf }";
    assert_eq!(code(off), Some(1), "no run explains it");
    assert_eq!(code(&named("sequential")), Some(0));
    assert_eq!(code(&named("random")), Some(1), "the run that is named changes nothing");
    assert_eq!(code(&format!("{off}\nexplained_by = 'nothing'")), Some(2), "there is no such run");
    assert_eq!(code(&format!("{published}\nsensitivity = true")), Some(0));
}

#[test]
fn a_run_that_fails_is_told_and_the_rest_is_written() {
    let more =
        "[[row]]\nname = 'no room'\nargs = '--chip geometry:2048:16:64 --logical 8TiB --workload random'\nseeds = [1]";
    let tiny = Tiny::new(more);
    let output = tiny.reproduce(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains("tiny26/table1: no room: "), "{}", told(&output));
    assert_eq!(tiny.report()["agree"], 1);
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let tiny = Tiny::new("");
    for (args, names) in [
        (&["tinny26"][..], "tiny26"),
        (&["tiny26", "--only", "table2"], "table1"),
        (&["--markdown", "/no/such/file.md"], "/no/such/file.md"),
        (&["--jobs", "0"], "--jobs"),
    ] {
        let output = tiny.reproduce(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", told(&output));
        assert!(told(&output).contains(names) && told(&output).lines().count() == 1, "{args:?}: {}", told(&output));
    }
    let output = Tiny::new("[[row]]\nname = 'x'\nargs = '--workload randon'\nseeds = [1]").reproduce(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("tiny26/table1: x: ") && told(&output).contains("random"), "{}", told(&output));
    assert!(!tiny.path("a").exists(), "nothing is made for what is refused");
}

#[test]
fn what_needs_a_file_system_is_left_out_and_named() {
    let tiny = Tiny::new("");
    let row = "[[row]]\nname = 'r'\nargs = '--chip geometry:2048:16:64'\nseeds = [1]\n[row.andrew]\nkeep = 1\n\
        mkfs = ''\nmount = 'dirsync'\nhost_s = [0, 0, 0, 0, 0, 0]\n";
    fs::write(tiny.path("papers/tiny26/table2.toml"), format!("title = 'Table 2'\n{row}")).expect("a new file");
    let output = tiny.reproduce(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("tiny26/table2 needs a file system"));
    assert_eq!(tiny.report()["needs_guests"], serde_json::json!(["tiny26/table2"]));
    assert_eq!(tiny.report()["experiments"].as_array().map(Vec::len), Some(1));
    let html = fs::read_to_string(tiny.path("a/b/report.html")).expect("HTML");
    assert!(html.contains("Not run: tiny26/table2 needs"));
    let output = tiny.reproduce(&["--only", "table2"]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("--guests"), "{}", told(&output));
}

#[test]
fn the_papers_are_built_in() {
    let output = Command::new(BIN).args(["reproduce", "kawaguchi95", "--only", "table0"]).output();
    let output = output.expect("the command can be started");
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("table4, table5, table6, table7"), "{}", told(&output));
}
