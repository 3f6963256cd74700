//! The command from outside: its JSON, its listings, its refusals and its exit codes.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const BIN: &str = env!("CARGO_BIN_EXE_wearwell");

fn wearwell(args: &[&str]) -> Output {
    Command::new(BIN).args(args).output().expect("the command can be started")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// A small run that has everything: times, cleaning, a workload.
const SMALL: &[&str] = &["run", "--logical", "8MiB", "--chip", "geometry:2048:16:320", "--workload"];

fn small<'a>(workload: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [SMALL, &[workload], more].concat()
}

fn json(args: &[&str]) -> Value {
    let output = wearwell(&[args, &["--json", "-"]].concat());
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("standard output is JSON and nothing else")
}

/// The command refuses: exit code 2, nothing on standard output, one line that names all of `told`.
fn assert_refused(args: &[&str], told: &[&str]) {
    let output = wearwell(args);
    let line = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {line}");
    assert_eq!(stdout(&output), "", "{args:?}");
    assert!(line.starts_with("wearwell: ") && line.trim_end().lines().count() == 1, "{args:?}: not one line: {line}");
    for told in told {
        assert!(line.contains(told), "{args:?}: no '{told}' in: {line}");
    }
}

#[test]
fn the_report_has_every_field_of_the_contract() {
    let report = json(&["run", "--workload", "random", "--logical", "16MiB", "--write", "16MiB"]);
    for field in [
        "config",
        "host_pages",
        "copied_pages",
        "programmed_pages",
        "erases",
        "wa_data",
        "wa_total",
        "erase_count",
        "sim_seconds",
        "throughput_kib_s",
        "latency_us",
        "utilization",
        "op",
        "spare",
        "lifetime_host_bytes",
        "wall_seconds",
        "host_pages_per_wall_second",
        "map_digest",
    ] {
        assert!(report.get(field).is_some(), "{field}");
    }
    for field in [
        "chip",
        "data",
        "ftl",
        "layout",
        "when",
        "which",
        "where",
        "wear",
        "logical",
        "fill",
        "workload",
        "write",
        "unit",
        "seed",
        "host_us_per_page",
        "logical_pages",
        "physical_pages",
        "max_ops_per_host_page",
        "table_bytes_per_logical_page",
        "table_bytes_per_physical_page",
    ] {
        assert!(report["config"].get(field).is_some(), "config.{field}");
    }
    for field in ["min", "max", "mean", "stddev"] {
        assert!(report["erase_count"][field].is_number(), "erase_count.{field}");
    }
    for field in ["mean", "p50", "p99", "p999", "max"] {
        assert!(report["latency_us"][field].is_number(), "latency_us.{field}");
    }
    assert_eq!(report["config"]["when"], "watermark:3:4");
    assert_eq!(report["map_digest"].as_str().map(str::len), Some(16));
    let untimed = json(&small("random", &[]));
    for field in ["sim_seconds", "throughput_kib_s", "latency_us"] {
        assert!(untimed[field].is_null(), "{field}");
    }
}

#[test]
fn a_chips_own_watermark_is_the_default() {
    let args = ["run", "--chip", "chiang-series2plus", "--workload", "random", "--write", "1MiB"];
    assert_eq!(json(&args)["config"]["when"], "watermark:3:4");
    let when = ["--when", "watermark:5%:8%"];
    assert_eq!(json(&[&args[..], &when].concat())["config"]["when"], "watermark:5%:8%");
}

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let run = |seed: &str| {
        let mut report = json(&small("zipf:0.99", &["--seed", seed]));
        for wall in ["wall_seconds", "host_pages_per_wall_second", "pages_programmed_per_wall_second"] {
            report[wall] = Value::Null;
        }
        report
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7")["map_digest"], run("8")["map_digest"]);
}

