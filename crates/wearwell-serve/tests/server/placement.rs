//! Flexible Data Placement over NVMe/TCP.

use wearwell::{CleaningTrigger, Placement, Rng};
use wearwell_serve::disk::{Disk, DiskConfig, HandleDeed, SegmentRow, SegmentState, Watched};
use wearwell_serve::fdp::FdpSpec;
use wearwell_serve::server::ServerConfig;
use wearwell_soak::nvme::{Command, Completion, Options, Queue};

use crate::recorded::{Recording, replayed, same};
use crate::running::{NQN, Running, small};

const WRITE: u8 = 1;
const MANAGEMENT_RECEIVE: u8 = 0x12;
const MANAGEMENT_SEND: u8 = 0x1d;
const GET_LOG_PAGE: u8 = 2;
const SET_FEATURES: u8 = 9;
const GET_FEATURES: u8 = 10;
const BLOCK: u64 = 512;
/// Blocks of a page.
const PAGE: u32 = 4;

fn config(fdp: &str) -> DiskConfig {
    let fdp = FdpSpec::parse(fdp).unwrap();
    let mut config = DiskConfig { fdp: Some(fdp), ..small() };
    config.engine.place = fdp.place();
    config
}

fn host(running: &Running) -> (Queue, Queue) {
    let mut admin = Queue::admin(running.nvme, NQN, Options::default()).unwrap();
    admin.enable().unwrap();
    let io = Queue::io(running.nvme, NQN, admin.controller, 1, Options::default()).unwrap();
    (admin, io)
}

/// Writes with a placement identifier; without one if it is none.
fn write(io: &mut Queue, first: u32, blocks: u32, identifier: Option<u32>) {
    let directive = if identifier.is_some() { 2 << 20 } else { 0 };
    let words = [first, 0, (blocks - 1) | directive, identifier.unwrap_or(0) << 16, 0, 0];
    let data = vec![first as u8; blocks as usize * BLOCK as usize];
    assert_eq!(io.run(Command { opcode: WRITE, namespace: 1, words }, &data, 0).unwrap().status, 0);
}

/// A log page of the endurance group.
fn log_page(admin: &mut Queue, number: u32, specific: u32, bytes: u32) -> Completion {
    let words = [number | specific << 8 | (bytes / 4 - 1) << 16, 1 << 16, 0, 0, 0, 0];
    admin.run(Command { opcode: GET_LOG_PAGE, namespace: 0, words }, &[], bytes).unwrap()
}

/// Blocks that are left of each handle's reclaim unit.
fn blocks_left(io: &mut Queue) -> Vec<u64> {
    let words = [1, 255, 0, 0, 0, 0];
    let status = io.run(Command { opcode: MANAGEMENT_RECEIVE, namespace: 1, words }, &[], 1024).unwrap();
    assert_eq!(status.status, 0);
    let handles = number(&status.data[14..16]) as usize;
    let of_handle = |handle: usize| &status.data[16 + 32 * handle..][..32];
    (0..handles).for_each(|handle| assert_eq!(number(&of_handle(handle)[..2]), handle as u64));
    (0..handles).map(|handle| number(&of_handle(handle)[8..16])).collect()
}

fn update(io: &mut Queue, identifiers: &[u16]) -> u16 {
    let words = [1 | (identifiers.len() as u32 - 1) << 16, 0, 0, 0, 0, 0];
    let data: Vec<u8> = identifiers.iter().flat_map(|identifier| identifier.to_le_bytes()).collect();
    io.run(Command { opcode: MANAGEMENT_SEND, namespace: 1, words }, &data, 0).unwrap().status
}

/// An entry of the log of events.
#[derive(Debug)]
struct Event {
    kind: u8,
    flags: u8,
    identifier: u64,
    handle: u8,
    moved_blocks: u64,
    moved_block: u64,
}

