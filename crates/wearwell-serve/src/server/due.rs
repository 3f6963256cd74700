//! Replies that wait for the chip's timeline.

use std::io;
use std::time::Duration;

use super::engine::Engine;
use super::stop::Stopping;
use crate::output::Output;

/// Replies up to `end_bytes` of the output are complete on the chip at `due_us`.
struct Due {
    end_bytes: usize,
    due_us: u64,
}

/// The times at which parts of the output are due, in order.
#[derive(Default)]
pub(super) struct Dues(Vec<Due>);

impl Dues {
    /// The new part of the output, up to `end_bytes`, is complete at `due_us`.
    pub(super) fn add(&mut self, end_bytes: usize, due_us: u64) {
        self.0.push(Due { end_bytes, due_us });
    }

    /// Sends replies by `write`, each when it is complete on the chip's timeline. If the server stops, it sends them at
    /// once: the commands are done, and the server does not wait for the client.
    pub(super) fn send(
        &mut self,
        engine: &Engine,
        stopping: &Stopping,
        output: &mut Output,
        mut write: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut sent, mut ready) = (0, 0);
        for due in self.0.drain(..) {
            let left_us = due.due_us.saturating_sub(engine.now_us());
            if left_us > 0 && !stopping.has_begun() {
                // Those that are ready go out before the sleep, in one write.
                write(&output.filled()[sent..ready])?;
                sent = ready;
                stopping.sleep(Duration::from_micros(left_us));
            }
            ready = due.end_bytes;
        }
        // Without a timeline nothing is due, and this is the only write.
        write(&output.filled()[sent..])?;
        output.clear();
        Ok(())
    }
}
