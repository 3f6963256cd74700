//! The control socket, beside a disk that is served.

use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};

use wearwell::CleaningTrigger;
use wearwell_emu::ChipProfile;
use wearwell_serve::disk::{Disk, DiskConfig, check};
use wearwell_serve::server::{ControlCommand, ControlError, Endpoint, Server, ServerConfig, ask};

use crate::client::{BLOCK_STATUS, CACHE, Chunk, Client, FLUSH, READ};
use crate::running::small;

const EIO: u32 = 5;

fn policy(which: &str) -> ControlCommand {
    ControlCommand::Policy { when: None, which: Some(which.to_owned()), r#where: None, wear: None }
}

#[test]
fn a_disk_is_looked_after_while_it_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, path) = (folder.path().join("sock"), folder.path().join("ctl"));
    // As a killed server leaves it.
    drop(UnixListener::bind(&path).unwrap());
    let config = ServerConfig { cleans_when_idle: false, ..ServerConfig::default() };
    let mut server = Server::new(Disk::memory(&small()).unwrap(), config).unwrap();
    server.listen(&Endpoint::Unix(socket.clone())).unwrap();
    server.listen_control(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let stopper = server.stopper();
    let thread = std::thread::spawn(move || server.serve(&|_| ()));

    let mut client = Client::connect(&socket, "");
    client.write(0, &[7; 8192]).unwrap();
    let stats = ask(&path, &ControlCommand::Stats).unwrap();
    assert_eq!((stats["host_pages"].as_u64(), stats["host_bytes"].as_u64()), (Some(4), Some(8192)));
    assert_eq!(stats["config"]["which"], "greedy");
    assert_eq!(ask(&path, &policy("cost-benefit")).unwrap()["which"], "cost-benefit");
    assert_eq!(ask(&path, &ControlCommand::Stats).unwrap()["config"]["which"], "cost-benefit");
    let refused = ask(&path, &policy("gredy")).unwrap_err();
    assert!(matches!(&refused, ControlError::Refused(why) if why.contains("'gredy'")), "{refused}");
    assert_eq!(ask(&path, &ControlCommand::Clean { pages: 8 }).unwrap()["more"], false);
    ask(&path, &ControlCommand::Hint { read_only: true }).unwrap();

    let mut peer = UnixStream::connect(&path).unwrap();
    peer.write_all(&[0xff; 9000]).unwrap();
    let mut said = Vec::new();
    // What it has not read is reset.
    let _ = peer.read_to_end(&mut said);
    assert_eq!(client.read(0, 3), Ok(vec![7; 3]), "nobody else notices");

    let fault = |rate| ControlCommand::Fault { seed: 1, program_fail_rate: rate, erase_fail_rate: 0.0, bits: None };
    assert!(matches!(ask(&path, &fault(2.0)), Err(ControlError::Refused(_))));
    ask(&path, &fault(0.01)).unwrap();
    ask(&path, &fault(0.0)).unwrap();
    let mut structured = Client::connect_structured(&socket, "");
    ask(&path, &ControlCommand::Cut).unwrap();
    assert_eq!(client.read(0, 3), Err(EIO), "an idle disk is off at once");
    assert_eq!(client.write(0, &[8; 2048]), Err(EIO));
    for command in [FLUSH, CACHE] {
        assert_eq!(client.command(0, command, 0, 0), Err(EIO));
    }
    // What no page holds is known without the chip.
    for (command, flags) in [(READ, 0), (BLOCK_STATUS, 0), (BLOCK_STATUS, 8)] {
        let cookie = structured.send(flags, command, 100 * 2048, 65_536, b"");
        assert_eq!(structured.chunks(cookie), [Chunk::Error(EIO)]);
    }
    assert!(matches!(ask(&path, &ControlCommand::Clean { pages: 1 }), Err(ControlError::Failed(_))));
    stopper.stop();
    assert!(thread.join().unwrap().is_err(), "it cannot be shut down without power");
    assert!(!path.exists());
    assert!(matches!(ask(&path, &ControlCommand::Stats), Err(ControlError::NoServer { .. })));
}