/// The events of the host (1), or of the controller (0).
fn events(admin: &mut Queue, of_host: u32) -> Vec<Event> {
    let log = log_page(admin, 0x23, of_host, 4096).data;
    let event = |at: usize| {
        let data = &log[64 * (at + 1)..][..64];
        Event {
            kind: data[0],
            flags: data[1],
            identifier: number(&data[2..4]),
            handle: data[34],
            moved_blocks: number(&data[18..20]),
            moved_block: number(&data[20..28]),
        }
    };
    (0..number(&log[..4]) as usize).map(event).collect()
}

fn enable(admin: &mut Queue, handle: u32, types: &[u8]) {
    let words = [0x1e, handle | (types.len() as u32) << 16, 1, 0, 0, 0];
    let set = Command { opcode: SET_FEATURES, namespace: 0, words };
    assert_eq!(admin.run(set, types, 0).unwrap().status, 0);
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

#[test]
fn a_disk_without_handles_has_no_placement() {
    let running = Running::memory(&small());
    let (mut admin, mut io) = host(&running);
    assert_eq!(log_page(&mut admin, 0x20, 0, 64).status, 0x109);
    let words = [1, 255, 0, 0, 0, 0];
    assert_eq!(io.run(Command { opcode: MANAGEMENT_RECEIVE, namespace: 1, words }, &[], 1024).unwrap().status, 0x029);
    assert_eq!(update(&mut io, &[0]), 0x029);
}

#[test]
fn the_configuration_is_that_of_the_disk() {
    for (text, kind) in [("3:initially", 1), ("3:persistently", 2), ("3:persistently-apart", 2)] {
        let running = Running::memory(&config(text));
        let (mut admin, _io) = host(&running);
        let controller = admin.run(Command { opcode: 6, namespace: 0, words: [1, 0, 0, 0, 0, 0] }, &[], 4096).unwrap();
        assert_eq!(number(&controller.data[96..100]) & (1 << 19 | 1 << 4), 1 << 19 | 1 << 4);
        let configurations = log_page(&mut admin, 0x20, 0, 96).data;
        assert_eq!((number(&configurations[..2]), number(&configurations[4..8])), (0, 96), "one, and all its bytes");
        assert_eq!(number(&configurations[16..18]), 80, "a multiple of 8");
        assert_eq!(
            (number(&configurations[20..24]), number(&configurations[24..26])),
            (1, 3),
            "one group, three handles"
        );
        assert_eq!(number(&configurations[32..40]), running.engine.segment_bytes());
        assert_eq!([80, 84, 88].map(|at| configurations[at]), [kind; 3]);
        assert_eq!(number(&log_page(&mut admin, 0x21, 0, 32).data[..2]), 3);
        let get = Command { opcode: GET_FEATURES, namespace: 0, words: [0x1d, 1, 0, 0, 0, 0] };
        assert_eq!(admin.run(get, &[], 0).unwrap().result, 1, "enabled, configuration 0");
        let set = Command { opcode: SET_FEATURES, namespace: 0, words: [0x1d, 1, 0, 0, 0, 0] };
        assert_eq!(admin.run(set, &[], 0).unwrap().status, 0x00c, "not while there is a namespace");
    }
}

#[test]
fn a_handle_has_a_reclaim_unit_of_its_own_until_it_is_full_or_updated() {
    ["3:persistently", "3:persistently-apart"].into_iter().for_each(has_units_of_its_own);
}

fn has_units_of_its_own(fdp: &str) {
    let running = Running::memory(&config(fdp));
    let (mut admin, mut io) = host(&running);
    let whole = running.engine.segment_bytes() / BLOCK;
    assert_eq!(blocks_left(&mut io), [whole; 3]);
    write(&mut io, 0, PAGE, None);
    write(&mut io, 100, 3 * PAGE, Some(2));
    assert_eq!(blocks_left(&mut io), [whole - 4, whole, whole - 12], "no identifier is the first handle");
    write(&mut io, 200, whole as u32, Some(2));
    assert_eq!(blocks_left(&mut io)[2], whole - 12, "of the next one");

    let events = |admin: &mut Queue| -> Vec<(u8, u64)> {
        events(admin, 1).into_iter().map(|event| (event.kind, event.identifier)).collect()
    };
    assert_eq!(events(&mut admin), [], "none was asked for");
    [0, 2].into_iter().for_each(|handle| enable(&mut admin, handle, &[0, 3]));
    assert_eq!(update(&mut io, &[2, 1]), 0);
    assert_eq!(blocks_left(&mut io), [whole - 4, whole, whole]);
    write(&mut io, 8, PAGE, Some(7));
    assert_eq!(blocks_left(&mut io)[0], whole - 8, "an identifier that there is none of is the first handle");
    assert_eq!(events(&mut admin), [(0, 2), (3, 7)], "not fully written; no identifier");
    assert_eq!(update(&mut io, &[0, 3]), 0x002);
    assert_eq!(blocks_left(&mut io)[0], whole - 8, "all or none");
}

/// Writes as two hosts with placement and updates, under so much cleaning that pages are copied.
fn use_handles(running: &Running, seed: u64) {
    let (_admin, mut io) = host(running);
    let mut rng = Rng::new(seed);
    let pages = (running.bytes / BLOCK) as u32 / PAGE;
    for _ in 0..3000 {
        // Each handle has its part of the disk, and rewrites it more or less often.
        let handle = rng.below(4).min(rng.below(4));
        let page = handle * pages / 4 + rng.below(pages / 4);
        write(&mut io, page * PAGE, PAGE, Some(handle));
        if rng.below(100) == 0 {
            assert_eq!(update(&mut io, &[handle as u16]), 0);
        }
    }
}

#[test]
fn statistics_are_the_engines_own_counters() {
    let running = Running::memory(&config("4:initially"));
    use_handles(&running, 0x57a7);
    let (mut admin, _io) = host(&running);
    // Cleaning in idle time would go on counting.
    let (report, counters) = loop {
        let before = running.engine.access().unwrap().report().0;
        let counters = statistics(&mut admin);
        let after = running.engine.access().unwrap().report().0;
        if before.counters == after.counters {
            break (after, counters);
        }
    };
    let (page_bytes, segment_bytes) = (u64::from(PAGE) * BLOCK, running.engine.segment_bytes());
    let expected =
        [report.host_pages * page_bytes, report.programmed_pages * page_bytes, report.erases * segment_bytes];
    assert_eq!(counters, expected);
    assert!(report.copied_pages > 100 && counters[1] > counters[0], "there was something to count");
}

/// A server that does nothing that its host has not asked for.
fn only_asked(disk: Disk) -> Running {
    Running::start(disk, ServerConfig { cleans_when_idle: false, ..ServerConfig::default() })
}

/// A disk that does nothing that its host has not asked for.
fn without_idle_work(fdp: &str) -> Running {
    only_asked(Disk::memory(&config(fdp)).unwrap())
}

/// Bytes that the host wrote, that were programmed and that were erased.
fn statistics(admin: &mut Queue) -> [u64; 3] {
    let log = log_page(admin, 0x22, 0, 64).data;
    [0, 16, 32].map(|at| number(&log[at..at + 16]))
}

#[test]
fn statistics_are_of_the_whole_life_whatever_ended_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut path = folder.path().join("disk.ww");
    drop(Disk::create(&path, &config("4:initially")).unwrap());
    let (page_bytes, mut expected) = (u64::from(PAGE) * BLOCK, [0; 3]);
    for opens in 1..=3_u64 {
        let running = only_asked(Disk::open(&path).unwrap().0);
        use_handles(&running, opens);
        let (mut admin, _io) = host(&running);
        let counted = running.engine.access().unwrap().disk().counters();
        let erased = counted.erases * running.engine.segment_bytes();
        let parts = [counted.host_pages * page_bytes, counted.programmed_pages() * page_bytes, erased];
        assert!(parts.iter().all(|&part| part > 0));
        expected.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        assert_eq!(statistics(&mut admin), expected, "opened {opens} times");
        let words = [2 | 127 << 16, 0, 0, 0, 0, 0];
        let health = admin.run(Command { opcode: GET_LOG_PAGE, namespace: 0, words }, &[], 512).unwrap();
        assert_eq!(number(&health.data[112..128]), opens, "power cycles");
        // The file is what a kill would leave: the system has all that was stored.
        let killed = folder.path().join(format!("killed-{opens}.ww"));
        std::fs::copy(&path, &killed).unwrap();
        path = killed;
    }
}

