//! Policies against scans over every segment.

use alloc::format;

use super::*;
use crate::addr::Class;
use crate::segments::SegState;

const SLOTS: u32 = 8;

/// A table of segments that are filled, lose pages and are emptied at random, and a policy that is told of it.
struct Device {
    table: Segments,
    victims: VictimSelector,
    rng: Rng,
    clock: u64,
}

impl Device {
    /// Erase counts are far apart at first.
    fn new(which: VictimPolicy, segments: u32, seed: u64) -> Self {
        let mut device = Self {
            victims: which.build(segments, SLOTS),
            table: Segments::new(segments, SLOTS),
            rng: Rng::new(seed),
            clock: 0,
        };
        device.table.all().for_each(|seg| device.table.set_erases(seg, device.rng.below(40)));
        device
    }

    fn now(&self) -> AgeClock {
        AgeClock { now: self.clock, unit: 1.0 }
    }

    /// Several things may happen at one time.
    fn step(&mut self) {
        self.clock += u64::from(self.rng.below(3));
        let seg = Seg(self.rng.below(self.table.count()));
        match self.table.state(seg) {
            SegState::Free => self.fill(seg),
            SegState::Closed(_) if self.table.valid(seg) == 1 || self.rng.below(40) == 0 => self.empty(seg),
            SegState::Closed(_) => self.lose(seg),
            other => panic!("{other:?}"),
        }
    }

    fn fill(&mut self, seg: Seg) {
        self.table.open(seg, Class(0), self.clock);
        let pages = 1 + self.rng.below(SLOTS);
        (0..pages).for_each(|_| self.table.gain(seg, self.clock));
        self.table.close(seg, self.clock);
        if pages < SLOTS { self.victims.added(seg, &self.table) } else { self.victims.closed_full(seg) }
    }

    fn lose(&mut self, seg: Seg) {
        let valid = self.table.lose(seg, self.clock);
        if valid + 1 == SLOTS {
            self.victims.added(seg, &self.table);
        } else {
            self.victims.invalidated(seg, &self.table);
        }
    }

    fn empty(&mut self, seg: Seg) {
        self.victims.removed(seg, &self.table);
        while self.table.valid(seg) > 0 {
            self.table.lose(seg, self.clock);
        }
        self.table.set_erases(seg, self.table.erases(seg) + 1);
        self.table.release(seg);
    }
}

#[test]
fn whoever_is_overruled_the_fewest_valid_pages_win() {
    for (name, _) in VictimPolicy::LIST {
        let which = VictimPolicy::parse(name).expect("listed");
        for seed in 0..20 {
            let mut device = Device::new(which, 40, seed);
            for step in 0..2000 {
                device.step();
                // Asked only now and then, so that what is found has to be kept up to date.
                if step > 300 && step % 7 == 0 {
                    let (table, clock) = (&device.table, device.now());
                    let found = device.victims.fewest_valid(table, clock, &mut device.rng);
                    assert_eq!(found, table.fewest_valid(), "{name}, seed {seed}, step {step}");
                }
            }
        }
    }
}

/// The policies that have a score.
const SCORED: [&str; 10] = [
    "greedy",
    "cost-benefit:opened",
    "cost-benefit:sealed",
    "cost-benefit:invalidated",
    "cost-benefit-sqrt:opened",
    "cost-benefit-sqrt:sealed",
    "cost-benefit-sqrt:invalidated",
    "cost-benefit-settled",
    "lfs",
    "cat",
];

/// The best candidate that is wanted, found by looking at all.
fn scan(device: &Device, clock: AgeClock, wanted: impl Fn(Seg) -> bool) -> Option<Seg> {
    let table = &device.table;
    let score = |seg: &Seg| device.victims.score(*seg, table, clock);
    let candidates = table.all().filter(|&seg| table.is_candidate(seg) && wanted(seg));
    candidates.max_by(|a, b| {
        let by_score = score(a).total_cmp(&score(b));
        by_score.then((table.erases(*b), b.0).cmp(&(table.erases(*a), a.0)))
    })
}

/// Compares all choices of a policy with scans. In seconds many ages are too short to tell them apart.
fn check_choices(name: &str, mut device: Device, steps: u32, unit: f64) {
    for step in 0..steps {
        device.step();
        let clock = AgeClock { unit, ..device.now() };
        let expected = scan(&device, clock, |_| true);
        let found = device.victims.best(&device.table, clock, &mut device.rng);
        assert_eq!(found, expected, "{name}, step {step}");
        if step % 5 == 0 {
            let remainder = step % 3;
            let wanted = |seg: Seg| seg.0 % 3 == remainder;
            let expected = scan(&device, clock, wanted);
            assert_eq!(device.victims.best_among(&device.table, clock, &wanted), expected, "{name}, step {step}");
        }
    }
}

#[test]
fn the_best_victim_is_the_one_that_a_scan_finds() {
    for name in SCORED {
        for seed in 0..20 {
            let which = VictimPolicy::parse(name).expect("listed");
            let unit = if seed % 4 == 3 { 0.01 } else { 1.0 };
            check_choices(&format!("{name}, seed {seed}"), Device::new(which, 40, seed), 2000, unit);
            if seed < 3 {
                check_choices(&format!("{name} of many, seed {seed}"), Device::new(which, 600, seed), 4000, unit);
            }
        }
    }
}
