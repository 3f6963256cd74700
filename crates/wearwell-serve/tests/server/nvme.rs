//! Hosts over NVMe/TCP.

use std::io::{Read, Write};
use std::net::TcpStream;

use wearwell::Rng;
use wearwell_soak::nvme::{C2H_TERM, Command, Completion, DISCOVERY_NQN, HOST_NQN, Options, Queue};

use crate::running::{NQN, Running, small};

const FLUSH: u8 = 0;
const WRITE: u8 = 1;
const READ: u8 = 2;
const COMPARE: u8 = 5;
const WRITE_ZEROES: u8 = 8;
const DATASET_MANAGEMENT: u8 = 9;
const VERIFY: u8 = 12;
const BLOCK: u64 = 512;

fn command(opcode: u8, first: u64, blocks: u32, flags: u32) -> Command {
    let words = [first as u32, (first >> 32) as u32, (blocks - 1) | flags, 0, 0, 0];
    Command { opcode, namespace: 1, words }
}

/// An enabled controller's admin queue, and its first I/O queue.
fn host(running: &Running, options: Options) -> (Queue, Queue) {
    let mut admin = Queue::admin(running.nvme, NQN, options).unwrap();
    assert_eq!(admin.enable().unwrap().status, 0);
    let io = Queue::io(running.nvme, NQN, admin.controller, 1, options).unwrap();
    (admin, io)
}

fn write(io: &mut Queue, first: u64, data: &[u8], flags: u32) -> u16 {
    let blocks = (data.len() as u64 / BLOCK) as u32;
    io.run(command(WRITE, first, blocks, flags), data, 0).unwrap().status
}

fn read(io: &mut Queue, first: u64, blocks: u32) -> Completion {
    io.run(command(READ, first, blocks, 0), &[], blocks * BLOCK as u32).unwrap()
}

fn identify(admin: &mut Queue, what: u32, namespace: u32) -> Completion {
    admin.run(Command { opcode: 6, namespace, words: [what, 0, 0, 0, 0, 0] }, &[], 4096).unwrap()
}

