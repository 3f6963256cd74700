//! What a disk may hold: the promises of every engine, as a model beside the disk.
//!
//! A disk consists of units, sectors or pages, each of which is old or new as a whole. Changes are numbered as they are
//! sent, over all connections. For a unit in which something may still be lost, the model has every content that it may
//! have, with the number of the change that made it:
//!
//! - *visible*: what a read may return now. This is one content, unless a change failed or is not yet answered.
//! - *durable*: what may be there after a cut. This is the content at the last flush, and every later one.

use std::collections::BTreeMap;
use std::fmt::Debug;

/// The number of a request.
pub type Seq = u64;

/// A content of a unit, and the change that made it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Content<C> {
    seq: Seq,
    what: C,
}

/// A unit in which something may still be lost. Neither list is ever empty, and both are in the order of the changes.
#[derive(Debug, Clone, Hash)]
struct Open<C> {
    visible: Vec<Content<C>>,
    durable: Vec<Content<C>>,
}

impl<C: Clone + PartialEq> Open<C> {
    /// Its only content, if nothing can be lost any more.
    fn only(&self) -> Option<C> {
        match (&self.visible[..], &self.durable[..]) {
            ([visible], [durable]) if visible == durable => Some(durable.what.clone()),
            _ => None,
        }
    }
}

/// The possible states of a disk, unit by unit. `C` is the content of a unit, or stands for it.
///
/// ```
/// use wearwell_emu::{Held, Kept};
///
/// let mut held = Held::new(8, 'a');
/// held.sent(1, 5, 'b');
/// held.note_written(1, 5);
/// assert!(held.read(2, 5, &'b').is_ok() && held.read(2, 5, &'a').is_err());
/// // Nothing was flushed: a cut may have undone the change, and what was found stays.
/// assert_eq!(held.check_after_cut(5, 'a'), Ok(Kept::Flushed));
/// assert!(held.check_after_cut(5, 'b').is_err());
/// ```
#[derive(Debug, Clone, Hash)]
pub struct Held<C> {
    /// The content of units that are not open.
    settled: Vec<C>,
    open: BTreeMap<u32, Open<C>>,
}

/// Which of its possible contents a unit has after a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The only possible one.
    Settled,
    /// The newest.
    Newest,
    /// One between the last flush and the cut.
    Between,
    /// The one that the last flush made durable.
    Flushed,
}

/// A unit with content that it must not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong<C> {
    /// The unit.
    pub unit: u32,
    /// The contents that it might have, the oldest first.
    pub allowed: Vec<C>,
}

impl<C: Clone + PartialEq + Debug> Held<C> {
    /// A disk of `units` units with the same content.
    pub fn new(units: u32, content: C) -> Self {
        Self { settled: vec![content; units as usize], open: BTreeMap::new() }
    }

    /// The number of units.
    pub fn units(&self) -> u32 {
        self.settled.len() as u32
    }

    /// The content of a unit after all changes that were sent.
    pub fn newest(&self, unit: u32) -> &C {
        let visible = self.open.get(&unit).and_then(|open| open.visible.last());
        visible.map_or(&self.settled[unit as usize], |content| &content.what)
    }

