//! The metrics, as Prometheus reads them.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use wearwell_soak::client::{Client, FLUSH, READ, WRITE};

use crate::served::Served;
use crate::{image, wearwell};

const EIO: u32 = 5;
const EINVAL: u32 = 22;

/// The value of a sample.
fn value(metrics: &str, sample: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("wearwell_{sample} ")));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{sample} in {metrics}"))
}

#[test]
fn a_scrape_says_what_was_read_what_failed_and_who_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let served = Served::start(&image, &[]);
    let mut client = Client::connect(Path::new(&format!("{image}.sock")), "").expect("a server");
    let mut done = |kind: u16, offset: u64, bytes: u32| {
        let data = vec![7; if kind == WRITE { bytes as usize } else { 0 }];
        let cookie = client.send(0, kind, offset, bytes, &data).expect("sent");
        client.reply(cookie, if kind == READ { bytes } else { 0 }).expect("a reply").map(drop)
    };
    assert_eq!((done(WRITE, 0, 5000), done(FLUSH, 0, 0), done(READ, 3, 1000)), (Ok(()), Ok(()), Ok(())));
    assert_eq!(done(READ, 1 << 20, 512), Err(EINVAL));
    let before = served.get("/metrics");
    assert_eq!(value(&before, "host_read_bytes_total"), 1000.0);
    assert_eq!(value(&before, "host_written_bytes_total"), 5000.0);
    assert_eq!(value(&before, "errors_total{reason=\"refused\"}"), 1.0);
    assert_eq!(value(&before, "errors_total{reason=\"power_off\"}"), 0.0);
    assert_eq!(value(&before, "connections{at=\"disk\"}"), 1.0);
    assert!(value(&before, "connections_total") >= 2.0);
    assert_eq!(value(&before, &format!("build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))), 1.0);
    assert_eq!(value(&before, "health{state=\"healthy\"}"), 1.0);
    assert!(wearwell(&["ctl", &image, "cut"]).status.success());
    assert_eq!((done(READ, 0, 512), done(WRITE, 0, 512)), (Err(EIO), Err(EIO)));
    let after = served.get("/metrics");
    assert_eq!(value(&after, "errors_total{reason=\"power_off\"}"), 2.0);
    for metrics in [before, after] {
        is_well_formed(&metrics);
        check_with_promtool(&metrics);
    }
}

/// Each family has one head, before all of its samples and with nothing else between them; only counters end in
/// `_total`; and `quantile` is for summaries, of which there is none.
fn is_well_formed(metrics: &str) {
    let (mut families, mut family, mut kind) = (BTreeSet::new(), String::new(), String::new());
    let mut lines = metrics.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            family = help.split(' ').next().unwrap_or_default().to_owned();
            assert!(families.insert(family.clone()), "{family} comes twice");
            let of =
                lines.next().and_then(|line| line.strip_prefix("# TYPE ")?.strip_prefix(&family)).unwrap_or_default();
            kind = of.trim().to_owned();
            assert_eq!(family.ends_with("_total"), kind == "counter", "{family} {kind}");
            continue;
        }
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let endings: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        assert!(endings.iter().any(|ending| name == format!("{family}{ending}")), "{line} below {family}");
        assert!(!line.contains("quantile="), "{line}");
        assert!(line.rsplit(' ').next().is_some_and(|value| value.parse::<f64>().is_ok()), "{line}");
    }
    assert!(families.len() > 15, "{families:?}");
}

/// Prometheus's own opinion, where its tool is installed.
fn check_with_promtool(metrics: &str) {
    let promtool = std::env::var_os("PROMTOOL").unwrap_or_else(|| "promtool".into());
    let started = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut tool) = started else { return eprintln!("skipped: there is no promtool") };
    tool.stdin.take().expect("a pipe").write_all(metrics.as_bytes()).expect("it reads");
    let output = tool.wait_with_output().expect("an end");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.trim().is_empty(), "{said}");
}
