//! Requests, and what is refused before it reaches the disk.

use wearwell_serve::nbd::{Command, Errno, MAX_PAYLOAD_BYTES, ProtocolError, Request, RequestStep, Requests, Session};

use crate::bytes::request;

const SIZE_BYTES: u64 = 1 << 30;
const COOKIE: u64 = 0x1234_5678_9abc_def0;

fn session() -> Session {
    Session {
        size_bytes: SIZE_BYTES,
        is_read_only: false,
        stream: 0,
        has_structured_replies: true,
        has_allocation: true,
    }
}

fn parsed(session: Session, flags: u16, kind: u16, offset: u64, length: u32) -> Command<'static> {
    let input = request(flags, kind, COOKIE, offset, length);
    match Requests::new(session).receive(&input) {
        Ok(RequestStep::Whole { request: Request { cookie: COOKIE, command }, used_bytes: 28 }) => match command {
            Command::Read { offset, length, is_whole } => Command::Read { offset, length, is_whole },
            Command::Flush => Command::Flush,
            Command::Trim { offset, length, is_durable } => Command::Trim { offset, length, is_durable },
            Command::WriteZeroes { offset, length, is_durable, keeps_allocated, is_fast_only } => {
                Command::WriteZeroes { offset, length, is_durable, keeps_allocated, is_fast_only }
            }
            Command::Cache => Command::Cache,
            Command::BlockStatus { offset, length, is_one } => Command::BlockStatus { offset, length, is_one },
            Command::Disconnect => Command::Disconnect,
            Command::Refused { error, is_chunked } => Command::Refused { error, is_chunked },
            Command::Write { .. } => panic!("a write without data"),
        },
        other => panic!("{other:?}"),
    }
}

fn refused(session: Session, flags: u16, kind: u16, offset: u64, length: u32) -> Option<Errno> {
    match parsed(session, flags, kind, offset, length) {
        Command::Refused { error, is_chunked } => {
            assert_eq!(is_chunked, session.has_structured_replies && matches!(kind, 0 | 7), "command {kind}");
            Some(error)
        }
        _ => None,
    }
}

#[test]
fn each_command_with_its_flags() {
    let s = session();
    assert_eq!(parsed(s, 0, 0, 5, 7), Command::Read { offset: 5, length: 7, is_whole: false });
    assert_eq!(parsed(s, 4, 0, 5, 7), Command::Read { offset: 5, length: 7, is_whole: true });
    assert_eq!(parsed(s, 0, 2, 0, 0), Command::Disconnect);
    assert_eq!(parsed(s, 1, 3, 0, 0), Command::Flush);
    assert_eq!(parsed(s, 1, 4, 1, 2), Command::Trim { offset: 1, length: 2, is_durable: true });
    assert_eq!(parsed(s, 0, 5, 1, 2), Command::Cache);
    let zeroes = |is_durable, keeps_allocated, is_fast_only| Command::WriteZeroes {
        offset: 1,
        length: 2,
        is_durable,
        keeps_allocated,
        is_fast_only,
    };
    assert_eq!(parsed(s, 0, 6, 1, 2), zeroes(false, false, false));
    assert_eq!(parsed(s, 2, 6, 1, 2), zeroes(false, true, false));
    assert_eq!(parsed(s, 17, 6, 1, 2), zeroes(true, false, true));
    assert_eq!(parsed(s, 8, 7, 1, 2), Command::BlockStatus { offset: 1, length: 2, is_one: true });
}

#[test]
fn flags_that_a_command_does_not_have_are_refused() {
    let all = 0b1_1111_u16;
    for (kind, allowed) in [(0, 0b101), (3, 0b1), (4, 0b1), (5, 0b1), (6, 0b1_0011), (7, 0b1001)] {
        for flag in (0..16).map(|bit| 1_u16 << bit) {
            let error = refused(session(), flag, kind, 0, 512);
            assert_eq!(error.is_none(), flag & allowed & all != 0, "command {kind}, flag {flag:#x}");
            assert!(error.is_none_or(|error| error == Errno::Inval));
        }
    }
    let simple = Session { has_structured_replies: false, has_allocation: false, ..session() };
    assert_eq!(refused(simple, 4, 0, 0, 512), Some(Errno::Inval), "DF was not offered");
    assert_eq!(refused(simple, 0, 7, 0, 512), Some(Errno::Inval), "no context was selected");
}