fn log_page(admin: &mut Queue, number: u32, bytes: u32) -> Completion {
    let words = [number | (bytes / 4 - 1) << 16, 0, 0, 0, 0, 0];
    admin.run(Command { opcode: 2, namespace: 0xffff_ffff, words }, &[], bytes).unwrap()
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

#[test]
fn a_host_finds_the_disk_and_what_it_is() {
    let running = Running::memory(&small());
    let mut discovery = Queue::admin(running.nvme, DISCOVERY_NQN, Options::default()).unwrap();
    discovery.enable().unwrap();
    let found = log_page(&mut discovery, 0x70, 2048).data;
    assert_eq!((number(&found[8..16]), found[1024], found[1026]), (1, 3, 2), "one record, over TCP, of a subsystem");
    assert!(found[1024 + 256..].starts_with(NQN.as_bytes()));
    assert!(found[1024 + 32..].starts_with(running.nvme.port().to_string().as_bytes()));

    let mut admin = Queue::admin(running.nvme, NQN, Options::default()).unwrap();
    assert_eq!(
        number(&admin.property(0, true).unwrap().result.to_le_bytes()[..2]),
        127,
        "entries of a queue, less one"
    );
    assert_eq!(admin.property(8, false).unwrap().result, 0x0002_0100);
    assert_eq!(admin.property(0x1c, false).unwrap().result, 0, "not ready");
    assert_eq!(identify(&mut admin, 1, 0).status, 0x00c, "not before it is enabled");
    admin.enable().unwrap();
    assert_eq!(admin.property(0x1c, false).unwrap().result, 1, "ready");
    let controller = identify(&mut admin, 1, 0).data;
    assert!(controller[24..].starts_with(b"wearwell ") && controller[768..].starts_with(NQN.as_bytes()));
    assert_eq!(number(&controller[78..80]), u64::from(admin.controller));
    let namespace = identify(&mut admin, 0, 1).data;
    assert_eq!(number(&namespace[..8]), running.bytes / BLOCK);
    assert_eq!((number(&namespace[64..66]), namespace[130]), (3, 9), "pages of 2 KiB, blocks of 512 bytes");
    assert_eq!(number(&identify(&mut admin, 2, 0).data[..8]), 1, "the one active namespace");
    assert_eq!(number(&identify(&mut admin, 0x13, 0).data[..2]), 1, "one controller for the disk");
    assert_eq!(identify(&mut admin, 0, 2).status, 0x00b);
    assert_eq!(identify(&mut admin, 0x99, 1).status, 0x002);
    let health = log_page(&mut admin, 2, 512).data;
    assert_eq!((health[0], health[3]), (0, 100), "no warning, all its spare");
    let errors = log_page(&mut admin, 1, 64).data;
    assert_eq!((number(&errors[..8]), number(&errors[12..14]) >> 1 & 0x7ff), (3, 0x002), "the last of three");
    assert_eq!(log_page(&mut admin, 0xc0, 64).status, 0x109);
}

#[test]
fn every_command_does_what_it_says_whatever_was_agreed_on() {
    let running = Running::memory(&small());
    for (header_digests, data_digests, alignment, without_flow_control) in
        [(false, false, 0, false), (true, false, 3, true), (false, true, 31, false), (true, true, 1, true)]
    {
        let options = Options { header_digests, data_digests, alignment, without_flow_control, ..Options::default() };
        let (mut admin, mut io) = host(&running, options);
        let data: Vec<u8> = (0..400_896_u32).map(|i| (i / 511) as u8).collect();
        assert_eq!(write(&mut io, 3, &data, 0), 0, "data that is asked for");
        assert_eq!(write(&mut io, 1000, &data[..4096], 1 << 30), 0, "in the capsule, durable");
        assert!(read(&mut io, 3, 783).data == data && read(&mut io, 1000, 8).data == data[..4096]);
        let compared = |io: &mut Queue, data| io.run(command(COMPARE, 3, 2, 0), data, 0).unwrap().status;
        assert_eq!([compared(&mut io, &data[..1024]), compared(&mut io, &[9; 1024])], [0, 0x285]);
        assert_eq!(io.run(command(FLUSH, 0, 1, 0), &[], 0).unwrap().status, 0);
        assert_eq!(io.run(command(VERIFY, 0, 2048, 0), &[], 0).unwrap().status, 0);
        assert_eq!(io.run(command(WRITE_ZEROES, 5, 2, 0), &[], 0).unwrap().status, 0);
        assert!(read(&mut io, 5, 2).data == [0; 1024] && read(&mut io, 3, 2).data == data[..1024]);
        // Two ranges of whole pages; Linux has room for 256 whatever there are.
        let mut ranges = [[0, 0, 0, 0, 4, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0], [0; 16]].concat();
        (ranges[20], ranges[24]) = (8, 200);
        ranges.resize(4096, 0);
        let discard = Command { opcode: DATASET_MANAGEMENT, namespace: 1, words: [1, 4, 0, 0, 0, 0] };
        assert_eq!(io.run(discard, &ranges, 0).unwrap().status, 0);
        assert!(read(&mut io, 100, 4).data == [0; 2048] && read(&mut io, 200, 8).data == [0; 4096]);
        assert!(read(&mut io, 104, 1).data == data[101 * 512..102 * 512]);
        assert_eq!(admin.run(Command { opcode: 0x18, ..Command::default() }, &[], 0).unwrap().status, 0);
    }
}

#[test]
fn what_makes_no_sense_has_its_status_and_costs_nothing() {
    let running = Running::memory(&small());
    let (mut admin, mut io) = host(&running, Options::default());
    let all = running.bytes / BLOCK;
    let status = |io: &mut Queue, command, data: &[u8], bytes| io.run(command, data, bytes).unwrap().status;
    let block = [1; 512];
    assert_eq!(status(&mut io, command(READ, all, 1, 0), &[], 512), 0x080);
    assert_eq!(status(&mut io, command(READ, u64::MAX, 1, 0), &[], 512), 0x080);
    assert_eq!(status(&mut io, command(WRITE, all - 1, 2, 0), &[0; 1024], 0), 0x080);
    assert_eq!(status(&mut io, command(WRITE_ZEROES, all, 1, 0), &[], 0), 0x080);
    assert_eq!(status(&mut io, command(READ, 0, 2, 0), &[], 512), 0x00f, "room for half of it");
    assert_eq!(status(&mut io, command(WRITE, 0, 2, 0), &block, 0), 0x00f, "half of it");
    assert_eq!(status(&mut io, Command { namespace: 2, ..command(READ, 0, 1, 0) }, &[], 512), 0x00b);
    assert_eq!(status(&mut io, command(0x55, 0, 1, 0), &[], 0), 0x001);
    assert_eq!(status(&mut io, command(WRITE, 0, 1, 2 << 20), &block, 0), 0, "no directive is enabled, so none counts");
    let beyond = [vec![0; 8], all.to_le_bytes().to_vec()].concat();
    let discard = Command { opcode: DATASET_MANAGEMENT, namespace: 1, words: [0, 4, 0, 0, 0, 0] };
    assert_eq!(status(&mut io, discard, &beyond, 0), 0, "no blocks at the very end");
    let too_many = [vec![0, 0, 0, 0, 1, 0, 0, 0], all.to_le_bytes().to_vec()].concat();
    assert_eq!(status(&mut io, discard, &too_many, 0), 0x080);
    let get = |fid| Command { opcode: 10, namespace: 0, words: [fid, 0, 0, 0, 0, 0] };
    let set = |fid, value| Command { opcode: 9, namespace: 0, words: [fid, value, 0, 0, 0, 0] };
    assert_eq!(status(&mut admin, get(0xee), &[], 0), 0x002);
    assert_eq!(status(&mut admin, set(6, 0), &[], 0), 0x10e, "the cache stays on");
    assert_eq!(status(&mut admin, set(7 | 1 << 31, 0), &[], 0), 0x10d);
    assert_eq!(admin.run(set(7, 0x0003_0003), &[], 0).unwrap().result, 0x000f_000f, "sixteen queues");
    assert_eq!(
        status(&mut admin, Command { opcode: 0x80, namespace: 1, ..Command::default() }, &[], 0),
        0x001,
        "format"
    );
    assert_eq!(status(&mut admin, Command { opcode: 0x84, ..Command::default() }, &[], 0), 0x001, "sanitize");
    let disconnect = Command { opcode: 0x7f, namespace: 8, ..Command::default() };
    assert_eq!(status(&mut admin, disconnect, &[], 0), 0x185, "not for the admin queue");
    assert_eq!(write(&mut io, 0, &block, 0), 0, "and it goes on");

    let refused = |nqn: &str, host: &str, queue, controller| {
        let mut queue_of_nobody = Queue::greeted(running.nvme, Options::default()).unwrap();
        queue_of_nobody
            .try_connect(nqn, host, queue, controller)
            .map(|refused| (refused.status, refused.result))
            .unwrap()
    };
    assert_eq!(refused("nqn.another", HOST_NQN, 0, 0xffff), (0x182, 0x1_0100), "another subsystem");
    assert_eq!(refused(NQN, HOST_NQN, 0, 1), (0x182, 0x1_0010), "a controller of its choice");
    assert_eq!(refused(NQN, HOST_NQN, 1, 63), (0x182, 0x1_0010), "a queue of nobody");
    assert_eq!(refused(NQN, "nqn.thief", 2, admin.controller), (0x182, 0x1_0200), "another's controller");
    assert_eq!(refused(NQN, HOST_NQN, 17, admin.controller), (0x182, 42), "one queue too many");
    assert_eq!(refused(NQN, HOST_NQN, 1, admin.controller), (0x00c, 0), "a queue that it has");
}

#[test]
fn temperature_thresholds_are_those_of_the_composite_alone() {
    let running = Running::memory(&small());
    let (mut admin, _io) = host(&running, Options::default());
    let mut run = |opcode, select: u32, word| {
        let words = [0x04 | select << 8, word, 0, 0, 0, 0];
        let done = admin.run(Command { opcode, namespace: 0, words }, &[], 0).unwrap();
        (done.status, done.result)
    };
    let (_, over) = run(10, 0, 0);
    assert_eq!(run(9, 0, 1 << 20 | 280).0, 0, "the lower one");
    assert_eq!([run(10, 0, 1 << 20), run(10, 0, 0)], [(0, 280), (0, over)]);
    for word in [1 << 16 | 300, 2 << 20 | 300, 3 << 20 | 300] {
        assert_eq!(run(9, 0, word).0, 0x002, "no sensor 1, and no such kind: {word:#x}");
    }
    assert_eq!(run(9, 0, 0xf << 16 | 300).0, 0, "all sensors: none");
    assert_eq!(run(10, 0, 0), (0, over));
    assert_eq!(run(9, 0, 310).0, 0);
    let [current, default, saved] = [0, 1, 2].map(|select| run(10, select, 0).1);
    assert_eq!((current, default, saved), (310, over, over), "nothing is saved");
}

#[test]
fn descriptors_that_are_not_supported_have_their_status() {
    let running = Running::memory(&small());
    let (_admin, mut io) = host(&running, Options::default());
    // How the command's data is described; the descriptor's kind and address; and the status.
    let described = [
        (0x00, 0x5a, 0, 0x002, "by pages of memory"),
        (0x41, 0x01, 0, 0x002, "a fused command"),
        (0x40, 0x00, 0, 0x011, "in the host's memory"),
        (0x40, 0x30, 0, 0x011, "by a list of descriptors"),
        (0x40, 0x01, 1024, 0x016, "behind the message"),
        (0x40, 0x01, 512, 0x00f, "at its end"),
        (0x40, 0x01, 0, 0, "in the message"),
    ];
    for (id, (flags, kind, address, status, what)) in described.into_iter().enumerate() {
        let mut entry = vec![WRITE, flags, id as u8, 0, 1];
        entry.resize(24, 0);
        entry.extend(u64::to_le_bytes(address));
        entry.extend([0, 2, 0, 0, 0, 0, 0, kind]);
        entry.resize(64, 0);
        io.send_message(4, 0, &entry, &[6; 512]).unwrap();
        let done = io.next().unwrap();
        assert_eq!((usize::from(done.id), done.status), (id, status), "{what}");
    }
    assert!(read(&mut io, 0, 1).data == [6; 512]);
}

#[test]
fn a_reset_takes_the_queues_along_and_a_shutdown_says_when_it_is_done() {
    let running = Running::memory(&small());
    let (mut admin, mut io) = host(&running, Options::default());
    assert_eq!(write(&mut io, 0, &[7; 512], 0), 0);
    admin.set_property(0x14, 0x0046_4001).unwrap();
    assert_eq!(admin.property(0x1c, false).unwrap().result, 0b1001, "shut down");
    admin.set_property(0x14, 0).unwrap();
    assert_eq!(io.stream.read(&mut [0]).unwrap(), 0, "closed");
    admin.enable().unwrap();
    let mut again = Queue::io(running.nvme, NQN, admin.controller, 1, Options::default()).unwrap();
    assert!(read(&mut again, 0, 1).data == [7; 512]);
    let gone = again.run(Command { opcode: 0x7f, namespace: 8, words: [0; 6] }, &[], 0).unwrap();
    assert_eq!((gone.status, again.stream.read(&mut [0]).unwrap()), (0, 0), "disconnected");
    drop(admin);
    // The number is free again once the server has seen it go; whatever a new controller is called, it works.
    let (_admin, mut io) = host(&running, Options::default());
    assert!(read(&mut io, 0, 1).data == [7; 512]);
}

#[test]
fn a_host_that_is_silent_loses_its_controller() {
    let running = Running::memory(&small());
    let options = Options { keep_alive_ms: 1000, ..Options::default() };
    let (mut admin, mut io) = host(&running, options);
    assert_eq!(io.stream.read(&mut [0]).unwrap(), 0);
    assert_eq!(admin.stream.read(&mut [0]).unwrap(), 0);
    let ends = running.ends(2);
    assert!(ends.iter().any(|end| end == "the host did not keep the controller alive"), "{ends:?}");
}

#[test]
fn garbage_costs_its_own_connection_only() {
    let seed = 0x5eed_2026;
    let running = Running::memory(&small());
    let (_admin, mut io) = host(&running, Options::default());
    let mut rng = Rng::new(seed);
    for round in 0..64 {
        let is_greeted = round % 2 == 0;
        let mut stream = if is_greeted {
            Queue::greeted(running.nvme, Options::default()).unwrap().stream
        } else {
            TcpStream::connect(running.nvme).unwrap()
        };
        let mut garbage: Vec<u8> = (0..rng.below(300) + 8).map(|_| rng.below(256) as u8).collect();
        // Types and lengths that come far.
        garbage[..4].copy_from_slice(&[
            if is_greeted { rng.below(8) as u8 } else { 0 },
            0,
            [72, 24, 128][round % 3],
            0,
        ]);
        garbage[4..8].copy_from_slice(&rng.below(400).to_le_bytes());
        // It may have closed the connection already.
        let _ = stream.write_all(&garbage).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
        let _ = stream.read_to_end(&mut Vec::new());
        assert_eq!(write(&mut io, 8 * (round as u64 % 64), &[round as u8; 512], 0), 0, "seed {seed:#x}, round {round}");
    }
}

#[test]
fn a_connection_ends_with_the_reason_and_the_header_at_fault() {
    let running = Running::memory(&small());
    let (_admin, mut io) = host(&running, Options::default());
    // Data that nobody asked for.
    io.send_message(6, 4, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0], &[0; 512]).unwrap();
    let (kind, _, header, offending) = io.message().unwrap();
    assert_eq!((kind, number(&header[..2]), number(&header[2..6])), (C2H_TERM, 1, 10), "the tag is wrong");
    assert_eq!((offending.len(), offending[0]), (24, 6));
    let (_admin, mut io) = host(&running, Options { header_digests: true, ..Options::default() });
    let mut message = vec![4, 1, 72, 0, 76, 0, 0, 0];
    message.resize(76, 0);
    io.stream.write_all(&message).unwrap();
    let (kind, _, header, _) = io.message().unwrap();
    assert_eq!((kind, number(&header[..2])), (C2H_TERM, 3), "the digest is wrong");
}

