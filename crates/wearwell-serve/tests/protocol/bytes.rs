//! Messages as a client writes them, and what comes back.

use wearwell_serve::nbd::{Export, Handshake, HandshakeState, Output, ProtocolError, Security};

pub(crate) const FIXED_NO_ZEROES: [u8; 4] = [0, 0, 0, 3];

pub(crate) fn export() -> Export {
    Export {
        name: "disk".to_owned(),
        description: "a test".to_owned(),
        size_bytes: 1 << 20,
        page_bytes: 2048,
        is_read_only: false,
    }
}

pub(crate) fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [b"IHAVEOPT".as_slice(), &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
}

pub(crate) fn option_reply(number: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let magic = 0x0003_e889_0455_65a9_u64.to_be_bytes();
    [&magic[..], &number.to_be_bytes(), &kind.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
}

pub(crate) fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

/// The data of INFO and GO.
pub(crate) fn info(name: &str, wants: &[u16]) -> Vec<u8> {
    let wants: Vec<u8> = [wants.len() as u16].iter().chain(wants).flat_map(|number| number.to_be_bytes()).collect();
    [string(name), wants].concat()
}

/// The data of LIST_META_CONTEXT and SET_META_CONTEXT.
pub(crate) fn contexts(name: &str, queries: &[&str]) -> Vec<u8> {
    let queries: Vec<u8> = (queries.len() as u32)
        .to_be_bytes()
        .into_iter()
        .chain(queries.iter().flat_map(|query| string(query)))
        .collect();
    [string(name), queries].concat()
}

pub(crate) fn request(flags: u16, kind: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let head = [&[0x25, 0x60, 0x95, 0x13], &flags.to_be_bytes()[..], &kind.to_be_bytes()].concat();
    [&head[..], &cookie.to_be_bytes(), &offset.to_be_bytes(), &length.to_be_bytes()].concat()
}

/// What a handshake came to.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    /// What the server sent after its greeting.
    pub(crate) answers: Vec<u8>,
    /// How it ended.
    pub(crate) state: Result<HandshakeState, ProtocolError>,
    /// Bytes of the input that were used.
    pub(crate) used_bytes: usize,
}

/// Hands input to a handshake as far as it takes any. `pieces` are the lengths in which it comes.
pub(crate) fn shake(export: &Export, input: &[u8], mut pieces: impl Iterator<Item = usize>) -> Outcome {
    let mut output = Output::default();
    let mut handshake = Handshake::greet(export, Security::Plain, &mut output);
    assert_eq!(output.filled(), b"NBDMAGICIHAVEOPT\0\x03");
    output.clear();
    let (mut used_bytes, mut end) = (0, 0);
    loop {
        match handshake.receive(&input[used_bytes..end], &mut output) {
            Ok(progress) if progress.state == HandshakeState::Open => {
                used_bytes += progress.used_bytes;
                if progress.used_bytes == 0 {
                    if end == input.len() {
                        let state = Ok(HandshakeState::Open);
                        return Outcome { answers: output.filled().to_vec(), state, used_bytes };
                    }
                    end = (end + pieces.next().unwrap_or(usize::MAX).min(input.len() - end)).min(input.len());
                }
            }
            Ok(progress) => {
                used_bytes += progress.used_bytes;
                return Outcome { answers: output.filled().to_vec(), state: Ok(progress.state), used_bytes };
            }
            Err(error) => return Outcome { answers: output.filled().to_vec(), state: Err(error), used_bytes },
        }
    }
}

/// All input at once.
pub(crate) fn shake_at_once(input: &[&[u8]]) -> Outcome {
    shake(&export(), &input.concat(), std::iter::empty())
}
