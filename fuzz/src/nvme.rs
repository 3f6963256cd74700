//! Arbitrary input of an NVMe/TCP host.

use wearwell_serve::nvme::{Output, Progress, Session, Target};

use crate::nvme_disk::{NQN, Ram, target};
use crate::nvme_wire::{DataAt, Digests, connect, entry, first_message, kind, message};

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

/// A session at a stage: at the start, with digests, with an admin queue (of the disk or for discovery), with an
/// enabled one, or with an I/O queue. A target that wants authentication only lets an admin queue connect.
fn begun(stage: u8, target: &Target, medium: &mut Ram) -> (Session, Session) {
    let nqn = if stage & 4 != 0 && stage >> 3 < 4 { "nqn.2014-08.org.nvmexpress.discovery" } else { NQN };
    let enable = entry(0x7f, 0, 0, DataAt::Capsule, 0, &[0, 0x14, 0x0046_0001]);
    let enable = message(kind::CAPSULE_CMD, 0, &enable, &[], Digests::NONE);
    let connected = |queue, controller| connect(nqn, queue, controller, [31, 0], Digests::NONE);
    let admin = [first_message(Digests::NONE), connected(0, 0xffff), enable];
    let io = [first_message(Digests::NONE), connected(1, 1)];
    let (mut first, mut second) = (Session::default(), Session::default());
    let mut feed = |session: &mut Session, messages: &[Vec<u8>]| {
        for message in messages {
            let taken = session.receive(message, target, medium, 0, &mut Output::default());
            assert_eq!(taken, Ok(Progress::Used(message.len())));
        }
    };
    match stage >> 3 & 7 {
        0 => {}
        1 => feed(&mut first, &[first_message(Digests(stage & 3))]),
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
    let has_handles = stage & WITHOUT_HANDLES == 0;
    let mut medium = Ram::new(has_handles);
    let (target, mut output) = (target(has_handles, stage & LOCKED != 0), Output::default());
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
