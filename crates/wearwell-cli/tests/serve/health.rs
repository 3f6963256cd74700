//! What a served disk says of itself when things go wrong.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use wearwell_soak::client::{Client, FLUSH, READ, TRIM, WRITE};

use crate::served::{Served, wait_until};
use crate::{image, wearwell};

const EIO: u32 = 5;
const ENOSPC: u32 = 28;

fn client(image: &str) -> Client {
    Client::connect(Path::new(&format!("{image}.sock")), "").expect("a server")
}

/// Does a request; the error number if it is refused.
fn done(client: &mut Client, kind: u16, offset: u64, bytes: u32) -> Result<Vec<u8>, u32> {
    let data = vec![7; if kind == WRITE { bytes as usize } else { 0 }];
    let cookie = client.send(0, kind, offset, bytes, &data).expect("sent");
    client.reply(cookie, if kind == READ { bytes } else { 0 }).expect("a reply")
}

fn health(image: &str) -> Value {
    let stats = wearwell(&["ctl", image, "stats", "--json"]);
    serde_json::from_slice::<Value>(&stats.stdout).expect("JSON")["health"].clone()
}

fn first_line(args: &[&str]) -> String {
    let output = wearwell(args);
    String::from_utf8(output.stdout).expect("UTF-8").lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_healthy_disk_says_so_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let served = Served::start(&image, &[]);
    let line = "healthy; 100 % of the spare left, 0 bad segments, 0 lost pages";
    assert!(first_line(&["ctl", &image, "stats"]).ends_with(&format!(" {line}")));
    let state: Value = serde_json::from_str(&served.get("/state.json")).expect("JSON");
    assert_eq!((&state["health_line"], &state["health"]["state"]), (&line.into(), &"healthy".into()));
    let page = served.get("/");
    let (head, first) = (page.find("</h1>").expect("a head"), page.find("id=\"health\"").expect("a place for it"));
    assert!(page[head + 5..first].trim() == "<p", "the first line below the head");
    assert!(served.get("/metrics").contains("\nwearwell_health{state=\"healthy\"} 1\n"));
    let (code, said) = served.end();
    assert_eq!((code, said.contains("the disk is")), (Some(0), false), "{said}");
    assert!(first_line(&["inspect", &image]).ends_with(line));
}

#[test]
fn a_worn_out_disk_is_read_only_everywhere_and_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let served = Served::start(&image, &[]);
    let mut client = client(&image);
    assert_eq!((done(&mut client, WRITE, 0, 2048), done(&mut client, FLUSH, 0, 0)), (Ok(vec![]), Ok(vec![])));
    assert!(wearwell(&["ctl", &image, "fault", "--program", "0.5", "--erase", "0.5"]).status.success());
    let mut refused = None;
    for step in 0..20_000_u64 {
        if let Err(error) = done(&mut client, WRITE, 2048 + step * 104_729 % 500 * 2048, 2048) {
            refused = Some(error);
            break;
        }
    }
    assert_eq!(refused, Some(ENOSPC), "more blocks failed than there were to spare");
    let seen = health(&image);
    assert_eq!((&seen["state"], &seen["spare_percent"]), (&"read-only".into(), &0.into()), "{seen}");
    assert!(
        seen["bad_segments"].as_u64() > Some(0) && seen["why"].as_str().is_some_and(|why| why.contains("worn out"))
    );
    assert!(first_line(&["ctl", &image, "stats"]).contains("read-only: worn out"));
    assert!(served.get("/state.json").contains("\"health_line\":\"read-only: worn out"));
    let metrics = served.get("/metrics");
    for line in ["health{state=\"read-only\"} 1", "health{state=\"healthy\"} 0", "spare_segments 0"] {
        assert!(metrics.contains(&format!("\nwearwell_{line}\n")), "{line}: {metrics}");
    }
    wait_until("it is said", || served.said().contains("the disk is read-only: worn out"));
    assert_eq!(done(&mut client, READ, 0, 2048), Ok(vec![7; 2048]), "reads go on");
    let (code, said) = served.end();
    assert_eq!(code, Some(1), "{said}");
    for gone in ["sock", "ctl", "pid"] {
        assert!(!Path::new(&format!("{image}.{gone}")).exists(), "{gone}");
    }

    let line = first_line(&["inspect", &image]);
    assert!(!line.contains("healthy") && line.contains(" 0 % of the spare left"), "{line}");
    let served = Served::start(&image, &[]);
    let mut client = self::client(&image);
    wait_until("it is said", || served.said().contains("the disk is "));
    assert_eq!(done(&mut client, READ, 0, 2048), Ok(vec![7; 2048]), "what was flushed is there");
    let (code, said) = served.end();
    assert_eq!(code, Some(1), "{said}");
}

