//! How long pages live: predicted from the past, and measured as survival curves.

use alloc::vec;
use alloc::vec::Vec;

/// Categories of expected lives, and one more for hot pages.
pub(super) const CATEGORIES: usize = 10;
pub(super) const HOT_CATEGORY: usize = CATEGORIES;

/// Features: the category of the last life or none, and the number of windows in which the page was written, 0 to 8.
const WINDOW_COUNTS: usize = 9;
const CELLS: usize = (CATEGORIES + 1) * WINDOW_COUNTS;

/// The features of a page without a known life that was written in one window.
pub(super) const UNKNOWN_CELL: u8 = (CATEGORIES * WINDOW_COUNTS + 1) as u8;

/// The features of a hot page, whatever they are.
pub(super) const HOT_CELL: u8 = CELLS as u8;

/// Features predict once they have met so many lives.
const QUORUM: u32 = 32;

/// Bins of a histogram: four for each octave of host pages.
const OCTAVES: u32 = 40;
const BINS: usize = 4 * OCTAVES as usize;

fn bin_of(life: u64) -> usize {
    // An octave has four bins from 4 on.
    let life = life.clamp(4, (1 << OCTAVES) - 1);
    let octave = life.ilog2();
    4 * octave as usize + (life >> (octave - 2) & 3) as usize
}

/// Where a bin begins.
fn edge(bin: usize) -> f64 {
    ((4 + bin as u64 % 4) << (bin / 4)) as f64 / 4.0
}

/// Counts of writes and of lives by category, and of lives by features.
#[derive(Debug, Clone)]
pub(super) struct Lives {
    /// The longest life of each category but the last: 1 % of the logical pages, and double that for each other.
    bounds: [u64; CATEGORIES - 1],
    written: [f64; CATEGORIES + 1],
    died: Vec<[f64; BINS]>,
    votes: Vec<[u32; CATEGORIES]>,
}

impl Lives {
    pub(super) fn new(logical_pages: u32) -> Self {
        let mut bounds = [0; CATEGORIES - 1];
        for (bound, doublings) in bounds.iter_mut().zip(0..) {
            *bound = (u64::from(logical_pages) << doublings) / 100;
        }
        Self {
            bounds,
            written: [0.0; CATEGORIES + 1],
            died: vec![[0.0; BINS]; CATEGORIES + 1],
            votes: vec![[0; CATEGORIES]; CELLS],
        }
    }

    /// The longest life of a category; none for the last.
    pub(super) fn bound(&self, category: usize) -> Option<f64> {
        self.bounds.get(category).map(|&bound| bound as f64)
    }

    fn category_of(&self, life: u64) -> usize {
        self.bounds.iter().position(|&bound| life <= bound).unwrap_or(CATEGORIES - 1)
    }

    /// The features of a page.
    pub(super) fn cell(&self, last_life: Option<u64>, windows: u32) -> u8 {
        let last = last_life.map_or(CATEGORIES, |life| self.category_of(life));
        // At most 98, so the cell of hot pages and the flag beside a cell are free.
        (WINDOW_COUNTS * last) as u8 + windows as u8
    }

    /// The category that most lives of pages with these features had; that of the last life if they were too few.
    pub(super) fn predict(&self, cell: u8) -> usize {
        // Only hot pages have a cell beyond the table.
        let Some(votes) = self.votes.get(usize::from(cell)) else { return HOT_CATEGORY };
        if votes.iter().sum::<u32>() < QUORUM {
            // An unknown last life counts as the longest.
            return (usize::from(cell) / WINDOW_COUNTS).min(CATEGORIES - 1);
        }
        (0..CATEGORIES).max_by_key(|&category| votes[category]).unwrap_or(CATEGORIES - 1)
    }

    pub(super) fn note_write(&mut self, category: usize) {
        self.written[category] += 1.0;
    }

    /// Notes how long a page with these features has lived.
    pub(super) fn note_death(&mut self, cell: u8, life: u64) {
        // The category that the page would have now: the one that it was written with is not kept.
        self.note_death_in(self.predict(cell), life);
        let category = self.category_of(life);
        if let Some(votes) = self.votes.get_mut(usize::from(cell)) {
            votes[category] += 1;
        }
    }

    pub(super) fn note_death_in(&mut self, category: usize, life: u64) {
        self.died[category][bin_of(life)] += 1.0;
    }