#[test]
fn a_cut_in_the_middle_of_writes_loses_nothing_that_was_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let (image, socket, path) = (folder.path().join("disk.ww"), folder.path().join("sock"), folder.path().join("ctl"));
    let mut server = Server::new(Disk::create(&image, &small()).unwrap(), ServerConfig::default()).unwrap();
    server.listen(&Endpoint::Unix(socket.clone())).unwrap();
    server.listen_control(&path).unwrap();
    let stopper = server.stopper();
    let thread = std::thread::spawn(move || server.serve(&|_| ()));
    let pages = 300;
    let byte = move |write: u64| (write / pages) as u8 + 1;
    let mut client = Client::connect(&socket, "");
    let writer = std::thread::spawn(move || {
        let mut is_flushed = |&write: &u64| {
            let written = client.write(write % pages * 2048, &[byte(write); 2048]);
            written.and_then(|()| client.command(0, FLUSH, 0, 0)).is_ok()
        };
        (0..).take_while(|write| is_flushed(write)).count() as u64
    });
    while ask(&path, &ControlCommand::Stats).unwrap()["host_pages"].as_u64() < Some(2 * pages) {}
    ask(&path, &ControlCommand::Cut).unwrap();
    let flushed = writer.join().unwrap();
    stopper.stop();
    assert!(thread.join().unwrap().is_err());
    assert_eq!(check(&image).unwrap().findings, []);
    let (mut disk, _) = Disk::open(&image).unwrap();
    for write in flushed - pages..flushed {
        let mut found = [0; 2048];
        disk.read(write % pages * 2048, &mut found).unwrap();
        // One more write may have come, to the page that was flushed longest ago.
        let is_newer = write == flushed - pages && found == [byte(flushed); 2048];
        assert!(is_newer || found == [byte(write); 2048], "write {write} of {flushed}: {}", found[0]);
    }
}

#[test]
fn cleaning_is_told_of_as_it_happens() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, path) = (folder.path().join("sock"), folder.path().join("ctl"));
    let config = ServerConfig { cleans_when_idle: false, ..ServerConfig::default() };
    let mut server = Server::new(Disk::memory(&small()).unwrap(), config).unwrap();
    server.listen(&Endpoint::Unix(socket.clone())).unwrap();
    server.listen_control(&path).unwrap();
    let stopper = server.stopper();
    let thread = std::thread::spawn(move || server.serve(&|_| ()));
    let events = |after| ask(&path, &ControlCommand::Events { after }).unwrap()["events"].as_array().unwrap().clone();

    let before = events(0).last().map_or(0, |row| row["number"].as_u64().unwrap());
    let mut client = Client::connect(&socket, "");
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..3000 {
        client.write(rng.u64(..500) * 2048, &[7; 2048]).unwrap();
    }
    let all = events(before);
    let numbers: Vec<u64> = all.iter().map(|row| row["number"].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
    let victim = all.iter().find(|row| row["event"] == "victim").expect("a victim");
    let erased = |row: &&serde_json::Value| {
        row["event"] == "erased"
            && row["segment"] == victim["segment"]
            && row["number"].as_u64() > victim["number"].as_u64()
    };
    assert!(victim["valid_pages"].as_u64().unwrap() < 16 && all.iter().any(|row| erased(&row)), "{all:?}");
    let stats = ask(&path, &ControlCommand::Stats).unwrap();
    assert!(numbers.last().unwrap() > &stats["cleanings"].as_u64().unwrap(), "an erase and a victim each");
    assert!(events(*numbers.last().unwrap()).is_empty());
    stopper.stop();
    thread.join().unwrap().unwrap();
}

