//! Sessions of an NVMe/TCP host that keeps to the protocol: three queues, whose connections may break at any time. What
//! the host is told must be what a model says.

use std::ops::Range;

use wearwell_serve::nvme::{Output, Progress, Session, SessionEnd, Target};

use crate::input::Input;
use crate::nvme_disk::{NQN, Ram, SIZE_BYTES, target};
use crate::nvme_requests::{Effect, Request, admin_request, keep_alive, property, request};
use crate::nvme_wire::{Answer, DataAt, Digests, connect, entry, first_message, kind, message};

/// The admin queue, and two for I/O.
const QUEUES: usize = 3;
const ADMIN: usize = 0;
/// Entries of each queue.
const ENTRIES: usize = 32;
/// Most data in a message to the controller, and in one with a command.
const MESSAGE_BYTES: usize = 128 << 10;
const CAPSULE_BYTES: usize = 16 << 10;
/// Flags of messages with data: no more follows, and it stands for the completion.
const LAST: u8 = 1 << 2;
const SUCCESS: u8 = 1 << 3;
/// Data was damaged on its way.
const DAMAGED: u16 = 0x022;

/// Takes the first bytes as the kind of disk and the length of pieces, and the rest as what a host does.
pub fn nvme_session(data: &[u8]) {
    let mut input = Input::new(data);
    let mut host = Host::new(input.byte() & 1 != 0, 1 + usize::from(input.byte()));
    while !input.is_empty() {
        host.step(&mut input);
    }
    (0..QUEUES).for_each(|queue| host.cut(queue));
    assert!(host.ram.bytes == host.model, "the disk holds what was written");
    // Nothing is left of the controllers that were there.
    host.open(ADMIN, Digests::NONE, 0);
    assert_eq!(host.controller, 1);
}

/// A command under way.
struct Waiting {
    id: u16,
    request: Request,
    /// Bytes sent of its data, and the name of its transfer once the controller has asked for it.
    sent: usize,
    tag: Option<u16>,
    is_damaged: bool,
    /// What came of the data that it asked for.
    got: Vec<u8>,
}

/// A connection.
struct Line {
    session: Session,
    digests: Digests,
    next_id: u16,
    waiting: Vec<Waiting>,
    /// Set once the controller has lost its queues.
    is_orphan: bool,
}

struct Host {
    target: Target,
    ram: Ram,
    /// The content of the disk, by what was completed.
    model: Vec<u8>,
    piece_bytes: usize,
    now_ms: u64,
    lines: [Option<Line>; QUEUES],
    controller: u16,
    keep_alive_ms: u64,
    expires_ms: u64,
}