    /// The units in which something may still be lost.
    pub fn open_units(&self) -> impl Iterator<Item = u32> + '_ {
        self.open.keys().copied()
    }

    /// Notes that a change of a unit was sent.
    pub fn sent(&mut self, seq: Seq, unit: u32, what: C) {
        // Number 0 stands for what was there before every change that is still open.
        let before = Content { seq: 0, what: self.settled[unit as usize].clone() };
        let open = self.open.entry(unit);
        let open = open.or_insert_with(|| Open { visible: vec![before.clone()], durable: vec![before] });
        open.visible.push(Content { seq, what: what.clone() });
        open.durable.push(Content { seq, what });
    }

    /// Notes that a change was answered without an error: nothing older can be read any more.
    pub fn note_written(&mut self, seq: Seq, unit: u32) {
        if let Some(open) = self.open.get_mut(&unit) {
            open.visible.retain(|content| content.seq >= seq);
        }
    }

    /// Notes that a durable change was answered: nothing older can come back.
    pub fn note_durable(&mut self, seq: Seq, unit: u32) {
        let Some(open) = self.open.get_mut(&unit) else { return };
        open.durable.retain(|content| content.seq >= seq);
        if let Some(only) = open.only() {
            self.settled[unit as usize] = only;
            self.open.remove(&unit);
        }
    }

    /// Notes the answer to a flush that was sent as number `seq`: content that could be read at that time is durable.
    pub fn flushed(&mut self, seq: Seq) {
        let Self { settled, open } = self;
        open.retain(|&unit, open| {
            // What was sent behind the flush may have become durable with it.
            open.durable.retain(|content| content.seq > seq || open.visible.contains(content));
            // A unit with one content left leaves the map, which stays as small as what may be lost.
            let only = open.only();
            let is_open = only.is_none();
            if let Some(only) = only {
                settled[unit as usize] = only;
            }
            is_open
        });
    }

    /// Checks a read of a unit by a request that was sent as number `seq`. If several contents were possible, the one
    /// that was read stays.
    ///
    /// # Errors
    /// If the unit cannot have that content now.
    pub fn read(&mut self, seq: Seq, unit: u32, found: &C) -> Result<(), Wrong<C>> {
        let settled = &self.settled[unit as usize];
        let Some(Open { visible, .. }) = self.open.get_mut(&unit) else {
            return if settled == found { Ok(()) } else { Err(Wrong { unit, allowed: vec![settled.clone()] }) };
        };
        let could_be = |content: &&Content<C>| content.seq <= seq;
        match visible.iter().rev().filter(could_be).find(|content| content.what == *found).cloned() {
            Some(found) => {
                // A change that was sent behind the read may be the next thing to be found.
                visible.retain(|content| *content == found || content.seq > seq);
                Ok(())
            }
            None => Err(Wrong { unit, allowed: visible.iter().filter(could_be).map(|c| c.what.clone()).collect() }),
        }
    }

    /// Which of its possible contents a unit has that was read after a cut.
    ///
    /// # Errors
    /// If it has none of them.
    pub fn kept(&self, unit: u32, found: &C) -> Result<Kept, Wrong<C>> {
        let Some(Open { durable, .. }) = self.open.get(&unit) else {
            let settled = &self.settled[unit as usize];
            return if settled == found {
                Ok(Kept::Settled)
            } else {
                Err(Wrong { unit, allowed: vec![settled.clone()] })
            };
        };
        // Of equal contents the newest counts, since nothing is lost then.
        match durable.iter().rposition(|content| content.what == *found) {
            Some(at) if at + 1 == durable.len() => Ok(Kept::Newest),
            Some(0) => Ok(Kept::Flushed),
            Some(_) => Ok(Kept::Between),
            None => Err(Wrong { unit, allowed: durable.iter().map(|content| content.what.clone()).collect() }),
        }
    }

    /// As [`kept`](Self::kept), for a reader that relies on the content: from now on it is the only possible one.
    ///
    /// # Errors
    /// As for [`kept`](Self::kept).
    pub fn check_after_cut(&mut self, unit: u32, found: C) -> Result<Kept, Wrong<C>> {
        let kept = self.kept(unit, &found)?;
        self.open.remove(&unit);
        self.settled[unit as usize] = found;
        Ok(kept)
    }

    /// Notes that a unit cannot be read, after a cut or after lost changes: it may have any of its possible contents.
    pub fn may_have_any(&mut self, unit: u32) {
        if let Some(open) = self.open.get_mut(&unit) {
            open.visible = open.durable.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unit 1 holds 'a', flushed, and 'b' is in flight.
    fn in_flight() -> Held<char> {
        let mut held = Held::new(8, '0');
        held.sent(1, 1, 'a');
        held.note_written(1, 1);
        held.flushed(2);
        held.sent(3, 1, 'b');
        held
    }

    fn wrong<T>(unit: u32, allowed: &str) -> Result<T, Wrong<char>> {
        Err(Wrong { unit, allowed: allowed.chars().collect() })
    }

    #[test]
    fn what_is_in_flight_is_old_or_new() {
        assert_eq!(in_flight().check_after_cut(1, 'a'), Ok(Kept::Flushed));
        assert_eq!(in_flight().check_after_cut(1, 'b'), Ok(Kept::Newest));
        assert_eq!(in_flight().check_after_cut(1, '0'), wrong(1, "ab"));
        assert_eq!(in_flight().read(4, 1, &'a'), Ok(()));
        assert_eq!(in_flight().read(4, 1, &'b'), Ok(()));
        assert_eq!(in_flight().read(4, 1, &'0'), wrong(1, "ab"));
        assert_eq!(in_flight().read(2, 1, &'b'), wrong(1, "a"), "it was not yet sent");
    }

    #[test]
    fn every_moment_since_the_flush_is_allowed_and_the_last_counts() {
        let mut held = in_flight();
        held.note_written(3, 1);
        held.sent(4, 1, 'c');
        held.note_written(4, 1);
        held.sent(5, 1, 'a');
        assert_eq!([held.kept(1, &'a'), held.kept(1, &'b')], [Ok(Kept::Newest), Ok(Kept::Between)]);
        assert_eq!(held.kept(1, &'0'), wrong(1, "abca"));
        assert_eq!(held.kept(2, &'0'), Ok(Kept::Settled));
    }

    #[test]
    fn what_was_found_stays() {
        let mut held = in_flight();
        assert_eq!(held.check_after_cut(1, 'a'), Ok(Kept::Flushed));
        assert_eq!(held.read(5, 1, &'b'), wrong(1, "a"));
        assert_eq!(held.check_after_cut(1, 'b'), wrong(1, "a"));
    }

    #[test]
    fn what_was_flushed_cannot_be_lost() {
        let mut held = in_flight();
        held.note_written(3, 1);
        assert_eq!(held.read(4, 1, &'a'), wrong(1, "b"));
        held.flushed(5);
        assert_eq!(held.check_after_cut(1, 'a'), wrong(1, "b"));
    }

    #[test]
    fn a_flush_covers_what_was_sent_before_it() {
        let mut held = in_flight();
        held.note_written(3, 1);
        held.sent(5, 1, 'c');
        held.flushed(4);
        assert_eq!(held.check_after_cut(1, 'b'), Ok(Kept::Flushed));
    }

    #[test]
    fn a_durable_change_covers_itself_only() {
        let mut held = in_flight();
        held.sent(4, 4, 'x');
        held.note_written(4, 4);
        held.note_durable(4, 4);
        assert_eq!(held.check_after_cut(1, 'a'), Ok(Kept::Flushed));
        assert_eq!(held.check_after_cut(4, '0'), wrong(4, "x"));
    }

    #[test]
    fn a_change_that_failed_is_old_or_new_until_it_was_read() {
        let mut held = in_flight();
        held.flushed(4);
        assert_eq!(held.read(5, 1, &'a'), Ok(()));
        assert_eq!(held.read(6, 1, &'b'), wrong(1, "a"));
        // The change may have left a copy on flash that a mount finds, until a flush follows.
        assert_eq!(held.kept(1, &'b'), Ok(Kept::Newest));
        held.flushed(7);
        assert_eq!(held.check_after_cut(1, 'b'), wrong(1, "a"));
    }

    #[test]
    fn what_cannot_be_read_may_be_any() {
        let mut held = in_flight();
        held.note_written(3, 1);
        held.may_have_any(1);
        assert_eq!(held.read(5, 1, &'a'), Ok(()));
    }
}
