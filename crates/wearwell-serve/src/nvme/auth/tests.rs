//! The controller's side against answers that `vectors.py` computed.

use super::messages::Why;
use super::*;

const HOST: &str = "nqn.2026-11.example:host";
const DISK: &str = "nqn.2026-11.example:disk";
const TRANSACTION: [u8; 2] = 0x1234_u16.to_le_bytes();
/// The host's private exponent.
const EXPONENT: [u8; 32] = [5; 32];

/// An authentication in both directions. Challenges are [7; …] and [3; …], the controller's exponent is [7; …].
struct Vector {
    hash: u8,
    has_group: bool,
    secret: &'static str,
    controller: &'static str,
    answer: &'static str,
    answer_back: &'static str,
}

const VECTORS: [Vector; 4] = [
    Vector {
        hash: 1,
        has_group: false,
        secret: "DHHC-1:00:ERERERERERERERERERERERERERERERERERERERERERHYIEm8:",
        controller: "DHHC-1:00:IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIGuf2I:",
        answer: "eb0281421b3d52f4a1c524d3dcbd20fb396a4b1f6e49cfe80e7354c7be0810c2",
        answer_back: "f7ebab5434be8193937da5c9da4bd8ed3811165d24bfddbf8622565230ad48f1",
    },
    Vector {
        hash: 2,
        has_group: false,
        secret: "DHHC-1:01:ERERERERERERERERERERERERERERERERERERERERERHYIEm8:",
        controller: "DHHC-1:01:IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIGuf2I:",
        answer: "c6205264825a1acdbc1758e509933b3ce34a21a20f9f2683d4a7949e76c898678bad9cdeca929e3a431746c946153175",
        answer_back: "56386745984c0289133e556778b5b7f7dd762c1d5e0119079f2d19d802d4b536912a25e989310f3cd2726064418aa228",
    },
    Vector {
        hash: 3,
        has_group: true,
        secret: "DHHC-1:03:ERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERET\
              vqCYI=:",
        controller: "DHHC-1:03:IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIm\
              139UE=:",
        answer: "5b7e92629bceb27424f5f54255e5320686a888ccddc2a15c2868bb50bf2525b84134a83df849450b397b42a2b812513a\
              262c3583d031958e46d601ddde3fa70c",
        answer_back: "0d54605ad5f795e213332411d64af3eebf88713cbfea6be35f75ac28df076577e7f5bc09d7576937701232c9d7471dea\
              1e6037a962cb277d9e51dc2a4b525bb5",
    },
    Vector {
        hash: 1,
        has_group: true,
        secret: "DHHC-1:02:ERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERERa8r91Q==:",
        controller: "DHHC-1:02:IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiaUBivA==:",
        answer: "dce77cd611d11cde1e9c0ce76a576859ee7d5897a8e316314e98e2780b5f6b0b",
        answer_back: "f1d33578e29f4ae4401f8bf4d98ca37ec54afb2055808f8b8421c16dafa655b5",
    },
];

