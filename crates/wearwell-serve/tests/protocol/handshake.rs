//! Options and their answers.

use wearwell_serve::nbd::{Export, Handshake, HandshakeState, Output, ProtocolError, Security, Session};

use crate::bytes::{FIXED_NO_ZEROES, contexts, export, info, option, option_reply, shake, shake_at_once, string};

const ACK: u32 = 1;
const SERVER: u32 = 2;
const INFO: u32 = 3;
const META_CONTEXT: u32 = 4;
const ERR_UNSUP: u32 = 0x8000_0001;
const ERR_POLICY: u32 = 0x8000_0002;
const ERR_INVALID: u32 = 0x8000_0003;
const ERR_TLS_REQD: u32 = 0x8000_0005;
const ERR_UNKNOWN: u32 = 0x8000_0006;
const ERR_TOO_BIG: u32 = 0x8000_0009;

/// HAS_FLAGS, FLUSH, FUA, TRIM, WRITE_ZEROES, MULTI_CONN, CACHE, FAST_ZERO.
const FLAGS: [u8; 2] = [0b1101, 0b0110_1101];
const SIZE: [u8; 8] = [0, 0, 0, 0, 0, 0x10, 0, 0];

fn session() -> Session {
    Session {
        size_bytes: 1 << 20,
        is_read_only: false,
        stream: 0,
        has_structured_replies: false,
        has_allocation: false,
    }
}

/// The type of the last option reply, which has no data but a message.
fn last_kind(answers: &[u8], number: u32) -> Option<u32> {
    let magic = 0x0003_e889_0455_65a9_u64.to_be_bytes();
    let at = answers.windows(8).rposition(|window| window == magic)?;
    let field = |from: usize| Some(u32::from_be_bytes(answers[at + from..at + from + 4].try_into().ok()?));
    assert_eq!(field(8), Some(number));
    field(12)
}

#[test]
fn the_oldest_way_in_has_zeroes_unless_both_do_without() {
    let outcome = shake_at_once(&[&FIXED_NO_ZEROES, &option(1, b"disk")]);
    assert_eq!(outcome.answers, [&SIZE[..], &FLAGS].concat());
    assert_eq!(outcome.state, Ok(HandshakeState::Ready(session())));
    let outcome = shake_at_once(&[&[0, 0, 0, 1], &option(1, b"disk")]);
    assert_eq!(outcome.answers, [&SIZE[..], &FLAGS, &[0; 124]].concat());
    let outcome = shake_at_once(&[&[0, 0, 0, 0], &option(1, b"disk")]);
    assert_eq!(outcome.answers.len(), 134);
    assert_eq!(shake_at_once(&[&FIXED_NO_ZEROES, &option(1, b"disc")]).state, Err(ProtocolError::UnknownExport));
}

#[test]
fn go_says_what_was_asked_and_carries_the_stream_of_the_alias() {
    let asks = option(7, &info("disk@stream=9", &[3, 1, 2, 77]));
    let outcome = shake_at_once(&[&FIXED_NO_ZEROES, &asks, b"more"]);
    let told = [
        option_reply(7, INFO, &[&[0, 0], &SIZE[..], &FLAGS].concat()),
        option_reply(7, INFO, b"\0\x01disk@stream=9"),
        option_reply(7, INFO, b"\0\x02a test"),
        option_reply(7, INFO, &[0, 3, 0, 0, 0, 1, 0, 0, 8, 0, 2, 0, 0, 0]),
        option_reply(7, ACK, b""),
    ];
    assert_eq!(outcome.answers, told.concat());
    assert_eq!(outcome.state, Ok(HandshakeState::Ready(Session { stream: 9, ..session() })));
    assert_eq!(outcome.used_bytes, 4 + asks.len(), "what follows belongs to the next phase");
}

#[test]
fn info_stays_in_the_handshake_and_read_only_shows() {
    let export = Export { is_read_only: true, ..export() };
    let input = [&FIXED_NO_ZEROES[..], &option(6, &info("disk", &[]))].concat();
    let outcome = shake(&export, &input, std::iter::empty());
    let told =
        [option_reply(6, INFO, &[&[0, 0], &SIZE[..], &[0b101, 0b0000_1111]].concat()), option_reply(6, ACK, b"")];
    assert_eq!(outcome.answers, told.concat());
    assert_eq!(outcome.state, Ok(HandshakeState::Open));
}