#[test]
fn a_sequential_overwrite_has_a_write_amplification_of_one() {
    let output = wearwell(&small("sequential", &[]));
    assert!(output.status.success());
    assert!(
        stdout(&output).contains("pages ÷ pages 1.000 data, 1.000 total; bytes ÷ bytes 1.000"),
        "{}",
        stdout(&output)
    );
    assert_eq!(json(&small("sequential", &[]))["wa_total"], 1.0);
}

#[test]
fn unknown_names_are_refused_with_the_nearest() {
    for (flag, typed, meant) in [
        ("--chip", "w25n01gw", "w25n01gv"),
        ("--data", "store", "stored"),
        ("--ftl", "pages", "page"),
        ("--layout", "nnad", "nand"),
        ("--when", "watermrk:3:4", "watermark"),
        ("--which", "gredy", "greedy"),
        ("--where", "hot-cold", "hot-cold-readonly"),
        ("--wear", "dynamc", "dynamic"),
        ("--workload", "radnom", "random"),
    ] {
        let workload: &[&str] = if flag == "--workload" { &[] } else { &["--workload", "random"] };
        assert_refused(&[&["run", flag, typed], workload].concat(), &[flag, typed, meant]);
    }
    assert_refused(&["run", "--workload", "random", "--lgical", "1MiB"], &["--lgical", "--logical"]);
    assert_refused(&["rnu"], &["rnu", "run"]);
    assert_refused(&["compare", "--workload", "random", "--policies", "greedy,kat"], &["kat", "cat"]);
    assert_refused(&["compare", "--workload", "random", "--with", "whihc=cat"], &["whihc", "which"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert_refused(&["run"], &["--workload"]);
    assert_refused(&small("random", &["--logical", "9GiB"]), &["--logical 9GiB", "reserve", "at most"]);
    assert_refused(&small("random", &["--unit", "3KiB"]), &["--unit 3KiB", "2048"]);
    assert_refused(&small("random", &["--unit", "big"]), &["--unit", "big"]);
    assert_refused(&small("random", &["--fill", "120%"]), &["--fill", "120%"]);
    assert_refused(&small("random", &["--ftl", "fast", "--log-blocks", "1"]), &["--log-blocks", "at least 2"]);
    assert_refused(&small("random", &["--recycle", "optimum"]), &["did you mean optimal"]);
    assert_refused(&small("random", &["--layout", "nor"]), &["--layout nor", "nand"]);
    assert_refused(&small("random", &["--when", "watermark:9:4"]), &["marks"]);
    assert_refused(&["run", "--workload", "random", "--chip", "geometry:1000:8:8"], &["page_bytes", "1000"]);
    assert_refused(&["run", "--workload", "random", "--chip", "nowhere.toml"], &["nowhere.toml"]);
    assert_refused(&small("random", &["--json", "/nowhere/report.json"]), &["/nowhere/report.json"]);
    assert_refused(&["compare", "--workload", "random", "--json", "-", "--csv", "-"], &["--csv"]);
}

#[test]
fn a_faulty_trace_is_refused_with_file_line_and_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        format!("trace:{}", path.display())
    };
    let head = "time_us,op,offset,length\n0,W,0,4096\n";
    let odd = write("odd.csv", format!("{head}5,W,zero,4096\n").as_bytes());
    assert_refused(&small(&odd, &[]), &["odd.csv", "line 3", "zero"]);
    let beyond = write("beyond.csv", format!("{head}5,W,8388608,4096\n").as_bytes());
    assert_refused(&small(&beyond, &[]), &["request 2", "8388608", "--logical"]);
    let packed = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("traces/postmark-ext4.csv.zst")).expect("shipped");
    let cut = write("cut.csv.zst", &packed[..packed.len() / 2]);
    assert_refused(&small(&cut, &[]), &["cut.csv.zst", "line "]);
    assert_refused(&small("trace:none.csv", &[]), &["none.csv"]);
    let fine = write("fine.csv", head.as_bytes());
    assert_eq!(json(&small(&fine, &["--data", "stored"]))["host_pages"], 2);
}

