//! One connection, from the greeting to its end.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::nbd::{
    Command, Export, Handshake, HandshakeState, Output, ProtocolError, RequestStep, Requests, Security, Session,
};

use super::Timing;
use super::batch::Batch;
use super::clients::Clients;
use super::due::Dues;
use super::eager::Eager;
use super::end::ConnectionEnd;
use super::engine::Engine;
use super::execute;
use super::input::Input;
use super::latency;
use super::peer::Peer;
use super::stop::Stopping;
use super::tls::{Tls, Wire};

/// The longest time in which a client may read none of the bytes that wait for it.
pub(super) const SEND_PATIENCE: Duration = Duration::from_secs(60);
/// Replies are sent once they have this many bytes. That fits a socket's usual buffer, so the client reads them while
/// the next are made, and it fits the core's cache.
pub(super) const BATCH_BYTES: usize = 128 << 10;
/// Bytes of requests after which others may use the disk.
pub(super) const BATCH_INPUT_BYTES: usize = 4 << 20;

/// A connection that is served.
pub(super) struct Connection<'s> {
    pub(super) peer: &'s Peer,
    pub(super) clients: &'s Clients,
    pub(super) wire: Wire<'s>,
    /// None if there is no TLS.
    pub(super) tls: Option<&'s Tls>,
    pub(super) engine: &'s Engine,
    pub(super) export: &'s Export,
    /// When the server stops, received requests are still answered.
    pub(super) stopping: &'s Stopping,
}

/// What remains after a batch.
enum Rest {
    /// There may be more requests in the input.
    Unknown,
    /// The next request has so many bytes.
    Needs(usize),
    /// The client disconnected.
    Disconnected,
    Broken(ProtocolError),
}

