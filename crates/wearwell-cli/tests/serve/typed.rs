//! What people type, and what they are told.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};

use wearwell_soak::client::{self, Client};

use crate::served::{Served, wait_until};
use crate::{BIN, image, serving, signal, wearwell};

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// What is printed by a command that succeeds.
fn printed(args: &[&str]) -> String {
    let output = wearwell(args);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{args:?}");
    text(&output.stdout)
}

fn refused(args: &[&str], told: &[&str]) {
    let output = wearwell(args);
    let line = text(&output.stderr);
    assert_eq!((output.status.code(), line.lines().count()), (Some(2), 1), "{args:?}: {line}");
    assert!(told.iter().all(|told| line.contains(told)), "{args:?}: {line}");
}

#[test]
fn a_size_is_enough_for_an_image() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    for (size, bytes) in [("1MiB", 1 << 20), ("100MiB", 100 << 20)] {
        let image = path(size);
        let line = printed(&["create", &image, "--size", size]);
        assert!(line.contains("for the host on w25n01gv with ") && line.contains(" segments to spare"), "{line}");
        let seen: serde_json::Value = serde_json::from_str(&printed(&["inspect", &image, "--json"])).expect("JSON");
        assert_eq!(seen["capacity"]["host_bytes"], bytes);
        assert!(seen["health"]["spare_segments"].as_u64() > Some(0), "{seen}");
        assert_eq!(seen["engine"]["layout"], "nand-checkpoint", "it is mounted in a moment");
    }
    let line = printed(&["create", &path("nand"), "--size", "1MiB", "--layout", "nand"]);
    assert!(line.ends_with("engine page, layout nand\n"), "{line}");
    for (flag, value) in [("--chip", "w25n01gv"), ("--logical", "1MiB")] {
        refused(&["create", &path("other"), "--size", "1MiB", flag, value], &["--size", flag]);
    }
    refused(&["create", &path("other"), "--size", "10TiB"], &["--size 10 TiB: ", "more than any chip has"]);
    refused(&["create", &path("other"), "--size", "0"], &["--size", "0 bytes"]);
}

/// An engine's reserve comes on top of what the host is to have, so the least disk holds it, too.
#[test]
fn every_engine_that_keeps_records_works_from_the_least_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = folder.path().join("disk.ww").to_str().expect("UTF-8").to_owned();
    let sizes = [("1", "8"), ("512KiB", "8"), ("1MiB", "8"), ("1MiB", "100")];
    for ftl in ["page", "log-block", "primary-replacement", "fast", "fast-by-stream"] {
        for (size, log_blocks) in sizes {
            let line = printed(&["create", &image, "--size", size, "--ftl", ftl, "--log-blocks", log_blocks]);
            assert!(line.contains(&format!(" engine {ftl}, ")), "{line}");
            let seen: serde_json::Value = serde_json::from_str(&printed(&["inspect", &image, "--json"])).expect("JSON");
            assert!(seen["health"]["spare_segments"].as_u64() > Some(0), "{line}: {seen}");
            fs::remove_file(&image).expect("an image");
            let memory = ["serve", "--memory", size, "--ftl", ftl, "--log-blocks", log_blocks, "--run", "true"];
            assert!(wearwell(&memory).status.success(), "{memory:?}");
        }
    }
}

#[test]
fn a_disk_in_memory_has_a_size_or_a_chip() {
    refused(&["serve", "--memory", "1MiB", "--chip", "w25n01gv"], &["--memory 1 MiB", "--chip w25n01gv"]);
    refused(&["serve", "--memory", "1MiB", "--logical", "2MiB"], &["--memory 1 MiB", "--logical"]);
    refused(&["serve", "--memory", "--run", "true"], &["--memory", "--chip"]);
    assert!(wearwell(&["serve", "--memory", "--chip", "w25n01gv", "--run", "true"]).status.success());
}

#[test]
fn errors_name_what_was_typed() {
    let tries: [(&[&str], &[&str]); 7] = [
        (&["serve", "no/such.ww"], &["no/such.ww"]),
        (&["serve", "--memory", "1MiB", "--tcp", "nowhere.invalid:1"], &["--tcp", "nowhere.invalid:1"]),
        (&["serve", "--memory", "1MiB", "--tcp", "10809"], &["--tcp", "'10809'"]),
        (&["serve", "--memory", "1MiB", "--log-level", "loud"], &["--log-level", "'loud'"]),
        (&["serve", "--memory", "lots"], &["--memory", "'lots'"]),
        (&["create", "no/such.ww", "--chip", "nand"], &["--chip", "nand"]),
        (&["ctl", "no/such.ww", "stats"], &["no/such.ww"]),
    ];
    for (args, told) in tries {
        refused(args, told);
    }
}

#[test]
fn a_uri_is_printed_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let (mut child, line) = serving(&[&image, "--print-uri", "--http", "localhost:0"]);
    assert_eq!(line, format!("nbd+unix:///?socket={image}.sock\n"));
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
    let (mut child, line) = serving(&[&image, "--print-uri", "--tcp", "localhost:0"]);
    let address = line.trim_end().strip_prefix("nbd://").expect("a URI");
    TcpStream::connect(address).expect("a server");
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
}

#[test]
fn policies_are_shown_and_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let (mut child, _) = serving(&[&image]);
    let now = "when watermark:3:4, which greedy, where single, wear none\n";
    assert_eq!(printed(&["ctl", &image, "policy"]), now);
    let changed = printed(&["ctl", &image, "policy", "--which", "cat"]);
    assert!(changed.contains("which cat") && changed.contains("until the disk is opened again"), "{changed}");
    assert_eq!(printed(&["ctl", &image, "policy"]), now.replace("greedy", "cat"));
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
}

