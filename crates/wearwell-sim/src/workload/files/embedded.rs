//! Three embedded devices, after the workloads of Gal and Toledo ("A Transactional Flash File System for
//! Microcontrollers", USENIX 2005) that Lee '07 used in section 6.2: a fax machine, a cell phone and an event
//! recorder.
//!
//! The kinds of device follow those papers. The traffic follows what Lee says: the fax writes mostly whole pages, and
//! the event recorder changes a small set of data again and again. The programs are not public, so every number below
//! and the content of a transaction are ours.

use std::collections::VecDeque;
use std::fmt;

use super::{Draw, Files, Program, need_room};
use crate::fat::FatError;
use crate::names::nearest;
use crate::workload::WorkloadError;

/// A file of records of one size. A write overwrites one record in place.
struct Records {
    path: &'static str,
    count: u32,
    record_bytes: u32,
}

impl Records {
    const fn new(path: &'static str, count: u32, record_bytes: u32) -> Self {
        Self { path, count, record_bytes }
    }

    fn create(&self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        let bytes = self.count * self.record_bytes;
        need_room(files, bytes.into(), || self.path.to_owned())?;
        files.create(self.path, draw.content(bytes))
    }

    fn write(&self, record: u32, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        let offset_bytes = u64::from(record % self.count) * u64::from(self.record_bytes);
        files.overwrite(self.path, offset_bytes, draw.content(self.record_bytes))
    }

    /// Overwrites a random record.
    fn write_any(&self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        let record = draw.below(self.count);
        self.write(record, files, draw)
    }
}

/// Files with increasing numbers, of which the newest are kept.
///
/// Invariant: at most `limit` are on the volume, `names` from the oldest to the newest.
struct Queue {
    limit: usize,
    prefix: char,
    created: u32,
    names: VecDeque<String>,
}

impl Queue {
    const fn new(prefix: char, limit: usize) -> Self {
        Self { limit, prefix, created: 0, names: VecDeque::new() }
    }

    /// Adds a file, and removes the oldest if there are too many.
    fn add(&mut self, bytes: u32, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        // With nothing left to remove, the file is made, and the file system says if it has no room.
        while self.names.len() >= self.limit || !(self.names.is_empty() || files.has_room(bytes.into())?) {
            let Some(oldest) = self.names.pop_front() else { break };
            files.remove(&oldest)?;
        }
        let name = format!("{}{:07}", self.prefix, self.created);
        files.create(&name, draw.content(bytes))?;
        self.created += 1;
        self.names.push_back(name);
        Ok(())
    }
}

/// Faxes of a run.
pub(super) const FAX_TRANSACTIONS: u64 = 1500;

const FAX_PAGES: u32 = 4;
const FAX_PAGE_BYTES: u32 = 51_300;
/// Faxes that are kept until they are printed.
const FAX_KEPT: usize = 10;
const FAX_SETTINGS: Records = Records::new("SETTINGS", 1, 256);
const FAX_NUMBERS: Records = Records::new("NUMBERS", 64, 48);
const FAX_HISTORY: Records = Records::new("HISTORY", 200, 32);

/// A fax machine. A transaction receives a fax: a file for every page, and a record in the history. Pages are
/// deleted when ten more faxes have come.
pub(super) struct Fax {
    received: u32,
    pages: Queue,
}

impl Default for Fax {
    fn default() -> Self {
        Self { received: 0, pages: Queue::new('P', FAX_KEPT * FAX_PAGES as usize) }
    }
}

impl Program for Fax {
    fn set_up(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        for records in [FAX_SETTINGS, FAX_NUMBERS, FAX_HISTORY] {
            records.create(files, draw)?;
        }
        // One page has to fit. For further ones the queue removes older pages.
        need_room(files, FAX_PAGE_BYTES.into(), || "a page of a fax".to_owned())
    }

    fn transact(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        for _ in 0..FAX_PAGES {
            self.pages.add(FAX_PAGE_BYTES, files, draw)?;
        }
        FAX_HISTORY.write(self.received, files, draw)?;
        self.received += 1;
        Ok(())
    }
}

/// Days of a run.
pub(super) const CELL_PHONE_TRANSACTIONS: u64 = 2000;

/// Calls that were dialled, received and missed.
const PHONE_CALLS: [Records; 3] =
    [Records::new("DIALLED", 20, 32), Records::new("RECEIVED", 20, 32), Records::new("MISSED", 20, 32)];
const PHONE_APPOINTMENTS: Records = Records::new("APPOINTS", 150, 64);
const PHONE_ADDRESSES: Records = Records::new("ADDRESS", 50, 128);
const PHONE_MESSAGES_KEPT: usize = 40;
/// A message: its header, and 1 to 160 characters.
const PHONE_MESSAGE_HEADER_BYTES: u32 = 32;
const PHONE_MESSAGE_MAX_BYTES: u32 = 160;

/// Most events of a kind on a day.
const PHONE_MOST_EVENTS: u32 = 1000;