    /// Halves all counts.
    pub(super) fn fade(&mut self) {
        // The host may change its habits: what came before counts half as much at each division.
        self.written.iter_mut().for_each(|count| *count /= 2.0);
        self.died.iter_mut().flatten().for_each(|count| *count /= 2.0);
        self.votes.iter_mut().flatten().for_each(|count| *count /= 2);
    }

    /// What the counts say of each category, the hot one last.
    pub(super) fn curves(&self) -> Vec<Curve> {
        let all: f64 = self.written.iter().sum();
        let curve = |(&written, died)| Curve::new(written, died, all);
        self.written.iter().zip(&self.died).map(curve).collect()
    }

    pub(super) fn table_bytes(&self) -> u64 {
        (size_of_val(&*self.died) + size_of_val(&*self.votes)) as u64
    }
}

/// The part of a category's pages that survives so many host pages.
///
/// It is the lives that ended, over the writes in the same time, and not over the lives that ended. So pages that are
/// never written again count as what they are.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// The fraction of the host's writes.
    pub(super) share: f64,
    survive: Vec<f64>,
    /// The integral of `survive`.
    held: Vec<f64>,
}

impl Curve {
    fn new(written: f64, died: &[f64; BINS], all: f64) -> Self {
        // Nothing dies before the first bin.
        let (mut survive, mut held) = (1.0, edge(0));
        let mut curve = Self { share: written / all.max(1.0), survive: vec![survive], held: vec![held] };
        for (bin, &count) in died.iter().enumerate() {
            // More deaths than writes may count for a category, because predictions change in between.
            let next = f64::max(survive - count / written.max(1.0), 0.0);
            held += (survive + next) / 2.0 * (edge(bin + 1) - edge(bin));
            survive = next;
            curve.survive.push(survive);
            curve.held.push(held);
        }
        curve
    }

    fn between_bins(values: &[f64], age: f64) -> f64 {
        let bin = bin_of(age as u64);
        // There is one value more than bins, for the end of the last.
        let part = ((age - edge(bin)) / (edge(bin + 1) - edge(bin))).clamp(0.0, 1.0);
        values[bin] + part * (values[bin + 1] - values[bin])
    }

    /// The fraction of pages that are still valid at an age.
    pub(super) fn survive(&self, age: f64) -> f64 {
        Self::between_bins(&self.survive, age)
    }

    /// The host pages for which a page is valid until it reaches an age, on average.
    pub(super) fn valid_until(&self, age: f64) -> f64 {
        Self::between_bins(&self.held, age)
    }

    pub(super) fn table_bytes(&self) -> u64 {
        (size_of_val(&*self.survive) + size_of_val(&*self.held)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_quarters_of_octaves() {
        let bins = [0, 4, 5, 7, 8, 9, 10, 15, 16, 1 << 39, u64::MAX].map(bin_of);
        assert_eq!(bins, [8, 8, 9, 11, 12, 12, 13, 15, 16, 156, 159]);
        assert_eq!([8, 9, 12, 13, 16].map(edge), [4.0, 5.0, 8.0, 10.0, 16.0]);
    }

    #[test]
    fn features_predict_the_life_that_most_of_their_pages_had() {
        let mut lives = Lives::new(10_000);
        let cell = lives.cell(Some(150), 3);
        assert_eq!((cell, lives.predict(cell)), (12, 1), "101 to 200 pages, until something is known");
        (0..31).for_each(|_| lives.note_death(cell, 1000));
        assert_eq!(lives.predict(cell), 1);
        lives.note_death(cell, 1);
        assert_eq!(lives.predict(cell), 4, "801 to 1,600 pages");
        assert_eq!([UNKNOWN_CELL, lives.cell(None, 1)].map(|cell| lives.predict(cell)), [CATEGORIES - 1; 2]);
        assert_eq!(lives.predict(HOT_CELL), HOT_CATEGORY);
    }

    #[test]
    fn what_is_never_written_again_survives() {
        let mut lives = Lives::new(10_000);
        let cell = lives.cell(Some(150), 0);
        (0..20).for_each(|_| lives.note_write(1));
        (0..10).for_each(|i| lives.note_death(cell, 160 + i));
        let curve = &lives.curves()[1];
        assert_eq!(curve.share, 1.0);
        assert_eq!([100.0, 160.0, 192.0, 1e9].map(|age| curve.survive(age)), [1.0, 1.0, 0.5, 0.5]);
        assert_eq!(curve.valid_until(160.0), 160.0);
        assert_eq!(curve.valid_until(292.0), 160.0 + 0.75 * 32.0 + 50.0);
    }
}
