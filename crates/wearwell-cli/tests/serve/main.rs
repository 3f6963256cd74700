//! `wearwell serve` from outside: what it prints, how it ends, what it refuses.

mod counts;
mod health;
mod metrics;
mod recording;
mod served;
mod space;
mod typed;
mod units;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const BIN: &str = env!("CARGO_BIN_EXE_wearwell");

fn wearwell(args: &[&str]) -> Output {
    Command::new(BIN).args(args).output().expect("the command can be started")
}

/// Makes a small image in a folder.
fn image(folder: &Path) -> String {
    let path = folder.join("disk.ww").to_str().expect("UTF-8").to_owned();
    let made = wearwell(&["create", &path, "--chip", "geometry:2048:16:64", "--logical", "1MiB"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    path
}

/// A server that has said that it is ready, and what it said.
fn serving(args: &[&str]) -> (Child, String) {
    let mut child =
        Command::new(BIN).arg("serve").args(args).stdout(Stdio::piped()).spawn().expect("it can be started");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
    (child, line)
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill can be started");
    assert!(sent.success());
}

#[test]
fn a_signal_closes_the_image_and_removes_what_was_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let (socket, pid) = (PathBuf::from(format!("{image}.sock")), folder.path().join("pid"));
    for name in ["-TERM", "-INT"] {
        let (mut child, line) = serving(&[&image, "--pid-file", pid.to_str().expect("UTF-8")]);
        assert!(line.ends_with(&format!("at nbd+unix:///?socket={}\n", socket.display())), "{line}");
        assert_eq!(fs::read_to_string(&pid).expect("a file"), format!("{}\n", child.id()));
        assert_eq!(fs::metadata(&socket).expect("a socket").permissions().mode() & 0o777, 0o600);
        let mut greeting = [0; 18];
        UnixStream::connect(&socket).expect("a server").read_exact(&mut greeting).expect("a greeting");
        assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\0\x03");
        signal(&child, name);
        assert_eq!(child.wait().expect("an end").code(), Some(0));
        assert!(!socket.exists() && !pid.exists());
    }
}

#[test]
fn a_killed_server_leaves_an_image_and_a_socket_that_the_next_one_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let (mut child, _) = serving(&[&image]);
    child.kill().expect("a kill");
    child.wait().expect("an end");
    assert!(Path::new(&format!("{image}.sock")).exists());
    let output = wearwell(&["serve", &image, "--run", "test -S \"$unixsocket\""]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_chip_without_times_cannot_be_waited_for() {
    for (chip, is_told) in [("geometry:2048:16:64", true), ("w25n01gv", false)] {
        let args = ["serve", "--memory", "--chip", chip, "--logical", "1MiB", "--timing", "real", "--run", "true"];
        let output = wearwell(&args);
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!((output.status.code(), said.contains("has no times")), (Some(0), is_told), "{chip}: {said}");
    }
}

#[test]
fn a_commands_exit_code_is_passed_on() {
    let told = "printf '%s %s' \"$uri\" \"$unixsocket\"; exit 7";
    let output = wearwell(&["serve", "--memory", "1MiB", "--export", "a b", "--run", told]);
    assert_eq!(output.status.code(), Some(7));
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    let (uri, socket) = said.split_once(' ').expect("two words");
    assert_eq!(uri, format!("nbd+unix:///a%20b?socket={socket}"));
    assert!(!Path::new(socket).exists(), "the folder of the socket goes, too");
    assert!(!Path::new(socket).parent().expect("a folder").exists());
    let output = wearwell(&["serve", "--memory", "1MiB", "--run", "kill -9 $$"]);
    assert_eq!(output.status.code(), Some(137));
}

/// Waits until a file has a line, and returns it.
fn line_in(path: &Path) -> String {
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    }
}

/// True while a process runs; one that only waits to be taken note of does not.
fn runs(id: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

#[test]
fn a_signal_ends_what_the_command_started_too_also_what_does_not_listen() {
    let folder = tempfile::tempdir().expect("a folder");
    let note = |name: &str| folder.path().join(name);
    let (child, deaf) = (note("child"), note("deaf"));
    let told = format!(
        "(echo $$; exec sleep 1000) & echo $! > {}; (trap '' TERM; sleep 1000 & echo $! > {}; wait); sleep 1000",
        child.display(),
        deaf.display()
    );
    let mut serving = Command::new(BIN)
        .args(["serve", "--memory", "1MiB", "--run", &told])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("it can be started");
    let (child, deaf) = (line_in(&child), line_in(&deaf));
    assert!(runs(&child) && runs(&deaf));
    signal(&serving, "-TERM");
    assert_eq!(serving.wait().expect("an end").code(), Some(128 + 15), "that of the shell, which was told first");
    while runs(&child) || runs(&deaf) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_disk_is_served_though_nobody_reads_what_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let (reader, writer) = std::io::pipe().expect("a pipe");
    // Closed before the server is started: where the test is slow, the server would have printed already.
    drop(reader);
    let mut child = Command::new(BIN)
        .args(["serve", &image])
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
    assert!(line.starts_with("wearwell: nobody reads standard output: ") && line.contains(".sock"), "{line}");
    UnixStream::connect(format!("{image}.sock")).expect("a server");
    signal(&child, "-TERM");
    assert_eq!(child.wait().expect("an end").code(), Some(0));
}

#[test]
fn sockets_that_were_opened_before_are_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let path = folder.path().join("activated.sock");
    let control = folder.path().join("activated.ctl");
    let sockets = [UnixListener::bind(&path).expect("a socket"), UnixListener::bind(&control).expect("a socket")];
    // A shell puts them where the protocol wants them: it has numbers of its own for what it opens.
    let fds = sockets.each_ref().map(|socket| {
        rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::empty()).expect("to be inherited");
        socket.as_raw_fd()
    });
    let hand_over = format!(
        "exec 98<&{} 99<&{}; exec 3<&98 4<&99 98<&- 99<&-; LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=nbd:control exec \
         \"$@\"",
        fds[0], fds[1]
    );
    let mut child = Command::new("/bin/bash")
        .args(["-c", &hand_over, "-", BIN, "serve", &image])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
    assert!(line.ends_with(&format!("at nbd+unix:///?socket={}\n", path.display())), "{line}");
    let mut greeting = [0; 18];
    UnixStream::connect(&path).expect("a server").read_exact(&mut greeting).expect("a greeting");
    assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\0\x03");
    let stats = wearwell(&["ctl", "--control", control.to_str().expect("UTF-8"), "stats"]);
    assert!(stats.status.success(), "{}", String::from_utf8_lossy(&stats.stderr));
    assert!(!Path::new(&format!("{image}.sock")).exists() && !Path::new(&format!("{image}.ctl")).exists());
    signal(&child, "-TERM");
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    assert!(path.exists(), "who opened it may go on with it");
}