#[test]
fn a_restart_is_an_event_of_each_handle_whose_unit_was_partly_written() {
    let folder = tempfile::tempdir().unwrap();
    for (text, is_killed) in [
        ("5:persistently", false),
        ("5:persistently", true),
        ("5:persistently-apart", false),
        ("5:persistently-apart", true),
    ] {
        let path = folder.path().join(format!("{text}-{is_killed}.ww"));
        let killed = folder.path().join("copy.ww");
        drop(Disk::create(&path, &config(text)).unwrap());
        let running = only_asked(Disk::open(&path).unwrap().0);
        let (mut admin, mut io) = host(&running);
        let whole = (running.engine.segment_bytes() / BLOCK) as u32;
        // The first is partly written; the next is ended, the next is full, the next is not used, and of the last
        // nobody wants to hear.
        (0..4).for_each(|handle| enable(&mut admin, handle, &[2]));
        enable(&mut admin, 4, &[0]);
        write(&mut io, 0, 3 * PAGE, Some(0));
        write(&mut io, 200, PAGE, Some(1));
        assert_eq!(update(&mut io, &[1]), 0);
        write(&mut io, 400, whole, Some(2));
        write(&mut io, 800, PAGE, Some(4));
        std::fs::copy(&path, &killed).unwrap();
        running.stop().0.unwrap();
        let path = if is_killed { &killed } else { &path };

        let running = only_asked(Disk::open(path).unwrap().0);
        let (mut admin, mut io) = host(&running);
        let found = events(&mut admin, 1);
        let told: Vec<_> =
            found.iter().map(|event| (event.kind, event.flags, event.identifier, event.handle)).collect();
        assert_eq!(told, [(2, 0b100, 0, 0)], "killed: {is_killed}");
        for (handle, enabled) in [(3, [0, 0, 2, 1, 3, 0, 0x81, 0]), (4, [0, 1, 2, 0, 3, 0, 0x81, 0])] {
            let get = Command { opcode: GET_FEATURES, namespace: 0, words: [0x1e, handle, 0, 0, 0, 0] };
            let answer = admin.run(get, &[], 512).unwrap();
            assert_eq!((answer.result, &answer.data[..8]), (4, &enabled[..]), "what was enabled stays so");
        }
        assert_eq!(update(&mut io, &[0]), 0);
        running.stop().0.unwrap();
        let disk = Disk::open(path).unwrap().0;
        assert_eq!(disk.handle_events(true), [], "nothing was written since");
    }
}

