//! Policies that change while the disk is served.

use wearwell::{Placement, VictimPolicy};
use wearwell_serve::disk::{Disk, DiskConfig, check};
use wearwell_serve::fdp::FdpSpec;
use wearwell_serve::server::{ControlCommand, ControlError, ServerConfig, ask};

use crate::client::{Client, FLUSH, TRIM};
use crate::running::{Running, small};

const PAGE_BYTES: u64 = 2048;

/// A change of the victim policy and of the placement.
fn policy(which: Option<&str>, place: Option<&str>) -> ControlCommand {
    let (which, place) = (which.map(str::to_owned), place.map(str::to_owned));
    ControlCommand::Policy { when: None, which, r#where: place, wear: None }
}

#[test]
fn a_disk_with_handles_keeps_its_placement() {
    for (text, needed) in [
        ("4:initially", "by-handle-shared"),
        ("4:persistently", "by-handle"),
        ("7:persistently-apart", "by-handle-apart:7"),
    ] {
        let fdp = FdpSpec::parse(text).unwrap();
        let mut config = DiskConfig { fdp: Some(fdp), ..small() };
        config.engine.place = fdp.place();
        let running = Running::memory(&config);
        let asks = |which, place| ask(&running.control, &policy(which, place));
        for (name, _) in Placement::LIST.iter().filter(|(name, _)| *name != needed) {
            // A refusal changes nothing, also nothing that was asked for beside it.
            let refused = asks(Some("cat"), Some(name)).unwrap_err();
            let tells = |why: &str| why.contains(&format!("--where {name}")) && why.contains(needed);
            assert!(matches!(&refused, ControlError::Refused(why) if tells(why)), "{text}: {refused}");
            let now = asks(None, None).unwrap();
            assert_eq!((now["which"].as_str(), now["where"].as_str()), (Some("greedy"), Some(needed)), "{text}");
        }
        let changed = asks(Some("cat"), Some(needed)).unwrap();
        assert_eq!((changed["which"].as_str(), changed["where"].as_str()), (Some("cat"), Some(needed)), "{text}");
    }
}

/// Reads every page, and compares it with the byte that it was filled with.
fn reads_back(client: &mut Client, held: &[u8], when: &str) {
    for (page, &byte) in (0..).zip(held) {
        let found = client.read(page * PAGE_BYTES, PAGE_BYTES as u32).unwrap();
        assert!(found == [byte; PAGE_BYTES as usize], "page {page} is {} and not {byte} {when}", found[0]);
    }
}

#[test]
fn every_placement_comes_into_force_on_a_live_disk_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [image, killed] = ["disk.ww", "killed.ww"].map(|name| folder.path().join(name));
    let mut config = small();
    config.engine.logical_bytes = Some(1280 << 10);
    config.engine.which = VictimPolicy::parse("cost-benefit").unwrap();
    config.engine.place = Placement::SeparateGc;
    drop(Disk::create(&image, &config).unwrap());
    let running = Running::start(Disk::open(&image).unwrap().0, ServerConfig::default());
    let asks = |place| ask(&running.control, &policy(None, place)).unwrap()["where"].clone();
    let copied = || running.engine.access().unwrap().disk().counters().copied_pages;
    let connect = |stream| Client::connect(&running.socket, &format!("@stream={stream}"));
    let mut clients: Vec<Client> = (0..3).map(connect).collect();
    let mut rng = fastrand::Rng::with_seed(0x11f3);
    // Nothing would be copied on a disk that is nearly empty.
    clients[0].write(0, &vec![1; running.bytes as usize]).unwrap();
    let mut held = vec![1; (running.bytes / PAGE_BYTES) as usize];
    // Each finds what the one before it has left, and the first comes again, behind the last.
    for (name, _) in Placement::LIST.iter().chain(&Placement::LIST[..1]) {
        assert_eq!(asks(Some(name)), *name);
        let before = copied();
        for turn in 0..600 {
            let client = &mut clients[turn % 3];
            // Each stream has its part of the disk.
            let page = (turn % 3) * held.len() / 3 + rng.usize(..held.len() / 3);
            // What is discarded reads as zeros.
            held[page] = if rng.u8(..16) == 0 { 0 } else { rng.u8(1..) };
            let at = page as u64 * PAGE_BYTES;
            match held[page] {
                0 => client.command(0, TRIM, at, PAGE_BYTES as u32).unwrap(),
                byte => client.write(at, &[byte; PAGE_BYTES as usize]).unwrap(),
            }
        }
        assert!(copied() > before, "{name} was never asked where a copy goes");
        assert_eq!(asks(None), *name, "nothing else has changed it");
        reads_back(&mut clients[0], &held, &format!("under {name}"));
    }
    clients[0].command(0, FLUSH, 0, 0).unwrap();
    // The file is what a kill would leave.
    std::fs::copy(&image, &killed).unwrap();
    running.stop().0.unwrap();
    for (path, end) in [(&image, "stopped"), (&killed, "killed")] {
        assert_eq!(check(path).unwrap().findings, [], "{end}");
        let running = Running::start(Disk::open(path).unwrap().0, ServerConfig::default());
        let now = ask(&running.control, &policy(None, None)).unwrap();
        assert_eq!(now["where"], "separate-gc", "{end}: the change was until the disk is opened again");
        reads_back(&mut Client::connect(&running.socket, ""), &held, &format!("in a server after one that was {end}"));
        running.stop().0.unwrap();
    }
}
