//! What runs report beyond the totals: windows, requests, warnings, and how far they are from a bound.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

fn wearwell(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wearwell")).args(args).output().expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A run on a small device, as JSON.
fn run(args: &[&str]) -> Value {
    let output =
        wearwell(&[&["run", "--chip", "geometry:4KiB:16:72", "--logical", "4MiB", "--json", "-"], args].concat());
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn count(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} in {value}"))
}

#[test]
fn the_second_half_is_the_difference_of_two_runs() {
    // Halves that no batch of requests ends at.
    for [whole, half] in [["8MiB", "4MiB"], ["8200KiB", "4100KiB"]] {
        let zipf = ["--workload", "zipf:0.99", "--which", "cost-benefit", "--where", "separate-gc", "--write"];
        let (whole, first) = (run(&[&zipf[..], &[whole]].concat()), run(&[&zipf[..], &[half]].concat()));
        let second = &whole["second_half"];
        for name in ["host_pages", "copied_pages", "programmed_pages", "erases"] {
            assert_eq!(count(second, name), count(&whole, name) - count(&first, name), "{name} behind {half}");
        }
        assert!(second["wa_data"].as_f64() > first["wa_data"].as_f64(), "cleaning began in the first half");
        assert_eq!(whole["windows"], Value::Array(Vec::new()));
    }
}

#[test]
fn windows_add_up_to_the_run() {
    let report = run(&["--workload", "zipf:0.99", "--write", "8MiB", "--window", "1000KiB"]);
    let windows = report["windows"].as_array().expect("a list");
    assert_eq!(windows.len(), 9, "the last is shorter");
    for name in ["host_pages", "copied_pages", "programmed_pages", "erases"] {
        let sum: u64 = windows.iter().map(|window| count(window, name)).sum();
        assert_eq!(sum, count(&report, name), "{name}");
    }
    let ends: Vec<u64> = windows.iter().map(|window| count(window, "to_host_bytes") >> 10).collect();
    assert_eq!(ends, [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 8192]);
    let shown = wearwell(&["run", "--chip", "geometry:4KiB:16:72", "--workload", "random", "--window", "2MiB"]);
    assert!(text(&shown.stdout).contains("in the second half") && text(&shown.stdout).contains("host bytes"));
    let refused = wearwell(&["run", "--workload", "random", "--window", "1KiB"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--window 1KiB makes no sense"), "{}", text(&refused.stderr));
}

#[test]
fn a_program_has_a_second_half_by_transactions() {
    let phone = ["--chip", "w25n01gv", "--logical", "8MiB", "--workload", "cell-phone"];
    let half = run(&phone)["second_half"].clone();
    let (from, to) = (count(&half, "from_host_bytes"), count(&half, "to_host_bytes"));
    assert!((0.45..0.55).contains(&(from as f64 / to as f64)), "{half}");
}

#[test]
fn requests_are_counted_and_a_trace_that_is_cut_short_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let [trace, page] = ["trace.csv", "page.html"].map(|name| folder.path().join(name).display().to_string());
    let rows = "0,W,0,8192\n1,D,0,4096\n2,D,4096,512\n3,W,0,8192\n4,R,0,4096\n";
    fs::write(&trace, format!("time_us,op,offset,length\n{rows}")).expect("written");
    let workload = format!("trace:{trace}");
    let whole = run(&["--workload", &workload]);
    assert_eq!(whole["requests"], serde_json::json!({"read": 5, "served": 4, "refused": 1}));
    assert_eq!(whole["warnings"], Value::Array(Vec::new()));

    let cut = ["--workload", &workload, "--write", "8KiB"];
    let report = run(&cut);
    assert_eq!(report["requests"], serde_json::json!({"read": 5, "served": 1, "refused": 0}));
    let warning = "the trace was cut short: --write ended it after 1 of its 5 requests";
    assert_eq!(report["warnings"], serde_json::json!([warning]));
    let output = wearwell(&[&["run", "--html", &page], &cut[..]].concat());
    assert_eq!(text(&output.stderr), format!("wearwell: warning: {warning}\n"));
    assert!(text(&output.stdout).contains("5 read, 1 served, 0 refused"), "{}", text(&output.stdout));
    assert!(fs::read_to_string(&page).expect("written").contains(warning));
}

#[test]
fn a_policy_that_was_overruled_says_so() {
    let by_place = |place: &str, when: &str| run(&["--workload", "zipf:0.99", "--where", place, "--when", when]);
    let run = |which: &str, when: &str| run(&["--workload", "zipf:0.99", "--which", which, "--when", when]);
    let overruled = run("cost-benefit", "watermark:2:3");
    let warning = overruled["warnings"][0].as_str().expect("a warning").to_owned();
    assert!(warning.starts_with("cost-benefit was overruled: "), "{warning}");
    assert_eq!(overruled["map_digest"], run("greedy", "watermark:2:3")["map_digest"], "it was greedy");
    assert_eq!(run("greedy", "watermark:2:3")["warnings"], serde_json::json!([]), "greedy is what it would have done");
    assert_eq!(run("cost-benefit", "watermark:3:4")["warnings"], serde_json::json!([]));

    let warning = by_place("midas", "watermark:2:3")["warnings"][0].as_str().expect("midas chooses victims").to_owned();
    assert!(warning.starts_with("midas was overruled: "), "{warning}");
    assert_eq!(by_place("dac:6", "watermark:2:3")["warnings"], serde_json::json!([]), "it only places");
    let midas = by_place("midas", "watermark:3:4")["warnings"].clone();
    let only = midas.as_array().filter(|all| all.len() == 1).and_then(|all| all[0].as_str()).expect("one warning");
    assert!(only.starts_with("midas uses 5 classes on 72 segments"), "it chose, and has too many: {only}");

    let policies = ["compare", "--policies", "greedy,cat", "--chip", "geometry:4KiB:16:72", "--workload", "random"];
    let compared = wearwell(&[&policies[..], &["--when", "watermark:2:3"]].concat());
    let told = text(&compared.stderr);
    assert!(told.contains("warning: cat: cat was overruled") && !told.contains("greedy:"), "{told}");
}

#[test]
fn too_many_classes_for_the_device_say_so() {
    let warnings = |place: &str, segments: u32| {
        let chip = format!("geometry:4KiB:8:{segments}");
        let logical = format!("{}KiB", segments * 8 * 3);
        let device = ["run", "--chip", &chip, "--logical", &logical, "--where", place, "--workload", "random"];
        let output = wearwell(&[&device[..], &["--write", "16MiB", "--json", "-"]].concat());
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(count(&report, "cleanings") > 0, "{place} on {segments}");
        report["warnings"].clone()
    };
    for (place, segments) in [("single", 16), ("separate-gc", 64), ("dac:6", 240), ("dac:15", 600)] {
        assert_eq!(warnings(place, segments), serde_json::json!([]), "{place} on {segments}");
    }
    for (place, segments, in_use, most) in [("dac:6", 64, 6, 2), ("dac:6", 236, 6, 5), ("sepbit", 120, 5, 3)] {
        let told = format!(
            "{place} uses {in_use} classes on {segments} segments, and each keeps a segment open that cleaning then \
             lacks: take at most {most} classes, or {} segments, 40 for each class",
            40 * in_use
        );
        assert_eq!(warnings(place, segments), serde_json::json!([told]), "{place} on {segments}");
    }
}

#[test]
fn bounds_are_a_table_and_a_column() {
    let device = ["--chip", "geometry:4KiB:8:80", "--logical", "2MiB", "--write", "8MiB"];
    let shown = wearwell(&[&["bound", "zipf:0.99", "--groups", "3", "--open", "4"], &device[..]].concat());
    let table = text(&shown.stdout);
    for row in ["single ", "known-rate ", "nodap:2 ", "nodap:3 ", "sorted-runs:4 ", "no strict bound"] {
        assert!(table.contains(row), "no {row} in {table}{}", text(&shown.stderr));
    }
    assert!(!table.contains("nodap:4"));
    let compared = wearwell(&[&["compare", "--bound", "--workload", "zipf:0.99"], &device[..]].concat());
    assert!(text(&compared.stdout).contains("gap closed"), "{}", text(&compared.stderr));
    let gap = run(&[&["--bound", "--workload", "zipf:0.99"], &device[..]].concat())["gap"].clone();
    assert!(gap["bound"].as_f64() < gap["single"].as_f64() && gap["name"] == "nodap:7", "{gap}");

    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace.csv");
    let rows: String = (0..2000).map(|i| format!("{i},W,{},4096\n", i * 7 % 512 * 4096)).collect();
    fs::write(&trace, format!("time_us,op,offset,length\n{rows}")).expect("written");
    let args =
        ["bound", trace.to_str().expect("UTF-8"), "--chip", "geometry:4KiB:8:80", "--groups", "2", "--json", "-"];
    let output = wearwell(&[&args[..], &["--open", "4", "--logical", "2MiB"]].concat());
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!(json["bounds"][0]["name"], "single");
    for (args, told) in [
        (&["bound", "zipf:0.99", "--groups", "1"][..], "--groups 1 makes no sense"),
        (&["bound", "zipff:0.99", "--groups", "3"][..], "did you mean `zipf:THETA`"),
        (&["bound", "--groups", "3", "--seed", "1"][..], "<WORKLOAD|TRACE> is missing"),
        (&["bound", "random", "--ftl", "fast"][..], "--ftl fast has no bounds: they are for page mapping"),
        (&["bound", "no/trace.csv"][..], "no/trace.csv: No such file"),
    ] {
        let output = wearwell(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(told), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn bounds_say_what_changes_nothing() {
    // With fewer segments than sorted-runs would have open by default.
    let device = ["--chip", "geometry:4KiB:32:40", "--logical", "4MiB", "--write", "8MiB"];
    let output = wearwell(&[&["bound", "random", "--groups", "2", "--where", "dac:6"], &device[..]].concat());
    assert_eq!(text(&output.stderr), "wearwell: warning: --where changes nothing with wearwell bound\n");
    let table = text(&output.stdout);
    assert!(table.contains("sorted-runs:32 ") && !table.contains("sorted-runs:64"), "{table}");
    let named = wearwell(&[&["bound", "random", "--open", "64"], &device[..]].concat());
    assert!(text(&named.stderr).contains("--open 64 makes no sense: the device has 40 segments"));

    let compared = ["compare", "--bound", "--workload", "sequential", "--window", "4MiB", "--policies", "greedy,cat"];
    let runs = wearwell(&[&compared[..], &device[..]].concat());
    assert!(text(&runs.stderr).contains("--bound found no gap to close"), "{}", text(&runs.stderr));
    assert_eq!(text(&runs.stdout).matches("host bytes").count(), 2, "windows of both: {}", text(&runs.stdout));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.html");
    wearwell(&[&compared[..], &device[..], &["--html", file.to_str().expect("UTF-8")]].concat());
    let page = fs::read_to_string(&file).expect("written");
    for name in ["greedy", "cat"] {
        let (_, windows) = page.split_once(&format!("<h2>{name}</h2>")).expect("its windows");
        assert!(windows.contains("<th>host bytes</th>"), "{windows}");
    }
}

#[test]
#[cfg(not(target_os = "linux"))]
fn commands_of_another_system_are_no_typing_errors() {
    for command in ["create", "serve"] {
        let output = wearwell(&[command, "disk.ww"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(command) && said.contains("are for Linux") && !said.contains("did you mean"), "{said}");
    }
    assert!(!text(&wearwell(&["--help"]).stdout).contains("Disks:"));
}

/// Placement, victim policy and digest: what revision 2531d25, before the engine was taken apart, printed as well. The
/// layout `plain` has kept every digest since (docs/performance.md).
const DIGESTS: [(&str, &str, &str); 12] = [
    ("single", "greedy", "eca02933b4d6fabb"),
    ("single", "greedy-first", "f62fc531940d3fdc"),
    ("single", "cost-benefit", "9668cff94dc80091"),
    ("single", "lfs", "16c2a0ce67b4dce0"),
    ("single", "cat", "0b92cffe8f472005"),
    ("single", "fifo", "409fff44e584a621"),
    ("single", "random", "6ad0a1f91bb5aea7"),
    ("single", "d-choices:3", "0b79ac4e39b39d4a"),
    ("single", "windowed-greedy:4", "bbf2f15cd9990cfd"),
    ("separate-gc", "cost-benefit", "a53a876e665de6b4"),
    ("hot-cold-readonly", "cost-benefit", "1c0c0ee49f109b7c"),
    ("by-stream-shared", "cost-benefit", "a53a876e665de6b4"),
];

#[test]
fn a_recorded_build_ends_where_it_always_did() {
    let trace = concat!("trace:", env!("CARGO_MANIFEST_DIR"), "/traces/build-ext4.csv.zst");
    let device = ["--workload", trace, "--chip", "geometry:4KiB:64:432", "--logical", "96MiB"];
    for (place, which, digest) in DIGESTS {
        let output = wearwell(&[&["run", "--json", "-", "--where", place, "--which", which], &device[..]].concat());
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["map_digest"], digest, "{place}, {which}");
    }
}