#[test]
fn events_have_the_types_that_the_isolation_knows() {
    let of_initially = [0, 3, 0x80, 0x81].as_slice();
    let of_others = [0, 3, 0x81].as_slice();
    for (text, types) in
        [("2:initially", of_initially), ("2:persistently", of_others), ("2:persistently-apart", of_others)]
    {
        let running = without_idle_work(text);
        let (mut admin, _io) = host(&running);
        enable(&mut admin, 1, &[3, 0x81]);
        let get = Command { opcode: GET_FEATURES, namespace: 0, words: [0x1e, 1, 0, 0, 0, 0] };
        let answer = admin.run(get, &[], 512).unwrap();
        assert_eq!(answer.result, types.len() as u64);
        let listed: Vec<u8> = types.iter().flat_map(|&kind| [kind, u8::from([3, 0x81].contains(&kind))]).collect();
        assert_eq!(answer.data[..listed.len()], listed);
        let set = Command { opcode: SET_FEATURES, namespace: 0, words: [0x1e, 1 | 1 << 16, 1, 0, 0, 0] };
        assert_eq!(admin.run(set, &[0x80], 0).unwrap().status, if types.len() == 4 { 0 } else { 0x002 });
    }
}

#[test]
fn what_is_moved_is_reallocated_page_for_page() {
    let running = without_idle_work("3:initially");
    let (mut admin, mut io) = host(&running);
    (0..3).for_each(|handle| enable(&mut admin, handle, &[0x80, 0x81]));
    let pages = (running.bytes / BLOCK) as u32 / PAGE;
    (0..pages).for_each(|page| write(&mut io, page * PAGE, PAGE, Some(page * 3 / pages)));
    let mut rng = Rng::new(0x80);
    let copied = || running.engine.access().unwrap().disk().counters().copied_pages;
    // What was moved once has left its handle, and its next move is no event.
    let moves_again = || {
        running
            .engine
            .access()
            .unwrap()
            .disk()
            .segments()
            .iter()
            .any(|row| row.class == Some(14) && row.state == SegmentState::Victim)
    };
    let mut most = 0;
    while !moves_again() {
        let page = rng.below(pages);
        write(&mut io, page * PAGE, PAGE, Some(page * 3 / pages));
        let events = events(&mut admin, 0);
        if moves_again() || events.len() == 63 {
            break;
        }
        most = copied();
        assert_eq!(events.iter().map(|event| event.moved_blocks).sum::<u64>(), most * u64::from(PAGE));
        for Event { kind, identifier, moved_block, .. } in events {
            assert_eq!((kind, identifier), (0x80, moved_block / u64::from(PAGE) * 3 / u64::from(pages)));
        }
    }
    assert!(most > 60, "{most} pages show little");
}