impl Host {
    fn new(has_handles: bool, piece_bytes: usize) -> Self {
        Self {
            target: target(has_handles, false),
            ram: Ram::new(has_handles),
            model: vec![0; SIZE_BYTES as usize],
            piece_bytes,
            now_ms: 0,
            lines: [None, None, None],
            controller: 0,
            keep_alive_ms: 0,
            expires_ms: u64::MAX,
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let kind = input.byte();
        let queue = 1 + usize::from(kind >> 7);
        match kind & 0x7f {
            // Most of a session is commands and their data.
            16.. => {
                let request = request(kind, input, self.ram.has_handles);
                if self.has_room(queue) {
                    self.send(queue, request, kind & 1 != 0);
                }
            }
            8..16 => self.send_data(queue, input.byte(), 1 + usize::from(input.byte()) * 512, kind & 7 == 7),
            0 => self.open(ADMIN, Digests(input.byte() & 3), input.byte()),
            1 => self.open(queue, Digests(input.byte() & 3), input.byte()),
            2 => {
                let request = admin_request(input);
                if self.has_room(ADMIN) {
                    self.send(ADMIN, request, false);
                }
            }
            3 => self.keep_alive(),
            4 => self.reset(),
            5 => self.disconnect(queue),
            6 => self.cut_within(usize::from(input.byte()) % QUEUES, input.byte()),
            _ => self.pass(u64::from(input.byte()) * 40),
        }
    }

    /// True if the queue is there and has an entry left.
    fn has_room(&self, queue: usize) -> bool {
        self.lines[queue].as_ref().is_some_and(|line| line.waiting.len() + 2 < ENTRIES)
    }

    /// Opens the connection of a queue, unless it is there or has no controller. The lowest bits of `options` say how
    /// long the controller lives without a sign of the host, and whether data may stand for its completion.
    fn open(&mut self, queue: usize, digests: Digests, options: u8) {
        let is_ready = queue == ADMIN || self.lines[ADMIN].is_some();
        if self.lines[queue].is_some() || !is_ready {
            return;
        }
        let session = Session::default();
        let line = Line { session, digests, next_id: 1, waiting: Vec::new(), is_orphan: false };
        self.lines[queue] = Some(line);
        self.feed(queue, &first_message(digests), None);
        let attributes = if options & 1 != 0 { 1 << 18 } else { 0 };
        let keep_alive_ms = if queue == ADMIN { u32::from(options >> 1) * 100 } else { 0 };
        let controller = if queue == ADMIN { 0xffff } else { self.controller };
        let words = [(ENTRIES as u32 - 1) | attributes, keep_alive_ms];
        let connect = connect(NQN, queue as u16, controller, words, digests);
        let request = Request::of(0x7f, Effect::Connects { is_admin: queue == ADMIN });
        self.wait_for(queue, 0, request);
        if queue == ADMIN {
            self.keep_alive_ms = u64::from(keep_alive_ms).next_multiple_of(1000);
            self.extend_life();
        }
        self.feed(queue, &connect, None);
        if queue == ADMIN {
            self.send(ADMIN, property(true), false);
            self.extend_life();
        }
    }

    fn wait_for(&mut self, queue: usize, id: u16, request: Request) {
        let Some(line) = &mut self.lines[queue] else { return };
        line.waiting.push(Waiting { id, request, sent: 0, tag: None, is_damaged: false, got: Vec::new() });
    }

    fn extend_life(&mut self) {
        self.expires_ms = if self.keep_alive_ms == 0 { u64::MAX } else { self.now_ms + self.keep_alive_ms };
    }

    /// Sends a command. Data that fits goes with it, if that is wanted.
    fn send(&mut self, queue: usize, request: Request, in_capsule: bool) {
        let Some(line) = &mut self.lines[queue] else { return };
        let (id, digests) = (line.next_id, line.digests);
        line.next_id = line.next_id.wrapping_add(1);
        let goes_along = !request.data.is_empty() && in_capsule && request.data.len() <= CAPSULE_BYTES;
        let at = if goes_along { DataAt::Capsule } else { DataAt::Transport };
        let bytes = request.data.len() as u32 + request.room_bytes;
        let entry = entry(request.opcode, id, request.namespace, at, bytes, &request.words);
        let data: &[u8] = if goes_along { &request.data } else { &[] };
        let sent = message(kind::CAPSULE_CMD, 0, &entry, data, digests);
        self.wait_for(queue, id, request);
        self.feed(queue, &sent, None);
    }

    /// Sends some of the data that the controller has asked for, perhaps with a wrong digest.
    fn send_data(&mut self, queue: usize, which: u8, bytes: usize, is_damaged: bool) {
        let Some(line) = &mut self.lines[queue] else { return };
        let digests = line.digests;
        let mut owed = line.waiting.iter_mut().filter(|waiting| waiting.tag.is_some()).collect::<Vec<_>>();
        let (count, at) = (owed.len(), usize::from(which));
        if count == 0 {
            return;
        }
        let waiting = &mut *owed[at % count];
        let left = &waiting.request.data[waiting.sent..];
        let bytes = bytes.min(left.len()).min(MESSAGE_BYTES);
        let is_last = bytes == left.len();
        let mut header = [waiting.id, waiting.tag.unwrap_or(0)].map(u16::to_le_bytes).concat();
        header.extend([waiting.sent as u32, bytes as u32, 0].map(u32::to_le_bytes).concat());
        let mut sent = message(kind::H2C_DATA, if is_last { LAST } else { 0 }, &header, &left[..bytes], digests);
        if is_damaged && digests.has_data() {
            *sent.last_mut().expect("a digest") ^= 1;
            waiting.is_damaged = true;
        }
        waiting.sent += bytes;
        waiting.tag = waiting.tag.filter(|_| !is_last);
        self.feed(queue, &sent, None);
    }

    fn keep_alive(&mut self) {
        if self.has_room(ADMIN) {
            // Too late, if it has expired; then the command has no effect.
            let was_alive = self.now_ms < self.expires_ms;
            self.send(ADMIN, keep_alive(), false);
            if was_alive {
                self.extend_life();
            }
        }
    }

    /// Disables the controller and enables it again. Its I/O queues are gone, and what waited for events.
    fn reset(&mut self) {
        let Some(line) = &mut self.lines[ADMIN] else { return };
        if self.now_ms >= self.expires_ms {
            return;
        }
        line.waiting.clear();
        self.orphan();
        self.send(ADMIN, property(false), false);
        self.send(ADMIN, property(true), false);
        self.extend_life();
    }

    fn orphan(&mut self) {
        self.lines[ADMIN + 1..].iter_mut().flatten().for_each(|line| line.is_orphan = true);
    }

    fn disconnect(&mut self, queue: usize) {
        if !self.has_room(queue) {
            return;
        }
        let Some(line) = &mut self.lines[queue] else { return };
        let entry = entry(0x7f, line.next_id, 8, DataAt::Transport, 0, &[]);
        let sent = message(kind::CAPSULE_CMD, 0, &entry, &[], line.digests);
        let id = line.next_id;
        self.wait_for(queue, id, Request::of(0x7f, Effect::None));
        self.feed(queue, &sent, Some(SessionEnd::Disconnected));
    }

    /// Breaks a connection within a message, of which the controller gets the first bytes.
    fn cut_within(&mut self, queue: usize, bytes: u8) {
        let Some(line) = &self.lines[queue] else { return };
        let sent = message(kind::CAPSULE_CMD, 0, &[0; 64], &[], line.digests);
        self.feed(queue, &sent[..usize::from(bytes) % sent.len()], None);
        self.cut(queue);
    }

    fn cut(&mut self, queue: usize) {
        let Some(mut line) = self.lines[queue].take() else { return };
        line.session.leave(&self.target);
        if queue == ADMIN {
            self.orphan();
            self.expires_ms = u64::MAX;
        }
    }

    /// Lets time pass, and the controller look at its connections.
    fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
        for queue in 0..QUEUES {
            let expected = self.end_of(queue);
            let Some(line) = &mut self.lines[queue] else { continue };
            let mut output = Output::default();
            let ended = line.session.tick(&self.target, &mut self.ram, self.now_ms, &mut output).err();
            assert_eq!(ended, expected, "queue {queue}");
            match ended {
                Some(_) => self.cut(queue),
                None => self.hear(queue, &output),
            }
        }
    }

