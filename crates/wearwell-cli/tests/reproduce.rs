//! `wearwell reproduce` from outside: its files, verdicts, refusals and exit codes, on experiments of a few pages. It
//! also compares the verdicts on some rows of the papers, so that a change is noticed.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const BIN: &str = env!("CARGO_BIN_EXE_wearwell");

/// Tables of the papers that run in seconds.
const TABLES: [(&str, &str); 9] = [
    ("kawaguchi95", "table4"),
    ("kawaguchi95", "table5"),
    ("kawaguchi95", "table6"),
    ("chiang97", "table3"),
    ("chiang97", "section4"),
    ("lee07", "figure4"),
    ("lee07", "figure8"),
    ("lee07", "figure10"),
    ("lim14", "write"),
];

/// Figures that a run's report has by the same name.
const SAME: [&str; 4] = ["erases", "copied_pages", "cleanings", "merges"];

/// Rows of the papers that run in a fraction of a second.
const ROWS: [(&str, &str, &str); 10] = [
    ("kawaguchi95", "table4", "30 %"),
    ("kawaguchi95", "table6", "cost-benefit"),
    ("kawaguchi95", "table7", "90 %, separate segment"),
    ("chiang97", "table3", "sequential, greedy"),
    ("chiang97", "figure8", "95/5, CAT"),
    ("chiang97", "table3", "random, cost-benefit"),
    ("lee07", "figure11", "event recorder: merge-only"),
    ("lee07", "figure11", "fax: merge + migration"),
    ("lim14", "write", "64 KiB: single"),
    ("lim14", "random-write", "64 KiB: by stream"),
];

/// The common arguments of the rows.
const ARGS: &str = "--chip geometry:2048:16:64 --logical 1536KiB --write 1MiB --workload";

/// A folder with one paper, one table of two rows, and space for the report.
struct Tiny(TempDir);

