//! The table of segments in five bytes each: valid pages, what it is used for, erases, and when it was opened.

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::Seg;

/// Bits for the number of valid pages. The others of a word say what the segment is used for.
const VALID_BITS: u32 = 12;
const VALID: u16 = (1 << VALID_BITS) - 1;
/// Set if the segment holds translation pages.
const OF_MAP: u16 = 1 << 15;

/// In a mount: the segment may have a page that is newer than its translation page, and the lower bits say when that
/// was written.
const HAS_NEWER: u32 = 1 << (VALID_BITS - 1);

/// Most slots that a segment may have.
pub(super) const MOST_SLOTS: u32 = VALID as u32;

/// Bits for the number of erases. The others of the last three bytes say in which epoch the segment was opened.
const ERASE_BITS: u32 = 19;
/// Most erases that are counted.
const MOST_ERASES: u32 = (1 << ERASE_BITS) - 1;

/// Epochs that are told apart.
const EPOCHS: u32 = 1 << (24 - ERASE_BITS);
/// No segment becomes older than this. The rest is for epochs that pass between two openings.
const OLDEST: u32 = 3 * EPOCHS / 4 - 1;

/// What a segment is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Use {
    /// Erased since the mount.
    Free,
    /// Empty, and to be erased before it is opened.
    Suspect,
    /// Nothing in it counts. To be erased before it is opened.
    Stale,
    Open,
    Closed,
    /// Closed, because a program in it failed. It is to be emptied and retired.
    Failing,
    Bad,
    /// In a mount: closed, and it may be what an erase has left of a rescue that never ended, or end with a page that
    /// an earlier cut has hit (Spec M13).
    Doubted,
}

impl Use {
    const ALL: [Self; 8] =
        [Self::Free, Self::Suspect, Self::Stale, Self::Open, Self::Closed, Self::Failing, Self::Bad, Self::Doubted];
}

/// The table. `valid` of a segment is the number of its pages that a translation page or the cache names, except those
/// that are known to be superseded. So it may be too great for pages whose old place is not known yet, and is never too
/// small. It decides which segment is emptied, and never what is erased.
///
/// The bytes of a segment are a row: two of them the word, and in the others the erases and the epoch.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<[u8; Self::BYTES_PER_SEGMENT]>,
}

impl Table {
    pub(super) const BYTES_PER_SEGMENT: usize = size_of::<u16>() + size_of::<[u8; 3]>();

    /// All segments are free.
    pub(super) fn new(segments: u32) -> Self {
        Self { rows: vec![[0; Self::BYTES_PER_SEGMENT]; segments as usize] }
    }

    pub(super) fn segments(&self) -> u32 {
        self.rows.len() as u32
    }