/// No page of a block can be read any more, so that nothing in it says which pages lived there.
#[test]
fn what_was_destroyed_is_an_error_and_said_by_every_command() {
    const PAGE: usize = 2048;
    const BLOCK_PAGES: usize = 16;
    /// SPEC.md: where the records of pages lie, the bytes of one, and the state of a page with too many wrong bits.
    const RECORDS: (usize, usize, u8) = (65_536 + 4096 + 4096, 8, 2);
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let served = Served::start(&image, &[]);
    let mut writer = client(&image);
    assert_eq!((done(&mut writer, WRITE, 0, 1 << 20), done(&mut writer, FLUSH, 0, 0)), (Ok(vec![]), Ok(vec![])));
    assert_eq!(served.end().0, Some(0));
    let mut bytes = fs::read(&image).expect("an image");
    let pages = bytes[bytes.len() - 64 * BLOCK_PAGES * PAGE..].chunks(PAGE);
    let first = pages.clone().position(|page| page == [7; PAGE]).expect("data");
    let held = pages.skip(first).take(BLOCK_PAGES - 1).filter(|page| *page == [7; PAGE]).count() as u64;
    // A block's first page is its header.
    for page in first - 1..first - 1 + BLOCK_PAGES {
        bytes[RECORDS.0 + page * RECORDS.1] = RECORDS.2;
    }
    fs::write(&image, bytes).expect("written");

    let line =
        format!("degraded: the content of pages was lost; 100 % of the spare left, 0 bad segments, {held} lost pages");
    assert!(held > 8 && first_line(&["inspect", &image]).ends_with(&line), "{}", first_line(&["inspect", &image]));
    assert_eq!(wearwell(&["check", &image]).status.code(), Some(1));
    let served = Served::start(&image, &[]);
    let mut reader = client(&image);
    wait_until("it is said", || served.said().contains(&format!("the disk is {line}")));
    assert!(first_line(&["ctl", &image, "stats"]).ends_with(&line));
    assert!(served.get("/metrics").contains(&format!("\nwearwell_lost_pages {held}\n")));
    let reads: Vec<_> = (0..512).map(|page| done(&mut reader, READ, page * PAGE as u64, PAGE as u32)).collect();
    assert_eq!(reads.iter().filter(|read| **read == Err(EIO)).count() as u64, held);
    assert_eq!(reads.iter().filter(|read| **read == Ok(vec![7; PAGE])).count() as u64, 512 - held, "never zeros");
    assert_eq!(served.end().0, Some(1));
}

/// A file system in memory of 3 MiB; none if this user may not mount one.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=3m", "wearwell-test"]).arg(folder.path()).output();
        mount.is_ok_and(|mount| mount.status.success()).then_some(Self(folder))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_file_system_is_said_and_the_disk_recovers_when_there_is_room() {
    let Some(small) = Small::mount() else {
        return eprintln!("skipped: a file system can only be mounted by root");
    };
    let image = image(small.0.path());
    let served = Served::start(&image, &[]);
    let mut client = client(&image);
    assert_eq!((done(&mut client, WRITE, 0, 2048), done(&mut client, FLUSH, 0, 0)), (Ok(vec![]), Ok(vec![])));
    for _ in 0..2 {
        let hog = small.0.path().join("hog");
        let mut rest = fs::File::create(&hog).expect("a file");
        while rest.write_all(&[1; 4096]).is_ok() {}
        drop(rest);
        let fills = (0..4000_u64).map(|step| done(&mut client, WRITE, 2048 + step % 400 * 2048, 2048));
        assert_eq!(fills.filter_map(Result::err).next(), Some(ENOSPC));
        let seen = health(&image);
        assert_eq!(seen["state"], "read-only");
        assert!(seen["why"].as_str().is_some_and(|why| why.contains("file system has no room")), "{seen}");
        wait_until("it is said", || served.said().contains("read-only: the file system has no room"));
        assert_eq!(done(&mut client, READ, 0, 2048), Ok(vec![7; 2048]), "reads go on");
        fs::remove_file(&hog).expect("room again");
        wait_until("it recovers", || done(&mut client, WRITE, 4096, 2048).is_ok());
        assert_eq!(health(&image)["state"], "healthy");
        wait_until("that is said, too", || {
            served.said().lines().last().is_some_and(|l| l.contains("the disk is healthy"))
        });
        assert_eq!(done(&mut client, READ, 0, 2048), Ok(vec![7; 2048]), "what was flushed is there");
        assert_eq!(done(&mut client, FLUSH, 0, 0), Err(EIO), "what was not may be gone, and that is said once");
        assert_eq!(done(&mut client, FLUSH, 0, 0), Ok(vec![]));
        // What it takes is given back, or the next round would find all of its room taken.
        assert_eq!(done(&mut client, TRIM, 2048, 1022 * 1024), Ok(vec![]));
        assert_eq!(done(&mut client, FLUSH, 0, 0), Ok(vec![]));
    }
    let (code, said) = served.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(wearwell(&["check", &image]).status.code(), Some(0));
}
