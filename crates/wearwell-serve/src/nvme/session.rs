//! A connection: a queue of commands, from its first message to its end.
//!
//! A session has no role until its host sends [`connect`](super::connect). Then it is the admin queue of a controller,
//! or one of its I/O queues. If the target knows its hosts by secrets, the only commands that it then takes are those
//! of authentication, until the host has shown who it is. Commands are done in the order in which they are complete: a
//! command whose data has not arrived does not block others.

use std::sync::atomic::Ordering;

use zerocopy::little_endian::U16;

use crate::output::Output;

use super::answer::{Answer, ErrorEntry, Failed};
use super::auth::{self, Exchange, Outcome};
use super::command::{DataAt, Direction, Sqe, fabrics};
use super::connect::{self, CONNECT_DATA_BYTES};
use super::controller::Admin;
use super::io;
use super::link::{Completion, Link, Message, Received};
use super::medium::Medium;
use super::pdu::{Fatal, kind};
use super::status::Status;
use super::target::Target;
use super::transfers::Transfers;
use super::turn::{IoQueue, Queue, Turn};

/// In the result of connect: the queue has to be authenticated.
const AUTHENTICATION_REQUIRED: u64 = 1 << 17;

/// Why a session is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionEnd {
    /// The host sent bytes that are not a message, and was told so.
    #[error("not NVMe/TCP: {0}")]
    Fatal(#[from] Fatal),
    /// The host reported a fault in one of our messages.
    #[error("the host ended the connection")]
    Terminated,
    /// The host disconnected its queue.
    #[error("the host disconnected the queue")]
    Disconnected,
    /// The controller was reset or removed, and its queues with it.
    #[error("the controller has gone")]
    Reset,
    /// The host did not keep its controller alive.
    #[error("the host did not keep the controller alive")]
    Expired,
    /// The host did not show that it is the one that it says.
    #[error("the host failed to authenticate itself")]
    NotAuthenticated,
}

/// The result of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// This number of bytes at the front was a message.
    Used(usize),
    /// The first message needs this number of bytes, as far as known.
    Needs(usize),
}

/// The role of a connection.
enum Role {
    /// Not connected to a controller.
    Fresh,
    Admin(Box<Admin>),
    Io(IoQueue),
}

/// A connection.
pub struct Session {
    link: Link,
    transfers: Transfers,
    queue: Queue,
    role: Role,
    /// None before connect, and for targets without authentication.
    lock: Option<Exchange>,
}

impl Default for Session {
    fn default() -> Self {
        // The first command is connect, which says how large the queue is.
        let queue = Queue { entries: 2, head: 0, has_flow_control: true };
        Self { link: Link::default(), transfers: Transfers::default(), queue, role: Role::Fresh, lock: None }
    }
}

impl Session {
    /// Takes the next message from the front of `input`, executes it, and writes replies to `output`.
    ///
    /// # Errors
    /// Why the session is over. The content of `output` must still be sent.
    pub fn receive(
        &mut self,
        input: &[u8],
        target: &Target,
        medium: &mut impl Medium,
        now_ms: u64,
        output: &mut Output,
    ) -> Result<Progress, SessionEnd> {
        // First: a queue whose controller was reset takes no further message.
        self.check_alive(now_ms)?;
        let host = match &self.role {
            Role::Fresh => [0; 16],
            Role::Admin(admin) => admin.host.id,
            Role::Io(io) => io.host,
        };
        // The outer error is a fault in the messages, of which the host is told. The inner one is any other end.
        let received = self.link.receive(input).and_then(|received| match received {
            Received::Partial { needed_bytes } => Ok(Ok(Progress::Needs(needed_bytes))),
            Received::Whole { message, used_bytes } => {
                let mut turn = Turn { target, medium, now_ms, host };
                let taken = self.take(&message, &mut turn, output)?;
                Ok(taken.map(|()| Progress::Used(used_bytes)))
            }
        });
        received.unwrap_or_else(|fatal| {
            // Replies to the commands before it are in the output already, and go out in front.
            Link::terminate(output, fatal, input);
            Err(fatal.into())
        })
    }