#[test]
fn a_report_goes_to_a_file_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.json");
    let output = wearwell(&small("random", &["--json", path.to_str().expect("UTF-8")]));
    assert!(output.status.success() && stdout(&output).contains("write amplification"));
    let report: Value = serde_json::from_slice(&fs::read(&path).expect("written")).expect("JSON");
    assert!(report["erases"].as_u64() > Some(0));
    assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1, "nothing is left beside it");
}

#[test]
fn what_is_no_file_is_written_and_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let is_json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).is_ok_and(|report| report["erases"].is_u64());
    let (link, real, fifo) = (at("link"), at("real"), at("fifo"));
    std::os::unix::fs::symlink(&real, &link).expect("linked");
    for there_before in [false, true] {
        assert!(wearwell(&small("random", &["--json", &link])).status.success(), "there before: {there_before}");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink(), "the link is still one");
        assert!(is_json(&fs::read(&real).expect("written where it leads")));
        fs::write(&real, "old").expect("written");
    }
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    let reader = Command::new("cat").arg(&fifo).stdout(Stdio::piped()).spawn().expect("cat runs");
    assert!(wearwell(&small("random", &["--json", &fifo])).status.success());
    assert!(is_json(&reader.wait_with_output().expect("read").stdout));
    assert!(!fs::metadata(&fifo).expect("there").is_file(), "the pipe is still one");
    assert!(is_json(&wearwell(&small("random", &["--json", "/dev/stdout"])).stdout), "and nothing else there");
    assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 3, "nothing is left beside them");
}

#[test]
fn a_result_that_cannot_be_written_is_told_all_the_same() {
    // By a link, so that a command that replaces what it is given replaces no device of this machine.
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("full").to_str().expect("UTF-8").to_owned();
    std::os::unix::fs::symlink("/dev/full", &link).expect("linked");
    let output = wearwell(&small("random", &["--json", &link]));
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("write amplification") && stderr(&output).contains(&link));
    let full = fs::File::options().write(true).open("/dev/full").expect("there is one");
    let help = Command::new(BIN).arg("--help").stdout(full).stderr(Stdio::piped()).output().expect("started");
    assert_eq!(help.status.code(), Some(1), "{}", stderr(&help));
}

