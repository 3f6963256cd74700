//! How much room an image takes in the file system below it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use wearwell_soak::client::{Client, FLUSH, TRIM, WRITE};

use crate::served::{Served, wait_until};
use crate::wearwell;

fn free_segments(metrics: &str) -> u32 {
    let sample = metrics.lines().find_map(|line| line.strip_prefix("wearwell_free_segments "));
    sample.expect("a sample").parse().expect("a number")
}

#[test]
fn a_trimmed_disk_is_small_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = folder.path().join("disk.ww").to_str().expect("UTF-8").to_owned();
    assert!(wearwell(&["create", &image, "--size", "32MiB"]).status.success());
    let taken = || fs::metadata(&image).expect("an image").blocks() * 512;
    let fresh = taken();
    let served = Served::start(&image, &["--idle", "on"]);
    let mut client = Client::connect(Path::new(&format!("{image}.sock")), "").expect("a server");
    let mut done = |kind: u16, offset: u64, data: &[u8], bytes: u32| {
        let cookie = client.send(0, kind, offset, bytes, data).expect("sent");
        client.reply(cookie, 0).expect("a reply").expect("no error");
    };
    for at in 0..32 {
        done(WRITE, at << 20, &[at as u8 + 1; 1 << 20], 1 << 20);
    }
    done(FLUSH, 0, b"", 0);
    let full = taken();
    assert!(full > fresh + (32 << 20), "{full}");
    done(TRIM, 1 << 20, b"", 31 << 20);
    // Erased in idle time, until 287 segments are free. One flush makes that durable, and then all of it is given back
    // in idle time. What is erased behind the flush keeps its space until the next one.
    wait_until("it is erased", || free_segments(&served.get("/metrics")) > 280);
    done(WRITE, 0, &[7; 512], 512);
    done(FLUSH, 0, b"", 0);
    wait_until("it is small again", || taken() < fresh + (4 << 20));
    assert_eq!(served.end().0, Some(0));
    assert_eq!(wearwell(&["check", &image]).status.code(), Some(0));
}