    /// A byte of the rows of all segments.
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.rows.as_flattened()[at]
    }

    pub(super) fn set_byte(&mut self, at: usize, byte: u8) {
        self.rows.as_flattened_mut()[at] = byte;
    }

    fn word(&self, seg: Seg) -> u16 {
        let [low, high, ..] = self.rows[seg.index()];
        u16::from_le_bytes([low, high])
    }

    fn set_word(&mut self, seg: Seg, word: u16) {
        let [low, high, ..] = &mut self.rows[seg.index()];
        [*low, *high] = word.to_le_bytes();
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Seg> + use<> {
        (0..self.segments()).map(Seg)
    }

    pub(super) fn valid(&self, seg: Seg) -> u32 {
        u32::from(self.word(seg) & VALID)
    }

    /// Counts a page more. What is on flash may name a place many times if it is damaged, so the counts have ends.
    pub(super) fn gain(&mut self, seg: Seg) {
        let word = self.word(seg);
        self.set_word(seg, word + u16::from(word & VALID < VALID));
    }

    pub(super) fn lose(&mut self, seg: Seg) {
        let word = self.word(seg);
        self.set_word(seg, word - u16::from(word & VALID > 0));
    }

    pub(super) fn set_valid(&mut self, seg: Seg, to: u32) {
        self.set_word(seg, self.word(seg) & !VALID | to as u16);
    }

    /// Notes in a mount, in place of the number of valid pages, when the newest page of a segment was written of those
    /// that may be newer than their translation page.
    pub(super) fn note_newest(&mut self, seg: Seg, clock: u32) {
        self.set_valid(seg, HAS_NEWER | (clock % HAS_NEWER));
    }

    /// True if that page may have been written between these two. All were written before the second.
    pub(super) fn may_be_newer(&self, seg: Seg, since: u32, until: u32) -> bool {
        let (noted, span) = (self.valid(seg), until - since);
        noted >= HAS_NEWER && (span >= HAS_NEWER || noted.wrapping_sub(since) % HAS_NEWER <= span)
    }

    pub(super) fn used_for(&self, seg: Seg) -> Use {
        Use::ALL[usize::from(self.word(seg) >> VALID_BITS & 7)]
    }

    pub(super) fn set_use(&mut self, seg: Seg, to: Use) {
        self.set_word(seg, self.word(seg) & (VALID | OF_MAP) | (to as u16) << VALID_BITS);
    }

    /// True if the segment holds translation pages, or held them last.
    pub(super) fn is_of_map(&self, seg: Seg) -> bool {
        self.word(seg) & OF_MAP != 0
    }

    pub(super) fn set_of_map(&mut self, seg: Seg, is_of_map: bool) {
        self.set_word(seg, self.word(seg) & !OF_MAP | if is_of_map { OF_MAP } else { 0 });
    }

    /// The erases, and in the upper bits the epoch.
    fn past(&self, seg: Seg) -> u32 {
        let [_, _, a, b, c] = self.rows[seg.index()];
        u32::from_le_bytes([a, b, c, 0])
    }

    // Not inline: a firmware would have it in many places.
    #[inline(never)]
    fn set_past(&mut self, seg: Seg, erases: u32, epoch: u32) {
        let [.., a, b, c] = &mut self.rows[seg.index()];
        [*a, *b, *c, _] = (erases | epoch << ERASE_BITS).to_le_bytes();
    }

    pub(super) fn erases(&self, seg: Seg) -> u32 {
        self.past(seg) & MOST_ERASES
    }

    pub(super) fn set_erases(&mut self, seg: Seg, erases: u32) {
        self.set_past(seg, erases.min(MOST_ERASES), self.past(seg) >> ERASE_BITS);
    }

    /// Epochs since the segment was opened.
    pub(super) fn age(&self, seg: Seg, epoch: u32) -> u32 {
        epoch.wrapping_sub(self.past(seg) >> ERASE_BITS) % EPOCHS
    }

    /// Notes the epoch in which a segment was opened.
    pub(super) fn set_epoch(&mut self, seg: Seg, epoch: u32) {
        self.set_past(seg, self.erases(seg), epoch);
    }

    /// Notes that a segment is opened now. The oldest do not become older.
    pub(super) fn set_opened(&mut self, seg: Seg, now: u32) {
        self.set_epoch(seg, now);
        for seg in self.all() {
            if self.age(seg, now) > OLDEST {
                self.set_epoch(seg, now.wrapping_sub(OLDEST));
            }
        }
    }

    pub(super) fn is_free(&self, seg: Seg) -> bool {
        self.is_empty(seg) || self.used_for(seg) == Use::Stale
    }

    /// True if the segment holds nothing.
    pub(super) fn is_empty(&self, seg: Seg) -> bool {
        matches!(self.used_for(seg), Use::Free | Use::Suspect)
    }

    /// True if the segment holds pages and takes no more.
    pub(super) fn is_closed(&self, seg: Seg) -> bool {
        matches!(self.used_for(seg), Use::Closed | Use::Failing | Use::Doubted)
    }

    /// True if the cleaner may choose the segment: it is closed and holds pages of the host's.
    pub(super) fn is_candidate(&self, seg: Seg) -> bool {
        self.used_for(seg) == Use::Closed && !self.is_of_map(seg)
    }

    /// True if the segment holds pages, whether any of them counts or not.
    pub(super) fn holds_pages(&self, seg: Seg) -> bool {
        !matches!(self.used_for(seg), Use::Free | Use::Suspect | Use::Bad)
    }

    /// True if the segment holds pages, or is about to.
    pub(super) fn is_in_use(&self, seg: Seg) -> bool {
        self.is_closed(seg) || self.used_for(seg) == Use::Open
    }

    pub(super) fn count(&self, wanted: impl Fn(Seg) -> bool) -> u32 {
        self.all().filter(|&seg| wanted(seg)).count() as u32
    }

    /// The segment with the fewest valid pages of those that are wanted, and of several the least worn.
    // For all callers the same code: a copy for each took 1 KB.
    pub(super) fn emptiest(&self, wanted: &dyn Fn(Seg) -> bool) -> Option<Seg> {
        self.all().filter(|&seg| wanted(seg)).min_by_key(|&seg| (self.valid(seg), self.erases(seg)))
    }

    pub(super) fn table_bytes(&self) -> u64 {
        self.rows.as_flattened().len() as u64
    }
}