#[test]
fn what_is_no_socket_is_refused() {
    let told = "exec 3</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"";
    let refused = Command::new("/bin/bash").args(["-c", told, "-", BIN, "serve", "--memory", "1MiB"]).output();
    let refused = refused.expect("it can be started");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("it is no socket"));
}

#[test]
fn a_read_only_image_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let before = fs::read(&image).expect("an image");
    assert_eq!(wearwell(&["serve", &image, "--read-only", "--run", "true"]).status.code(), Some(0));
    assert!(fs::read(&image).expect("an image") == before);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let (mut child, _) = serving(&[&image]);
    let live = format!("{image}.sock");
    let (long_path, long_name) = (folder.path().join("x".repeat(100)), "x".repeat(4097));
    let tries: [(&[&str], &str); 10] = [
        (&["serve"], "IMAGE"),
        (&["serve", "no-such-file.ww"], "no-such-file.ww"),
        (&["serve", &image], "in use"),
        (&["serve", &image, "--which", "cat"], "--which"),
        (&["serve", "--memory", "1MiB", "--tcp", "0.0.0.0:0"], "TLS"),
        (&["serve", "--memory", "1MiB", "--socket", &live], "another server"),
        (&["serve", "--memory", "1MiB", "--socket", long_path.to_str().expect("UTF-8")], "107 at most"),
        (&["serve", "--memory", "1MiB", "--export", "a@stream=3"], "alias"),
        (&["serve", "--memory", "1MiB", "--export", &long_name], "4097 bytes"),
        (&["serve", "--memory", "1MiB", "--timing", "fast"], "--timing"),
    ];
    for (args, told) in tries {
        let output = wearwell(args);
        let line = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{args:?}: {line}");
        assert!(line.contains(told) && line.lines().count() == 1, "{args:?}: {line}");
    }
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
}

#[test]
fn an_idle_disk_is_cut_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let (mut child, _) = serving(&[&image, "--idle", "off"]);
    assert!(wearwell(&["ctl", &image, "cut"]).status.success());
    assert_eq!(wearwell(&["ctl", &image, "clean", "--step", "1"]).status.code(), Some(1), "there is no power");
    signal(&child, "-TERM");
    assert_eq!(child.wait().expect("an end").code(), Some(1), "it could not be closed");
    assert_eq!(wearwell(&["check", &image]).status.code(), Some(0));
}