#[test]
fn flags_that_can_only_be_mistakes_are_refused() {
    assert_refused(&small("random", &["--device", "usr,0"]), &["--device usr,0", "random"]);
    assert_refused(&small("random", &["--log-blocks", "0"]), &["--log-blocks"]);
    for hold in ["nan", "-5", "inf"] {
        assert_refused(&small("random", &[&format!("--hold={hold}")]), &["--hold"]);
    }
    assert_refused(&small("random", &["--wear", "swap:101"]), &["--wear", "at most 100"]);
    assert_refused(&small("random", &["--unit", "512GiB"]), &["--unit", "smaller"]);
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces/build-ext4.csv.zst");
    let trace = format!("trace:{}", trace.display());
    assert_refused(&["run", "--workload", &trace, "--unit", "7"], &["--unit 7"]);
    assert_refused(&["run", "--workload", &trace, "--device", "foo"], &["foo", "names no devices"]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r").to_str().expect("UTF-8").to_owned();
    assert_refused(&["compare", "--workload", "random", "--json", &path, "--csv", &path], &["two results"]);
    assert_refused(&["ctl", "d.ww"], &["a command is missing", "wearwell ctl --help"]);
    assert_refused(&["ctl"], &["a command is missing", "wearwell ctl --help"]);
    assert_refused(&["trace"], &["a command is missing", "wearwell trace --help"]);
    assert_refused(&["ctl", "d.ww", "stast"], &["'stast' of wearwell ctl", "did you mean 'stats'"]);
}

#[test]
fn flags_that_change_nothing_are_told() {
    let told = |more: &[&str], flag: &str| {
        let output = wearwell(&small("random", more));
        assert!(output.status.success(), "{more:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(&format!("warning: {flag} changes nothing")), "{more:?}: {}", stderr(&output));
    };
    for (flag, value) in [("--which", "cat"), ("--where", "by-stream"), ("--when", "watermark:3:4")] {
        told(&["--ftl", "log-block", flag, value], flag);
    }
    told(&["--recycle", "merge-only"], "--recycle");
    told(&["--log-blocks", "4"], "--log-blocks");
    let quiet = wearwell(&small("random", &["--which", "cat"]));
    assert_eq!(stderr(&quiet), "");
}

#[test]
fn what_does_not_apply_is_null_and_not_compared() {
    let base = ["compare", "--chip", "geometry:2048:16:320", "--workload", "zipf:0.99", "--logical", "4MiB", "--ftl"];
    let reports = json(&[&base[..], &["log-block"]].concat());
    let names: Vec<&str> = reports.as_array().expect("a list").iter().filter_map(|r| r["name"].as_str()).collect();
    assert_eq!(names, ["merge-only", "cost-based", "optimal"]);
    for field in ["when", "which", "where"] {
        assert!(reports[0]["config"].get(field).is_some_and(Value::is_null), "{field}");
    }
    assert_refused(&[&base[..], &["fast"]].concat(), &["--ftl fast", "--with"]);
}

#[test]
fn more_choices_than_segments_take_the_best_of_all() {
    let all = json(&small("random", &["--which", "d-choices:4294967295"]));
    assert!(all["wa_data"].as_f64() <= json(&small("random", &["--which", "d-choices:2"]))["wa_data"].as_f64());
}

#[test]
fn parameters_by_name_are_those_in_order() {
    let in_order = ["--where", "dac:4", "--when", "idle:3:5:9", "--wear", "swap:80"];
    let by_name = ["--where", "dac:regions=4", "--when", "idle:idle=9:low=3:high=5", "--wear", "swap:percent=80"];
    let report = json(&small("random", &by_name));
    let same = json(&small("random", &in_order));
    assert_eq!((&report["config"], &report["map_digest"]), (&same["config"], &same["map_digest"]));
    assert_eq!(report["config"]["where"], "dac:4");
    let compared = ["compare", "--workload", "random", "--with", "where=dac:region=4"];
    assert_refused(&compared, &["region", "regions=", "It takes regions"]);
}

#[test]
fn every_field_of_a_report_is_in_the_book() {
    fn keys(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                found.push(name.clone());
                keys(value, found);
            }),
            Value::Array(list) => list.iter().for_each(|value| keys(value, found)),
            _ => {}
        }
    }
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/simulate/report.md");
    let book = fs::read_to_string(book).expect("the book");
    let aware = ["--data", "stored", "--aware", "ordered-host", "--host-us-per-page", "1"];
    let chip = ["run", "--chip", "w25n01gv", "--logical", "40MiB", "--workload", "files:small", "--write", "1MiB"];
    let mut found = Vec::new();
    keys(&json(&[&chip[..], &aware].concat()), &mut found);
    assert!(found.len() > 80, "{}", found.len());
    let missing: Vec<&String> = found.iter().filter(|name| !book.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "not in report.md: {missing:?}");
}