/// A set of segments, a bit each.
#[derive(Debug)]
pub(super) struct SegSet {
    words: Vec<u32>,
}

impl SegSet {
    pub(super) fn new(segments: u32) -> Self {
        Self { words: vec![0; segments.div_ceil(u32::BITS) as usize] }
    }

    pub(super) const fn bytes(segments: u32) -> usize {
        segments.div_ceil(u32::BITS) as usize * size_of::<u32>()
    }

    // Not inline, as the next: both would stand in many places of a firmware.
    #[inline(never)]
    pub(super) fn insert(&mut self, seg: Seg) {
        self.words[seg.index() / u32::BITS as usize] |= 1 << (seg.0 % u32::BITS);
    }

    #[inline(never)]
    pub(super) fn contains(&self, seg: Seg) -> bool {
        self.words[seg.index() / u32::BITS as usize] & 1 << (seg.0 % u32::BITS) != 0
    }

    pub(super) fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_ages_until_it_is_one_of_the_oldest() {
        let (mut table, first, second) = (Table::new(2), Seg(0), Seg(1));
        table.set_erases(first, MOST_ERASES + 1);
        table.set_opened(first, 40);
        for epoch in 40..200 {
            table.set_opened(second, epoch);
            assert_eq!((table.age(first, epoch), table.age(second, epoch)), (OLDEST.min(epoch - 40), 0));
            // The table hears of an epoch when a segment is opened.
            assert_eq!(table.age(first, epoch + 8), 8 + OLDEST.min(epoch - 40));
        }
        assert_eq!((table.erases(first), table.erases(second)), (MOST_ERASES, 0));
    }

    #[test]
    fn what_may_be_newer_is_never_passed_over() {
        let (mut table, seg) = (Table::new(1), Seg(0));
        assert!(!table.may_be_newer(seg, 0, 0), "nothing is noted");
        // Of a clock only the lower bits are kept.
        for since in [0, 5, HAS_NEWER - 1, HAS_NEWER, 3 * HAS_NEWER + 7] {
            for later in [0, 1, HAS_NEWER - 1, HAS_NEWER, 9 * HAS_NEWER] {
                table.note_newest(seg, since + later);
                for span in [later, later + 1, later + HAS_NEWER] {
                    assert!(table.may_be_newer(seg, since, since + span), "{since} {later} {span}");
                }
            }
            table.note_newest(seg, since);
            assert!(!table.may_be_newer(seg, since + 1, since + 9), "it is older than {since}");
        }
    }

    #[test]
    fn the_columns_of_a_segment_do_not_touch_each_other() {
        let (mut table, seg) = (Table::new(2), Seg(1));
        (0..9).for_each(|_| table.gain(seg));
        table.set_erases(seg, 0x2_3456);
        table.set_opened(seg, 9);
        for to in Use::ALL {
            for of_map in [true, false] {
                table.set_use(seg, to);
                table.set_of_map(seg, of_map);
                assert_eq!((table.used_for(seg), table.is_of_map(seg), table.valid(seg)), (to, of_map, 9));
            }
        }
        assert_eq!((table.erases(seg), table.age(seg, 13)), (0x2_3456, 4));
        table.set_valid(seg, 0);
        table.lose(seg);
        assert_eq!((table.valid(seg), table.used_for(seg)), (0, Use::Doubted));
        assert_eq!((table.valid(Seg(0)), table.used_for(Seg(0)), table.erases(Seg(0))), (0, Use::Free, 0));
    }
}