#[test]
fn there_need_not_be_a_control_socket() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let told = format!("test ! -e {image}.ctl && test ! -e none");
    let output =
        Command::new(BIN).current_dir(&folder).args(["serve", &image, "--control", "none", "--run", &told]).output();
    assert_eq!(output.expect("it can be started").status.code(), Some(0));
}

#[test]
fn help_is_short_or_long_and_in_groups() {
    let bare = printed(&[]);
    assert_eq!((&bare, &bare), (&printed(&["--help"]), &printed(&["-h"])));
    for group in ["Simulate:\n", "Disks:\n", "Lists:\n", "Options:\n"] {
        assert!(bare.contains(group), "{bare}");
    }
    let (short, long) = (printed(&["serve", "--help"]), printed(&["help", "serve"]));
    for heading in ["Disk:\n", "Where clients connect:\n", "Running:\n", "Watching and recording:\n"] {
        assert!(short.contains(heading) && long.contains(heading), "{heading} in {short}");
    }
    assert!(short.lines().count() < long.lines().count() / 2, "{} and {}", short.lines().count(), long.lines().count());
    assert!(long.contains("Engine:\n") && !short.contains("Engine:\n") && !short.contains("--log-blocks"), "{short}");
}

#[test]
fn log_lines_have_time_level_and_peer() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let socket = format!("{image}.sock");
    for (level, comes, misbehaves, stops) in [
        ("error", false, false, false),
        ("warn", false, true, false),
        ("info", false, true, true),
        ("debug", true, true, true),
    ] {
        let served = Served::start(&image, &["--log-level", level]);
        drop(Client::connect(Path::new(&socket), "").expect("a server"));
        let mut stranger = client::greeted(Path::new(&socket)).expect("a server");
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
        // It is closed.
        let _ = stranger.read_to_end(&mut Vec::new());
        let (code, said) = served.end();
        assert_eq!(code, Some(0), "{said}");
        let has = |level: &str, told: &str| {
            let line = said.lines().find(|line| line.contains(level) && line.contains(told));
            line.is_some_and(|line| line.starts_with("20") && line.as_bytes().get(10) == Some(&b'T'))
        };
        let peer = format!("peer=\"process {}\"", std::process::id());
        assert_eq!(has("DEBUG", "has come to the disk"), comes, "{level}: {said}");
        assert_eq!(has(" WARN", "a connection ended: "), misbehaves, "{level}: {said}");
        assert_eq!(said.contains(&peer), misbehaves, "{level}: {said}");
        assert_eq!(has(" INFO", "told to stop"), stops, "{level}: {said}");
    }
}

/// Clients that were in the middle of something when the server closed their connections.
#[test]
fn nobody_is_blamed_for_a_shutdown() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let served = Served::start(&image, &[]);
    let mut waiting = Vec::new();
    let mut browser = TcpStream::connect(&served.page).expect("a page");
    browser.write_all(b"GET / HT").expect("sent");
    let mut shaking = client::greeted(Path::new(&format!("{image}.sock"))).expect("a server");
    shaking.write_all(b"\0\0").expect("sent");
    let mut asking = UnixStream::connect(format!("{image}.ctl")).expect("a server");
    asking.write_all(b"{\"command\":").expect("sent");
    let mut writing = Client::connect(Path::new(&format!("{image}.sock")), "").expect("a server");
    writing.stream.write_all(&[0x25, 0x60, 0x95, 0x13, 0, 0]).expect("sent");
    waiting.push(writing);
    // All of it has come once this has an answer.
    printed(&["ctl", &image, "stats"]);
    let (code, said) = served.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("told to stop") && !said.contains("a connection ended"), "{said}");
}

#[test]
fn a_service_manager_is_told_when_clients_can_connect() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let manager = folder.path().join("notify");
    let told = UnixDatagram::bind(&manager).expect("a socket");
    let mut child = Command::new(BIN)
        .args(["serve", &image])
        .env("NOTIFY_SOCKET", &manager)
        .stdout(Stdio::null())
        .spawn()
        .expect("it can be started");
    let heard = || {
        let mut message = [0; 256];
        let count = told.recv(&mut message).expect("a message");
        text(&message[..count])
    };
    assert!(heard().contains("READY=1"));
    Client::connect(Path::new(&format!("{image}.sock")), "").expect("clients can connect");
    signal(&child, "-TERM");
    assert!(heard().contains("STOPPING=1"));
    assert!(child.wait().expect("an end").success());
    let child = Command::new(BIN)
        .args(["serve", &image, "--run", "test -z \"$NOTIFY_SOCKET\""])
        .env("NOTIFY_SOCKET", &manager)
        .status();
    assert!(child.expect("it can be started").success(), "what is run has nothing to tell the manager");
}

#[test]
fn completions_and_man_pages_come_from_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    for (shell, told) in
        [("bash", "complete -F _wearwell"), ("zsh", "#compdef wearwell"), ("fish", "complete -c wearwell")]
    {
        let text = printed(&["completions", shell]);
        assert!(text.contains(told) && text.contains("print-uri"), "{shell}: {text}");
    }
    printed(&["man", folder.path().to_str().expect("UTF-8")]);
    for (page, told) in
        [("wearwell", "wearwell\\-serve(1)"), ("wearwell-serve", "\\-\\-print\\-uri"), ("wearwell-ctl", "policy")]
    {
        let text = fs::read_to_string(folder.path().join(format!("{page}.1"))).expect("a page");
        assert!(text.contains(told), "{page}: {text}");
    }
    wait_until("both are there", || fs::read_dir(&folder).expect("a folder").count() >= 12);
}