#[test]
fn a_page_has_every_chart_of_a_run_and_of_a_comparison() {
    let folder = tempfile::tempdir().expect("a folder");
    let charts = |args: &[&str]| {
        let path = folder.path().join("page.html");
        let output = wearwell(&[args, &["--html", path.to_str().expect("UTF-8")]].concat());
        assert!(output.status.success() && !output.stdout.is_empty());
        let page = fs::read_to_string(&path).expect("written");
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n") && !page.contains("http"));
        assert!(page.contains(&format!("<pre>wearwell {} ", args[0])), "the command line");
        assert!(page.contains(concat!("Made by wearwell ", env!("CARGO_PKG_VERSION"))));
        page.matches("<svg").count()
    };
    let chip = ["--chip", "chiang-series2plus", "--workload", "random", "--write", "4MiB"];
    assert_eq!(charts(&[&["run"], &chip[..]].concat()), 8);
    assert_eq!(charts(&[&["compare", "--policies", "greedy,cat"], &chip[..]].concat()), 10);
    let untimed = ["run", "--chip", "geometry:2048:16:64", "--workload", "random"];
    assert_eq!(charts(&untimed), 6, "without times there are no throughput and no latency");
    let page = stdout(&wearwell(&[&untimed[..], &["--html", "-"]].concat()));
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "nothing else is on standard output");
    let both = wearwell(&[&untimed[..], &["--html", "-", "--json", "-"]].concat());
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn compare_puts_every_policy_in_table_json_and_csv() {
    let base = ["compare", "--chip", "geometry:2048:16:320", "--workload", "hot:90/10", "--logical", "8MiB"];
    let with = ["--policies", "greedy,d-choices:3", "--with", "name=chiang,which=cat,where=hot-cold-readonly"];
    let args = [&base[..], &with].concat();
    let table = stdout(&wearwell(&args));
    let reports = json(&args);
    let names: Vec<&str> = reports.as_array().expect("a list").iter().filter_map(|r| r["name"].as_str()).collect();
    assert_eq!(names, ["greedy", "d-choices:3", "chiang"]);
    assert!(names.iter().all(|name| table.contains(name)), "{table}");
    assert_eq!(reports[2]["config"]["where"], "hot-cold-readonly");
    let csv = wearwell(&[&args[..], &["--csv", "-"]].concat());
    let csv = stdout(&csv);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].starts_with("name,config.chip,") && lines[0].contains("erase_count.stddev"), "{}", lines[0]);
    let alone = json(&["run", "--chip", base[2], "--workload", "hot:90/10", "--logical", "8MiB", "--which", "greedy"]);
    assert_eq!(reports[0]["map_digest"], alone["map_digest"], "side by side or alone: the same run");
}

#[test]
fn listings_are_plain_lines_off_a_terminal() {
    let chips = stdout(&wearwell(&["chips"]));
    assert!(chips.lines().any(|l| l.starts_with("w25n01gv  ") && l.contains("Winbond W25N01GV")), "{chips}");
    assert!(chips.lines().all(|line| line.contains("  ")), "{chips}");
    let policies = stdout(&wearwell(&["policies"]));
    for name in ["greedy", "watermark:LOW:HIGH", "hot-cold-readonly", "static-threshold:15", "zipf:THETA"] {
        assert!(policies.lines().any(|line| line.starts_with(&format!("{name}  "))), "{name}: {policies}");
    }
    for listing in ["chips", "policies"] {
        let output = wearwell(&[listing, "--json"]);
        let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(list.as_array().is_some_and(|list| list.len() >= 10), "{listing}");
    }
    let readme = include_str!("../../../README.md");
    let of = |flag: &str| policies.lines().filter(|line| line.contains(&format!("  --{flag} "))).count();
    let [when, which, place, wear, recycle] = ["when", "which", "where", "wear", "recycle"].map(of);
    let counts = format!("{when} when, {which} which, {place} where, {wear} wear, {recycle} recycling");
    assert!(readme.contains(&counts), "{counts}");
    assert!(readme.contains(&format!("{} profiles of real parts", chips.lines().count())), "{chips}");
}

/// A folder, and in it the name of an image that does not exist yet.
fn image() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.ww").to_str().expect("UTF-8").to_owned();
    (folder, path)
}