#[test]
fn errors_leave_the_handshake_open() {
    let tries: [(u32, Vec<u8>, u32); 13] = [
        (4, vec![], ERR_UNSUP),
        (11, vec![], ERR_UNSUP),
        (0xffff_ffff, vec![1; 1000], ERR_UNSUP),
        (5, vec![], ERR_POLICY),
        (5, vec![0], ERR_INVALID),
        (3, vec![0], ERR_INVALID),
        (8, vec![0], ERR_INVALID),
        (7, info("disc", &[]), ERR_UNKNOWN),
        (7, [info("disk", &[]), vec![0]].concat(), ERR_INVALID),
        (7, [0xff, 0xff, 0xff, 0xff, 0, 0].to_vec(), ERR_INVALID),
        (7, info(&"x".repeat(4097), &[]), ERR_TOO_BIG),
        (10, contexts("disk", &["base:allocation"]), ERR_INVALID),
        (6, vec![0; 70_000], ERR_TOO_BIG),
    ];
    for (number, data, kind) in tries {
        let outcome = shake_at_once(&[&FIXED_NO_ZEROES, &option(number, &data), &option(2, b"")]);
        assert_eq!(outcome.state, Ok(HandshakeState::Aborted), "option {number}");
        let acknowledged = option_reply(2, ACK, b"");
        let (refusal, rest) = outcome.answers.split_at(outcome.answers.len() - acknowledged.len());
        assert_eq!(rest, acknowledged);
        assert_eq!(last_kind(refusal, number), Some(kind), "option {number}");
    }
}

#[test]
fn the_list_has_the_export_and_no_alias() {
    let outcome = shake_at_once(&[&FIXED_NO_ZEROES, &option(3, b"")]);
    assert_eq!(outcome.answers, [option_reply(3, SERVER, &string("disk")), option_reply(3, ACK, b"")].concat());
}

#[test]
fn the_context_is_found_by_its_name_or_listed_by_its_namespace() {
    let structured = option(8, b"");
    let before = option_reply(8, ACK, b"");
    let found = |id: u8| [&[0, 0, 0, id], &b"base:allocation"[..]].concat();
    let tries: [(u32, &[&str], bool); 6] = [
        (9, &[], true),
        (9, &["base:"], true),
        (9, &["x-other:"], false),
        (10, &["x-other:a", "base:allocation"], true),
        (10, &["base:"], false),
        (10, &[], false),
    ];
    for (number, queries, is_found) in tries {
        let go = option(7, &info("disk", &[]));
        let asks = option(number, &contexts("disk", queries));
        let outcome = shake_at_once(&[&FIXED_NO_ZEROES, &structured, &asks, &go]);
        let told = if is_found { option_reply(number, META_CONTEXT, &found(u8::from(number == 10))) } else { vec![] };
        let told = [before.clone(), told, option_reply(number, ACK, b"")].concat();
        assert!(outcome.answers.starts_with(&told), "{queries:?}");
        let has_allocation = is_found && number == 10;
        let agreed = Session { has_structured_replies: true, has_allocation, ..session() };
        assert_eq!(outcome.state, Ok(HandshakeState::Ready(agreed)), "{queries:?}");
    }
}

#[test]
fn a_selection_holds_for_the_name_that_it_was_made_for() {
    let (selected, alias) = ("disk@stream=1", "disk@stream=2");
    let asks = option(10, &contexts(selected, &["base:allocation"]));
    for (name, has_allocation) in [(selected, true), (alias, false), ("disk", false)] {
        for enters in [option(7, &info(name, &[])), option(1, name.as_bytes())] {
            let other = option(6, &info(alias, &[]));
            let outcome = shake_at_once(&[&FIXED_NO_ZEROES, &option(8, b""), &asks, &other, &enters]);
            let Ok(HandshakeState::Ready(agreed)) = outcome.state else { panic!("{outcome:?}") };
            assert_eq!(agreed.has_allocation, has_allocation, "{name}");
        }
    }
}