#[test]
fn ranges_beyond_the_end() {
    let whole = SIZE_BYTES as u32;
    for (kind, error) in
        [(0, Errno::Inval), (4, Errno::Inval), (5, Errno::Inval), (6, Errno::NoSpace), (7, Errno::Inval)]
    {
        assert_eq!(refused(session(), 0, kind, SIZE_BYTES - 1, 1), None, "command {kind}");
        for (offset, length) in [(SIZE_BYTES - 1, 2), (SIZE_BYTES, 1), (u64::MAX, 1), (1, whole), (u64::MAX, u32::MAX)]
        {
            assert_eq!(refused(session(), 0, kind, offset, length), Some(error), "command {kind}");
        }
    }
    for kind in [4, 6, 7] {
        assert_eq!(refused(session(), 0, kind, 0, whole), None, "no payload, no limit");
    }
}

#[test]
fn what_is_too_long_or_has_no_meaning() {
    let too_long = MAX_PAYLOAD_BYTES + 1;
    assert_eq!(refused(session(), 0, 0, 0, MAX_PAYLOAD_BYTES), None);
    assert_eq!(refused(session(), 0, 0, 0, too_long), Some(Errno::Inval));
    assert_eq!(refused(session(), 4, 0, 0, too_long), Some(Errno::Overflow));
    assert_eq!(refused(session(), 0, 7, 0, 0), Some(Errno::Inval));
    for unknown in [8, 9, 0xffff] {
        assert_eq!(refused(session(), 0, unknown, 0, 0), Some(Errno::Inval));
    }
}

#[test]
fn a_read_only_export_takes_no_writes() {
    let read_only = Session { is_read_only: true, ..session() };
    for kind in [4, 6] {
        assert_eq!(refused(read_only, 0, kind, 0, 512), Some(Errno::Perm));
    }
    assert_eq!(refused(read_only, 0, 3, 0, 0), None);
}

#[test]
fn a_write_comes_with_its_data_and_a_refused_one_is_skipped() {
    let first = [request(1, 1, 1, 100, 3), b"abc".to_vec()].concat();
    let mut requests = Requests::new(session());
    let step = RequestStep::Whole {
        request: Request { cookie: 1, command: Command::Write { offset: 100, data: b"abc", is_durable: true } },
        used_bytes: 31,
    };
    assert_eq!(requests.receive(&first), Ok(step));
    assert_eq!(requests.receive(&first[..30]), Ok(RequestStep::Partial { used_bytes: 0, needed_bytes: 31 }));
    let read_only = Session { is_read_only: true, ..session() };
    let tries = [
        (session(), 0, SIZE_BYTES - 2, 3, Errno::NoSpace),
        (session(), 0, 0, MAX_PAYLOAD_BYTES + 1, Errno::Inval),
        (session(), 2, 0, 3, Errno::Inval),
        (read_only, 0, 0, 3, Errno::Perm),
    ];
    for (session, flags, offset, length, error) in tries {
        let mut requests = Requests::new(session);
        let input = request(flags, 1, 2, offset, length);
        let refusal = Request { cookie: 2, command: Command::Refused { error, is_chunked: false } };
        assert_eq!(requests.receive(&input), Ok(RequestStep::Whole { request: refusal, used_bytes: 28 }));
        let rest = [vec![0x55; length as usize], request(0, 3, 3, 0, 0)].concat();
        let next = Request { cookie: 3, command: Command::Flush };
        assert_eq!(requests.receive(&rest), Ok(RequestStep::Whole { request: next, used_bytes: rest.len() }));
    }
}

#[test]
fn garbage_is_told_at_its_first_bytes() {
    let found = u32::from_be_bytes(*b"GET ");
    assert_eq!(Requests::new(session()).receive(b"GET / HTTP/1.1"), Err(ProtocolError::RequestMagic { found }));
}
