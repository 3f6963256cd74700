//! Policies against scans over every segment.

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
    fn new(which: VictimPolicy, seed: u64) -> Self {
        let table = Segments::new(40, SLOTS);
        Self { victims: which.build(40, SLOTS), table, rng: Rng::new(seed), clock: 0 }
    }

    fn now(&self) -> AgeClock {
        AgeClock { now: self.clock, unit: 1.0 }
    }

    fn step(&mut self) {
        self.clock += 1;
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
            let mut device = Device::new(which, seed);
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

#[test]
fn the_best_victim_is_the_one_that_a_scan_finds() {
    let scored = ["greedy", "cost-benefit", "cost-benefit-sqrt", "cost-benefit-settled", "lfs", "cat"];
    let ages = ["cost-benefit:opened", "cost-benefit:sealed", "cost-benefit-sqrt:opened", "cost-benefit-sqrt:sealed"];
    for name in scored.into_iter().chain(ages) {
        for seed in 0..20 {
            let mut device = Device::new(VictimPolicy::parse(name).expect("listed"), seed);
            for step in 0..2000 {
                device.step();
                let (table, clock) = (&device.table, device.now());
                let found = device.victims.best(table, clock, &mut device.rng);
                let score = |seg: &Seg| device.victims.score(*seg, table, clock);
                let candidates = table.all().filter(|&s| table.is_candidate(s));
                let best = candidates.max_by(|a, b| {
                    let by_score = score(a).total_cmp(&score(b));
                    by_score.then((table.erases(*b), b.0).cmp(&(table.erases(*a), a.0)))
                });
                assert_eq!(found, best, "{name}, seed {seed}, step {step}");
            }
        }
    }
}