fn flag_json(args: &[&str]) -> Value {
    let output = wearwell(&[args, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {}", stderr(&output)))
}

#[test]
fn a_disk_is_made_with_the_flags_of_a_run_and_says_so() {
    let (_folder, path) = image();
    let chip = ["--chip", "geometry:2048:64:128", "--logical", "8MiB"];
    let flags = [&chip[..], &["--which", "cat", "--where", "by-stream", "--when", "watermark:5%:8%"]].concat();
    let made = wearwell(&[&["create", &path], &flags[..]].concat());
    assert!(made.status.success() && stdout(&made).contains("8 MiB for the host"), "{}", stderr(&made));
    let before = fs::read(&path).expect("the image");
    let seen = flag_json(&["inspect", &path, "--segments"]);
    for (key, value) in [("which", "cat"), ("where", "by-stream"), ("when", "watermark:5%:8%"), ("layout", "nand")] {
        assert_eq!(seen["engine"][key], value);
    }
    assert_eq!(seen["chip"]["blocks"], 128);
    assert_eq!((&seen["capacity"]["host_bytes"], &seen["map"]["mapped_pages"]), (&(8 << 20).into(), &0.into()));
    assert_eq!(seen["segments"].as_array().map(Vec::len), Some(128));
    assert_eq!(seen["mount"]["clean_shutdown"], true);
    let text = stdout(&wearwell(&["inspect", &path]));
    assert!(text.contains("which cat") && text.contains("in good order"), "{text}");
    let checked = wearwell(&["check", &path]);
    assert!(checked.status.success() && stdout(&checked).contains("whole"), "{}", stdout(&checked));
    assert!(fs::read(&path).expect("the image") == before, "looking writes nothing");
    assert_refused(&[&["create", &path], &flags[..]].concat(), &["disk.ww", "exists"]);
}

#[test]
fn a_disk_that_makes_no_sense_is_refused_and_leaves_no_file() {
    let (folder, path) = image();
    for (flags, told) in [
        (["--ftl", "in-place"], "in-place"),
        (["--layout", "plain"], "plain"),
        (["--layout", "nor"], "--layout nor"),
        (["--logical", "1TiB"], "--logical"),
        (["--streams", "inferred"], "--aware strict"),
        (["--which", "gredy"], "greedy"),
    ] {
        assert_refused(&[&["create", &path], &flags[..]].concat(), &[told]);
    }
    assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 0);
    for command in ["inspect", "check"] {
        assert_refused(&[command, &path], &["disk.ww", "No such file"]);
    }
    fs::write(&path, "something else").expect("written");
    for command in ["inspect", "check"] {
        assert_refused(&[command, &path], &["disk.ww", "not a disk image"]);
        assert_refused(&[command, folder.path().to_str().expect("UTF-8")], &["not a disk image (no plain file)"]);
    }
}

#[test]
fn a_check_of_a_damaged_disk_ends_with_1_and_says_where() {
    let (_folder, path) = image();
    let made = wearwell(&["create", &path, "--chip", "geometry:2048:64:128", "--logical", "8MiB"]);
    assert!(made.status.success(), "{}", stderr(&made));
    let good = fs::read(&path).expect("the image");
    let damaged = |at: usize, told: &str| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&path, bytes).expect("written");
        let output = wearwell(&["check", &path]);
        assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
        assert!(stdout(&output).contains(told) && stderr(&output).contains("1 thing is wrong"), "{}", stdout(&output));
        assert_eq!(flag_json(&["check", &path])["findings"].as_array().map(Vec::len), Some(1));
    };
    damaged(3, "the mark (byte 3)");
    damaged(9, "the version is 258 (byte 8)");
    damaged(30, "checksum at byte 12");
    damaged(65_536 + 20, "checksum");
    let header = good.len() - 2048 * 64 * 128;
    damaged(header, "page 0 of block 0 was changed");
    fs::write(&path, &good[..good.len() - 1]).expect("written");
    let output = wearwell(&["check", &path]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("its chip needs"), "{}", stdout(&output));
}

