//! Predicts the write amplification of a division into groups, and finds the division with the least.
//!
//! A group in front is a queue. Its pages can become invalid during the time that its segments take to pass through it.
//! The histogram of intervals says how many do. The last group is cleaned by score; a closed form for two rates of
//! writes says which fraction of its victims is valid.

use alloc::vec;
use alloc::vec::Vec;

use super::filter::HotShare;
use super::intervals::BINS_PER_SEGMENT;

/// The most groups behind the hot group.
pub(super) const MOST_GROUPS: usize = 9;

/// Sizes that are tried for the hot group.
const HOT_SIZES: core::ops::Range<u32> = 1..30;

/// Segments that the last group keeps.
const LAST_SEGMENTS: u32 = 50;

/// The segments of host writes before the end of an epoch for which intervals are not known well enough.
const UNKNOWN_SEGMENTS: f64 = 50.0;

/// A larger hot group has to save at least this much.
const WORTH: f64 = 0.05;

/// Rounds in which every size is tuned again.
const ROUNDS: u32 = 4;

/// The properties of a device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// Segments for all groups.
    pub(super) segments: u32,
    /// Pages in each.
    pub(super) slots: u32,
    /// Valid pages, without those that seem never to be written again.
    pub(super) valid_pages: f64,
    pub(super) hot: HotShare,
}

/// A division into groups.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Division {
    /// Segments of the hot group.
    pub(super) hot_segments: u32,
    /// Segments of the groups behind it.
    pub(super) sizes: Vec<u32>,
    /// The valid fractions of their victims.
    pub(super) valid: Vec<f64>,
    /// Write amplification.
    pub(super) wa: f64,
}

/// The traffic of the hot group: the writes to it, and the pages that leave it valid.
#[derive(Debug, Clone, Copy)]
struct HotGroup {
    segments: u32,
    /// The bins of the histogram that belong to it.
    bins: usize,
    /// The time that it keeps a page, in segments of host writes.
    residence: f64,
    /// Pages that reach the first group behind it, as a fraction of host writes.
    passed: f64,
    /// The copies of its survivors, as a fraction of host writes.
    copied: f64,
    /// Valid pages in it.
    held: f64,
}

/// Sums over the first bins of a histogram: of their content, of those sums, and of the intervals.
#[derive(Debug, Clone)]
pub(super) struct Model {
    load: Load,
    sum: Vec<f64>,
    sum_of_sums: Vec<f64>,
    by_interval: Vec<f64>,
    unit: f64,
}

impl Model {
    pub(super) fn new(load: Load, histogram: &[f64]) -> Self {
        // Entry k of a list is over the first k bins, so each has one more than there are bins.
        let mut model = Self {
            load,
            sum: vec![0.0],
            sum_of_sums: vec![0.0],
            by_interval: vec![0.0],
            unit: f64::from(load.slots) / f64::from(BINS_PER_SEGMENT),
        };
        let (mut sum, mut sum_of_sums, mut by_interval) = (0.0, 0.0, 0.0);
        for (bin, &count) in histogram.iter().enumerate() {
            sum += count;
            sum_of_sums += sum;
            by_interval += count * bin as f64;
            model.sum.push(sum);
            model.sum_of_sums.push(sum_of_sums);
            model.by_interval.push(by_interval);
        }
        model
    }

    fn bins(&self) -> usize {
        self.sum.len() - 1
    }

    fn total(&self) -> f64 {
        self.sum[self.bins()]
    }

    /// The first bin that begins at or after `segments` segments of host writes.
    fn bin_from(&self, segments: f64) -> usize {
        libm::ceil(segments * f64::from(BINS_PER_SEGMENT)).min(self.bins() as f64) as usize
    }

    /// Valid pages in a queue that takes the fraction `traffic` of the host's writes. Of the fraction `rest` that
    /// arrives, the writes in bins `from..to` become invalid on the way.
    fn held(&self, traffic: f64, from: usize, to: usize, rest: f64) -> f64 {
        // The sum over these bins of what has become invalid by the end of each.
        let gone = self.sum_of_sums[to] - self.sum_of_sums[from] - (to - from) as f64 * self.sum[from];
        traffic * self.unit * ((to - from) as f64 - gone / rest)
    }

    /// The hot group as it was measured, if it holds pages that it should not, or only few.
    fn real_hot(&self) -> Option<HotGroup> {
        let HotShare { traffic, valid, segments } = self.load.hot;
        if valid <= 0.1 && traffic >= 0.15 {
            return None;
        }
        // One segment is open, and half full on average.
        let residence = (segments - 0.5) / traffic;
        let bins = self.bin_from(residence);
        Some(HotGroup {
            segments: segments as u32,
            bins,
            residence,
            passed: 1.0 - traffic + traffic * valid,
            copied: traffic * valid,
            held: self.held(traffic, 0, bins, self.total()),
        })
    }