#[test]
fn a_second_selection_replaces_the_first_also_if_it_fails() {
    let first = option(10, &contexts("disk", &["base:allocation"]));
    for second in [contexts("disk", &[]), contexts("disc", &["base:allocation"]), vec![0]] {
        let go = option(7, &info("disk", &[]));
        let outcome = shake_at_once(&[&FIXED_NO_ZEROES, &option(8, b""), &first, &option(10, &second), &go]);
        let agreed = Session { has_structured_replies: true, ..session() };
        assert_eq!(outcome.state, Ok(HandshakeState::Ready(agreed)));
    }
}

#[test]
fn what_cannot_be_understood_ends_the_connection() {
    let long = [b"IHAVEOPT".as_slice(), &[0, 0, 0, 6], &[0xff; 4]].concat();
    let tries: [(Vec<u8>, ProtocolError); 5] = [
        (vec![0, 0, 0, 7], ProtocolError::ClientFlags { flags: 7, known: 3 }),
        (b"\0\0\0\x03GET / HT".to_vec(), ProtocolError::OptionMagic { found: u64::from_be_bytes(*b"GET / HT") }),
        ([&[0, 0, 0, 0], &option(3, b"")[..]].concat(), ProtocolError::NotFixed { option: 3 }),
        (
            [&FIXED_NO_ZEROES[..], &long].concat(),
            ProtocolError::OptionLength { option: 6, length_bytes: u32::MAX, max_bytes: 32 << 20 },
        ),
        ([&FIXED_NO_ZEROES[..], &option(3, b"").repeat(1025)].concat(), ProtocolError::TooManyOptions { max: 1024 }),
    ];
    for (input, error) in tries {
        assert_eq!(shake_at_once(&[&input]).state, Err(error));
    }
}

/// A handshake with one message after another, and what the last of them came to.
fn secured(security: Security, messages: &[&[u8]]) -> (Result<HandshakeState, ProtocolError>, Vec<u8>) {
    let (export, mut output) = (export(), Output::default());
    let mut handshake = Handshake::greet(&export, security, &mut output);
    let mut state = Ok(HandshakeState::Open);
    for message in messages {
        output.clear();
        state = handshake.receive(message, &mut output).map(|progress| progress.state);
    }
    (state, output.filled().to_vec())
}

#[test]
fn where_tls_is_required_nothing_comes_before_it() {
    let security = Security::TlsRequired;
    for (number, data) in [(3, vec![]), (6, info("disk", &[])), (7, info("disk", &[])), (8, vec![]), (9999, vec![1])] {
        let (state, answer) = secured(security, &[&FIXED_NO_ZEROES, &option(number, &data)]);
        assert_eq!((state, last_kind(&answer, number)), (Ok(HandshakeState::Open), Some(ERR_TLS_REQD)));
    }
    let by_name = secured(security, &[&FIXED_NO_ZEROES, &option(1, b"disk")]);
    assert_eq!(by_name, (Err(ProtocolError::WithoutTls), vec![]));
    assert_eq!(secured(security, &[&FIXED_NO_ZEROES, &option(2, b"")]).0, Ok(HandshakeState::Aborted));
    let (state, answer) = secured(security, &[&FIXED_NO_ZEROES, &option(5, b"")]);
    assert_eq!((state, last_kind(&answer, 5)), (Ok(HandshakeState::StartTls), Some(ACK)));
    let injected = [option(5, b""), option(8, b"")].concat();
    assert_eq!(secured(security, &[&FIXED_NO_ZEROES, &injected]).0, Err(ProtocolError::BehindStartTls));
}

#[test]
fn inside_tls_the_handshake_begins_anew() {
    let (flags, tls, structured) = (&FIXED_NO_ZEROES[..], option(5, b""), option(8, b""));
    let by_name = option(1, b"disk");
    let go = option(7, &info("disk", &[]));
    for security in [Security::TlsOffered, Security::TlsRequired] {
        assert_eq!(secured(security, &[flags, &tls, &go]).0, Ok(HandshakeState::Ready(session())));
        let (_, answer) = secured(security, &[flags, &tls, &tls]);
        assert_eq!(last_kind(&answer, 5), Some(ERR_INVALID), "once is enough");
    }
    let plain = secured(Security::TlsOffered, &[flags, &by_name]);
    assert_eq!(plain.0, Ok(HandshakeState::Ready(session())));
    let (state, _) = secured(Security::TlsOffered, &[flags, &structured, &tls, &by_name]);
    assert_eq!(state, Ok(HandshakeState::Ready(session())), "what was said in plain text is forgotten");
}