#[test]
fn a_snapshot_is_a_disk_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let snapshot = |name: &str| ControlCommand::Snapshot { to: at(name) };
    let mut server = Server::new(Disk::create(&at("disk.ww"), &small()).unwrap(), ServerConfig::default()).unwrap();
    server.listen(&Endpoint::Unix(at("sock"))).unwrap();
    server.listen_control(&at("ctl")).unwrap();
    let stopper = server.stopper();
    let thread = std::thread::spawn(move || server.serve(&|_| ()));
    let mut client = Client::connect(&at("sock"), "");
    client.write(0, &[7; 8192]).unwrap();
    // A part of a page, which waits in memory.
    client.write(10_000, &[9; 3]).unwrap();
    ask(&at("ctl"), &snapshot("then.ww")).unwrap();
    client.write(0, &[8; 2048]).unwrap();
    assert_eq!(check(&at("then.ww")).unwrap().findings, []);
    let (mut then, _) = Disk::open(&at("then.ww")).unwrap();
    let mut found = [0; 8192];
    then.read(0, &mut found).unwrap();
    assert!(found == [7; 8192], "what came later is not in it");
    then.read(10_000, &mut found[..4]).unwrap();
    assert_eq!(found[..4], [9, 9, 9, 0]);
    then.write(0, &[6; 2048], 0).unwrap();
    then.shutdown().unwrap();
    assert_eq!(client.read(0, 3), Ok(vec![8; 3]), "nor is what came to it later in the disk");
    for refused in ["then.ww", "disk.ww", "no-folder/disk.ww"] {
        let error = ask(&at("ctl"), &snapshot(refused)).unwrap_err();
        assert!(matches!(&error, ControlError::Refused(why) if why.contains(refused)), "{error}");
    }
    let (taken, made) = (std::fs::metadata(at("disk.ww")).unwrap(), std::fs::metadata(at("then.ww")).unwrap());
    assert!(made.blocks() <= taken.blocks() + 512 && made.mode() & 0o777 == 0o600, "holes stay holes");
    stopper.stop();
    thread.join().unwrap().unwrap();
    let error = Disk::memory(&small()).unwrap().snapshot(&at("memory.ww")).unwrap_err();
    assert!(error.is_refusal() && !at("memory.ww").exists(), "{error}");
}

/// Kawaguchi's cleaner is a daemon with three calls (USENIX '95, table 2): wait until a segment is selected, copy 16
/// valid blocks of it until none is left, erase it. Here the first is an event, and the others are steps of 16 pages.
#[test]
fn cleaning_goes_in_steps_of_sixteen_pages() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, path) = (folder.path().join("sock"), folder.path().join("ctl"));
    let mut disk = DiskConfig::new(ChipProfile::from_geometry_str("geometry:2048:64:64").unwrap());
    disk.engine.logical_bytes = Some(6 << 20);
    disk.engine.when = CleaningTrigger::parse("idle:3:4:12");
    let config = ServerConfig { cleans_when_idle: false, ..ServerConfig::default() };
    let mut server = Server::new(Disk::memory(&disk).unwrap(), config).unwrap();
    server.listen(&Endpoint::Unix(socket.clone())).unwrap();
    server.listen_control(&path).unwrap();
    let stopper = server.stopper();
    let thread = std::thread::spawn(move || server.serve(&|_| ()));
    let mut client = Client::connect(&socket, "");
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..8000 {
        client.write(rng.u64(..3072) * 2048, &[7; 2048]).unwrap();
    }

    let counted = |name: &str| ask(&path, &ControlCommand::Stats).unwrap()[name].as_u64().unwrap();
    let (copied, erases) = (counted("copied_pages"), counted("erases"));
    let mut steps = vec![copied];
    while ask(&path, &ControlCommand::Clean { pages: 16 }).unwrap()["more"] == true {
        steps.push(counted("copied_pages"));
    }
    assert!(steps.windows(2).all(|pair| pair[1] - pair[0] <= 16), "{steps:?}");
    assert!(steps.len() > 8 && counted("erases") >= erases + 4, "{} steps", steps.len());
    let events = ask(&path, &ControlCommand::Events { after: 0 }).unwrap()["events"].clone();
    let last = |event: &str| events.as_array().unwrap().iter().rev().find(|row| row["event"] == event).cloned();
    let (victim, erased) = (last("victim").unwrap(), last("erased").unwrap());
    assert_eq!(victim["segment"], erased["segment"], "what is selected is told of, copied, and erased");
    stopper.stop();
    thread.join().unwrap().unwrap();
}
