//! Draws requests, sends them in batches, and compares the answers with the model.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use wearwell::Rng;
use wearwell_soak::client::{Answer, Export, FLUSH, FUA, NO_HOLE, READ, TRIM, WRITE, WRITE_ZEROES};

use crate::failure::Failure;
use crate::model::{Model, SECTOR_BYTES, Seq};
use crate::server::Serving;
use crate::wire::{EIO, ENOSPC, Protocol, Wire};

/// Bytes of a read when the whole disk is read.
const PIECE_BYTES: u64 = 128 << 10;
/// Most bytes of a read: the replies of a batch must fit into the socket while the batch is sent.
const READ_BYTES: u32 = 8 << 10;
/// Requests in a batch.
const BATCH: u32 = 12;

/// Errors that a request may end with.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Excuses {
    /// Writes fail because the chip has no good blocks left.
    pub(crate) wears_out: bool,
    /// Reads of lost pages fail, writes to parts of them, or the flush after these.
    pub(crate) loses_data: bool,
}

/// Counts of requests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    pub(crate) written_bytes: u64,
    pub(crate) flushes: u64,
    /// Requests that a kill left without an answer.
    pub(crate) unanswered: u64,
    pub(crate) checked_sectors: u64,
    pub(crate) full: u64,
    /// Requests that were answered with EIO.
    pub(crate) lost: u64,
}

/// A request that was sent.
#[derive(Debug)]
struct Sent {
    seq: Seq,
    cookie: u64,
    kind: u16,
    flags: u16,
    offset: u64,
    length: u32,
}

/// A batch that was sent and whose replies have not been read.
#[derive(Debug, Default)]
pub(crate) struct Batch(Vec<Sent>);

/// A verifying writer, over two connections.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) rng: Rng,
    pub(crate) model: Model,
    pub(crate) counts: Counts,
    pub(crate) excuses: Excuses,
    /// Over NBD writes may begin and end inside sectors. This is only used where no write fails, because the rest of
    /// such a sector would not be known.
    pub(crate) cuts_sectors: bool,
    /// A flush was answered with EIO. Some earlier writes are lost, and it is not yet known which.
    has_lost_writes: bool,
    /// The number of the reply to a read in which one bit is flipped, to show that it is noticed; 0 for none.
    pub(crate) flips_in: u32,
    page_bytes: u64,
    seq: Seq,
    /// The protocol of all connections.
    protocol: Protocol,
    wires: Vec<Wire>,
    which: usize,
    /// A log of every request, to investigate failures.
    log: BufWriter<File>,
}

impl Writer {
    /// A writer on a new disk of zeros, without a connection. Its requests are logged to `requests.log` in `folder`.
    pub(crate) fn new(seed: u64, export: Export, folder: &Path) -> Result<Self, Failure> {
        let mut rng = Rng::new(seed);
        let protocol = if rng.below(2) == 0 { Protocol::Nbd } else { Protocol::Nvme };
        Ok(Self {
            rng,
            model: Model::new(export.bytes),
            counts: Counts::default(),
            excuses: Excuses::default(),
            cuts_sectors: false,
            has_lost_writes: false,
            flips_in: 0,
            page_bytes: u64::from(export.page_bytes),
            seq: 0,
            protocol,
            wires: Vec::new(),
            which: 0,
            log: BufWriter::new(File::create(folder.join("requests.log"))?),
        })
    }

    /// Adds a note to the log.
    pub(crate) fn note(&mut self, text: &str) -> Result<(), Failure> {
        Ok(writeln!(self.log, "{text}")?)
    }

    /// Connects twice, in place of earlier connections, and over the other protocol than these.
    pub(crate) fn connect(&mut self, serving: &Serving) -> Result<(), Failure> {
        self.wires.clear();
        self.protocol = self.protocol.other();
        self.note(&format!("over {:?}", self.protocol))?;
        for _ in 0..2 {
            self.wires.push(Wire::connect(self.protocol, serving)?);
        }
        Ok(())
    }

    /// True if the connections are of NVMe/TCP.
    pub(crate) fn is_over_nvme(&self) -> bool {
        self.protocol == Protocol::Nvme
    }

    /// Sends a batch and waits for its replies.
    pub(crate) fn run_batch(&mut self) -> Result<(), Failure> {
        let batch = self.send_batch()?;
        self.answers(batch, false)
    }

    /// Sends a batch over one of the connections.
    pub(crate) fn send_batch(&mut self) -> Result<Batch, Failure> {
        self.which = self.rng.below(2) as usize;
        let requests = 1 + self.rng.below(BATCH);
        let mut batch = Batch::default();
        for _ in 0..requests {
            batch.0.push(self.send_any()?);
        }
        Ok(batch)
    }

