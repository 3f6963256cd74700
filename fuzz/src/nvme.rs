//! Arbitrary input of an NVMe/TCP host.

use std::net::SocketAddr;

use wearwell_serve::disk::{HandleDeed, HandleEvent, Watched};
use wearwell_serve::fdp::{FdpSpec, Isolation};
use wearwell_serve::nvme::{Admission, Health, Hosts, Medium, Output, Progress, Session, Status, Subsystem, Target};

const SIZE_BYTES: u64 = 1 << 20;
const HANDLES: u16 = 4;
const NQN: &str = "nqn.2026-11.example:fuzzed";
/// A host, and a secret of 32 bytes of 0x11.
const HOSTS: &str = "nqn.host DHHC-1:00:ERERERERERERERERERERERERERERERERERERERERERHYIEm8:";
/// The bit of the stage for a target that wants authentication.
const LOCKED: u8 = 1 << 6;
/// The bit of the stage for a disk without handles, which has streams.
const WITHOUT_HANDLES: u8 = 1 << 7;

/// Takes the first two bytes as the length of pieces and as the stage of the session, and the rest as the input of a
/// connection. The input must have the same effect as a whole and in pieces. It must be used up or refused, and must
/// not access bytes outside the disk.
pub fn nvme(data: &[u8]) {
    let Some((&[piece_bytes, stage], input)) = data.split_first_chunk() else { return };
    let whole = connection(stage, input, usize::MAX);
    assert_eq!(connection(stage, input, 1 + usize::from(piece_bytes)), whole);
}

/// The results of a connection: the bytes sent, and the end.
#[derive(Debug, PartialEq)]
struct Connection {
    answers: Vec<u8>,
    error: Option<String>,
}

/// A disk in memory that checks that accesses lie inside it.
struct Ram {
    bytes: Vec<u8>,
    has_handles: bool,
}

impl Ram {
    fn range(&self, offset: u64, bytes: u64) -> std::ops::Range<usize> {
        assert!(offset <= SIZE_BYTES && bytes <= SIZE_BYTES - offset, "{bytes} bytes at {offset}");
        offset as usize..(offset + bytes) as usize
    }
}

impl Medium for Ram {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> Result<(), Status> {
        data.copy_from_slice(&self.bytes[self.range(offset, data.len() as u64)]);
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8], stream: u16) -> Result<(), Status> {
        assert!(stream < HANDLES || !self.has_handles);
        let range = self.range(offset, data.len() as u64);
        self.bytes[range].copy_from_slice(data);
        Ok(())
    }

    fn write_zeroes(&mut self, offset: u64, bytes: u64, _: u16, _: bool) -> Result<(), Status> {
        let range = self.range(offset, bytes);
        self.bytes[range].fill(0);
        Ok(())
    }

    fn discard(&mut self, offset: u64, bytes: u64) -> Result<(), Status> {
        self.write_zeroes(offset, bytes, 0, false)
    }

    fn flush(&mut self) -> Result<(), Status> {
        Ok(())
    }

    fn handle_room(&mut self, handle: u16) -> Result<Option<u64>, Status> {
        assert!(handle < HANDLES);
        Ok(Some(4096))
    }

    fn renew_handle(&mut self, handle: u16) -> Result<(), Status> {
        assert!(handle < HANDLES);
        Ok(())
    }

    fn watch_handle(&mut self, handle: u16, _: Watched) -> Result<(), Status> {
        assert!(handle < HANDLES);
        Ok(())
    }

    fn handle_events(&mut self) -> Result<Vec<HandleEvent>, Status> {
        Ok(vec![HandleEvent { handle: 1, time_us: 7, deed: HandleDeed::Moved { pages: 3, page: 9 } }])
    }

    fn health(&mut self) -> Result<Health, Status> {
        Ok(Health::default())
    }
}

fn target(stage: u8) -> Target {
    let subsystem = Subsystem {
        nqn: NQN.to_owned(),
        unique: 1,
        address: SocketAddr::from(([127, 0, 0, 1], 4420)),
        size_bytes: SIZE_BYTES,
        page_bytes: 4096,
        segment_bytes: 1 << 16,
        is_read_only: false,
        fdp: (stage & WITHOUT_HANDLES == 0).then_some(FdpSpec { handles: HANDLES, isolation: Isolation::Initially }),
    };
    let hosts = Hosts::parse(HOSTS).ok().filter(|_| stage & LOCKED != 0);
    let entropy = |bytes: &mut [u8]| {
        bytes.fill(7);
        true
    };
    Target::new(subsystem, hosts.map(|hosts| Admission { hosts, entropy }))
}