/// What happens to a cell phone on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// Numbers of calls, messages, changed appointments and changed addresses; at least one is not zero.
    events: [u32; 4],
}

impl Day {
    /// Their names.
    const KEYS: [&str; 4] = ["calls", "messages", "appointments", "addresses"];

    /// The day of `cell-phone` without parameters.
    pub const USUAL: Self = Self { events: [10, 6, 5, 1] };

    /// Reads what follows `cell-phone:`.
    pub(in crate::workload) fn parse(text: &str) -> Result<Self, WorkloadError> {
        let mut day = Self::USUAL;
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let Some(kind) = Self::KEYS.iter().position(|known| *known == key) else {
                let nearest = nearest(key, Self::KEYS.into_iter()).unwrap_or(Self::KEYS[0]);
                return Err(WorkloadError::UnknownKey { key: key.to_owned(), nearest });
            };
            let events = value.parse().ok().filter(|&events| events <= PHONE_MOST_EVENTS);
            let expected = "cell-phone needs numbers up to 1000, as in cell-phone:messages=12";
            day.events[kind] = events.ok_or_else(|| WorkloadError::BadParameter { text: part.to_owned(), expected })?;
        }
        if day.events == [0; 4] {
            return Err(WorkloadError::BadParameter {
                text: text.to_owned(),
                expected: "something must happen on a day",
            });
        }
        Ok(day)
    }
}

impl fmt::Display for Day {
    /// Empty for the usual day, otherwise a colon and every number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::USUAL {
            return Ok(());
        }
        for ((key, events), mark) in Self::KEYS.iter().zip(self.events).zip([':', ',', ',', ',']) {
            write!(f, "{mark}{key}={events}")?;
        }
        Ok(())
    }
}

/// A cell phone. A transaction is a day, whose events come in any order: a call writes a record of a cyclic log, a
/// message makes a file, an appointment or an address changes in place.
pub(super) struct CellPhone {
    day: Day,
    calls: [u32; 3],
    messages: Queue,
}

impl CellPhone {
    pub(super) fn new(day: Day) -> Self {
        Self { day, calls: [0; 3], messages: Queue::new('M', PHONE_MESSAGES_KEPT) }
    }

    fn event(&mut self, kind: usize, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        match kind {
            0 => {
                let log = draw.below(3) as usize;
                PHONE_CALLS[log].write(self.calls[log], files, draw)?;
                self.calls[log] += 1;
                Ok(())
            }
            1 => {
                let bytes = PHONE_MESSAGE_HEADER_BYTES + draw.between(1, PHONE_MESSAGE_MAX_BYTES);
                self.messages.add(bytes, files, draw)
            }
            2 => PHONE_APPOINTMENTS.write_any(files, draw),
            _ => PHONE_ADDRESSES.write_any(files, draw),
        }
    }
}

impl Program for CellPhone {
    fn set_up(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        for records in PHONE_CALLS.into_iter().chain([PHONE_APPOINTMENTS, PHONE_ADDRESSES]) {
            records.create(files, draw)?;
        }
        need_room(files, (PHONE_MESSAGE_HEADER_BYTES + PHONE_MESSAGE_MAX_BYTES).into(), || "a message".to_owned())
    }

    fn transact(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        let mut left = self.day.events;
        // Each event is drawn from those that are left, so that every order is equally likely.
        for remaining in (1..=left.iter().sum()).rev() {
            let mut place = draw.below(remaining);
            // Finds the kind of the drawn event, by its share of the remaining events.
            let mut kind = 0;
            while place >= left[kind] {
                place -= left[kind];
                kind += 1;
            }
            left[kind] -= 1;
            self.event(kind, files, draw)?;
        }
        Ok(())
    }
}

/// Events of a run.
pub(super) const EVENT_RECORDER_TRANSACTIONS: u64 = 100_000;

const RECORDER_EVENTS: Records = Records::new("EVENTS", 1000, 32);
const RECORDER_COUNTERS: Records = Records::new("COUNTERS", 16, 8);
const RECORDER_SETTINGS: Records = Records::new("SETTINGS", 1, 256);
const EVENTS_PER_COUNTER: u32 = 10;
const EVENTS_PER_SETTING: u32 = 1000;

/// An event recorder. A transaction is an event: a record of a cyclic file; every tenth also changes one of the
/// counters, every thousandth the settings.
#[derive(Default)]
pub(super) struct EventRecorder {
    events: u32,
}

impl Program for EventRecorder {
    fn set_up(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        for records in [RECORDER_EVENTS, RECORDER_COUNTERS, RECORDER_SETTINGS] {
            records.create(files, draw)?;
        }
        Ok(())
    }

    fn transact(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        RECORDER_EVENTS.write(self.events, files, draw)?;
        self.events = self.events.wrapping_add(1);
        if self.events.is_multiple_of(EVENTS_PER_COUNTER) {
            RECORDER_COUNTERS.write_any(files, draw)?;
        }
        if self.events.is_multiple_of(EVENTS_PER_SETTING) {
            RECORDER_SETTINGS.write_any(files, draw)?;
        }
        Ok(())
    }
}