    /// A hot group of `size` segments or a few more, which takes the writes with the shortest intervals.
    fn computed_hot(&self, size: u32) -> Option<HotGroup> {
        // The segments that its pages fill on their way through so many bins, rounded.
        let fills = |bins: usize| {
            let passing = bins as f64 / f64::from(BINS_PER_SEGMENT);
            libm::floor(passing * self.sum[bins] / self.total() + 0.5)
        };
        let bins = (1..=self.bins()).find(|&bins| fills(bins) >= f64::from(size))?;
        let traffic = self.sum[bins] / self.total();
        Some(HotGroup {
            segments: fills(bins) as u32,
            bins,
            residence: bins as f64 / f64::from(BINS_PER_SEGMENT),
            passed: 1.0 - traffic,
            copied: 0.0,
            held: self.held(traffic, 0, bins, self.sum[bins]),
        })
    }

    /// Write amplification with a hot group and groups behind it, and the valid fractions of their victims; none if it
    /// is unknown or impossible.
    fn predict(&self, hot: &HotGroup, sizes: &[u32]) -> Option<(f64, Vec<f64>)> {
        let slots = f64::from(self.load.slots);
        let (&last, fronts) = sizes.split_last()?;
        let (mut arriving, mut past, mut bin, mut held) = (hot.passed, hot.residence, hot.bins, hot.held);
        let mut wa = 1.0 + hot.copied;
        let mut valid = Vec::with_capacity(sizes.len());
        for &size in fronts {
            // One segment of the group is open, and half full on average.
            let residence = (f64::from(size) - 0.5) / arriving;
            if past + residence >= self.bins() as f64 / f64::from(BINS_PER_SEGMENT) - UNKNOWN_SEGMENTS {
                return None;
            }
            let (from, to) = (bin, self.bin_from(past + residence).max(bin));
            let rest = self.total() - self.sum[from];
            let survive = 1.0 - (self.sum[to] - self.sum[from]) / rest;
            // Nothing is known of this group if no write is left.
            if survive.is_nan() || survive <= 0.0 {
                return None;
            }
            held += self.held(arriving, from, to, rest);
            arriving *= survive;
            // Each survivor is copied once, to the next group.
            wa += arriving;
            valid.push(survive);
            past += residence;
            bin = to;
        }
        // What waits in queues takes no room in the last group.
        let left = self.load.valid_pages - held;
        if left.is_nan() || left <= 0.0 {
            return None;
        }
        let g = 1.0 + 1.0 / (2.0 * slots);
        let survive = 1.0 - g / self.last_wa(bin, g * f64::from(last) * slots / left)?;
        if survive.is_nan() || survive <= 0.0 || survive >= 1.0 {
            return None;
        }
        valid.push(survive);
        // A page of the last group is copied again and again: v + v² + v³ and so on.
        Some((wa + arriving * survive / (1.0 - survive), valid))
    }

    /// Write amplification of the last group, which has room for `ratio` times its valid pages, if the intervals from
    /// `bin` on belong to it. Intervals shorter than 0.7 of the mean count as one rate of writes, the others as
    /// another.
    fn last_wa(&self, bin: usize, ratio: f64) -> Option<f64> {
        let requests = self.total() - self.sum[bin];
        let weighted = self.by_interval[self.bins()] - self.by_interval[bin];
        // Nothing can be cleaned without spare room, and nothing becomes invalid without writes.
        if ratio <= 1.0 || requests <= 0.0 || weighted <= 0.0 {
            return None;
        }
        // One more, so that the bin at the bound is among them.
        let hot_end = (libm::floor(0.7 * weighted / requests) as usize + 1).clamp(bin, self.bins());
        let hot_requests = (self.sum[hot_end] - self.sum[bin]) / requests;
        // The pages behind the writes of a bin are in proportion to writes times interval.
        let hot_pages = (self.by_interval[hot_end] - self.by_interval[bin]) / weighted;
        // A rate without pages or without writes adds nothing, and must not be divided by.
        let rate = |requests: f64, pages: f64, wa: f64| match pages {
            pages if pages > 0.0 && requests > 0.0 => requests / libm::expm1(requests / pages * ratio / wa),
            _ => 0.0,
        };
        let excess =
            |wa: f64| 1.0 + rate(hot_requests, hot_pages, wa) + rate(1.0 - hot_requests, 1.0 - hot_pages, wa) - wa;
        let (mut low, mut high) = (1.0, 200.0);
        // So many halvings leave an error below 0.00002.
        for _ in 0..24 {
            let middle = (low + high) / 2.0;
            if excess(middle) > 0.0 { low = middle } else { high = middle }
        }
        Some(high)
    }

    /// The best division found: the last group is divided repeatedly, and then every size is tuned.
    pub(super) fn best(&self) -> Option<Division> {
        let (mut hot, first) = self.first_hot()?;
        let mut best = first.clone();
        let mut longest = first;
        while longest.sizes.len() < MOST_GROUPS {
            let Some(longer) = self.divide_last(&hot, &longest.sizes) else { break };
            if longer.wa < best.wa {
                best = longer.clone();
            }
            // A longer division may be the best although this one is not.
            longest = longer;
        }
        for _ in 0..ROUNDS {
            let before = best.wa;
            self.tune_hot(&mut hot, &mut best);
            // The last group has what the others leave.
            (0..best.sizes.len() - 1).for_each(|group| self.tune(&hot, &mut best, group));
            if best.wa >= before {
                break;
            }
        }
        Some(best)
    }