    /// To be called periodically while nothing arrives. Writes events and checks timeouts.
    ///
    /// # Errors
    /// Why the session is over.
    pub fn tick(
        &mut self,
        target: &Target,
        medium: &mut impl Medium,
        now_ms: u64,
        output: &mut Output,
    ) -> Result<(), SessionEnd> {
        self.check_alive(now_ms)?;
        if let Role::Admin(admin) = &mut self.role
            && let Some((command_id, event)) = admin.next_event(target, medium)
        {
            self.complete(command_id, Status::SUCCESS, event, output);
        }
        Ok(())
    }

    /// True once the connection has a role, and its host has shown who it is if that is wanted.
    pub fn is_connected(&self) -> bool {
        !matches!(self.role, Role::Fresh) && self.lock.as_ref().is_none_or(Exchange::is_done)
    }

    /// True while the host owes requested data.
    pub fn is_owed_data(&self) -> bool {
        self.transfers.is_owed()
    }

    /// Notes that the connection is closed.
    pub fn leave(&mut self, target: &Target) {
        // So a second call does nothing.
        match std::mem::replace(&mut self.role, Role::Fresh) {
            Role::Fresh => {}
            Role::Admin(admin) => target.leave(admin.id),
            Role::Io(io) => target.disconnect_queue(io.controller, io.queue, &io.is_up),
        }
    }

    fn check_alive(&self, now_ms: u64) -> Result<(), SessionEnd> {
        match &self.role {
            // Only the admin queue has the clock. Its end takes the others with it, by their flag.
            Role::Admin(admin) if admin.is_expired(now_ms) => Err(SessionEnd::Expired),
            Role::Io(io) if !io.is_up.load(Ordering::Relaxed) => Err(SessionEnd::Reset),
            _ => Ok(()),
        }
    }

    fn take<M: Medium>(
        &mut self,
        message: &Message<'_>,
        turn: &mut Turn<'_, M>,
        output: &mut Output,
    ) -> Result<Result<(), SessionEnd>, Fatal> {
        match message {
            Message::Initialize => self.link.accept(output),
            Message::Command { entry, data, is_damaged } => {
                return self.begin(entry, data, *is_damaged, turn, output);
            }
            Message::Data { header, data, is_damaged } => {
                if let Some(whole) = self.transfers.add(header, data, *is_damaged)? {
                    let ended = self.finish(&whole.entry, &whole.data, whole.is_damaged, turn, output);
                    self.transfers.grant(&self.link, output);
                    return Ok(ended);
                }
            }
            Message::Terminated => return Ok(Err(SessionEnd::Terminated)),
        }
        Ok(Ok(()))
    }

    /// Starts a command: executes it, or asks for its data.
    fn begin<M: Medium>(
        &mut self,
        entry: &Sqe,
        in_capsule: &[u8],
        is_damaged: bool,
        turn: &mut Turn<'_, M>,
        output: &mut Output,
    ) -> Result<Result<(), SessionEnd>, Fatal> {
        // A request for an event holds its entry until there is one, as does a command whose data is to come.
        let waiting = self.transfers.len() + if let Role::Admin(admin) = &self.role { admin.waiting() } else { 0 };
        // One entry of a queue is never used, so that a full queue differs from an empty one.
        if waiting + 1 >= usize::from(self.queue.entries) {
            return Err(Fatal::Sequence { kind: kind::CAPSULE_CMD });
        }
        // Also for a command that fails: its entry was taken from the queue.
        self.queue.head = (self.queue.head + 1) % self.queue.entries;
        // Data names its command by this number.
        let is_used = self.transfers.has(entry.command_id)
            || matches!(&self.role, Role::Admin(admin) if admin.awaits(entry.command_id));
        let planned = if is_used { Err(Status::COMMAND_ID_CONFLICT) } else { self.plan(entry, turn) };
        match planned.and_then(|bytes| placed(entry, in_capsule, bytes)) {
            Ok(Placed::Here(data)) => Ok(self.finish(entry, data, is_damaged, turn, output)),
            Ok(Placed::ToCome(bytes)) => {
                self.transfers.begin(entry, bytes);
                self.transfers.grant(&self.link, output);
                Ok(Ok(()))
            }
            Err(status) => {
                self.fail(entry, status.into(), turn.target, output);
                Ok(Ok(()))
            }
        }
    }