fn sevens(bytes: &mut [u8]) -> bool {
    bytes.fill(7);
    true
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().map(|byte| (byte as char).to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn exchange(list: &str) -> Exchange {
    Exchange::new(Hosts::parse(list).unwrap().find(HOST).unwrap().clone(), DISK, sevens)
}

/// The host offers a hash, and a group.
fn negotiate(hash: u8, group: u8) -> Vec<u8> {
    let mut message = [&[0, 0, 0, 0], &TRANSACTION[..], &[0, 1, 1, 0, 1, 1, hash]].concat();
    message.resize(72, 0);
    message[42] = group;
    message
}

/// The host's reply, with a challenge of its own if `asks`.
fn reply(answer: &[u8], asks: bool, public: &[u8]) -> Vec<u8> {
    let bytes = answer.len();
    let sequence = if asks { 9_u32 } else { 0 };
    let head = [&[1, 2, 0, 0], &TRANSACTION[..], &[bytes as u8, 0, asks.into(), 0]].concat();
    let sizes = [&(public.len() as u16).to_le_bytes()[..], &sequence.to_le_bytes()].concat();
    [&head[..], &sizes, answer, &vec![if asks { 3 } else { 0 }; bytes], public].concat()
}

fn failed(exchange: &mut Exchange, why: Why) {
    let (message, outcome) = exchange.fetch();
    assert_eq!((&message[..2], message[6], message[7], outcome), (&[0, 0xf1][..], 1, why as u8, Outcome::Failed));
    assert!(!exchange.is_done());
}

#[test]
fn both_sides_show_who_they_are() {
    for vector in &VECTORS {
        let public = if vector.has_group { group::public(&EXPONENT).to_vec() } else { Vec::new() };
        let answer = hex(vector.answer);
        let mut exchange = exchange(&format!("# of a test\n\n{HOST} {} {}", vector.secret, vector.controller));
        exchange.take(&negotiate(vector.hash, vector.has_group.into()));
        let (challenge, outcome) = exchange.fetch();
        assert_eq!((outcome, &challenge[..2], &challenge[4..6]), (Outcome::GoesOn, &[1, 1][..], &TRANSACTION[..]));
        assert_eq!(challenge[6..10], [answer.len() as u8, 0, vector.hash, vector.has_group.into()]);
        assert_eq!(challenge[12..16], [7; 4]);
        assert_eq!(challenge.len(), 16 + answer.len() + public.len());
        exchange.take(&reply(&answer, true, &public));
        assert!(!exchange.is_done(), "the host has not said that it is content");
        let (success, outcome) = exchange.fetch();
        assert_eq!((outcome, &success[..2], success[8]), (Outcome::GoesOn, &[1, 3][..], 1));
        assert_eq!(success[16..], hex(vector.answer_back));
        exchange.take(&[&[1, 4, 0, 0], &TRANSACTION[..], &[0; 10]].concat());
        assert!(exchange.is_done());
    }
}

#[test]
fn a_host_need_not_ask_back_and_a_wrong_answer_fails() {
    for (flipped, list) in [(0, VECTORS[0].secret.to_owned()), (1, VECTORS[0].secret.to_owned())] {
        let mut exchange = exchange(&format!("{HOST} {list}"));
        exchange.take(&negotiate(1, 0));
        exchange.fetch();
        let mut answer = hex(VECTORS[0].answer);
        answer[31] ^= flipped;
        exchange.take(&reply(&answer, false, &[]));
        assert_eq!(exchange.is_done(), flipped == 0);
        if flipped == 1 {
            failed(&mut exchange, Why::Failed);
        }
    }
}

#[test]
fn what_does_not_belong_there_fails() {
    let list = format!("{HOST} {}", VECTORS[0].secret);
    let after = |messages: &[Vec<u8>]| {
        let mut exchange = exchange(&list);
        for message in messages {
            exchange.take(message);
        }
        exchange
    };
    failed(&mut after(&[]), Why::Message);
    failed(&mut after(&[negotiate(9, 0)]), Why::Hash);
    failed(&mut after(&[negotiate(1, 2)]), Why::Group);
    failed(&mut after(&[negotiate(1, 0)[..71].to_vec()]), Why::Payload);
    failed(&mut after(&[negotiate(1, 0), negotiate(1, 0)]), Why::Message);
    failed(&mut after(&[reply(&[0; 32], false, &[])]), Why::Message);
    let mut secure = negotiate(1, 0);
    secure[6] = 1;
    failed(&mut after(&[secure]), Why::SecureChannel);
    let replied = |message: Vec<u8>, group| {
        let mut exchange = exchange(&list);
        exchange.take(&negotiate(1, group));
        exchange.fetch();
        exchange.take(&message);
        exchange
    };
    failed(&mut replied(reply(&[0; 48], false, &[]), 0), Why::Hash);
    failed(&mut replied(reply(&[0; 32], false, &[])[..70].to_vec(), 0), Why::Payload);
    failed(&mut replied(reply(&hex(VECTORS[0].answer), true, &[]), 0), Why::Failed);
    // Public values that give the result away, and one of another length.
    let least = [vec![0; group::BYTES - 1], vec![1]].concat();
    for public in [vec![0; group::BYTES], least, vec![0xff; group::BYTES], vec![9; 64]] {
        failed(&mut replied(reply(&[0; 32], false, &public), 1), Why::Payload);
    }
}

#[test]
fn a_list_of_hosts_is_checked_line_by_line() {
    let secret = VECTORS[0].secret;
    assert!(Hosts::parse(&format!("{HOST} {secret}\n{DISK} {secret} {secret}\n")).is_ok());
    let wrong = |text: &str| Hosts::parse(text).unwrap_err();
    assert_eq!(wrong("# nobody\n"), HostsError::Empty);
    assert_eq!(wrong(&format!("\n{HOST}")), HostsError::Form { line: 2 });
    assert_eq!(wrong(&format!("{HOST} {secret} {secret} {secret}")), HostsError::Form { line: 1 });
    assert_eq!(wrong(&format!("host {secret}")), HostsError::Name { line: 1 });
    assert_eq!(wrong(&format!("{HOST} {secret}\n{HOST} {secret}")), HostsError::Twice { line: 2 });
    for mistyped in ["DHHC-2", &secret.replace("ERE", "ERF"), &secret.replace(":00:", ":03:"), &secret[..50]] {
        assert_eq!(wrong(&format!("{HOST} {mistyped}")), HostsError::Secret { line: 1 });
    }
    assert!(!format!("{:?}", Hosts::parse(&format!("{HOST} {secret}"))).contains("17"), "keys are not shown");
}