/// The open segment of each handle, each of which has so many classes.
fn open_segments(running: &Running, handles: u8, classes: u8) -> Vec<Option<u32>> {
    let rows = running.engine.access().unwrap().disk().segments();
    let is_of = |row: &SegmentRow, handle| row.class == Some(handle * classes) && row.state == SegmentState::Open;
    let open_of = |handle| rows.iter().find(|row| is_of(row, handle)).map(|row| row.segment);
    (0..handles).map(open_of).collect()
}

#[test]
fn a_handle_that_its_host_did_not_turn_is_an_event_and_no_other_is() {
    let running = without_idle_work("3:persistently");
    let (mut admin, mut io) = host(&running);
    let pages = (running.bytes / BLOCK) as u32 / PAGE;
    (0..pages).for_each(|page| write(&mut io, page * PAGE, PAGE, Some(page * 3 / pages)));
    (0..3).for_each(|handle| enable(&mut admin, handle, &[0x81]));
    let mut rng = Rng::new(0x81);
    let (mut logged, mut of_others) = (0, 0);
    while logged < 40 {
        let page = rng.below(pages);
        let written = page * 3 / pages;
        let before = open_segments(&running, 3, 1);
        write(&mut io, page * PAGE, PAGE, Some(written));
        let after = open_segments(&running, 3, 1);
        let events = events(&mut admin, 0);
        for handle in (0..3).filter(|handle| *handle != written) {
            let turned = events[logged..].iter().filter(|event| event.identifier == u64::from(handle)).count();
            let left = before[handle as usize].is_some_and(|open| after[handle as usize] != Some(open));
            assert_eq!(turned, usize::from(left), "handle {handle} while {written} was written: {events:?}");
            of_others += turned;
        }
        assert!(events.iter().all(|event| event.kind == 0x81));
        logged = events.len();
    }
    assert!(of_others > 10, "{of_others} of {logged} were of handles that nobody wrote to");
}

/// A disk on which free segments do not run short, so that each page finds a segment of its own class.
fn with_free_segments(fdp: &str) -> Running {
    let mut config = config(fdp);
    config.engine.when = CleaningTrigger::parse("watermark:8:9");
    only_asked(Disk::memory(&config).unwrap())
}

