//! Writes that are held back, sorted by when they die, and written at once; in the spirit of the offline algorithms of
//! Lange, Naor and Yadgar ("Offline and Online Algorithms for SSD Management", 2023), of which this is none.
//!
//! A phase takes as many host writes as the open segments hold. It frees segments until copies and writes fit,
//! greedily, sorts both by death, and fills segments in that order. So all segments of a phase are open at once, and
//! the host's writes wait for the phase to end.

use wearwell::Limits;

use super::future::Future;
use super::recording::Recording;

const NOWHERE: u32 = u32::MAX;

/// A device of slots, without an engine.
///
/// Invariant: `valid[s]` is the number of pages whose slot lies in segment s. A segment is in `free`, or holds data.
struct Device {
    slots: u32,
    /// Slot of each page.
    slot_of: Vec<u32>,
    /// Page that was written to each slot last.
    page_at: Vec<u32>,
    /// Slots written in each segment.
    filled: Vec<u32>,
    valid: Vec<u32>,
    is_free: Vec<bool>,
    free: u32,
    /// When the newest version of each page dies.
    dies: Vec<u32>,
}

impl Device {
    fn new(segments: u32, slots: u32, pages: usize) -> Self {
        Self {
            slots,
            slot_of: vec![NOWHERE; pages],
            page_at: vec![NOWHERE; segments as usize * slots as usize],
            filled: vec![0; segments as usize],
            valid: vec![0; segments as usize],
            is_free: vec![true; segments as usize],
            free: segments,
            dies: vec![Future::NEVER; pages],
        }
    }

    fn invalidate(&mut self, page: u32) {
        let slot = std::mem::replace(&mut self.slot_of[page as usize], NOWHERE);
        if slot != NOWHERE {
            self.valid[(slot / self.slots) as usize] -= 1;
        }
    }

    fn bind(&mut self, page: u32, slot: u32) {
        self.invalidate(page);
        self.slot_of[page as usize] = slot;
        self.page_at[slot as usize] = page;
        self.valid[(slot / self.slots) as usize] += 1;
    }

    fn release(&mut self, segment: usize) {
        self.is_free[segment] = true;
        self.filled[segment] = 0;
        self.free += 1;
    }

    fn release_dead(&mut self) {
        for segment in 0..self.valid.len() {
            if !self.is_free[segment] && self.valid[segment] == 0 {
                self.release(segment);
            }
        }
    }

    /// Empties the segment with the fewest valid pages into `copies`. False if nothing can be gained.
    fn empty_one(&mut self, copies: &mut Vec<u32>) -> bool {
        let used = (0..self.valid.len()).filter(|&s| !self.is_free[s]);
        // A segment that is valid in all its slots gains nothing.
        let Some(victim) = used.min_by_key(|&s| self.valid[s]).filter(|&s| self.valid[s] < self.slots) else {
            return false;
        };
        let first = victim as u32 * self.slots;
        // Slots behind `filled` may still name pages of an earlier filling.
        for slot in first..first + self.filled[victim] {
            let page = self.page_at[slot as usize];
            // The newest version of the page may lie elsewhere by now.
            if self.slot_of[page as usize] == slot {
                self.invalidate(page);
                copies.push(page);
            }
        }
        self.release(victim);
        true
    }

    /// The slots of a phase, in the order in which they are filled.
    fn take_slots(&mut self, count: usize) -> Vec<u32> {
        let mut taken = Vec::with_capacity(count);
        for segment in 0..self.valid.len() {
            if taken.len() == count {
                break;
            }
            if !self.is_free[segment] {
                continue;
            }
            self.is_free[segment] = false;
            self.free -= 1;
            // The last segment may stay filled in part. Nothing is added to it later, because it is not free any more.
            let filled = (count - taken.len()).min(self.slots as usize) as u32;
            self.filled[segment] = filled;
            let first = segment as u32 * self.slots;
            taken.extend(first..first + filled);
        }
        assert_eq!(taken.len(), count, "a phase begins when all of it fits");
        taken
    }
}

/// Write amplification of the second half of a recording with so many segments open at once; none if it does not fit
/// the device, whatever is open.
pub(super) fn sorted_runs(recording: &Recording, future: &Future, shape: &Limits, open_segments: u32) -> Option<f64> {
    let slots = shape.pages_per_segment;
    let mut device = Device::new(shape.segments, slots, recording.pages());
    let writes = recording.writes();
    let mut discards = recording.discards().iter().peekable();
    let (mut at, mut copied, mut counted) = (0, 0, 0);
    while at < writes.len() {
        let is_counted = at >= recording.half();
        // No phase has writes of both halves.
        let end = if is_counted { writes.len() } else { recording.half() };
        let mut wanted = (open_segments as usize * slots as usize).min(end - at);
        let mut copies = Vec::new();
        // First: what has died as a whole since the last phase costs no copy.
        device.release_dead();
        // One segment stays free beside those that the phase fills. Each round empties one or halves the writes, so
        // this ends.
        while u64::from(device.free) <= (copies.len() as u64 + wanted as u64).div_ceil(u64::from(slots)) {
            if device.empty_one(&mut copies) {
                continue;
            }
            wanted /= 2;
            if wanted == 0 {
                return None;
            }
        }
        if is_counted {
            copied += copies.len();
            counted += wanted;
        }
        write_phase(&mut device, &copies, &writes[at..at + wanted], at, future, &mut discards);
        at += wanted;
    }
    (counted > 0).then(|| 1.0 + copied as f64 / counted as f64)
}

/// Discards that are to come: the clock and the page.
type Discards<'a> = std::iter::Peekable<std::slice::Iter<'a, (u32, u32)>>;

/// Writes copies and host pages, sorted by death, to as many slots.
fn write_phase(
    device: &mut Device,
    copies: &[u32],
    writes: &[u32],
    clock: usize,
    future: &Future,
    discards: &mut Discards<'_>,
) {
    let deaths = copies.iter().map(|&page| device.dies[page as usize]);
    let deaths: Vec<u32> = deaths.chain((0..writes.len()).map(|i| future.dies((clock + i) as u64))).collect();
    let mut by_death: Vec<usize> = (0..deaths.len()).collect();
    // The sort is stable. Of equal deaths copies come first, and writes stay in their order.
    by_death.sort_by_key(|&item| deaths[item]);
    let taken = device.take_slots(deaths.len());
    let mut slots = vec![NOWHERE; deaths.len()];
    for (item, slot) in by_death.into_iter().zip(taken) {
        slots[item] = slot;
    }
    // Before the writes: a write of the same page in this phase makes its copy invalid.
    for (&page, &slot) in copies.iter().zip(&slots) {
        device.bind(page, slot);
    }
    for (i, (&page, &slot)) in writes.iter().zip(&slots[copies.len()..]).enumerate() {
        while let Some(&(_, discarded)) = discards.next_if(|(at, _)| *at as usize <= clock + i) {
            // A given recording may discard a page that it never writes.
            if (discarded as usize) < device.slot_of.len() {
                device.invalidate(discarded);
            }
        }
        device.bind(page, slot);
        // Kept for a later phase, which may have to copy the page.
        device.dies[page as usize] = future.dies((clock + i) as u64);
    }
}