    /// Flushes, and waits until it is done.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let mut batch = Batch::default();
        self.send_flush(&mut batch)?;
        self.answers(batch, false)
    }

    /// Sends a flush after the requests of the batch.
    pub(crate) fn send_flush(&mut self, batch: &mut Batch) -> Result<(), Failure> {
        batch.0.push(self.send(FLUSH, 0, 0, 0, &[])?);
        Ok(())
    }

    fn send_any(&mut self) -> Result<Sent, Failure> {
        match self.rng.below(32) {
            0..18 => self.send_write(),
            18..25 => {
                let (offset, length) = self.range(SECTOR_BYTES as u64, READ_BYTES);
                self.send(READ, 0, offset, length, &[])
            }
            // A trim leaves pages that it covers only in part unchanged.
            25..27 => {
                let (offset, length) = self.range(self.page_bytes, 32 << 10);
                // Dataset Management has no such flag.
                let flags = if self.is_over_nvme() { 0 } else { self.sometimes(FUA, 8) };
                self.send(TRIM, flags, offset, length, &[])
            }
            27..29 => {
                let unit = self.granularity();
                let (offset, length) = self.range(unit, 32 << 10);
                let flags = self.sometimes(FUA, 8) | self.sometimes(NO_HOLE, 2);
                self.send(WRITE_ZEROES, flags, offset, length, &[])
            }
            _ => self.send(FLUSH, 0, 0, 0, &[]),
        }
    }

    fn send_write(&mut self) -> Result<Sent, Failure> {
        let longest = [4 << 10, 4 << 10, 16 << 10, 16 << 10, 16 << 10, 64 << 10, 128 << 10][self.rng.below(7) as usize];
        let unit = self.granularity();
        let (offset, length) = self.range(unit, longest);
        let flags = self.sometimes(FUA, 16);
        let data = self.noise(length as usize);
        self.send(WRITE, flags, offset, length, &data)
    }

    fn sometimes(&mut self, flag: u16, once_in: u32) -> u16 {
        if self.rng.below(once_in) == 0 { flag } else { 0 }
    }

    fn granularity(&mut self) -> u64 {
        match self.rng.below(3) {
            0 if self.cuts_sectors && !self.is_over_nvme() => 1,
            _ => SECTOR_BYTES as u64,
        }
    }

    /// Bytes that occur once.
    fn noise(&mut self, length: usize) -> Vec<u8> {
        let mut data = Vec::with_capacity(length + 8);
        while data.len() < length {
            data.extend(self.rng.next_u64().to_le_bytes());
        }
        data.truncate(length);
        data
    }

    /// A range in multiples of `unit`. Three quarters of all ranges are in the first eighth of the disk.
    fn range(&mut self, unit: u64, longest: u32) -> (u64, u32) {
        let part = if self.rng.below(4) == 0 { 1 } else { 8 };
        let units = self.model.bytes() / part / unit;
        let length = (1 + u64::from(self.rng.below(longest)) / unit).min(units);
        let start = u64::from(self.rng.below((units - length + 1) as u32));
        (start * unit, (length * unit) as u32)
    }

    fn send(&mut self, kind: u16, flags: u16, offset: u64, length: u32, data: &[u8]) -> Result<Sent, Failure> {
        // The first request is number 1: the model keeps 0 for what was there before.
        self.seq += 1;
        self.counts.requests += 1;
        let first = offset / SECTOR_BYTES as u64;
        let end = (offset + u64::from(length)).div_ceil(SECTOR_BYTES as u64);
        writeln!(self.log, "{} {} flags {flags} sectors {first}..{end}", self.seq, name(kind))?;
        match kind {
            // Before it is sent, since a kill may leave any part of it.
            WRITE => self.model.sent(self.seq, offset, data),
            TRIM | WRITE_ZEROES => self.model.sent(self.seq, offset, &vec![0; length as usize]),
            _ => {}
        }
        let cookie = self.wires[self.which].send(flags, kind, offset, length, data)?;
        Ok(Sent { seq: self.seq, cookie, kind, flags, offset, length })
    }

    /// Reads the replies to a batch. A killed server has sent only some of them.
    pub(crate) fn answers(&mut self, batch: Batch, was_killed: bool) -> Result<(), Failure> {
        let mut unanswered = batch.0.len() as u64;
        for sent in batch.0 {
            let length = if sent.kind == READ { sent.length } else { 0 };
            match self.wires[self.which].reply(sent.cookie, length) {
                Ok(answer) => self.answered(&sent, answer)?,
                Err(error) if was_killed && is_gone(&error) => {
                    // Replies come in the order of the requests, so the others have none either.
                    self.counts.unanswered += unanswered;
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
            unanswered -= 1;
        }
        // Not before all replies are read: the search reads the disk over the same connection.
        if std::mem::take(&mut self.has_lost_writes) { self.find_lost_writes() } else { Ok(()) }
    }

    /// Reads everything that is not settled. A page that cannot be read may be lost, and may come back with older
    /// content. All other writes are there.
    fn find_lost_writes(&mut self) -> Result<(), Failure> {
        for page in self.model.open_pages(self.page_bytes) {
            let (offset, length) = (page * self.page_bytes, self.page_bytes as u32);
            let sent = self.send(READ, 0, offset, length, &[])?;
            match self.wires[self.which].reply(sent.cookie, length)? {
                Ok(data) => self.compare(sent.seq, offset, data, "after a flush that failed")?,
                Err(error) => {
                    self.failed(&sent, error)?;
                    self.model.may_have_any(offset, length as usize);
                }
            }
        }
        Ok(())
    }

    fn answered(&mut self, sent: &Sent, answer: Answer) -> Result<(), Failure> {
        let data = match answer {
            Ok(data) => data,
            Err(error) => return self.failed(sent, error),
        };
        match sent.kind {
            READ => return self.compare(sent.seq, sent.offset, data, "a read"),
            FLUSH => {
                self.counts.flushes += 1;
                // After a flush that failed it is not known which writes are lost, so this one settles nothing.
                if !self.has_lost_writes {
                    self.model.flushed(sent.seq);
                }
            }
            _ => {
                self.counts.written_bytes += u64::from(sent.length);
                self.model.note_written(sent.seq, sent.offset, sent.length as usize);
                if sent.flags & FUA != 0 {
                    self.model.note_durable(sent.seq, sent.offset, sent.length as usize);
                }
            }
        }
        Ok(())
    }

    fn compare(&mut self, seq: Seq, offset: u64, mut data: Vec<u8>, when: &'static str) -> Result<(), Failure> {
        self.counts.checked_sectors += (data.len() / SECTOR_BYTES) as u64;
        if self.flips_in > 0 {
            self.flips_in -= 1;
            data[17] ^= u8::from(self.flips_in == 0) << 3;
        }
        self.model.read(seq, offset, &data).map_err(|wrong| Failure::Wrong { when, wrong })
    }

    /// True for a request that may meet a page whose data is lost. A write of whole pages does not need the old
    /// content, and losses of others do not concern it, unless it flushes.
    fn may_lose(&self, sent: &Sent) -> bool {
        let end = sent.offset + u64::from(sent.length);
        let is_ragged = !sent.offset.is_multiple_of(self.page_bytes) || !end.is_multiple_of(self.page_bytes);
        match sent.kind {
            READ | FLUSH => true,
            TRIM => sent.flags & FUA != 0,
            _ => is_ragged || sent.flags & FUA != 0,
        }
    }

    /// A request was answered with an error.
    fn failed(&mut self, sent: &Sent, error: u32) -> Result<(), Failure> {
        writeln!(self.log, "{} error {error}", sent.seq)?;
        match error {
            ENOSPC if self.excuses.wears_out && sent.kind != READ => self.counts.full += 1,
            EIO if self.excuses.loses_data && self.may_lose(sent) => {
                self.counts.lost += 1;
                self.has_lost_writes |= sent.kind == FLUSH || sent.flags & FUA != 0;
            }
            _ => {
                let what = name(sent.kind);
                return Err(Failure::Refused { what, offset: sent.offset, length: sent.length, error });
            }
        }
        Ok(())
    }

    /// Everything sent before an orderly stop of the server is durable.
    pub(crate) fn was_shut_down(&mut self) {
        self.model.flushed(self.seq);
    }

    /// Pretends that a flush was answered that was never sent, to show that the loss is noticed.
    pub(crate) fn pretend_flushed(&mut self, batch: &Batch) {
        for sent in &batch.0 {
            if matches!(sent.kind, WRITE | TRIM | WRITE_ZEROES) {
                self.model.note_written(sent.seq, sent.offset, sent.length as usize);
            }
        }
        self.model.flushed(self.seq);
    }

    /// Reads the whole disk. After a kill it may hold the result of any request since the last flush.
    pub(crate) fn check_all(&mut self, was_killed: bool) -> Result<(), Failure> {
        let bytes = self.model.bytes();
        for offset in (0..bytes).step_by(PIECE_BYTES as usize) {
            self.check_piece(offset, (bytes - offset).min(PIECE_BYTES) as u32, was_killed)?;
        }
        Ok(())
    }

    /// Reads and compares a range. If it cannot be read, reads each page of it.
    fn check_piece(&mut self, offset: u64, length: u32, was_killed: bool) -> Result<(), Failure> {
        let sent = self.send(READ, 0, offset, length, &[])?;
        let page_bytes = self.page_bytes as u32;
        match self.wires[self.which].reply(sent.cookie, length)? {
            Ok(data) if was_killed => {
                self.counts.checked_sectors += (data.len() / SECTOR_BYTES) as u64;
                let found = self.model.check_after_kill(offset, &data);
                found.map_err(|wrong| Failure::Wrong { when: "after a kill", wrong })
            }
            Ok(data) => self.compare(sent.seq, offset, data, "the whole disk"),
            Err(EIO) if self.excuses.loses_data && length > page_bytes => {
                let end = offset + u64::from(length);
                for at in (offset..end).step_by(self.page_bytes as usize) {
                    self.check_piece(at, (end - at).min(self.page_bytes) as u32, was_killed)?;
                }
                Ok(())
            }
            Err(error) => {
                self.failed(&sent, error)?;
                if was_killed {
                    self.model.may_have_any(offset, length as usize);
                }
                Ok(())
            }
        }
    }
}

fn name(kind: u16) -> &'static str {
    match kind {
        READ => "a read",
        WRITE => "a write",
        FLUSH => "a flush",
        TRIM => "a trim",
        _ => "write zeroes",
    }
}

/// True for errors that the end of a server causes.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}
