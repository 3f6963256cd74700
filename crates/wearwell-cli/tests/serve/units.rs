//! The units of systemd that are installed with the command.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{BIN, image, signal};

const SERVICE: &str = include_str!("../../packaging/wearwell@.service");
const SOCKET: &str = include_str!("../../packaging/wearwell@.socket");

/// The value of the only line with this key.
fn value<'u>(unit: &'u str, key: &str) -> &'u str {
    let mut values = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let value = values.next().unwrap_or_else(|| panic!("{key}"));
    assert_eq!(values.next(), None, "{key}");
    value
}

#[test]
fn the_service_says_that_it_is_ready_and_ends_well() {
    let folder = tempfile::tempdir().expect("a folder");
    image(folder.path());
    let here = folder.path().to_str().expect("UTF-8");
    assert_eq!(value(SERVICE, "Type"), "notify");
    let started = value(SERVICE, "ExecStart").replace("/usr/bin/wearwell", BIN);
    let started = started.replace("/var/lib/wearwell", here).replace("/run/wearwell", here).replace("%i", "disk");
    let manager = folder.path().join("notify");
    let told = UnixDatagram::bind(&manager).expect("a socket");
    let mut words = started.split(' ');
    let mut child = Command::new(words.next().expect("a command"))
        .args(words)
        .env("NOTIFY_SOCKET", &manager)
        .stdout(Stdio::null())
        .spawn()
        .expect("it can be started");
    let mut message = [0; 256];
    let count = told.recv(&mut message).expect("a message");
    assert!(message[..count].starts_with(b"READY=1"));
    assert!(folder.path().join("disk.ctl").exists());
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
}

#[test]
fn systemd_understands_the_units() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    // Without their own man page, and with a command that is there.
    let service = SERVICE.replace("/usr/bin/wearwell", BIN).replace("Documentation=man:wearwell-serve(1)\n", "");
    fs::write(path("wearwell@.service"), service).expect("written");
    fs::write(path("wearwell@.socket"), SOCKET).expect("written");
    if !Path::new("/usr/bin/systemd-analyze").exists() {
        return eprintln!("skipped: there is no systemd-analyze");
    }
    let verified = Command::new("systemd-analyze").arg("verify").arg(path("wearwell@.socket")).output();
    let verified = verified.expect("it can be started");
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("wearwell@")).collect();
    assert!(ours.is_empty(), "{said}");
}
