//! What a served disk counts: bytes as bytes, pages as pages, each once.

use std::path::Path;

use serde_json::Value;
use wearwell_soak::client::{Client, NO_HOLE, TRIM, WRITE, WRITE_ZEROES};

use crate::{image, serving, signal, wearwell};

fn stats(image: &str) -> Value {
    let stats = wearwell(&["ctl", image, "stats", "--json"]);
    assert!(stats.status.success(), "{}", String::from_utf8_lossy(&stats.stderr));
    serde_json::from_slice(&stats.stdout).expect("JSON")
}

fn number(stats: &Value, field: &str) -> u64 {
    stats[field].as_u64().unwrap_or_else(|| panic!("{field} in {stats}"))
}

/// Does a request that must succeed.
fn done(client: &mut Client, flags: u16, kind: u16, offset: u64, bytes: u32) {
    let data = vec![7; if kind == WRITE { bytes as usize } else { 0 }];
    let cookie = client.send(flags, kind, offset, bytes, &data).expect("sent");
    client.reply(cookie, 0).expect("a reply").expect("no error");
}

#[test]
fn bytes_are_bytes_and_the_pieces_of_a_request_count_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let (mut child, _) = serving(&[&image, "--idle", "off"]);
    let socket = format!("{image}.sock");
    let mut plain = Client::connect(Path::new(&socket), "").expect("a server");
    let mut stream = Client::connect(Path::new(&socket), "@stream=5").expect("a server");
    // A page has 2048 bytes. What is written, in how many pages of the plain client and of stream 5.
    let steps: [(u16, u16, u64, u32, u64, u64); 7] = [
        (0, WRITE, 0, 512, 1, 1),
        (0, WRITE, 100, 2048, 2, 1),
        (0, WRITE, 2048 + 100, 6144, 4, 1),
        (0, WRITE, 700, 9, 1, 1),
        (0, WRITE, 3000, 2500, 2, 1),
        (NO_HOLE, WRITE_ZEROES, 100_000, 200_000, 99, 1),
        (0, TRIM, 0, 65_536, 0, 0),
    ];
    let (mut pages, mut bytes) = ([0, 0], 0);
    for (flags, kind, offset, length, plain_pages, stream_pages) in steps {
        done(&mut plain, flags, kind, offset, length);
        let streamed = if kind == TRIM { 0 } else { 512 };
        if streamed > 0 {
            done(&mut stream, 0, WRITE, 512 * 1024, streamed);
            bytes += u64::from(length + streamed);
        }
        pages = [pages[0] + plain_pages, pages[1] + stream_pages];
        let seen = stats(&image);
        let written = format!("{length} bytes at {offset}");
        assert_eq!(
            (number(&seen, "host_pages"), number(&seen, "host_bytes")),
            (pages[0] + pages[1], bytes),
            "{written}"
        );
        let streams = seen["streams"].as_array().expect("a list");
        let of = |id: u64| streams.iter().find(|s| s["id"] == id).map(|s| number(s, "host_pages"));
        assert_eq!((of(0), of(5)), (Some(pages[0]), Some(pages[1])), "{written}");
    }
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
}

#[test]
fn write_amplification_is_told_in_pages_and_in_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let (mut child, _) = serving(&[&image, "--idle", "off"]);
    let mut client = Client::connect(Path::new(&format!("{image}.sock")), "").expect("a server");
    for sector in 0..1024 {
        // In no order that a buffer could join.
        done(&mut client, 0, WRITE, sector * 7 % 1024 * 512, 512);
    }
    let seen = stats(&image);
    assert_eq!((number(&seen, "host_bytes"), number(&seen, "host_pages")), (512 * 1024, 1024));
    let flash_bytes = number(&seen, "programmed_pages") * 2048;
    assert_eq!(number(&seen, "flash_bytes"), flash_bytes);
    assert_eq!(seen["wa_bytes"], flash_bytes as f64 / (512.0 * 1024.0));
    let (bytes, pages) = (seen["wa_bytes"].as_f64().expect("a number"), seen["wa_total"].as_f64().expect("a number"));
    assert!((bytes / pages - 4.0).abs() < 1e-9, "a quarter of each page: {bytes} and {pages}");
    let text = wearwell(&["ctl", &image, "stats"]);
    let text = String::from_utf8(text.stdout).expect("UTF-8");
    assert!(text.contains("host bytes           524,288\n"), "{text}");
    assert!(text.contains(&format!("bytes ÷ bytes {bytes:.3}\n")) && text.contains("pages ÷ pages "), "{text}");
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
}

/// A replay does the calls that were recorded: as many pages and erases, and the same map.
#[test]
fn requests_of_any_bytes_are_replayed_to_the_same_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let trace = folder.path().join("trace.csv").to_str().expect("UTF-8").to_owned();
    let (mut child, _) = serving(&[&image, "--idle", "off", "--record", &trace]);
    let mut client = Client::connect(Path::new(&format!("{image}.sock")), "").expect("a server");
    for step in 0..3000_u64 {
        done(&mut client, 0, WRITE, step * 104_729 % 1_000_000, 1 + (step * 7919 % 9000) as u32);
    }
    let served = stats(&image);
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
    let chip = ["--chip", "geometry:2048:16:64", "--logical", "1MiB", "--data", "stored"];
    let run = wearwell(&[&["run", "--workload", &format!("trace:{trace}"), "--json", "-"][..], &chip].concat());
    let replayed: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    for field in ["erases", "copied_pages", "programmed_pages", "host_pages", "map_digest", "erase_count", "streams"] {
        assert_eq!(served[field], replayed[field], "{field}");
    }
    assert!(number(&served, "erases") > 100 && number(&served, "host_bytes") < number(&replayed, "host_bytes"));
}