impl Connection<'_> {
    /// Serves the peer until either side ends the connection.
    pub(super) fn run(mut self) -> ConnectionEnd {
        let (Ok(end) | Err(end)) = self.serve();
        self.wire.goodbye();
        end
    }

    /// The file of a Unix socket controls who connects to it. All other clients need a certificate, if there is TLS.
    fn security(&self) -> Security {
        match (self.tls, self.peer) {
            (None, _) => Security::Plain,
            (Some(_), Peer::Unix(_)) => Security::TlsOffered,
            (Some(_), Peer::Tcp(_)) => Security::TlsRequired,
        }
    }

    fn serve(&mut self) -> Result<ConnectionEnd, ConnectionEnd> {
        let mut input = Input::new();
        let mut output = Output::default();
        // The handshake sends as well. A client that reads nothing would hold this thread otherwise.
        self.peer.set_send_patience(SEND_PATIENCE)?;
        let session = match self.shake_hands(&mut input, &mut output) {
            Ok(Some(session)) => session,
            Ok(None) => return Ok(ConnectionEnd::Left),
            // A client that only tested whether a server listens. The greeting that it did not read counts as a broken
            // socket.
            Err(ConnectionEnd::Vanished) if input.is_fresh() => return Ok(ConnectionEnd::Left),
            Err(end) => return Err(end),
        };
        self.transmit(session, &mut input, &mut output)
    }

    /// None if the client ended it.
    fn shake_hands(&mut self, input: &mut Input, output: &mut Output) -> Result<Option<Session>, ConnectionEnd> {
        let mut handshake = Handshake::greet(self.export, self.security(), output);
        loop {
            // The greeting first, and then the answer to each option before the next one is looked at.
            self.send(output)?;
            let progress = match handshake.receive(input.unused(), output) {
                Ok(progress) => progress,
                Err(error) => {
                    // The answers to the options before it are still due.
                    self.send(output)?;
                    return Err(error.into());
                }
            };
            input.advance(progress.used_bytes);
            match progress.state {
                HandshakeState::Ready(session) => {
                    // Before the client gets the reply, so that its connection is not closed afterwards.
                    self.clients.settle(self.peer)?;
                    self.send(output)?;
                    return Ok(Some(session));
                }
                HandshakeState::Aborted => {
                    self.send(output)?;
                    return Ok(None);
                }
                HandshakeState::StartTls => {
                    self.send(output)?;
                    self.start_tls()?;
                }
                // There may be another option in the input.
                HandshakeState::Open if progress.used_bytes > 0 => {}
                // The handshake does not say how long an option is, so any further byte makes it look again.
                HandshakeState::Open => self.receive(input, input.unused().len() + 1)?,
            }
        }
    }

    fn start_tls(&mut self) -> Result<(), ConnectionEnd> {
        // Without TLS the handshake refuses the option, so this cannot be reached.
        let Some(tls) = self.tls else { return Ok(()) };
        self.wire.start_tls(tls).map_err(|error| match error.kind() {
            // This is how rustls reports its own errors: a wrong certificate, an old version.
            io::ErrorKind::InvalidData => ConnectionEnd::Tls(error.to_string()),
            io::ErrorKind::UnexpectedEof => ConnectionEnd::Vanished,
            _ => error.into(),
        })
    }

    fn transmit(
        &mut self,
        session: Session,
        input: &mut Input,
        output: &mut Output,
    ) -> Result<ConnectionEnd, ConnectionEnd> {
        let mut requests = Requests::new(session);
        let (mut dues, mut eager) = (Dues::default(), Eager::default());
        loop {
            let rest = self.batch(&mut requests, input, output, &mut dues);
            let Self { wire, engine, stopping, .. } = self;
            // Before the rest is looked at: also a client that has disconnected, or sent nonsense, gets the replies
            // from before that.
            dues.send(engine, stopping, output, |bytes| wire.write_all(bytes).and_then(|()| wire.flush()))?;
            match rest {
                Rest::Unknown => {}
                Rest::Needs(bytes) => {
                    // Inside TLS fewer bytes may be in the socket than are missing here. Then the busy wait lasts as
                    // long as it may, and no longer.
                    let wanted_bytes = bytes.saturating_sub(input.unused().len());
                    eager.wait(self.peer, wanted_bytes, || self.receive(input, bytes))?;
                }
                Rest::Disconnected => return Ok(ConnectionEnd::Left),
                Rest::Broken(error) => return Err(error.into()),
            }
        }
    }

    /// Executes the requests of the input under one lock.
    fn batch(&self, requests: &mut Requests, input: &mut Input, output: &mut Output, dues: &mut Dues) -> Rest {
        let mut batch: Option<Batch<'_>> = None;
        let mut used = 0;
        // A request begins when the one before it is done.
        let mut began = Instant::now();
        let rest = loop {
            // The lock is let go of between batches, so that one client with many requests does not keep the others
            // out.
            if output.len() >= BATCH_BYTES || used >= BATCH_INPUT_BYTES {
                break Rest::Unknown;
            }
            let (request, used_bytes) = match requests.receive(&input.unused()[used..]) {
                Ok(RequestStep::Whole { request, used_bytes }) => (request, used_bytes),
                Ok(RequestStep::Partial { used_bytes, needed_bytes }) => {
                    used += used_bytes;
                    // The lock is not held while the rest of a request comes: a client could stop in the middle of it.
                    break Rest::Needs(needed_bytes);
                }
                Err(error) => break Rest::Broken(error),
            };
            // Requests behind it are not done.
            if request.command == Command::Disconnect {
                break Rest::Disconnected;
            }
            // Only a complete request announces itself to idle cleaning.
            let batch = batch.get_or_insert_with(|| Batch::new(self.engine));
            execute::execute(batch, requests.session(), &request, output);
            let due_us = if self.engine.timing() == Timing::Real { batch.complete_us() } else { None };
            if let Some(due_us) = due_us {
                dues.add(output.len(), due_us);
            }
            let done = Instant::now();
            if let Some(kind) = latency::kind(&request.command) {
                // The reply has not been sent, but it is known when it will be.
                let waits_us = due_us.map_or(0, |due_us| due_us.saturating_sub(self.engine.now_us()));
                self.engine.latencies().add(kind, done - began + Duration::from_micros(waits_us));
            }
            // So each request costs one reading of the clock, not two.
            began = done;
            used += used_bytes;
        };
        input.advance(used);
        rest
    }

    fn send(&mut self, output: &mut Output) -> Result<(), ConnectionEnd> {
        self.peer_write(output.filled())?;
        output.clear();
        Ok(())
    }

    fn peer_write(&mut self, bytes: &[u8]) -> Result<(), ConnectionEnd> {
        Ok(self.wire.write_all(bytes).and_then(|()| self.wire.flush())?)
    }

    /// Waits for more input, until up to `needed_bytes` of it are there.
    fn receive(&mut self, input: &mut Input, needed_bytes: usize) -> Result<(), ConnectionEnd> {
        if input.fill(&mut self.wire, needed_bytes)? > 0 {
            return Ok(());
        }
        Err(if self.stopping.has_begun() {
            ConnectionEnd::Stopped
        } else if input.unused().is_empty() {
            ConnectionEnd::Left
        } else {
            ConnectionEnd::Vanished
        })
    }
}