    /// The end that a connection must have come to.
    fn end_of(&self, queue: usize) -> Option<SessionEnd> {
        match &self.lines[queue] {
            Some(line) if line.is_orphan => Some(SessionEnd::Reset),
            Some(_) if queue == ADMIN && self.now_ms >= self.expires_ms => Some(SessionEnd::Expired),
            _ => None,
        }
    }

    /// Sends bytes in pieces, and hears the answers. With `end` the connection must end behind them.
    fn feed(&mut self, queue: usize, bytes: &[u8], end: Option<SessionEnd>) {
        let expected = self.end_of(queue);
        let Some(line) = &mut self.lines[queue] else { return };
        let mut output = Output::default();
        let (mut start, mut stop) = (0, self.piece_bytes.min(bytes.len()));
        let ended = loop {
            let piece = &bytes[start..stop];
            match line.session.receive(piece, &self.target, &mut self.ram, self.now_ms, &mut output) {
                Ok(Progress::Used(used)) => start += used,
                Ok(Progress::Needs(needed)) if stop == bytes.len() => {
                    assert!(needed > piece.len());
                    break None;
                }
                Ok(Progress::Needs(needed)) => {
                    assert!(needed > piece.len());
                    stop = (stop + self.piece_bytes).min(bytes.len());
                }
                Err(ended) => break Some(ended),
            }
        };
        assert_eq!(ended, expected.or(end), "queue {queue}");
        if expected.is_none() {
            self.hear(queue, &output);
        }
        if ended.is_some() {
            self.cut(queue);
        }
    }

    /// Takes in the controller's messages.
    fn hear(&mut self, queue: usize, output: &Output) {
        let Some(line) = &mut self.lines[queue] else { return };
        let mut rest = output.filled();
        let mut done = Vec::new();
        while !rest.is_empty() {
            let answer = Answer::take(&mut rest, line.digests);
            let id = match answer.kind {
                kind::IC_RESP => continue,
                kind::CAPSULE_RESP => answer.number(12),
                kind::C2H_DATA | kind::R2T => answer.number(0),
                kind => panic!("a message of kind {kind} on queue {queue}"),
            };
            let at = line.waiting.iter().position(|waiting| waiting.id == id).expect("a command under way");
            let waiting = &mut line.waiting[at];
            match answer.kind {
                kind::R2T => {
                    assert!(waiting.sent == 0 && waiting.tag.is_none());
                    waiting.tag = Some(answer.number(2));
                }
                kind::C2H_DATA => {
                    waiting.got.extend(answer.data);
                    if answer.flags & SUCCESS != 0 {
                        done.push((line.waiting.swap_remove(at), 0, 0));
                    }
                }
                _ => done.push((line.waiting.swap_remove(at), answer.number(14) >> 1 & 0x7ff, answer.number(0))),
            }
        }
        done.into_iter().for_each(|(waiting, status, result)| self.complete(&waiting, status, result));
    }

    /// Compares the completion of a command with the model, and does in the model what it did.
    fn complete(&mut self, waiting: &Waiting, status: u16, result: u16) {
        let Waiting { request, got, is_damaged, .. } = waiting;
        if *is_damaged {
            return assert_eq!(status, DAMAGED);
        }
        let differs = |range: &Range<usize>| self.model[range.clone()] != request.data;
        match &request.effect {
            Effect::Compares(range) if differs(range) => return assert_eq!(status, 0x285),
            Effect::Any => return,
            _ => assert_eq!(status, request.status, "{request:?}"),
        }
        if status != 0 {
            return;
        }
        match &request.effect {
            Effect::Reads(range) => assert!(*got == self.model[range.clone()], "{request:?}"),
            Effect::Writes(range) => self.model[range.clone()].copy_from_slice(&request.data),
            Effect::Zeroes(range) => self.model[range.clone()].fill(0),
            Effect::Copies { from, to } => self.model.copy_within(from.clone(), *to),
            Effect::Connects { is_admin: true } => self.controller = result,
            Effect::Connects { is_admin: false } => assert_eq!(result, self.controller),
            Effect::Compares(_) | Effect::None | Effect::Any => {}
        }
    }
}