    /// Bytes of data that a command brings, if the command is allowed here and now.
    fn plan<M>(&self, entry: &Sqe, turn: &Turn<'_, M>) -> Result<u32, Status> {
        entry.check_flags()?;
        let is_connect = entry.is_fabrics() && entry.fabrics_type() == fabrics::CONNECT;
        match &self.role {
            Role::Fresh if is_connect => Ok(CONNECT_DATA_BYTES),
            Role::Fresh => Err(Status::COMMAND_SEQUENCE),
            // A connection is one queue for all its life.
            _ if is_connect => Err(Status::COMMAND_SEQUENCE),
            // Also when it is done: a host may authenticate itself again on an open queue.
            _ if self.lock.is_some() && entry.is_authentication() => auth::plan(entry),
            _ if !self.is_connected() => Err(Status::AUTHENTICATION_REQUIRED),
            Role::Admin(admin) => admin.plan(entry, turn.target),
            Role::Io(_) if entry.is_fabrics() && entry.fabrics_type() == fabrics::DISCONNECT => Ok(0),
            Role::Io(_) if entry.is_fabrics() => Err(Status::INVALID_OPCODE),
            Role::Io(_) => io::plan(entry, turn),
        }
    }

    /// Executes a command whose data is complete.
    fn finish<M: Medium>(
        &mut self,
        entry: &Sqe,
        data: &[u8],
        is_damaged: bool,
        turn: &mut Turn<'_, M>,
        output: &mut Output,
    ) -> Result<(), SessionEnd> {
        // Nothing of the command is done. The status lets the host send it again.
        if is_damaged {
            self.fail(entry, Status::TRANSIENT_TRANSPORT.into(), turn.target, output);
            return Ok(());
        }
        if entry.is_authentication() {
            return self.authenticate(entry, data, turn.target, output);
        }
        let answer = match &mut self.role {
            Role::Fresh => self.connect(entry, data, turn),
            Role::Admin(admin) => admin.execute(entry, data, turn),
            Role::Io(_) if entry.is_fabrics() => {
                // The host waits for this answer before it closes the connection.
                self.complete(entry.command_id, Status::SUCCESS, 0, output);
                return Err(SessionEnd::Disconnected);
            }
            Role::Io(_) if entry.direction() == Direction::ToHost => {
                self.send_io(entry, turn, output);
                return Ok(());
            }
            Role::Io(_) => io::execute(entry, data, turn).map(|()| Answer::Done(0)).map_err(Failed::from),
        };
        match answer {
            Ok(Answer::Done(result)) => self.complete(entry.command_id, Status::SUCCESS, result, output),
            Ok(Answer::Later) => {}
            Ok(Answer::Data(data, result)) => self.send(entry, data.len(), result, output, turn.target, |room| {
                room.copy_from_slice(&data);
                Ok(())
            }),
            Err(failed) => self.fail(entry, failed, turn.target, output),
        }
        Ok(())
    }

    fn connect<M>(&mut self, entry: &Sqe, data: &[u8], turn: &Turn<'_, M>) -> Result<Answer, Failed> {
        let connected = connect::connect(entry, data, turn)?;
        // Before the answer is written: it already has the queue's head, or says that there is none.
        self.queue = connected.queue;
        self.role = match connected.joined {
            connect::Joined::Admin(admin) => Role::Admin(Box::new(admin)),
            connect::Joined::Io(io) => Role::Io(io),
        };
        self.lock = connected.lock;
        let wants_authentication = if self.lock.is_some() { AUTHENTICATION_REQUIRED } else { 0 };
        Ok(Answer::Done(u64::from(connected.controller) | wants_authentication))
    }

