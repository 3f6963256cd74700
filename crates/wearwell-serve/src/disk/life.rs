//! What an image keeps of its disk's life beside the chip: counters, and the events that hosts want to hear of.
//!
//! SPEC.md ("The record of a disk's life") has every byte. There are two places, written in turn, so that a process
//! that ends in the middle of a store leaves the record before it. A store makes no system call. The system writes it
//! to the machine's storage at its leisure, or when the disk is shut down.

use std::io;

use wearwell::Placement;
use wearwell_emu::ImageHead;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::handles::Watched;

/// Bytes of both places.
pub(super) const PLACES_BYTES: usize = 2 * size_of::<Record>();

/// Counters over the life of a disk. They begin when it is first opened after it was made. Those of a disk in memory,
/// and of an image whose format has no place for them, begin whenever it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Life {
    /// How often the disk was opened.
    pub opens: u32,
    /// Bytes that hosts read.
    pub read_bytes: u64,
    /// Bytes that hosts wrote.
    pub written_bytes: u64,
    /// Bytes that were programmed, in whole pages.
    pub programmed_bytes: u64,
    /// Bytes of the data pages of erased segments.
    pub erased_bytes: u64,
}

/// What is kept of reclaim unit handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct KeptHandles {
    pub(super) watched: [Watched; Placement::HANDLES as usize],
    /// Bit n: the segment of handle n is partly written, and its host wants to hear if another process opens the disk.
    pub(super) begun: u16,
}

/// A place.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Record {
    /// Counts the records.
    number: U64,
    read_bytes: U64,
    written_bytes: U64,
    programmed_bytes: U64,
    erased_bytes: U64,
    opens: U32,
    begun: U16,
    watched: [u8; Placement::HANDLES as usize],
    code: U32,
}

impl Record {
    fn new(number: u64, life: Life, handles: KeptHandles) -> Self {
        let mut record = Self {
            number: number.into(),
            read_bytes: life.read_bytes.into(),
            written_bytes: life.written_bytes.into(),
            programmed_bytes: life.programmed_bytes.into(),
            erased_bytes: life.erased_bytes.into(),
            opens: life.opens.into(),
            begun: handles.begun.into(),
            watched: handles.watched.map(Watched::bits),
            code: U32::new(0),
        };
        record.code = record.right_code().into();
        record
    }

    /// The later of two places; none if neither is whole.
    fn latest(places: &[u8]) -> Option<Self> {
        // Spec D5.
        let records = places.chunks_exact(size_of::<Self>()).filter_map(|place| Self::read_from_bytes(place).ok());
        records.filter(|record| record.code == record.right_code()).max_by_key(|record| record.number.get())
    }

    fn right_code(&self) -> u32 {
        crc32fast::hash(&self.as_bytes()[..std::mem::offset_of!(Self, code)])
    }

    fn life(&self) -> Life {
        Life {
            opens: self.opens.get(),
            read_bytes: self.read_bytes.get(),
            written_bytes: self.written_bytes.get(),
            programmed_bytes: self.programmed_bytes.get(),
            erased_bytes: self.erased_bytes.get(),
        }
    }

    fn handles(&self) -> KeptHandles {
        KeptHandles { watched: self.watched.map(Watched::from_bits), begun: self.begun.get() }
    }
}

impl Life {
    /// The sum of two parts of a life. No counter wraps.
    fn and(self, later: Self) -> Self {
        Self {
            opens: self.opens.saturating_add(later.opens),
            read_bytes: self.read_bytes.saturating_add(later.read_bytes),
            written_bytes: self.written_bytes.saturating_add(later.written_bytes),
            programmed_bytes: self.programmed_bytes.saturating_add(later.programmed_bytes),
            erased_bytes: self.erased_bytes.saturating_add(later.erased_bytes),
        }
    }
}

/// Both places of a disk whose life begins.
pub(super) fn new_places() -> [u8; PLACES_BYTES] {
    let mut places = [0; PLACES_BYTES];
    // The other place stays zeros, which do not match their code.
    places[..size_of::<Record>()].copy_from_slice(Record::new(0, Life::default(), KeptHandles::default()).as_bytes());
    places
}

/// True if one of the places is whole.
pub(super) fn is_whole(places: &[u8]) -> bool {
    Record::latest(places).is_some()
}

/// The life of an open disk, kept in its image if that has the places for it.
#[derive(Debug)]
pub(super) struct LifeKeeper {
    /// The life until the engine's counters began, and that it was opened then.
    before: Life,
    places: Option<ImageHead>,
    /// The number of the last record.
    number: u64,
}

impl LifeKeeper {
    /// Opens a disk once more whose places have these bytes. They are changed in `places`, if that is given.
    pub(super) fn open(bytes: &[u8], places: Option<ImageHead>) -> (Self, KeptHandles) {
        // Counters are not worth a disk that cannot be opened.
        let last = Record::latest(bytes).unwrap_or_else(Record::new_zeroed);
        let before = last.life().and(Life { opens: 1, ..Life::default() });
        (Self { before, places, number: last.number.get() }, last.handles())
    }

    /// True if the next process that opens the disk hears of its life.
    pub(super) fn is_kept(&self) -> bool {
        self.places.is_some()
    }

    /// The life up to now, of which this part is the engine's.
    pub(super) fn life(&self, engine: Life) -> Life {
        self.before.and(engine)
    }

    /// Keeps the life up to now.
    pub(super) fn keep(&mut self, engine: Life, handles: KeptHandles) {
        let Some(places) = &mut self.places else { return };
        // The next place is the older one: a store that is cut leaves the newer one whole.
        self.number = self.number.wrapping_add(1);
        let record = Record::new(self.number, self.before.and(engine), handles);
        let at = (self.number % 2) as usize * size_of::<Record>();
        places[at..at + size_of::<Record>()].copy_from_slice(record.as_bytes());
    }

    /// The engine's counters begin again.
    pub(super) fn begin_again(&mut self, engine: Life) {
        self.before = self.before.and(engine);
    }

    /// Makes what is kept durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.places.as_ref().map_or(Ok(()), ImageHead::sync)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life() -> Life {
        Life { opens: 2, read_bytes: 4096, written_bytes: 8192, programmed_bytes: 12_288, erased_bytes: 65_536 }
    }

    #[test]
    fn the_record_of_the_spec_is_what_is_written() {
        let mut handles = KeptHandles { begun: 0b10, ..KeptHandles::default() };
        handles.watched[1] = Watched::UNFILLED.and(Watched::RESTARTED);
        let record = Record::new(5, life(), handles);
        assert_eq!(record.as_bytes(), wearwell_spec::dump("disk-life"));
        assert_eq!((record.life(), record.handles()), (life(), handles));
    }

    #[test]
    fn a_record_that_was_cut_leaves_the_one_before() {
        let record = |number, opens| Record::new(number, Life { opens, ..life() }, KeptHandles::default());
        let places = [record(8, 3), record(7, 2)].map(|record| record.as_bytes().to_vec()).concat();
        let opens = |places: &[u8]| Record::latest(places).map(|record| record.life().opens);
        assert_eq!(opens(&places), Some(3));
        for byte in 0..64 {
            let mut cut = places.clone();
            cut[byte] ^= 0x20;
            assert_eq!(opens(&cut), Some(2), "byte {byte}");
            cut[64 + byte] ^= 1;
            assert_eq!(opens(&cut), None, "byte {byte}");
        }
        assert!(is_whole(&new_places()) && !is_whole(&[0; PLACES_BYTES]));
    }
}
