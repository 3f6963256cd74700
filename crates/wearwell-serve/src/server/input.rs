//! Received bytes that are not used yet.

use std::io::{self, Read};

/// Bytes for one read. A socket's usual buffer holds fewer.
const READ_BYTES: usize = 512 << 10;

/// Memory that is kept after a large request.
const KEPT_BYTES: usize = 4 << 20;

/// A buffer that is filled from a socket and used from its front.
///
/// Invariant: `start <= end <= bytes.len()`. The bytes between `start` and `end` are unused input.
#[derive(Debug)]
pub(super) struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// True until the peer has sent a byte.
    is_fresh: bool,
}

impl Input {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; READ_BYTES], start: 0, end: 0, is_fresh: true }
    }

    /// The unused bytes.
    pub(super) fn unused(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// True if no byte has come yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// Uses bytes at the front.
    pub(super) fn advance(&mut self, used_bytes: usize) {
        self.start += used_bytes;
        debug_assert!(self.start <= self.end);
    }

    /// Waits for more input, of which `needed_bytes` belong together. Returns how many came; 0 is the end. The buffer
    /// grows with the bytes received. A peer that only announces a long message gets no memory for it.
    pub(super) fn fill(&mut self, from: &mut impl Read, needed_bytes: usize) -> io::Result<usize> {
        let unused = self.end - self.start;
        // Bytes are moved only if little room is left behind them. Moving them before each read would cost a copy for
        // each batch.
        if self.start > 0 && (unused == 0 || self.start + needed_bytes.max(READ_BYTES / 2) > self.bytes.len()) {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, unused);
        }
        if self.start + needed_bytes > self.bytes.len() {
            // It at most doubles, and only when it is full: the peer has sent half of that memory before it gets the
            // rest.
            let grown = self.bytes.len().max(READ_BYTES).saturating_mul(2);
            if self.end == self.bytes.len() {
                self.bytes.resize(grown.min(self.start + needed_bytes), 0);
            }
        } else if unused == 0 && self.bytes.len() > KEPT_BYTES && needed_bytes <= READ_BYTES {
            self.bytes.truncate(READ_BYTES);
            self.bytes.shrink_to_fit();
        }
        let came = loop {
            match from.read(&mut self.bytes[self.end..]) {
                // A signal is not the peer's end.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.end += came;
        self.is_fresh &= came == 0;
        Ok(came)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_in_order_whatever_is_needed() {
        let sent: Vec<u8> = (0..3_000_000_u32).map(|i| (i / 7) as u8).collect();
        let mut from = sent.as_slice();
        let (mut input, mut got, mut needed) = (Input::new(), Vec::new(), 1);
        loop {
            while input.unused().len() >= needed {
                got.extend_from_slice(&input.unused()[..needed]);
                input.advance(needed);
                needed = (needed * 3 + 1) % 900_000;
            }
            if input.fill(&mut from, needed).unwrap() == 0 {
                break;
            }
        }
        got.extend_from_slice(input.unused());
        assert!(got == sent);
    }
}