    fn division(&self, hot: &HotGroup, sizes: &[u32]) -> Option<Division> {
        let (wa, valid) = self.predict(hot, sizes)?;
        Some(Division { hot_segments: hot.segments, sizes: sizes.to_vec(), valid, wa })
    }

    /// The hot group of a division in which all other pages are one group.
    fn first_hot(&self) -> Option<(HotGroup, Division)> {
        let with = |hot: HotGroup| {
            let last = self.load.segments.checked_sub(hot.segments)?;
            Some((hot, self.division(&hot, &[last])?))
        };
        if let Some(hot) = self.real_hot() {
            return with(hot);
        }
        let mut best: Option<(HotGroup, Division)> = None;
        for size in HOT_SIZES {
            // A group may be larger than was asked for, and the sizes up to it give the same.
            if best.as_ref().is_some_and(|(hot, _)| size <= hot.segments) {
                continue;
            }
            let Some(found) = self.computed_hot(size).and_then(with) else { break };
            // As in the authors' simulator, the group grows as long as that pays.
            if best.as_ref().is_some_and(|(_, best)| found.1.wa >= best.wa - WORTH) {
                break;
            }
            best = Some(found);
        }
        best
    }

    /// The best division of the last group in two.
    fn divide_last(&self, hot: &HotGroup, sizes: &[u32]) -> Option<Division> {
        let (&last, fronts) = sizes.split_last()?;
        let mut sizes = [fronts, &[0, last]].concat();
        self.best_size(hot, &mut sizes, fronts.len())
    }

    /// The best size of a group, with segments from the last group.
    fn best_size(&self, hot: &HotGroup, sizes: &mut [u32], group: usize) -> Option<Division> {
        let end = sizes.len() - 1;
        let room = sizes[end] + sizes[group];
        let mut best: Option<Division> = None;
        for size in 1..room.saturating_sub(LAST_SEGMENTS) {
            (sizes[group], sizes[end]) = (size, room - size);
            // A division is made only of a size that is better: most are not.
            let Some((wa, _)) = self.predict(hot, sizes) else { continue };
            if best.as_ref().is_none_or(|best| wa < best.wa) {
                best = self.division(hot, sizes);
            }
        }
        best
    }

    fn tune(&self, hot: &HotGroup, best: &mut Division, group: usize) {
        let found = self.best_size(hot, &mut best.sizes.clone(), group);
        if let Some(better) = found.filter(|found| found.wa < best.wa) {
            *best = better;
        }
    }

    fn tune_hot(&self, hot: &mut HotGroup, best: &mut Division) {
        // A size that was measured is not up for choice.
        if self.real_hot().is_some() {
            return;
        }
        for size in HOT_SIZES {
            let Some(other) = self.computed_hot(size) else { break };
            let mut sizes = best.sizes.clone();
            let Some(last) = sizes.last_mut() else { break };
            // The last group gives or takes the difference, so that the sum stays.
            *last = (*last + best.hot_segments).saturating_sub(other.segments);
            if let Some(better) = self.division(&other, &sizes).filter(|found| found.wa < best.wa) {
                (*hot, *best) = (other, better);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,024 segments' worth of pages in 1,148 segments, an epoch of four passes.
    fn load() -> Load {
        let hot = HotShare { traffic: 0.01, valid: 0.05, segments: 1.0 };
        Load { segments: 1148, slots: 256, valid_pages: f64::from(1 << 18), hot }
    }

    fn histogram(of: impl Fn(f64) -> f64) -> Vec<f64> {
        (0..4 * 1024 * BINS_PER_SEGMENT).map(|bin| of((f64::from(bin) + 0.5) / 4096.0)).collect()
    }

    #[test]
    fn one_rate_of_writes_has_the_closed_form_of_uniform_ones() {
        let model = Model::new(load(), &histogram(|passes| libm::exp(-passes)));
        // Two equal rates: 1 + 1 / (e^(x / WA) - 1).
        let wa = model.last_wa(0, 1.125).expect("it has a solution");
        assert!((4.0..5.0).contains(&wa), "{wa}");
    }

    #[test]
    fn skew_is_worth_groups_and_uniform_writes_are_not() {
        let uniform = Model::new(load(), &histogram(|passes| libm::exp(-passes))).best().expect("a division");
        // Nine in ten writes go to a tenth of the pages.
        let skewed = histogram(|passes| 0.9 * 9.0 * libm::exp(-9.0 * passes) + 0.1 / 9.0 * libm::exp(-passes / 9.0));
        let skewed = Model::new(load(), &skewed).best().expect("a division");
        assert!(skewed.sizes.len() > 1 && skewed.wa < uniform.wa - 0.5, "{skewed:?} {uniform:?}");
        let segments: u32 = skewed.hot_segments + skewed.sizes.iter().sum::<u32>();
        assert_eq!(segments, load().segments);
    }
}
