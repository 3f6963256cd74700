//! The placement `frequency:7` in floating point, with parts of it left out: what each of them is good for.

use wearwell::Class;
use wearwell::place::{ClassCount, ClassPlacement, Copied, HostWrite};
use wearwell_sim::engine::OwnPolicies;

/// What is changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    name: &'static str,
    /// Fills of the device in which counts halve; none if they never do.
    half_life: Option<f64>,
    /// Levels begin at so many means.
    of_mean: Option<f64>,
    /// The factor between levels.
    base: f64,
    /// A copy counts for at most so many means, over its age in fills.
    copy_most: Option<f64>,
    /// Copies of level 1 have a class of their own.
    survivors: bool,
}

const WHOLE: Parts = Parts {
    name: "the whole",
    half_life: Some(2.0),
    of_mean: Some(0.5),
    base: 4.0,
    copy_most: Some(1.5),
    survivors: true,
};

/// All that is tried.
pub(crate) const PARTS: [Parts; 9] = [
    WHOLE,
    Parts { name: "counts never fade", half_life: None, ..WHOLE },
    Parts { name: "half-life of one fill", half_life: Some(1.0), ..WHOLE },
    Parts { name: "half-life of four fills", half_life: Some(4.0), ..WHOLE },
    Parts { name: "levels from one write, not from the mean", of_mean: None, ..WHOLE },
    Parts { name: "levels from the mean, not from half of it", of_mean: Some(1.0), ..WHOLE },
    Parts { name: "levels that differ by ten", base: 10.0, ..WHOLE },
    Parts { name: "the age of copies does not count", copy_most: None, ..WHOLE },
    Parts { name: "no class for copies of level 1", survivors: false, ..WHOLE },
];

const CLASSES: ClassCount = match ClassCount::new(7) {
    Some(classes) => classes,
    None => ClassCount::ONE,
};

const LEVELS: u8 = 6;

/// The policy: for each page its count and the clock of its last write.
#[derive(Debug)]
struct Frequency {
    parts: Parts,
    pages: Vec<(f64, u64)>,
    known: f64,
    /// The sum of the counts, and its clock.
    total: (f64, u64),
}

impl Parts {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn policies(&self, pages: u64) -> OwnPolicies {
        let pages = vec![(0.0, 0); pages as usize];
        let place = Frequency { parts: *self, pages, known: 0.0, total: (0.0, 0) };
        OwnPolicies::default().placement(self.name, CLASSES, place)
    }
}

impl Frequency {
    fn faded(&self, (count, since): (f64, u64), clock: u64) -> f64 {
        let half_life = |fills| (clock - since) as f64 / (fills * self.pages.len() as f64);
        self.parts.half_life.map_or(count, |fills| count * (-half_life(fills)).exp2())
    }

    fn mean(&self, clock: u64) -> f64 {
        self.faded(self.total, clock) / self.known.max(1.0)
    }

    fn level(&self, count: f64, clock: u64) -> u8 {
        let mut end = self.parts.of_mean.map_or(1.0, |part| (part * self.mean(clock)).max(1.0));
        let mut level = 0;
        while count > end && level < LEVELS - 1 {
            level += 1;
            end *= self.parts.base;
        }
        level
    }
}

impl ClassPlacement for Frequency {
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        let page = self.pages[write.lpn.0 as usize];
        self.known += f64::from(page == (0.0, 0));
        let count = self.faded(page, write.clock) + 1.0;
        self.pages[write.lpn.0 as usize] = (count, write.clock);
        self.total = (self.faded(self.total, write.clock) + 1.0, write.clock);
        Class(self.level(count, write.clock))
    }

    fn copied(&mut self, copy: Copied) -> Class {
        let page = self.pages[copy.lpn.0 as usize];
        let fills = (copy.clock - page.1) as f64 / self.pages.len() as f64;
        let most = self.parts.copy_most.map_or(f64::INFINITY, |means| means * self.mean(copy.clock) / fills);
        let level = self.level(self.faded(page, copy.clock).min(most), copy.clock);
        Class(if level == 1 && self.parts.survivors { LEVELS } else { level })
    }
}