#[test]
fn damaged_data_fails_its_command_only() {
    let running = Running::memory(&small());
    let (_admin, mut io) = host(&running, Options { data_digests: true, ..Options::default() });
    assert_eq!(write(&mut io, 0, &[1; 512], 0), 0);
    let mut message = vec![4, 2, 72, 72];
    message.extend(588_u32.to_le_bytes());
    message.extend([WRITE, 0x40, 99, 0, 1, 0, 0, 0]);
    message.resize(40, 0);
    message.extend(512_u32.to_le_bytes());
    message.extend([0, 0, 0, 1]);
    message.resize(72, 0);
    message.extend([5; 512]);
    message.extend([0; 4]);
    io.stream.write_all(&message).unwrap();
    let failed = io.next().unwrap();
    assert_eq!((failed.id, failed.status), (99, 0x022));
    assert!(read(&mut io, 0, 1).data == [1; 512]);
}

#[test]
fn two_queues_agree_with_a_model() {
    let seed = 0x20_26_11;
    let running = Running::memory(&small());
    let mut rng = Rng::new(seed);
    let options = Options { header_digests: true, data_digests: true, entries: 16, ..Options::default() };
    let mut admin = Queue::admin(running.nvme, NQN, options).unwrap();
    admin.enable().unwrap();
    let mut queues = [1, 2].map(|queue| Queue::io(running.nvme, NQN, admin.controller, queue, options).unwrap());
    let mut model = vec![0_u8; running.bytes as usize];
    let part_blocks = (running.bytes / BLOCK / 8) as u32;
    for round in 0..300 {
        let io = &mut queues[rng.below(2) as usize];
        let mut sent = Vec::new();
        // What is under way at a time touches different blocks, since it may be done in any order.
        for part in 0..8 {
            let first = part * part_blocks + rng.below(part_blocks / 2);
            let blocks = 1 + rng.below(part_blocks / 2);
            let (first, bytes) = (u64::from(first), blocks * BLOCK as u32);
            let range = (first * BLOCK) as usize..(first * BLOCK) as usize + bytes as usize;
            let id = match rng.below(4) {
                0 => {
                    let zeroes = command(WRITE_ZEROES, first, blocks, if rng.below(2) == 0 { 1 << 25 } else { 0 });
                    model[range].fill(0);
                    (io.send(zeroes, &[], 0).unwrap(), None)
                }
                1 => {
                    let data = vec![rng.below(256) as u8; range.len()];
                    model[range].copy_from_slice(&data);
                    (io.send(command(WRITE, first, blocks, 0), &data, 0).unwrap(), None)
                }
                _ => (io.send(command(READ, first, blocks, 0), &[], bytes).unwrap(), Some(range)),
            };
            sent.push(id);
        }
        for _ in 0..8 {
            let done = io.next().unwrap();
            let at = sent.iter().position(|(id, _)| *id == done.id).unwrap();
            assert_eq!(done.status, 0, "seed {seed:#x}, round {round}");
            if let (_, Some(range)) = sent.remove(at) {
                assert!(done.data == model[range], "seed {seed:#x}, round {round}");
            }
        }
    }
}
