//! Recordings that cannot be made, and those that fail.

use std::fs;
use std::path::Path;

use wearwell_soak::client::{Client, FLUSH, TRIM, WRITE};

use crate::served::{Served, wait_until};
use crate::{image, wearwell};

fn refused(args: &[&str], told: &str) {
    let output = wearwell(args);
    let line = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{args:?}: {line}");
    assert!(line.contains("--record") && line.contains(told) && line.lines().count() == 1, "{args:?}: {line}");
}

#[test]
fn a_file_that_exists_is_kept_unless_it_may_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace.csv").to_str().expect("UTF-8").to_owned();
    fs::write(&trace, "precious").expect("written");
    let record = ["serve", "--memory", "1MiB", "--run", "true", "--record", &trace];
    refused(&record, "--force");
    assert_eq!(fs::read(&trace).expect("a file"), b"precious");
    let forced = wearwell(&[&record[..], &["--force"]].concat());
    assert!(forced.status.success(), "{}", String::from_utf8_lossy(&forced.stderr));
    assert!(fs::read(&trace).expect("a file").starts_with(b"clock_us,"));
    let to_device = wearwell(&["serve", "--memory", "1MiB", "--run", "true", "--record", "/dev/null"]);
    assert!(to_device.status.success(), "{}", String::from_utf8_lossy(&to_device.stderr));
}

/// Also one that is empty again: its chip is not as a replay's.
#[test]
fn an_image_that_was_written_to_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let trace = folder.path().join("trace.csv").to_str().expect("UTF-8").to_owned();
    assert!(wearwell(&["serve", &image, "--run", "true"]).status.success(), "serving alone is no use");
    assert!(wearwell(&["serve", &image, "--record", &trace, "--run", "true"]).status.success());
    fs::remove_file(&trace).expect("a recording");
    for (kind, bytes) in [(WRITE, 8192), (TRIM, 1 << 20)] {
        let served = Served::start(&image, &[]);
        let mut client = Client::connect(Path::new(&format!("{image}.sock")), "").expect("a server");
        let data = vec![7; if kind == WRITE { bytes as usize } else { 0 }];
        let cookie = client.send(0, kind, 0, bytes, &data).expect("sent");
        assert_eq!(client.reply(cookie, 0).expect("a reply"), Ok(vec![]));
        assert_eq!(served.end().0, Some(0));
        refused(&["serve", &image, "--record", &trace, "--run", "true"], "written to before");
        assert!(!Path::new(&trace).exists(), "nothing is left behind");
    }
}

#[test]
fn a_recording_that_fails_is_told_at_once_and_in_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let served = Served::start(&image, &["--record", "/dev/full"]);
    let mut client = Client::connect(Path::new(&format!("{image}.sock")), "").expect("a server");
    let mut write = |offset: u64| {
        let cookie = client.send(0, WRITE, offset, 512, &[7; 512]).expect("sent");
        client.reply(cookie, 0).expect("a reply")
    };
    // More rows than are held back.
    assert!((0..6000).all(|step| write(step % 2000 * 512).is_ok()), "the disk is served on");
    wait_until("it is said", || served.said().contains("the recording failed: No space left on device"));
    for _ in 0..2 {
        let stats = wearwell(&["ctl", &image, "stats"]);
        assert_eq!(stats.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&stats.stdout).contains("host bytes"));
        assert!(String::from_utf8_lossy(&stats.stderr).contains("the recording failed: No space left"));
    }
    let cookie = client.send(0, FLUSH, 0, 0, b"").expect("sent");
    assert_eq!(client.reply(cookie, 0).expect("a reply"), Ok(vec![]));
    let (code, said) = served.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.lines().last().is_some_and(|line| line.contains("the recording failed")), "{said}");
    assert_eq!(wearwell(&["inspect", &image]).status.code(), Some(0));
    assert_eq!(wearwell(&["check", &image]).status.code(), Some(0), "the disk itself was closed well");
}
