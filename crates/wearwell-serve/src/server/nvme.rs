//! One NVMe/TCP connection, from its first message to its end.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::nvme::{Progress, Session, SessionEnd, Target};
use crate::output::Output;

use super::Timing;
use super::clients::Clients;
use super::connection::{BATCH_BYTES, BATCH_INPUT_BYTES, SEND_PATIENCE};
use super::due::Dues;
use super::eager::Eager;
use super::end::ConnectionEnd;
use super::engine::Engine;
use super::input::Input;
use super::nvme_medium::BatchMedium;
use super::peer::Peer;
use super::stop::Stopping;

/// The interval at which an idle connection checks whether its controller still exists, and has something to send.
const TICK: Duration = Duration::from_secs(1);
/// The longest time in which a host may send nothing of a message that it began, or of data that it was asked for.
const MESSAGE_PATIENCE: Duration = Duration::from_secs(60);

impl From<SessionEnd> for ConnectionEnd {
    fn from(end: SessionEnd) -> Self {
        match end {
            // Hosts usually end a session in one of these ways.
            SessionEnd::Disconnected | SessionEnd::Reset => Self::Left,
            end => Self::Nvme(end),
        }
    }
}

/// A connection that is served.
pub(super) struct NvmeConnection<'s> {
    pub(super) peer: &'s Peer,
    pub(super) clients: &'s Clients,
    pub(super) engine: &'s Engine,
    pub(super) target: &'s Target,
    pub(super) stopping: &'s Stopping,
}

/// What remains after a batch.
enum Rest {
    /// There may be more messages in the input.
    Unknown,
    /// The next message has so many bytes.
    Needs(usize),
    Over(ConnectionEnd),
}

impl NvmeConnection<'_> {
    /// Serves the host until either side ends the connection.
    pub(super) fn run(self) -> ConnectionEnd {
        let mut session = Session::default();
        let (Ok(end) | Err(end)) = self.serve(&mut session);
        // Also after an error: otherwise the controller would keep its place among the few that there are.
        session.leave(self.target);
        end
    }

    fn serve(&self, session: &mut Session) -> Result<ConnectionEnd, ConnectionEnd> {
        self.peer.set_send_patience(SEND_PATIENCE)?;
        // Reads return once a second, so that a controller without keep-alive, or an event, does not wait for the host
        // to send.
        self.peer.set_receive_patience(TICK)?;
        self.peer.watch()?;
        let mut peer = self.peer;
        let (mut input, mut output) = (Input::new(), Output::default());
        let (mut dues, mut eager) = (Dues::default(), Eager::default());
        loop {
            let rest = self.batch(session, &mut input, &mut output, &mut dues);
            // Also at the end: the last message may be a termination request that says why.
            dues.send(self.engine, self.stopping, &mut output, |bytes| peer.write_all(bytes))?;
            match rest {
                Rest::Unknown => {}
                Rest::Needs(bytes) => {
                    let wanted_bytes = bytes.saturating_sub(input.unused().len());
                    let receive = || self.receive(session, &mut input, bytes, &mut output);
                    eager.wait(self.peer, wanted_bytes, receive)?;
                }
                Rest::Over(end) => return Ok(end),
            }
        }
    }

    /// Executes the commands of the input under one lock.
    fn batch(&self, session: &mut Session, input: &mut Input, output: &mut Output, dues: &mut Dues) -> Rest {
        // The lock is taken with the first command that needs the disk, and let go of with the batch.
        let mut medium = BatchMedium::new(self.engine);
        let (mut used, mut began) = (0, Instant::now());
        let rest = loop {
            if output.len() >= BATCH_BYTES || used >= BATCH_INPUT_BYTES {
                break Rest::Unknown;
            }
            // Until then the connection has the short time of the handshake, authentication included.
            let was_connected = session.is_connected();
            let unused = &input.unused()[used..];
            match session.receive(unused, self.target, &mut medium, self.now_ms(), output) {
                Ok(Progress::Used(bytes)) => used += bytes,
                Ok(Progress::Needs(bytes)) => break Rest::Needs(bytes),
                Err(end) => break Rest::Over(end.into()),
            }
            if !was_connected
                && session.is_connected()
                // Before the host hears of it, so that its connection is not closed as too slow afterwards.
                && let Err(end) = self.clients.settle(self.peer)
            {
                break Rest::Over(end);
            }
            let due_us = if self.engine.timing() == Timing::Real { medium.complete_us() } else { None };
            if let Some(due_us) = due_us {
                dues.add(output.len(), due_us);
            }
            let done = Instant::now();
            if let Some(kind) = medium.take_kind() {
                let waits_us = due_us.map_or(0, |due_us| due_us.saturating_sub(self.engine.now_us()));
                self.engine.latencies().add(kind, done - began + Duration::from_micros(waits_us));
            }
            began = done;
        };
        input.advance(used);
        rest
    }

    /// Waits for more input. Meanwhile the session may send messages.
    fn receive(
        &self,
        session: &mut Session,
        input: &mut Input,
        needed_bytes: usize,
        output: &mut Output,
    ) -> Result<(), ConnectionEnd> {
        let mut peer = self.peer;
        let began = Instant::now();
        // The read itself waits for a tick at most: to ask first whether there is input costs a call for each command.
        while !self.comes(input, needed_bytes)? {
            let owes = !input.unused().is_empty() || session.is_owed_data();
            if owes && began.elapsed() >= MESSAGE_PATIENCE {
                return Err(ConnectionEnd::TooSlow);
            }
            // What it has written is sent also if the session is over.
            let ticked = session.tick(self.target, &mut BatchMedium::silent(self.engine), self.now_ms(), output);
            peer.write_all(output.filled())?;
            output.clear();
            ticked?;
        }
        Ok(())
    }

    /// Reads input. False if none comes for a tick.
    fn comes(&self, input: &mut Input, needed_bytes: usize) -> Result<bool, ConnectionEnd> {
        let mut peer = self.peer;
        match input.fill(&mut peer, needed_bytes) {
            Ok(0) => Err(if self.stopping.has_begun() {
                ConnectionEnd::Stopped
            } else if input.unused().is_empty() {
                ConnectionEnd::Left
            } else {
                ConnectionEnd::Vanished
            }),
            Ok(_) => Ok(true),
            // A tick is over. Systems have two names for that.
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn now_ms(&self) -> u64 {
        self.engine.now_us() / 1000
    }
}
