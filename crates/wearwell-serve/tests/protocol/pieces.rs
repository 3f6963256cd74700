//! Input cut anywhere means the same.

use wearwell::Rng;
use wearwell_serve::nbd::{HandshakeState, ProtocolError, RequestStep, Requests, Session};

use crate::bytes::{FIXED_NO_ZEROES, contexts, export, info, option, request, shake};

const SEEDS: u64 = 300;

/// The lengths of random pieces, most of them short.
fn pieces(seed: u64) -> impl Iterator<Item = usize> {
    let mut rng = Rng::new(seed);
    std::iter::repeat_with(move || 1 + rng.below(if seed.is_multiple_of(2) { 7 } else { 3000 }) as usize)
}

/// Changes a few bytes in some of the runs.
fn damage(input: &mut [u8], rng: &mut Rng) {
    for _ in 0..rng.below(6).saturating_sub(3) {
        let at = rng.below(input.len() as u32) as usize;
        input[at] = rng.below(256) as u8;
    }
}

fn random_options(rng: &mut Rng) -> Vec<u8> {
    let mut input = FIXED_NO_ZEROES.to_vec();
    for _ in 0..rng.below(8) {
        let name = ["disk", "disk@stream=3", "disc"][rng.below(3) as usize];
        let next = match rng.below(8) {
            0 => option(3, b""),
            1 => option(6, &info(name, &[3, 1])),
            2 => option(8, b""),
            3 => option(9, &contexts(name, &[])),
            4 => option(10, &contexts(name, &["base:allocation", "x-a:b"])),
            5 => option(5, b""),
            6 => option(rng.below(20) + 11, &vec![0xa5; rng.below(500) as usize]),
            _ => option(6, &vec![0; 65_530 + rng.below(12) as usize]),
        };
        input.extend(next);
    }
    input.extend(if rng.below(3) > 0 { option(7, &info("disk", &[3])) } else { option(1, b"disk") });
    input
}

#[test]
fn a_handshake() {
    let mut states = [0; 3];
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let mut input = random_options(&mut rng);
        damage(&mut input, &mut rng);
        let at_once = shake(&export(), &input, std::iter::empty());
        assert_eq!(shake(&export(), &input, pieces(seed)), at_once, "seed {seed}");
        states[match at_once.state {
            Ok(HandshakeState::Ready(_)) => 0,
            Ok(_) => 1,
            Err(_) => 2,
        }] += 1;
    }
    assert!(states.iter().all(|count| *count > 5), "each way to end is tried: {states:?}");
}

fn random_requests(rng: &mut Rng) -> Vec<u8> {
    let mut input = Vec::new();
    for cookie in 0..u64::from(rng.below(30)) {
        let flags = if rng.below(4) == 0 { 1 << rng.below(6) } else { 0 };
        let kind = rng.below(10) as u16;
        let offset = u64::from(rng.below(1 << 20)) + if rng.below(9) == 0 { u64::MAX << 20 } else { 0 };
        let length = rng.below(9000);
        input.extend(request(flags, kind, cookie, offset, length));
        if kind == 1 {
            input.extend((0..length).map(|_| rng.below(256) as u8));
        }
    }
    input
}

/// All requests as text, and how the input ended.
fn requests(input: &[u8], mut pieces: impl Iterator<Item = usize>) -> (Vec<String>, Result<usize, ProtocolError>) {
    let session = Session {
        size_bytes: 1 << 20,
        is_read_only: false,
        stream: 0,
        has_structured_replies: true,
        has_allocation: true,
    };
    let mut requests = Requests::new(session);
    let (mut start, mut end, mut found) = (0, 0, Vec::new());
    loop {
        match requests.receive(&input[start..end]) {
            Ok(RequestStep::Whole { request, used_bytes }) => {
                found.push(format!("{request:?}"));
                start += used_bytes;
            }
            Ok(RequestStep::Partial { used_bytes, needed_bytes }) => {
                start += used_bytes;
                assert!(needed_bytes > end - start, "a request that is there is taken");
                if end == input.len() {
                    return (found, Ok(end - start));
                }
                end = end.saturating_add(pieces.next().unwrap_or(usize::MAX)).min(input.len());
            }
            Err(error) => return (found, Err(error)),
        }
    }
}

#[test]
fn requests_and_their_data() {
    let mut with_garbage = 0;
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let mut input = random_requests(&mut rng);
        if input.is_empty() {
            continue;
        }
        if rng.below(4) == 0 {
            input.remove(rng.below(input.len() as u32) as usize);
        }
        let at_once = requests(&input, std::iter::empty());
        assert_eq!(requests(&input, pieces(seed)), at_once, "seed {seed}");
        with_garbage += usize::from(at_once.1.is_err());
    }
    assert!(with_garbage > 5, "garbage is among them");
}