#[test]
fn help_is_no_error() {
    for args in [&[][..], &["--help"], &["run", "--help"], &["help", "run"], &["--version"]] {
        let output = wearwell(args);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let mut child = Command::new(BIN)
        .args(["policies"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command can be started");
    drop(child.stdout.take());
    let mut complaint = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut complaint).expect("UTF-8");
    assert_eq!(complaint, "");
    assert!(child.wait().expect("ends").code().is_some());
}

#[test]
fn a_short_demo_finds_everything_where_it_must_be() {
    let output = wearwell(&["demo", "--cuts", "3", "--requests", "3000"]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(text.contains("nothing lost") && text.contains("greedy") && text.contains("cost-benefit"), "{text}");
}

#[test]
fn traces_are_looked_at_converted_and_split() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (trace, parts, one) = (path("trace.csv"), path("parts"), path("one.csv"));
    // Tencent's: seconds, sector, sectors, write, volume.
    let row = |at: u64| format!("{},{},8,1,{}\n", at / 10, at * 8, 100 + at % 2);
    fs::write(&trace, (0..100).map(row).collect::<String>()).expect("a file");
    let stats = wearwell(&["trace", "stats", &trace, "--json"]);
    let stats: Value = serde_json::from_slice(&stats.stdout).expect("JSON");
    assert_eq!(
        (&stats[0]["device"], &stats[0]["writes"], &stats[1]["requests"]),
        (&"100".into(), &50.into(), &50.into())
    );
    let head = stdout(&wearwell(&["trace", "head", &trace, "--rows", "2"]));
    assert_eq!(head.lines().count(), 3, "{head}");
    assert!(head.starts_with("time_us,op,offset,length,stream,device\n0,W,0,4096,0,\"100\"\n"), "{head}");
    assert_refused(&["trace", "convert", &trace], &["trace.csv: line 2", "--device"]);
    assert!(wearwell(&["trace", "convert", &trace, "--device", "100", "--to", &one]).status.success());
    let columns = path("all.parquet");
    assert!(wearwell(&["trace", "convert", &trace, "--to", &columns]).status.success());
    let of_columns = wearwell(&["trace", "stats", &columns, "--json"]);
    assert_eq!(serde_json::from_slice::<Value>(&of_columns.stdout).expect("JSON"), stats);
    let split = wearwell(&["trace", "split", &trace, "--into", &parts]);
    assert!(split.status.success() && stdout(&split).lines().count() == 2, "{split:?}");
    let digest =
        |arguments: &[&str]| json(&[arguments, &["--chip", "geometry:4096:64:64"]].concat())["map_digest"].clone();
    let whole = digest(&["run", "--workload", &format!("trace:{trace}"), "--device", "100"]);
    assert_eq!(whole, digest(&["run", "--workload", &format!("trace:{one}")]));
    assert_eq!(whole, digest(&["run", "--workload", &format!("trace:{columns}"), "--device", "100"]));
    assert_eq!(whole, digest(&["run", "--workload", &format!("trace:{parts}/100.csv.zst")]));
    assert_refused(&["trace", "split", &trace, "--into", &parts], &["parts", "exists"]);
}

/// A run that takes minutes.
const LONG: &[&str] = &["run", "--logical", "64MiB", "--workload", "random", "--write", "64TiB"];

/// `script` gives the command a terminal, and copies to its own standard output what the terminal shows.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_how_far_a_run_is() {
    let line = format!("exec {BIN} {}", LONG.join(" "));
    let mut run = Command::new("script")
        .args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script can be started");
    let (mut shown, mut piece) = (String::new(), [0; 512]);
    let out = run.stdout.as_mut().expect("a pipe");
    // On a slow machine a bar of the first fill comes before that of the workload.
    while !(shown.contains("workload") && shown.contains(" %")) {
        let bytes = out.read(&mut piece).expect("the terminal can be read");
        assert!(bytes > 0, "the run ended, and showed only {shown:?}");
        shown.push_str(&String::from_utf8_lossy(&piece[..bytes]));
    }
    // `script` hands the signal on. If it were killed, the command might outlive it.
    assert!(Command::new("kill").arg(run.id().to_string()).status().expect("kill can be started").success());
    run.wait().expect("it ended");
}

#[test]
fn a_pipe_gets_no_progress() {
    let mut run =
        Command::new(BIN).args(LONG).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
    // Twice as long as a terminal shows nothing.
    std::thread::sleep(std::time::Duration::from_secs(2));
    run.kill().expect("it still runs");
    let output = run.wait_with_output().expect("it ended");
    assert_eq!((stdout(&output), stderr(&output)), (String::new(), String::new()));
}
