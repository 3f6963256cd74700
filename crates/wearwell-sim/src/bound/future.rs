//! When each page dies.

use super::recording::Recording;

/// The clock at which each written version of a page becomes invalid: by the page's next write, or its discard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Future {
    dies: Vec<u32>,
    pages: usize,
}

impl Future {
    /// The clock of what never dies, or beyond what is counted.
    pub const NEVER: u32 = u32::MAX;

    /// The future of a recording, by one pass from its end.
    pub fn of(recording: &Recording) -> Self {
        let pages = recording.pages();
        let mut next = vec![Self::NEVER; pages];
        let mut dies = vec![Self::NEVER; recording.writes().len()];
        let mut discards = recording.discards().iter().rev().peekable();
        for (clock, &page) in recording.writes().iter().enumerate().rev() {
            // A discard at clock n comes before write n. So those at a greater clock are behind this write.
            while let Some(&(at, discarded)) = discards.next_if(|(at, _)| *at as usize > clock) {
                if let Some(next) = next.get_mut(discarded as usize) {
                    *next = at;
                }
            }
            dies[clock] = next[page as usize];
            next[page as usize] = u32::try_from(clock).unwrap_or(Self::NEVER);
        }
        Self { dies, pages }
    }

    /// The same deaths, dealt out to the writes anew: what an oracle would say that knows nothing. `draw` returns a
    /// number below its argument.
    #[must_use]
    pub fn shuffled(&self, mut draw: impl FnMut(u32) -> u32) -> Self {
        let mut dies = self.dies.clone();
        // Fisher and Yates's shuffle: every order is equally likely.
        for i in (1..dies.len()).rev() {
            dies.swap(i, draw(i as u32 + 1) as usize);
        }
        Self { dies, pages: self.pages }
    }

    /// When the page dies that is written at `clock`.
    #[inline]
    pub fn dies(&self, clock: u64) -> u32 {
        self.dies.get(clock as usize).copied().unwrap_or(Self::NEVER)
    }

    /// One more than the greatest page.
    pub(super) fn pages(&self) -> usize {
        self.pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_dies_with_its_next_write_or_its_discard() {
        // Page 1 is discarded before the fourth write, page 0 behind the last.
        let recording = Recording::new(vec![0, 1, 0, 1, 2], vec![(3, 1), (5, 0)], 0);
        let future = Future::of(&recording);
        let dies: Vec<u32> = (0..6).map(|clock| future.dies(clock)).collect();
        let never = Future::NEVER;
        assert_eq!(dies, [2, 3, 5, never, never, never]);
    }

    #[test]
    fn shuffling_keeps_the_deaths() {
        let future = Future::of(&Recording::new(vec![0, 1, 0, 1, 2, 0], Vec::new(), 0));
        let mut rng = wearwell::Rng::new(3);
        let shuffled = future.shuffled(|bound| (rng.next_u64() % u64::from(bound)) as u32);
        let sorted = |future: &Future| {
            let mut dies = future.dies.clone();
            dies.sort_unstable();
            dies
        };
        assert_eq!(sorted(&shuffled), sorted(&future));
        assert_ne!(shuffled, future);
    }
}
