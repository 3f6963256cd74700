//! A closed loop over one connection: always the same number of requests is under way.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use wearwell::Rng;
use wearwell_soak::expect;

use crate::dialect::{Dialect, Kind};

/// Bytes of a request.
pub(crate) const REQUEST_BYTES: usize = 4096;
/// The room for replies: those of the greatest depth fit.
const INPUT_BYTES: usize = 512 << 10;

/// A connection on which requests can be sent.
pub(crate) trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// A connection, and its protocol.
pub(crate) struct Line {
    pub(crate) dialect: Dialect,
    pub(crate) stream: Box<dyn Stream>,
}

/// When a measurement ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// After so many requests.
    Requests(u64),
    /// After this time.
    Time(Duration),
}

/// Where requests go: to random pages of a disk.
pub(crate) fn random(pages: u64, seed: u64) -> impl FnMut() -> u64 {
    let mut rng = Rng::new(seed);
    move || u64::from(rng.below(pages as u32)) * REQUEST_BYTES as u64
}

/// Page after page.
pub(crate) fn sequential() -> impl FnMut() -> u64 {
    let mut next = 0;
    move || {
        next += REQUEST_BYTES as u64;
        next - REQUEST_BYTES as u64
    }
}

impl Line {
    /// Keeps `depth` requests under way. Returns how many were answered, and in what time.
    pub(crate) fn run(
        &mut self,
        kind: Kind,
        depth: u16,
        until: Until,
        mut place: impl FnMut() -> u64,
    ) -> io::Result<(u64, Duration)> {
        // Neither zeros nor the same as before.
        let mut data = [0xa5; REQUEST_BYTES];
        let (mut out, mut input, mut have) = (Vec::new(), vec![0; INPUT_BYTES], 0);
        let (mut sent, mut answered) = (0_u64, 0_u64);
        let began = Instant::now();
        loop {
            let left = match until {
                Until::Requests(count) => count - sent,
                Until::Time(time) if began.elapsed() >= time => 0,
                Until::Time(_) => u64::MAX,
            };
            if left == 0 && sent == answered {
                return Ok((answered, began.elapsed()));
            }
            for _ in 0..left.min(u64::from(depth) - (sent - answered)) {
                data[..8].copy_from_slice(&sent.to_le_bytes());
                // The numbers wrap, but those of the requests that are under way are different.
                self.dialect.put(&mut out, kind, sent as u16, place(), &data);
                sent += 1;
            }
            self.stream.write_all(&out)?;
            out.clear();
            let read = self.stream.read(&mut input[have..])?;
            expect(read > 0, "the replies to all requests")?;
            have += read;
            let mut used = 0;
            while let Some(bytes) = self.dialect.take(&input[used..have], kind, REQUEST_BYTES)? {
                used += bytes;
                answered += 1;
            }
            input.copy_within(used..have, 0);
            have -= used;
        }
    }
}
