//! `--timing real`: the chip is waited for, and only as long as it should be.

use wearwell::{CleaningTrigger, Rng};
use wearwell_emu::ChipProfile;
use wearwell_serve::disk::{Disk, DiskConfig};
use wearwell_serve::server::{ServerConfig, Timing};

use crate::client::{Client, WRITE};
use crate::running::{Running, small};

/// The small disk on a chip that takes so long to program a page.
fn slow(program_us: f64) -> DiskConfig {
    let mut config = small();
    let times = ChipProfile::by_name("w25n01gv").unwrap().times;
    config.engine.chip.times = times.map(|times| wearwell_emu::Times { program_us, ..times });
    config
}

fn real() -> ServerConfig {
    ServerConfig { timing: Timing::Real, ..ServerConfig::default() }
}

#[test]
fn a_stop_waits_for_the_disk_and_not_for_the_chip() {
    // An hour and a half for what is written.
    let server = Running::start(Disk::memory(&slow(1e7)).unwrap(), real());
    let mut client = Client::connect(&server.socket, "");
    let cookie = client.send(0, WRITE, 0, 1 << 20, &vec![7; 1 << 20]);
    while server.engine.access().unwrap().disk().counters().host_pages < 512 {
        std::thread::yield_now();
    }
    server.tell_to_stop();
    assert_eq!(client.reply(cookie, 0), Ok(vec![]));
    assert!(client.rest().is_empty());
    let (served, ends) = server.stop();
    served.unwrap();
    assert_eq!(ends, ["the server stops"]);
}

#[test]
fn no_more_than_a_step_of_idle_cleaning_is_in_front_of_a_request() {
    let mut config = slow(500.0);
    config.engine.when = CleaningTrigger::parse("idle:3:4:20");
    let server = Running::start(Disk::memory(&config).unwrap(), real());
    let mut client = Client::connect(&server.socket, "");
    client.write(0, &vec![1; 1 << 20]).unwrap();
    let mut rng = Rng::new(3);
    for _ in 0..500 {
        client.write(u64::from(rng.below(512)) * 2048, &[2; 2048]).unwrap();
    }
    let before = server.engine.access().unwrap().disk().counters().copied_pages;
    // Eight copies and an erase; twice that leaves room for the engine's own pages, and is a small part of a pass.
    let times = config.engine.chip.times.unwrap();
    let copy_us = times.read_us + 500.0 + 2.0 * 2112.0 / times.bus_bytes_per_us.unwrap();
    let most_us = (2.0 * (8.0 * copy_us + times.erase_us)) as u64;
    loop {
        let mut access = server.engine.access().unwrap();
        let (copied, busy_us) = (access.disk().counters().copied_pages - before, access.busy_us());
        drop(access);
        assert!(copied == 0 || busy_us <= most_us, "{busy_us} µs in front of a request");
        if copied >= 64 {
            break;
        }
        std::thread::yield_now();
    }
}

#[test]
fn latencies_are_told_where_the_chip_is_waited_for() {
    for (timing, is_waited_for) in [(Timing::Off, false), (Timing::Real, true)] {
        let config = ServerConfig { timing, ..ServerConfig::default() };
        let server = Running::start(Disk::memory(&slow(1000.0)).unwrap(), config);
        let mut client = Client::connect(&server.socket, "");
        for page in 0..20 {
            client.write(page * 2048, &[3; 2048]).unwrap();
        }
        let mut access = server.engine.access().unwrap();
        let (report, _) = access.report();
        assert_eq!(access.latency_us(), report.latency_us);
        assert_eq!((report.latency_us.is_some(), report.write_us_per_page.is_some()), (is_waited_for, is_waited_for));
        // One by one, so that none waits for another.
        assert!(report.latency_us.is_none_or(|latency| latency.p50 > 1000.0 && latency.p50 < 2000.0), "{report:?}");
    }
}