impl Tiny {
    /// What follows in the second row, and in the file that is about the paper.
    fn new(second: &str, about: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let tiny = Self(folder);
        fs::create_dir_all(tiny.path("papers/tiny26")).expect("a new folder");
        let table = format!(
            "title = 'Table 1: <small>'\n\
             [[row]]\nname = 'sequential'\nargs = '{ARGS} sequential'\npublished = {{ copied_pages = 0 }}\n\
             [[row]]\nname = 'random & more'\nargs = '{ARGS} random'\n{second}\n"
        );
        fs::write(tiny.path("papers/tiny26/table1.toml"), table).expect("a new file");
        fs::write(tiny.path("papers/tiny26/paper.toml"), format!("title = 'Tiny'\n{about}")).expect("a new file");
        tiny
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

    fn item(&self, row: usize, figure: &str) -> Value {
        let items = self.report()["papers"][0]["tables"][0]["rows"][row]["items"].clone();
        let found = items.as_array().expect("items").iter().find(|item| item["figure"] == figure).cloned();
        found.expect("the item")
    }

    /// The verdict on erases of the second row.
    fn verdict(&self, more: &[&str]) -> String {
        let output = self.reproduce(more);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        self.item(1, "erases")["verdict"].as_str().expect("a verdict").to_owned()
    }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_reproduction_writes_three_files_and_the_tables() {
    let claim = "[[claim]]\nsays = 'more copies'\nfigure = 'copied_pages'\nis = 'less'\n\
        pairs = [['table1: sequential', 'table1: random & more']]";
    let tiny = Tiny::new("", claim);
    let marked = "before\n<!-- results: tiny26/table1 -->\n<!-- end of results -->\nbehind\n";
    fs::write(tiny.path("TABLES.md"), marked).expect("a new file");
    let markdown = tiny.path("TABLES.md").to_string_lossy().into_owned();
    let output = tiny.reproduce(&["tiny26", "--only", "table1", "--jobs", "2", "--markdown", &markdown]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("seeds 1 to 10: 2 agree, 0 explained, 0 contradict, 0 unexplained, 0 not run"), "{said}");
    assert_eq!(tiny.report()["verdicts"]["agree"], 2);
    let csv = fs::read_to_string(tiny.path("a/b/report.csv")).expect("CSV");
    assert!(csv.starts_with("paper,item,row,figure,") && csv.contains("tiny26,table1,random & more,erases,,"), "{csv}");
    let html = fs::read_to_string(tiny.path("a/b/report.html")).expect("HTML");
    assert!(html.contains("random &amp; more") && html.contains("Table 1: &lt;small&gt;"));
    for link in html.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert_eq!(html.matches(&format!("id=\"{link}\"")).count(), 1, "{link}");
    }
    let [reversed, nav] = ["id=\"reversed\"", "<nav"].map(|what| html.find(what).expect("it is on the page"));
    assert!(reversed < nav, "what is reversed is on the first screen");
    assert!(html.contains(">not published</td>"), "an item without a verdict says why");
    let contents = html.split("<nav").nth(1).and_then(|rest| rest.split("</nav>").next()).expect("contents");
    assert!(contents.contains("Table 1: &lt;small&gt;") && html.contains("<pre>wearwell reproduce "));
    let text = fs::read_to_string(&markdown).expect("the tables");
    assert!(
        text.starts_with("before\n") && text.ends_with("\nbehind\n") && text.contains("**Table 1: <small>**"),
        "{text}"
    );
}

#[test]
fn a_page_loads_nothing_and_closes_what_it_opens() {
    let tiny = Tiny::new("note = 'x < y'", "[[choice]]\nname = 'a </td><script>'\nsentence = 's'\nadd = '--fill 90%'");
    assert_eq!(tiny.reproduce(&[]).status.code(), Some(0));
    let html = fs::read_to_string(tiny.path("a/b/report.html")).expect("HTML");
    for outside in ["http:", "https:", "src=", "@import", "url(", "<link", "<script"] {
        assert!(!html.contains(outside), "{outside}");
    }
    let mut open: Vec<&str> = Vec::new();
    for tag in html.split('<').skip(1) {
        let name = tag.split(['>', ' ', '\n']).next().expect("a tag has a name");
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
            None if name.starts_with('!')
                || name == "meta"
                || tag.split('>').next().is_some_and(|t| t.ends_with('/')) => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty() && html.contains("x &lt; y"), "{open:?}");
}

#[test]
fn a_row_measures_what_wearwell_run_measures() {
    let tiny = Tiny::new("", "");
    assert_eq!(tiny.reproduce(&["--seeds", "3", "--first-seed", "5"]).status.code(), Some(0));
    let erases = |seed: &str| {
        let mut command = Command::new(BIN);
        let args = format!("run {ARGS} random --seed {seed} --json -");
        let output = command.args(args.split(' ')).output().expect("the command can be started");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        report["erases"].as_f64().expect("erases")
    };
    let each = ["5", "6", "7"].map(erases);
    let item = tiny.item(1, "erases");
    assert_eq!(item["by_seed"], serde_json::json!(each));
    let mean = item["measured"]["mean"].as_f64().expect("a mean");
    assert!((mean - each.iter().sum::<f64>() / 3.0).abs() < 1e-9, "{item}");
    let nothing_drawn = tiny.item(0, "erases");
    assert_eq!((&nothing_drawn["measured"]["half"], &nothing_drawn["measured"]["runs"]), (&0.0.into(), &2.into()));
}

/// What the second row measures without and with a choice.
fn erases_with(workload: &str) -> f64 {
    let tiny = Tiny::new(&format!("[[row]]\nname = 'other'\nargs = '{ARGS} {workload}'"), "");
    assert_eq!(tiny.reproduce(&[]).status.code(), Some(0));
    tiny.item(2, "erases")["measured"]["mean"].as_f64().expect("a mean")
}

#[test]
fn a_choice_explains_what_it_brings_in_unless_something_else_leaves() {
    let choice = "[[choice]]\nname = 'hot'\nsentence = 's'\nchange = { '--workload random' = '--workload hot:90/10' }";
    let (random, hot) = (erases_with("random"), erases_with("hot:90/10"));
    assert!((random / hot - 1.0).abs() > 0.15, "the choice has to matter: {random}, {hot}");
    let published = format!("published = {{ erases = {hot} }}");
    assert_eq!(Tiny::new(&published, "").verdict(&[]), "unexplained");
    assert_eq!(Tiny::new(&published, choice).verdict(&[]), "explained");
    let also = format!("published = {{ erases = {hot}, copied_pages = 1e9 }}");
    assert_eq!(Tiny::new(&also, choice).verdict(&[]), "unexplained", "it has to bring in the whole row");
    let other =
        format!("{published}\n[[row]]\nname = 'other'\nargs = '{ARGS} random'\npublished = {{ erases = {random} }}");
    let tiny = Tiny::new(&other, choice);
    assert_eq!(tiny.verdict(&[]), "unexplained", "another row leaves its tolerance");
    assert!(tiny.item(1, "erases")["because"].as_str().is_some_and(|why| why.contains("takes away table1: other")));
}

#[test]
fn only_strict_ends_with_one_for_what_does_not_agree() {
    let code = |second: &str, more: &[&str]| Tiny::new(second, "").reproduce(more).status.code();
    let published = "published = { erases = 1000000 }";
    assert_eq!(
        (code(published, &[]), code(published, &["--strict"]), code("", &["--strict"])),
        (Some(0), Some(1), Some(0))
    );
    let cannot = "[[row]]\nname = 'r'\ncannot = 'why'\npublished = { erases = 5 }";
    assert_eq!((code(cannot, &[]), code(cannot, &["--strict"])), (Some(0), Some(1)));
}

#[test]
fn a_reversed_ordering_contradicts() {
    let of = |is: &str| {
        let claim = format!(
            "[[claim]]\nsays = 'c'\nfigure = 'copied_pages'\nis = '{is}'\n\
             pairs = [['table1: sequential', 'table1: random & more']]"
        );
        let tiny = Tiny::new("", &claim);
        assert_eq!(tiny.reproduce(&[]).status.code(), Some(0));
        tiny.report()["papers"][0]["claims"][0]["verdict"].clone()
    };
    assert_eq!((of("less"), of("more"), of("as-much")), ("agrees".into(), "contradicts".into(), "unexplained".into()));
}

#[test]
fn one_seed_gives_figures_and_no_verdicts() {
    let tiny = Tiny::new("published = { erases = 1000000 }", "");
    let output = tiny.reproduce(&["--quick"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("no verdicts"));
    assert_eq!(tiny.item(1, "erases")["verdict"], Value::Null);
}

#[test]
fn a_run_that_fails_is_told_and_the_rest_is_written() {
    let tiny = Tiny::new(
        "[[row]]\nname = 'no room'\nargs = '--chip geometry:2048:16:64 --logical 8TiB --workload random'",
        "",
    );
    let output = tiny.reproduce(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains("tiny26/table1: no room: "), "{}", told(&output));
    assert_eq!(tiny.report()["verdicts"]["agree"], 1);
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let tiny = Tiny::new("", "");
    for (args, names) in [
        (&["tinny26"][..], "tiny26"),
        (&["tiny26", "--only", "table2"], "table1"),
        (&["--markdown", "/no/such/file.md"], "/no/such/file.md"),
        (&["--jobs", "0"], "--jobs"),
        (&["--seeds", "1"], "--seeds"),
    ] {
        let output = tiny.reproduce(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", told(&output));
        assert!(told(&output).contains(names) && told(&output).lines().count() == 1, "{args:?}: {}", told(&output));
    }
    let output = Tiny::new("[[row]]\nname = 'x'\nargs = '--workload randon'", "").reproduce(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("tiny26/table1: x: ") && told(&output).contains("random"), "{}", told(&output));
    let idle = "[[choice]]\nname = 'idle'\nsentence = 's'\nchange = { '--no' = '--way' }";
    assert!(told(&Tiny::new("", idle).reproduce(&[])).contains("touches no row"));
    let lost = "[[claim]]\nsays = 'c'\nfigure = 'erases'\nis = 'more'\npairs = [['table1: a', 'table1: b']]";
    assert!(told(&Tiny::new("", lost).reproduce(&[])).contains("there is no row 'table1: a'"));
    assert!(!tiny.path("a").exists(), "nothing is made for what is refused");
}

#[test]
fn what_needs_a_file_system_is_a_row_that_says_so() {
    let row = "[[row]]\nname = 'r'\nargs = '--chip geometry:2048:16:64'\n\
        published = { erases = 1 }\n[row.andrew]\nkeep = 1\n\
        mkfs = ''\nmount = 'dirsync'\nhost_s = [0, 0, 0, 0, 0, 0]\n";
    let tiny = Tiny::new(row, "");
    let output = tiny.reproduce(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(tiny.item(2, "erases")["verdict"], "not-run");
    let html = fs::read_to_string(tiny.path("a/b/report.html")).expect("HTML");
    assert!(html.contains("it runs with --guests, as root"));
}

#[test]
fn the_papers_are_built_in() {
    let output = Command::new(BIN).args(["reproduce", "kawaguchi95", "--only", "table0"]).output();
    let output = output.expect("the command can be started");
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("table4, table5, table6, table7"), "{}", told(&output));
}

/// The record of the papers: each figure with each seed, from the report of `cargo xtask papers`.
fn record() -> Vec<csv::StringRecord> {
    let written = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/figures.csv");
    csv::Reader::from_path(written).expect("the record").records().collect::<Result<_, _>>().expect("CSV")
}

/// The tables that run in seconds must give the recorded figures with the first seed, to the digit. Another figure
/// means that wearwell has changed, and the verdicts may have; `cargo xtask papers` writes the record again.
#[test]
fn figures_are_those_written_down() {
    let record = record();
    for (paper, table) in TABLES {
        let out = TempDir::new().expect("a temporary folder");
        let mut command = Command::new(BIN);
        command.args(["reproduce", paper, "--only", table, "--quick", "--out"]).arg(out.path());
        let output = command.output().expect("the command can be started");
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        let mut found = csv::Reader::from_path(out.path().join("report.csv")).expect("CSV");
        let mut figures = 0;
        for line in found.records().map(|line| line.expect("CSV")).filter(|line| !line[10].is_empty()) {
            let is_it = |old: &&csv::StringRecord| (0..4).all(|at| old[at] == line[at]);
            let old = record.iter().find(is_it).expect("the figure is on record");
            assert_eq!(old[10].split(' ').next(), Some(&line[10]), "{line:?}");
            figures += 1;
        }
        assert!(figures > 0, "{paper}/{table}");
    }
}

/// The command beside a figure gives it to the digit, for rows that run in a fraction of a second.
#[test]
fn a_printed_command_gives_the_figure_beside_it() {
    let record = record();
    for (paper, table, row) in ROWS {
        let figures = record.iter().filter(|line| [&line[0], &line[1], &line[2]] == [paper, table, row]);
        let lines: Vec<_> = figures.filter(|line| SAME.contains(&&line[3])).collect();
        let command = lines.first().expect("the row is on record")[11].strip_prefix("wearwell ").expect("a command");
        let output = Command::new(BIN).args(command.split(' ')).args(["--json", "-"]).output();
        let output = output.expect("the command can be started");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        for line in lines {
            let told: f64 = line[10].split(' ').next().expect("a figure").parse().expect("a number");
            assert_eq!(report[&line[3]].as_f64(), Some(told), "{line:?}");
        }
    }
}
