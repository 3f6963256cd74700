//! Streams over NVMe/TCP, and copies.

use wearwell::Placement;
use wearwell_soak::nvme::{Command, Completion, Options, Queue};

use crate::running::{NQN, Running, small};

const WRITE: u8 = 1;
const READ: u8 = 2;
const COPY: u8 = 0x19;
const SEND: u8 = 0x19;
const RECEIVE: u8 = 0x1a;
const BLOCK: usize = 512;
const STREAMS: u32 = 1;

/// A disk that keeps streams apart.
fn running() -> Running {
    let mut config = small();
    config.engine.place = Placement::ByStream;
    Running::memory(&config)
}

fn host(running: &Running) -> (Queue, Queue) {
    let mut admin = Queue::admin(running.nvme, NQN, Options::default()).unwrap();
    admin.enable().unwrap();
    let io = Queue::io(running.nvme, NQN, admin.controller, 1, Options::default()).unwrap();
    (admin, io)
}

fn directive(admin: &mut Queue, opcode: u8, namespace: u32, [kind, operation]: [u32; 2], word: u32) -> Completion {
    let words = [127, operation | kind << 8 | (word >> 16) << 16, word & 0xffff, 0, 0, 0];
    let bytes = if opcode == RECEIVE { 512 } else { 0 };
    admin.run(Command { opcode, namespace, words }, &[], bytes).unwrap()
}

/// Enables or disables streams.
fn enable(admin: &mut Queue, is_wanted: bool) -> u16 {
    directive(admin, SEND, 1, [0, 1], STREAMS << 8 | u32::from(is_wanted)).status
}

/// Writes a page as part of a stream.
fn write(io: &mut Queue, page: u32, kind: u32, stream: u32) -> u16 {
    let words = [page * 4, 0, 3 | kind << 20, stream << 16, 0, 0];
    io.run(Command { opcode: WRITE, namespace: 1, words }, &[page as u8; 4 * BLOCK], 0).unwrap().status
}

fn read(io: &mut Queue, first: u32, blocks: u32) -> Vec<u8> {
    let words = [first, 0, blocks - 1, 0, 0, 0];
    io.run(Command { opcode: READ, namespace: 1, words }, &[], blocks * BLOCK as u32).unwrap().data
}

fn numbers(data: &[u8], count: usize) -> Vec<u16> {
    data.chunks_exact(2).take(count).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]])).collect()
}

/// The streams that write to segments of the disk.
fn streams_of(running: &Running) -> Vec<u16> {
    let access = running.engine.access().unwrap();
    let mut streams: Vec<u16> = (0..16).flat_map(|class| access.disk().streams_of(class)).collect();
    streams.sort_unstable();
    streams
}

#[test]
fn streams_reach_the_engine_once_they_are_enabled() {
    let running = running();
    let (mut admin, mut io) = host(&running);
    let parameters = directive(&mut admin, RECEIVE, 1, [0, 1], 0).data;
    assert_eq!([parameters[0], parameters[32], parameters[64]], [0b11, 0b01, 0], "supported, and not enabled");
    assert_eq!(directive(&mut admin, RECEIVE, 1, [STREAMS, 1], 0).status, 0x002, "not enabled");
    assert_eq!(write(&mut io, 0, STREAMS, 7), 0);
    assert_eq!(streams_of(&running), [0], "what is not enabled is ignored");
    assert_eq!(enable(&mut admin, true), 0);
    assert_eq!(directive(&mut admin, RECEIVE, 1, [0, 1], 0).data[32], 0b11);
    for stream in [7, 300, 0] {
        assert_eq!(write(&mut io, stream, STREAMS, stream), 0);
    }
    assert_eq!(streams_of(&running), [0, 7, 300]);
    assert_eq!(write(&mut io, 0, 2, 7), 0x002, "another directive, which is not enabled");
    let status = directive(&mut admin, RECEIVE, 1, [STREAMS, 2], 0).data;
    assert_eq!(numbers(&status, 3), [2, 7, 300], "0 is no stream");
    let parameters = directive(&mut admin, RECEIVE, 1, [STREAMS, 1], 0).data;
    assert_eq!(numbers(&parameters, 4), [14, 14, 2, 1]);
    let segment = (running.engine.segment_bytes() / 2048) as u16;
    assert_eq!(numbers(&parameters[16..], 5), [4, 0, segment, 0, 2], "the page, and the segment in pages");
    assert_eq!(directive(&mut admin, SEND, 1, [STREAMS, 1], 7 << 16).status, 0);
    assert_eq!(numbers(&directive(&mut admin, RECEIVE, 1, [STREAMS, 2], 0).data, 2), [1, 300]);
    assert_eq!(enable(&mut admin, false), 0);
    assert_eq!(directive(&mut admin, RECEIVE, 1, [STREAMS, 2], 0).status, 0x002);
}

