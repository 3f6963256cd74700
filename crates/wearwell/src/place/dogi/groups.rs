//! Divides the categories into groups, so that the predicted write amplification is least.

use alloc::vec;
use alloc::vec::Vec;

use super::lives::{CATEGORIES, Curve, Lives};

/// The most groups behind that of the hot pages. DOGI's paper has ten, its prototype four. With six, Zipf cost 1 % less
/// than with four, and no more than with ten.
pub(super) const MOST_GROUPS: usize = 6;

/// A queue with a smaller part of the host's writes is not worth an open segment.
const LEAST_SHARE: f64 = 0.0005;

/// Segments that are free, or kept free.
const FREE_SEGMENTS: f64 = 4.0;

/// Copies of a page that the model follows.
const COPIES: u32 = 12;

/// The device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) segments: f64,
    /// Pages in each.
    pub(super) slots: f64,
    pub(super) valid_pages: f64,
    /// How long hot pages are left alone, in host pages.
    pub(super) hot_stay: f64,
}

/// A division into groups. The hot group is number 0. All but the last are queues.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    /// How long each queue keeps a segment, in host pages.
    stays: Vec<f64>,
    /// The group of each category, the hot one last.
    group_of: [u8; CATEGORIES + 1],
    /// What the division was made from. Empty if there is one group.
    curves: Vec<Curve>,
}

impl Groups {
    /// One group, number 1.
    pub(super) fn one() -> Self {
        Self { stays: Vec::new(), group_of: [1; CATEGORIES + 1], curves: Vec::new() }
    }

    /// The division with the least write amplification. It is one of the 512 ways to cut the row of categories, without
    /// those with too many groups.
    pub(super) fn best(lives: &Lives, load: Load) -> Option<Self> {
        let curves = lives.curves();
        let divisions = (0..1_u32 << (CATEGORIES - 1)).filter(|cuts| (cuts.count_ones() as usize) < MOST_GROUPS);
        let mut best: Option<(f64, Self)> = None;
        for cuts in divisions {
            let groups = Self::cut(cuts, lives, load);
            let Some(wa) = groups.predict(&curves, load) else { continue };
            if best.as_ref().is_none_or(|(least, _)| wa < *least) {
                best = Some((wa, groups));
            }
        }
        best.map(|(_, groups)| Self { curves, ..groups })
    }

    /// The division that ends a group behind each category whose bit is set.
    pub(super) fn cut(cuts: u32, lives: &Lives, load: Load) -> Self {
        let (mut stays, mut group_of) = (vec![load.hot_stay], [0; CATEGORIES + 1]);
        for (category, group) in group_of.iter_mut().take(CATEGORIES).enumerate() {
            *group = stays.len() as u8;
            if cuts >> category & 1 == 1 {
                // There is no bit for the last category, which has no bound.
                stays.extend(lives.bound(category));
            }
        }
        Self { stays, group_of, curves: Vec::new() }
    }

    /// How long each queue keeps a segment.
    pub(super) fn stays(&self) -> &[f64] {
        &self.stays
    }

    /// The group that is no queue.
    pub(super) fn last(&self) -> u8 {
        self.stays.len().max(1) as u8
    }

    /// The group of a category.
    pub(super) fn of(&self, category: usize) -> u8 {
        self.group_of[category]
    }

    /// The class of copies out of the last group.
    pub(super) fn behind_last(&self) -> u8 {
        self.last() + 1
    }

    /// The group for a page that leaves a queue at an age.
    pub(super) fn behind(&self, category: usize, group: u8, age: f64) -> u8 {
        self.curves.get(category).map_or(self.last(), |curve| self.next(curve, group, age))
    }

    /// The first queue from `group` on, without the hot one, in which half of such pages die. A page that is older than
    /// the curve says that any gets leaves the queues: otherwise it would be copied for ever.
    fn next(&self, curve: &Curve, group: u8, age: f64) -> u8 {
        let half = curve.survive(age) / 2.0;
        let dies = |&queue: &usize| half > 0.0 && curve.survive(age + self.stays[queue]) <= half;
        (usize::from(group.max(1))..self.stays.len()).find(dies).map_or(self.last(), |queue| queue as u8)
    }