#[test]
fn copies_that_lie_apart_leave_the_units_alone_that_hosts_write_to() {
    let running = with_free_segments("3:persistently-apart");
    let (mut admin, mut io) = host(&running);
    (0..3).for_each(|handle| enable(&mut admin, handle, &[0x81]));
    let pages = (running.bytes / BLOCK) as u32 / PAGE;
    (0..pages).for_each(|page| write(&mut io, page * PAGE, PAGE, Some(page * 3 / pages)));
    let mut rng = Rng::new(0x81);
    for _ in 0..3000 {
        let page = rng.below(pages);
        let written = page * 3 / pages;
        let before = (open_segments(&running, 3, 2), blocks_left(&mut io));
        write(&mut io, page * PAGE, PAGE, Some(written));
        let after = (open_segments(&running, 3, 2), blocks_left(&mut io));
        for handle in (0..3).filter(|handle| *handle != written as usize) {
            assert_eq!((after.0[handle], after.1[handle]), (before.0[handle], before.1[handle]), "handle {handle}");
        }
        // A unit that is full is followed by an empty one.
        let whole = running.engine.segment_bytes() / BLOCK;
        let left = before.1[written as usize] - u64::from(PAGE);
        assert_eq!(after.1[written as usize], if left == 0 { whole } else { left }, "only the host fills it");
    }
    let counted = running.engine.access().unwrap().disk().counters();
    assert!(counted.copied_pages > 1000 && counted.urgent_pages == 0, "{counted:?}");
    assert!(events(&mut admin, 0).is_empty(), "no handle has left a unit that its host had not filled");
}

#[test]
fn a_mount_while_the_disk_is_served_takes_segments_from_their_handles() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["4:initially", "4:persistently", "4:persistently-apart"] {
        let path = folder.path().join(text);
        drop(Disk::create(&path, &config(text)).unwrap());
        let (mut disk, _) = Disk::open(&path).unwrap();
        (0..4).for_each(|handle| disk.watch_handle(handle, Watched::MOVED.and(Watched::TURNED)));
        let page = vec![1; disk.page_bytes() as usize];
        let place = |number: u64| number * page.len() as u64;
        // The second handle is never written to, and the last one ends its segment.
        for handle in [0, 2, 3] {
            (0..3).for_each(|number| disk.write(place(8 * u64::from(handle) + number), &page, handle).unwrap());
        }
        disk.renew_handle(3).unwrap();
        assert_eq!(disk.handle_events(false), []);
        let found = disk.remount().unwrap().expect("the file system has room");
        let (mut turned, mut moved) = (Vec::new(), 0);
        for event in disk.handle_events(false) {
            match event.deed {
                HandleDeed::Turned => turned.push(event.handle),
                HandleDeed::Moved { pages, page } => {
                    assert_eq!(page / 8, u32::from(event.handle), "{text}: {event:?}");
                    moved += pages;
                }
                deed => panic!("{text}: {deed:?}"),
            }
        }
        assert_eq!(turned, [0, 2], "{text}");
        assert!(found.rescued_pages > 0, "{text}: {found:?}");
        assert_eq!(moved, found.rescued_pages, "{text}");
    }
}

/// The classes of segments that hold something, after much cleaning.
fn used_classes(fdp: &str) -> Vec<u8> {
    let running = Running::memory(&config(fdp));
    use_handles(&running, 0x150);
    let mut access = running.engine.access().unwrap();
    assert!(access.report().0.copied_pages > 100);
    let classes = access.disk().segments().into_iter().filter_map(|row| row.class.filter(|_| row.valid_pages > 0));
    let mut classes: Vec<u8> = classes.collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}

#[test]
fn persistently_isolated_handles_never_share_a_segment() {
    assert_eq!(used_classes("4:persistently"), [0, 1, 2, 3], "nothing is in a segment of no handle");
    assert_eq!(used_classes("4:initially"), [0, 1, 2, 3, 14], "copies of all share theirs");
    assert_eq!(used_classes("4:persistently-apart"), [0, 1, 2, 3, 4, 5, 6, 7], "writes and copies of each");
}