/// In a folder whose path no socket's could have; its files are named from there.
#[test]
fn an_image_far_down_is_served_from_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let deep = folder.path().join("d".repeat(60)).join("e".repeat(60));
    fs::create_dir_all(&deep).expect("a folder");
    let image = image(&deep);
    let told = format!("test \"$unixsocket\" = disk.ww.sock && {BIN} ctl disk.ww stats && {BIN} ctl {image} stats");
    for name in ["disk.ww", &image] {
        let output = Command::new(BIN).current_dir(&deep).args(["serve", name, "--run", &told]).output();
        let output = output.expect("it can be started");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!deep.join("disk.ww.sock").exists() && !deep.join("disk.ww.ctl").exists());
    }
    let output = wearwell(&["serve", &image, "--run", "true"]);
    let line = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert!(line.contains("disk.ww.sock") && line.contains("--socket"), "{line}");
    let short = folder.path().join("s");
    let short = short.to_str().expect("UTF-8");
    let named = ["serve", &image, "--socket", short, "--control", &format!("{short}.ctl"), "--run", "true"];
    assert_eq!(wearwell(&named).status.code(), Some(0));
}

/// An image under all its names.
#[test]
fn nothing_is_written_over_the_image() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let before = fs::read(&image).expect("an image");
    let (hard, soft) = (format!("{image}.hard"), format!("{image}.soft"));
    fs::hard_link(&image, &hard).expect("a link");
    std::os::unix::fs::symlink(&image, &soft).expect("a link");
    for flag in ["--record", "--pid-file", "--socket", "--control"] {
        for name in [&image, &hard, &soft] {
            let output = wearwell(&["serve", &image, flag, name, "--run", "true"]);
            let line = String::from_utf8(output.stderr).expect("UTF-8");
            assert_eq!(output.status.code(), Some(2), "{flag} {name}: {line}");
            assert!(line.contains(flag) && line.contains("is the image itself"), "{line}");
        }
    }
    assert!(fs::read(&image).expect("an image") == before);
}

#[test]
fn a_pid_file_is_nobody_elses() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let path = folder.path().join("pid");
    let pid = path.to_str().expect("UTF-8");
    let refused = |told: &str| {
        let output = wearwell(&["serve", "--memory", "1MiB", "--pid-file", pid, "--run", "true"]);
        let line = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(line.contains("--pid-file") && line.contains(told), "{line}");
    };
    fs::write(&path, "precious").expect("written");
    refused("other than the number of a process");
    assert_eq!(fs::read(&path).expect("a file"), b"precious");
    fs::remove_file(&path).expect("removed");
    let (mut child, _) = serving(&[&image, "--pid-file", pid]);
    let ours = fs::read_to_string(&path).expect("a file");
    refused("still runs");
    assert_eq!(fs::read_to_string(&path).expect("a file"), ours);
    child.kill().expect("a kill");
    child.wait().expect("an end");
    let told = format!("test \"$(cat {pid})\" != {}", child.id());
    let output = wearwell(&["serve", &image, "--pid-file", pid, "--run", &told]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!path.exists());
}

#[test]
fn what_is_recorded_is_replayed_to_the_same_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let trace = folder.path().join("trace.csv").to_str().expect("UTF-8").to_owned();
    let (mut child, _) = serving(&[&image, "--idle", "off", "--record", &trace]);
    let changed = wearwell(&["ctl", &image, "policy", "--which", "cat"]);
    assert_eq!(changed.status.code(), Some(2), "a recording cannot hold it");
    let stats = wearwell(&["ctl", &image, "stats", "--json"]);
    assert!(stats.status.success(), "{}", String::from_utf8_lossy(&stats.stderr));
    signal(&child, "-TERM");
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    let engine = ["--chip", "geometry:2048:16:64", "--logical", "1MiB"];
    let replay = ["run", "--data", "stored", "--workload", &format!("trace:{trace}"), "--json", "-"];
    let run = wearwell(&[&replay[..], &engine].concat());
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).expect("JSON");
    let (served, replayed) = (json(&stats.stdout), json(&run.stdout));
    for field in ["erases", "copied_pages", "map_digest", "programmed_pages", "host_pages"] {
        assert_eq!(served[field], replayed[field], "{field}");
    }
    let gone = wearwell(&["ctl", &image, "stats"]);
    assert_eq!(gone.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("no server answers here"));
}