/// The first message: the lowest bits of `stage` are the digests.
fn first_message(stage: u8) -> Vec<u8> {
    let mut message = vec![0, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, stage & 3];
    message.resize(128, 0);
    message
}

/// A command without digests.
fn capsule(opcode: u8, namespace: u8, words: [u32; 3], data: &[u8]) -> Vec<u8> {
    let offset = if data.is_empty() { 0 } else { 72 };
    let mut message = vec![4, 0, 72, offset];
    message.extend((72 + data.len() as u32).to_le_bytes());
    message.extend([opcode, 0x40, 0, 0, namespace]);
    message.resize(40, 0);
    message.extend((data.len() as u32).to_le_bytes());
    message.extend([0, 0, 0, 1]);
    words.iter().for_each(|word| message.extend(word.to_le_bytes()));
    message.resize(72, 0);
    message.extend(data);
    message
}

fn connect(nqn: &str, queue: u32, controller: u16) -> Vec<u8> {
    let mut data = vec![0; 16];
    data.extend(controller.to_le_bytes());
    for (at, text) in [(256, nqn), (512, "nqn.host")] {
        data.resize(at, 0);
        data.extend(text.as_bytes());
    }
    data.resize(1024, 0);
    capsule(0x7f, 1, [queue << 16, 31, 0], &data)
}

/// A session at a stage: at the start, with digests, with an admin queue (of the disk or for discovery), with an
/// enabled one, or with an I/O queue. A target that wants authentication only lets an admin queue connect.
fn begun(stage: u8, target: &Target, medium: &mut Ram) -> (Session, Session) {
    let nqn = if stage & 4 != 0 && stage >> 3 < 4 { "nqn.2014-08.org.nvmexpress.discovery" } else { NQN };
    let enable = capsule(0x7f, 0, [0, 0x14, 0x0046_0001], &[]);
    let admin = [first_message(0), connect(nqn, 0, 0xffff), enable];
    let io = [first_message(0), connect(nqn, 1, 1)];
    let (mut first, mut second) = (Session::default(), Session::default());
    let mut feed = |session: &mut Session, messages: &[Vec<u8>]| {
        for message in messages {
            let taken = session.receive(message, target, medium, 0, &mut Output::default());
            assert_eq!(taken, Ok(Progress::Used(message.len())));
        }
    };
    match stage >> 3 & 7 {
        0 => {}
        1 => feed(&mut first, &[first_message(stage)]),
        2.. if stage & LOCKED != 0 => feed(&mut first, &admin[..2]),
        2 => feed(&mut first, &admin[..2]),
        3 => feed(&mut first, &admin),
        _ => {
            feed(&mut second, &admin);
            feed(&mut first, &io);
        }
    }
    (first, second)
}

fn connection(stage: u8, input: &[u8], piece_bytes: usize) -> Connection {
    let mut medium = Ram { bytes: vec![0; SIZE_BYTES as usize], has_handles: stage & WITHOUT_HANDLES == 0 };
    let (target, mut output) = (target(stage), Output::default());
    let (mut session, mut other) = begun(stage, &target, &mut medium);
    let (mut start, mut end) = (0, piece_bytes.min(input.len()));
    let error = loop {
        match session.receive(&input[start..end], &target, &mut medium, 0, &mut output) {
            Ok(Progress::Used(bytes)) => {
                assert!(bytes > 0 && bytes <= end - start);
                start += bytes;
            }
            Ok(Progress::Needs(bytes)) => {
                assert!(bytes > end - start && bytes < 1 << 18);
                if end == input.len() {
                    break None;
                }
                end = end.saturating_add(piece_bytes).min(input.len());
            }
            Err(error) => break Some(error.to_string()),
        }
        assert!(output.len() < 1 << 24);
    };
    if error.is_none() {
        let _ = session.tick(&target, &mut medium, 0, &mut output);
    }
    session.leave(&target);
    other.leave(&target);
    Connection { answers: output.filled().to_vec(), error }
}