#[test]
fn no_more_streams_are_open_than_were_allocated() {
    let running = running();
    let (mut admin, mut io) = host(&running);
    assert_eq!(enable(&mut admin, true), 0);
    let open = |admin: &mut Queue| {
        let status = directive(admin, RECEIVE, 1, [STREAMS, 2], 0).data;
        numbers(&status[2..], usize::from(numbers(&status, 1)[0]))
    };
    (1..=20).for_each(|stream| assert_eq!(write(&mut io, stream, STREAMS, stream), 0));
    assert_eq!(open(&mut admin), (7..=20).collect::<Vec<u16>>(), "those that were written to last");
    assert_eq!(directive(&mut admin, RECEIVE, 1, [STREAMS, 3], 3).result, 3);
    assert_eq!(open(&mut admin), [18, 19, 20]);
    assert_eq!(directive(&mut admin, RECEIVE, 1, [STREAMS, 3], 3).status, 0x002, "some are allocated");
    assert_eq!([18, 5].map(|stream| write(&mut io, 0, STREAMS, stream)), [0; 2]);
    assert_eq!(open(&mut admin), [5, 18, 20]);
    assert_eq!(directive(&mut admin, SEND, 1, [STREAMS, 2], 0).status, 0);
    assert_eq!(directive(&mut admin, RECEIVE, 1, [STREAMS, 3], 100).result, 14, "all there are");
}

#[test]
fn a_host_keeps_its_directives_until_its_last_controller_is_reset() {
    let running = running();
    let (mut admin, _io) = host(&running);
    let (mut other, _io_too) = host(&running);
    assert_eq!(enable(&mut admin, true), 0);
    let are_enabled = |admin: &mut Queue| directive(admin, RECEIVE, 1, [0, 1], 0).data[32] == 0b11;
    assert!(are_enabled(&mut other), "the same host");
    admin.set_property(0x14, 0).unwrap();
    assert!(are_enabled(&mut other));
    other.set_property(0x14, 0).unwrap();
    other.enable().unwrap();
    assert!(!are_enabled(&mut other));
}

#[test]
fn wrong_directives_have_their_status() {
    let without = running();
    let (mut admin, _io) = host(&without);
    assert_eq!(directive(&mut admin, SEND, 1, [0, 1], 2 << 8 | 1).status, 0x029, "no placement to enable");
    assert_eq!(directive(&mut admin, SEND, 1, [0, 1], 1).status, 0x002, "identify is always enabled");
    assert_eq!(directive(&mut admin, SEND, 2, [0, 1], STREAMS << 8 | 1).status, 0x00b);
    assert_eq!(directive(&mut admin, SEND, 1, [0, 9], STREAMS << 8 | 1).status, 0x002);
    let mut config = small();
    config.fdp = Some(wearwell_serve::fdp::FdpSpec::parse("2").unwrap());
    config.engine.place = config.fdp.unwrap().place();
    let with = Running::memory(&config);
    let (mut admin, mut io) = host(&with);
    assert_eq!(enable(&mut admin, true), 0x002, "placement, so no streams");
    assert_eq!(write(&mut io, 0, STREAMS, 7), 0x002);
    assert_eq!(directive(&mut admin, SEND, 1, [0, 1], 2 << 8 | 1).status, 0, "placement is enabled");
    let parameters = directive(&mut admin, RECEIVE, 1, [0, 1], 0).data;
    assert_eq!([parameters[0], parameters[32], parameters[64]], [0b101, 0b101, 0b100]);
}

/// Copies ranges of first blocks and numbers of blocks.
fn copy(io: &mut Queue, to: u32, ranges: &[(u64, u16)], flags: u32) -> u16 {
    let words = [to, 0, (ranges.len() as u32 - 1) | flags, 0, 0, 0];
    let mut data = Vec::new();
    for (first, blocks) in ranges {
        data.extend([&[0; 8], &first.to_le_bytes()[..], &(blocks - 1).to_le_bytes(), &[0; 14]].concat());
    }
    io.run(Command { opcode: COPY, namespace: 1, words }, &data, 0).unwrap().status
}

#[test]
fn ranges_are_copied_one_behind_the_other() {
    let running = Running::memory(&small());
    let (_admin, mut io) = host(&running);
    (0..40).for_each(|page| assert_eq!(write(&mut io, page, 0, 0), 0));
    assert_eq!(copy(&mut io, 1000, &[(5, 1), (16, 3), (0, 1)], 1 << 30), 0);
    let expected = [[1; BLOCK], [4; BLOCK], [4; BLOCK], [4; BLOCK], [0; BLOCK]].concat();
    assert!(read(&mut io, 1000, 5) == expected);
    assert_eq!(copy(&mut io, 2, &[(0, 8)], 0), 0, "onto itself");
    assert!(read(&mut io, 2, 8) == [[0; 4 * BLOCK], [1; 4 * BLOCK]].concat());
    let all = running.bytes / BLOCK as u64;
    assert_eq!(copy(&mut io, 0, &[(all - 1, 2)], 0), 0x080);
    assert_eq!(copy(&mut io, all as u32 - 1, &[(0, 2)], 0), 0x080);
    assert_eq!(copy(&mut io, 0, &[(0, 2048), (0, 1)], 0), 0x183, "more than it may have");
    assert_eq!(copy(&mut io, 0, &[(0, 1)], 1 << 8), 0x002, "another format");
    assert!(read(&mut io, 0, 1) == [0; BLOCK]);
    assert_eq!(copy(&mut io, 0, &[(0, 1); 129], 0), 0x183);
}