    /// Takes a message of the host's authentication, or sends the next one.
    fn authenticate(
        &mut self,
        entry: &Sqe,
        data: &[u8],
        target: &Target,
        output: &mut Output,
    ) -> Result<(), SessionEnd> {
        let Some(lock) = &mut self.lock else {
            self.fail(entry, Status::INVALID_OPCODE.into(), target, output);
            return Ok(());
        };
        if entry.direction() == Direction::FromHost {
            lock.take(data);
            self.complete(entry.command_id, Status::SUCCESS, 0, output);
            return Ok(());
        }
        // The command's room was checked before: it holds the longest message.
        let (message, outcome) = lock.fetch();
        self.send(entry, entry.word(11) as usize, 0, output, target, |room| {
            let (front, rest) = room.split_at_mut(message.len());
            front.copy_from_slice(&message);
            rest.fill(0);
            Ok(())
        });
        if outcome == Outcome::Failed { Err(SessionEnd::NotAuthenticated) } else { Ok(()) }
    }

    /// Executes an I/O command that returns data, directly into the output.
    fn send_io<M: Medium>(&mut self, entry: &Sqe, turn: &mut Turn<'_, M>, output: &mut Output) {
        let Turn { target, medium, now_ms, host } = turn;
        match io::bytes_to_host(entry, &target.subsystem) {
            Ok(bytes) => self.send(entry, bytes, 0, output, target, |room| {
                // Straight into the output: data that is read is copied once.
                io::fill(entry, room, &mut Turn { target, medium: &mut **medium, now_ms: *now_ms, host: *host })
            }),
            Err(status) => self.fail(entry, status.into(), target, output),
        }
    }

    /// Sends data, and the completion if the data does not stand for it: data has no result.
    fn send(
        &mut self,
        entry: &Sqe,
        bytes: usize,
        result: u64,
        output: &mut Output,
        target: &Target,
        fill: impl FnOnce(&mut [u8]) -> Result<(), Status>,
    ) {
        // A message of data has no field for the queue's head, nor for a result. Without both it can stand for the
        // completion.
        let is_all = !self.queue.has_flow_control && result == 0;
        let sent =
            entry.check_room(bytes).and_then(|()| self.link.send_data(output, entry.command_id, bytes, is_all, fill));
        match sent {
            Ok(()) if is_all => {}
            Ok(()) => self.complete(entry.command_id, Status::SUCCESS, result, output),
            Err(status) => self.fail(entry, status.into(), target, output),
        }
    }

    fn fail(&self, entry: &Sqe, failed: Failed, target: &Target, output: &mut Output) {
        let (controller, queue_id) = match &self.role {
            Role::Fresh => (None, 0),
            Role::Admin(admin) => (Some(admin.id), 0),
            Role::Io(io) => (Some(io.controller), io.queue),
        };
        if let Some(controller) = controller {
            target.note_error(controller, ErrorEntry::of(entry, failed.status, queue_id));
        }
        self.complete(entry.command_id, failed.status, failed.result, output);
    }

    fn complete(&self, command_id: U16, status: Status, result: u64, output: &mut Output) {
        // In the answer to connect this value says that the host need not wait for entries. Later it means nothing.
        let queue_head = if self.queue.has_flow_control { self.queue.head } else { u16::MAX };
        self.link.respond(output, Completion { command_id, status, result, queue_head });
    }
}

/// The place of a command's data.
enum Placed<'a> {
    Here(&'a [u8]),
    ToCome(u32),
}

/// Finds the data of a command that brings `bytes` bytes.
fn placed<'a>(entry: &Sqe, in_capsule: &'a [u8], bytes: u32) -> Result<Placed<'a>, Status> {
    if bytes == 0 {
        return Ok(Placed::Here(&[]));
    }
    let at = entry.data_at()?;
    // A larger buffer is not an error: Linux uses one for the ranges of dataset management.
    if entry.data.length.get() < bytes {
        return Err(Status::SGL_LENGTH_INVALID);
    }
    let DataAt::Capsule { offset } = at else { return Ok(Placed::ToCome(bytes)) };
    let start = usize::try_from(offset).map_err(|_| Status::SGL_OFFSET_INVALID)?;
    let rest = in_capsule.get(start..).ok_or(Status::SGL_OFFSET_INVALID)?;
    rest.get(..bytes as usize).map(Placed::Here).ok_or(Status::SGL_LENGTH_INVALID)
}