#[test]
fn all_that_a_persistently_isolated_handle_wrote_lies_in_its_classes() {
    for (text, classes) in [("4:persistently", 1), ("4:persistently-apart", 2)] {
        let running = with_free_segments(text);
        use_handles(&running, 0x150);
        let (page_bytes, quarter_bytes) = (u64::from(PAGE) * BLOCK, running.bytes / 4);
        let mut access = running.engine.access().unwrap();
        let disk = access.disk_mut();
        for handle in 0..4 {
            let is_of = |row: &SegmentRow| row.class.is_some_and(|class| class / classes == handle);
            let kept: u64 = disk.segments().iter().filter(|row| is_of(row)).map(|row| u64::from(row.valid_pages)).sum();
            // Each handle wrote to its own quarter.
            let pages =
                (0..quarter_bytes / page_bytes).map(|page| u64::from(handle) * quarter_bytes + page * page_bytes);
            let written = pages.filter(|&at| disk.extent(at, page_bytes).allocated).count();
            assert_eq!(kept, written as u64, "{text}: handle {handle}");
        }
        let counted = disk.counters();
        assert!(counted.copied_pages > 1000 && counted.urgent_pages == 0, "{text}: {counted:?}");
    }
}

#[test]
fn a_recorded_session_replays_with_its_placement() {
    for text in ["4:initially", "4:persistently", "4:persistently-apart"] {
        let config = config(text);
        let recording = Recording::default();
        let mut disk = Disk::memory(&config).unwrap();
        disk.record(Box::new(recording.clone())).unwrap();
        let running = Running::start(disk, ServerConfig { cleans_when_idle: false, ..ServerConfig::default() });
        use_handles(&running, 0x9e9);
        let (served, _) = running.engine.access().unwrap().report();
        let (ended, _) = running.stop();
        ended.unwrap();
        let recording = recording.text();
        assert!(recording.windows(3).any(|row| row == b",E,"), "some segment was ended");
        assert_eq!(same(&served), same(&replayed(&config, &recording)), "{text}");
        // Where handles are not kept apart, no segment is that of one, and its end is none.
        let mut mixed = DiskConfig { fdp: None, ..config };
        mixed.engine.place = Placement::SeparateGc;
        let rows = recording.split_inclusive(|&byte| byte == b'\n');
        let without: Vec<u8> =
            rows.filter(|row| !row.windows(3).any(|part| part == b",E,")).flatten().copied().collect();
        assert_eq!(same(&replayed(&mixed, &recording)), same(&replayed(&mixed, &without)), "{text}");
    }
}

#[test]
fn an_image_keeps_its_handles() {
    ["5:persistently", "5:persistently-apart"].into_iter().for_each(is_kept_in_an_image);
}

fn is_kept_in_an_image(fdp: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.ww");
    drop(Disk::create(&path, &config(fdp)).unwrap());
    let (mut disk, _) = Disk::open(&path).unwrap();
    assert_eq!(disk.fdp().map(|fdp| fdp.to_string()), Some(fdp.to_owned()));
    disk.write(0, &[1; 4096], 3).unwrap();
    disk.renew_handle(3).unwrap();
    disk.write(8192, &[2; 4096], 3).unwrap();
    disk.flush().unwrap();
    // Not shut down, as by a kill; one of its segments was ended before it was full.
    drop(disk);
    let (mut disk, _) = Disk::open(&path).unwrap();
    let mut data = [0; 12_288];
    disk.read(0, &mut data).unwrap();
    assert!(data[..4096] == [1; 4096] && data[4096..8192] == [0; 4096] && data[8192..] == [2; 4096]);
    let mut wrong = config(fdp);
    wrong.engine.place = Placement::Single;
    assert!(Disk::memory(&wrong).is_err(), "handles need their placement");
}