    /// The write amplification; none if the device is too small for it.
    fn predict(&self, curves: &[Curve], load: Load) -> Option<f64> {
        let last = usize::from(self.last());
        let mut direct = [0.0; MOST_GROUPS + 1];
        // Pages that arrive for each host page, their copies, and the valid pages that wait in queues.
        let mut arriving = [0.0; MOST_GROUPS + 1];
        let (mut copied, mut held) = (0.0, 0.0);
        for (category, curve) in curves.iter().enumerate() {
            let (mut group, mut age) = (self.of(category), 0.0);
            direct[usize::from(group)] += curve.share;
            for _ in 0..COPIES {
                if usize::from(group) == last {
                    break;
                }
                arriving[usize::from(group)] += curve.share * curve.survive(age);
                let end = age + self.stays[usize::from(group)];
                // What is in a queue is the rate of arrivals times the time for which each is valid there.
                held += curve.share * (curve.valid_until(end) - curve.valid_until(age));
                copied += curve.share * curve.survive(end);
                age = end;
                group = self.next(curve, group, age);
            }
            // Pages that are still in a queue after so many copies count as if they had left it.
            arriving[last] += curve.share * curve.survive(age);
        }
        // The hot group has its segment in any case.
        if direct[1..last].iter().any(|&share| share < LEAST_SHARE) {
            return None;
        }
        // Half of each open segment is empty.
        let queued = |(arriving, stay): (&f64, &f64)| arriving * stay / load.slots + 0.5;
        let queues: f64 = arriving.iter().zip(&self.stays).map(queued).sum();
        let room = (load.segments - FREE_SEGMENTS - 1.0 - queues) * load.slots;
        // The model may put more into the queues than all valid pages.
        let left = (load.valid_pages - held).max(1.0);
        (left < room).then(|| {
            let valid = valid_of_victims(room / left);
            1.0 + copied + arriving[last] * valid / (1.0 - valid)
        })
    }

    pub(super) fn table_bytes(&self) -> u64 {
        self.curves.iter().map(Curve::table_bytes).sum()
    }
}

/// The valid fraction of victims under uniform writes in `ratio` times the room that the valid pages need: the solution
/// below 1 of v = e^(−ratio (1−v)).
fn valid_of_victims(ratio: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        // 1 is a solution, too. Between the two the power is less than v, and below both it is greater.
        if libm::exp(-ratio * (1.0 - middle)) > middle { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: u32 = 100_000;

    fn load() -> Load {
        Load { segments: 1125.0, slots: 100.0, valid_pages: f64::from(PAGES), hot_stay: 600.0 }
    }

    /// Counts pages that are rewritten at random, by one category: `writes` of them, after `mean` host pages.
    fn note(lives: &mut Lives, category: u8, writes: u32, mean: f64) {
        for i in 0..writes {
            lives.note_write(usize::from(category));
            let life = -mean * libm::log((f64::from(i) + 0.5) / f64::from(writes));
            lives.note_death_in(usize::from(category), life as u64);
        }
    }

    #[test]
    fn one_group_has_the_closed_form_of_uniform_writes() {
        let valid = valid_of_victims(1.125);
        assert!((valid - libm::exp(-1.125 * (1.0 - valid))).abs() < 1e-9 && valid < 0.8, "{valid}");
        let one = Groups::one();
        assert_eq!((one.last(), one.of(3), one.behind(3, 1, 9.0)), (1, 1, 1));
    }

    #[test]
    fn skew_is_worth_queues_and_uniform_writes_are_not() {
        let mut uniform = Lives::new(PAGES);
        note(&mut uniform, 7, 10_000, f64::from(PAGES));
        assert_eq!(Groups::best(&uniform, load()).expect("a division").last(), 1);
        // Nine in ten writes go to a tenth of the pages.
        let mut skewed = Lives::new(PAGES);
        note(&mut skewed, 3, 9000, f64::from(PAGES) / 9.0);
        note(&mut skewed, 9, 1000, f64::from(PAGES) * 9.0);
        let groups = Groups::best(&skewed, load()).expect("a division");
        assert!(groups.last() > 1 && groups.of(3) < groups.of(9), "{groups:?}");
        let one = Groups::cut(0, &skewed, load());
        let wa = |groups: &Groups| groups.predict(&skewed.curves(), load()).expect("it fits");
        assert!(wa(&groups) < wa(&one) - 0.5, "{} {}", wa(&groups), wa(&one));
        assert_eq!(groups.behind(9, 1, 9000.0), groups.last(), "few of these die in any queue");
    }
}
