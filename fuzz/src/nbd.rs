//! Arbitrary input of an NBD client.

use wearwell_serve::nbd::{
    Command, Export, Handshake, HandshakeState, MAX_PAYLOAD_BYTES, Output, ProtocolError, RequestStep, Requests,
    Security, Session,
};

const SIZE_BYTES: u64 = 1 << 40;

/// Takes the first byte as the length of pieces, and the rest as the input of a connection. The input must have the
/// same effect as a whole and in pieces. It must be used up or refused, and must not access bytes outside the disk.
pub fn nbd(data: &[u8]) {
    let Some((&piece_bytes, input)) = data.split_first() else { return };
    let whole = connection(input, usize::MAX);
    assert_eq!(connection(input, 1 + usize::from(piece_bytes)), whole);
}

/// The results of a connection: the bytes sent, the requests, and the end.
#[derive(Debug, PartialEq)]
struct Connection {
    answers: Vec<u8>,
    requests: Vec<String>,
    error: Option<String>,
}

fn connection(input: &[u8], piece_bytes: usize) -> Connection {
    let export = Export {
        name: String::new(),
        description: "fuzzed".to_owned(),
        size_bytes: SIZE_BYTES,
        page_bytes: 4096,
        is_read_only: false,
    };
    let mut output = Output::default();
    let mut requests = Vec::new();
    let end = talk(&export, input, piece_bytes, &mut output, &mut requests);
    Connection { answers: output.filled().to_vec(), requests, error: end.err().map(|error| error.to_string()) }
}

fn talk(
    export: &Export,
    input: &[u8],
    piece_bytes: usize,
    output: &mut Output,
    found: &mut Vec<String>,
) -> Result<(), ProtocolError> {
    let securities = [Security::Plain, Security::TlsOffered, Security::TlsRequired, Security::Tls];
    let mut handshake = Handshake::greet(export, securities[input.len() % 4], output);
    let (mut start, mut end) = (0, piece_bytes.min(input.len()));
    let session: Session = loop {
        let progress = match handshake.receive(&input[start..end], output) {
            // Whether more bytes follow depends on the pieces.
            Err(ProtocolError::BehindStartTls) => return Ok(()),
            progress => progress?,
        };
        start += progress.used_bytes;
        match progress.state {
            HandshakeState::Ready(session) => break session,
            HandshakeState::Aborted | HandshakeState::StartTls => return Ok(()),
            HandshakeState::Open if progress.used_bytes > 0 => {}
            HandshakeState::Open if end == input.len() => return Ok(()),
            HandshakeState::Open => end = end.saturating_add(piece_bytes).min(input.len()),
        }
    };
    let mut requests = Requests::new(session);
    loop {
        match requests.receive(&input[start..end])? {
            RequestStep::Whole { request, used_bytes } => {
                assert!(used_bytes > 0);
                start += used_bytes;
                check(request.command);
                found.push(format!("{request:?}"));
            }
            RequestStep::Partial { used_bytes, needed_bytes } => {
                start += used_bytes;
                assert!(needed_bytes > end - start && needed_bytes <= MAX_PAYLOAD_BYTES as usize + 28);
                if end == input.len() {
                    return Ok(());
                }
                end = end.saturating_add(piece_bytes).min(input.len());
            }
        }
    }
}

fn check(command: Command<'_>) {
    let (offset, bytes) = match command {
        Command::Read { offset, length, .. } => (offset, u64::from(length)),
        Command::Write { offset, data, .. } => (offset, data.len() as u64),
        Command::Trim { offset, length, .. }
        | Command::WriteZeroes { offset, length, .. }
        | Command::BlockStatus { offset, length, .. } => (offset, u64::from(length)),
        _ => return,
    };
    assert!(offset <= SIZE_BYTES && bytes <= SIZE_BYTES - offset);
}
