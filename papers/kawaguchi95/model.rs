//! A model of Kawaguchi's driver, for choices that the paper leaves open and `wearwell run` has no flag for.
//!
//! It counts in units of 4 KiB, 63 to a segment: his tests write nothing smaller, so that the eight blocks of a unit
//! stay together. Every key has a default, and is given as `key=value`:
//!
//! ```sh
//! rustc -O papers/kawaguchi95/model.rs -o /tmp/model && /tmp/model policy=greedy own=1.8 seeds=5
//! ```
//!
//! | key | default | |
//! | --- | --- | --- |
//! | `fill` | 0.9 | initial data, of 14 MiB |
//! | `own` | 0 | segments' worth of blocks of the file system's own, never written again |
//! | `policy` | cost-benefit | or `greedy` |
//! | `workload` | 640-116 | or `random` |
//! | `eighths` | 1 | units that lie together in one eighth; or `random`, or `contiguous` |
//! | `order` | sequential | of the initial data; or `random` |
//! | `place` | single | `below`, `above`: to the cleaning segment if utilized less, or not less, than the average; `every` |
//! | `average` | used | live data over `used` segments, `written` slots, `physical` or `exported` units; or of `candidates` |
//! | `copies` | at-once | or `paced`: spread evenly over the host's writes |
//! | `aside` | 1 | 0: a bank that erases goes on taking writes |
//! | `keep` | 2 | free segments without which the host opens none |
//! | `floor` | 2 | free segments at which the falling threshold is zero |
//! | `threshold` | the paper's | invalid blocks for greedy, seconds for cost-benefit |
//! | `tick` | 0 | seconds that the clock of the ages advances by |
//! | `seeds` | 1 | runs, of which the mean is printed |

use std::collections::HashMap;

const SEGMENTS: usize = 64;
const BANKS: usize = 8;
const PER_BANK: usize = SEGMENTS / BANKS;
const UNITS: usize = 63;
const BLOCKS_PER_UNIT: u64 = 8;
const EXPORTED_UNITS: f64 = 3584.0;
const WRITES: u64 = 192 * 256;
/// 1,250 µs to write a block, 914 of the host's own (table 4, 30 %); 122 to read one.
const HOST_S: f64 = 8.0 * 2164e-6;
const COPY_S: f64 = 8.0 * 1372e-6;
const ERASE_S: f64 = 1.0;
/// Section 2.8: N, and Th for each policy, in invalid blocks and in seconds.
const N: usize = 12;
const GREEDY_TH: f64 = 455.0;
const COST_BENEFIT_TH: f64 = 30.0 * 86_400.0 / (2.0 * 503.0);

#[derive(Clone, Copy, PartialEq)]
enum State {
    Free,
    Open,
    Closed,
    Victim,
    Erasing,
}

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i + 1));
        }
    }
}

struct Options(HashMap<String, String>);

impl Options {
    fn text<'a>(&'a self, key: &str, default: &'a str) -> &'a str {
        self.0.get(key).map_or(default, String::as_str)
    }

    fn number(&self, key: &str, default: f64) -> f64 {
        self.0.get(key).map_or(default, |v| v.parse().expect("a number"))
    }
}

#[derive(Clone)]
struct Segment {
    /// The unit in each slot written, none where it is no longer valid.
    slots: Vec<Option<usize>>,
    valid: usize,
    state: State,
    /// Seconds, of the last invalidation.
    stamp: f64,
    free_since: u64,
}

#[derive(Clone, Copy)]
struct Job {
    victim: usize,
    cursor: usize,
    /// Open segment that the copies go to: 0 the host's, 1 the cleaning segment.
    stream: usize,
    utilization: f64,
}

struct Driver<'a> {
    options: &'a Options,
    segments: Vec<Segment>,
    place: Vec<Option<(usize, usize)>>,
    open: [Option<usize>; 2],
    /// Open segments set aside, since their bank erases.
    aside: [[Option<usize>; 2]; BANKS],
    active_bank: usize,
    free: usize,
    turn: u64,
    now: f64,
    erasing: Option<(usize, f64)>,
    job: Option<Job>,
    erases: u64,
    copied_units: u64,
}

impl Driver<'_> {
    fn is_busy(&self, bank: usize) -> bool {
        self.erasing.is_some_and(|(s, _)| s / PER_BANK == bank)
    }

    fn free_in(&self, bank: usize) -> usize {
        self.segments[bank * PER_BANK..][..PER_BANK].iter().filter(|s| s.state == State::Free).count()
    }

    fn end_erase(&mut self, wait: bool) {
        let Some((s, end)) = self.erasing else { return };
        if self.now < end && !wait {
            return;
        }
        self.now = self.now.max(end);
        self.erasing = None;
        self.segments[s].state = State::Free;
        self.segments[s].free_since = self.turn;
        self.segments[s].slots.clear();
        self.turn += 1;
        self.free += 1;
    }

    fn begin_erase(&mut self, s: usize) {
        self.end_erase(true);
        self.segments[s].state = State::Erasing;
        self.erasing = Some((s, self.now + ERASE_S));
        self.erases += 1;
        let bank = s / PER_BANK;
        for stream in 0..2 {
            let there = self.open[stream].is_some_and(|o| o / PER_BANK == bank);
            if there && self.aside[bank][stream].is_none() && self.options.number("aside", 1.0) > 0.0 {
                self.aside[bank][stream] = self.open[stream].take();
            }
        }
    }

    /// Opens a segment; one that was set aside first, then one of the active bank, then of the bank with most.
    fn open_segment(&mut self, stream: usize, keep: usize) -> bool {
        for bank in 0..BANKS {
            if !self.is_busy(bank) && self.aside[bank][stream].is_some() {
                self.open[stream] = self.aside[bank][stream].take();
                return true;
            }
        }
        let has_free = |bank: usize| !self.is_busy(bank) && self.free_in(bank) > 0;
        if self.free < keep {
            return false;
        }
        if !has_free(self.active_bank) {
            let banks = (0..BANKS).filter(|&b| has_free(b));
            let Some(most) = banks.max_by_key(|&b| (self.free_in(b), std::cmp::Reverse(b))) else { return false };
            self.active_bank = most;
        }
        let candidates =
            (self.active_bank * PER_BANK..).take(PER_BANK).filter(|&s| self.segments[s].state == State::Free);
        let Some(s) = candidates.min_by_key(|&s| self.segments[s].free_since) else { return false };
        self.segments[s].state = State::Open;
        self.segments[s].stamp = self.now;
        self.open[stream] = Some(s);
        self.free -= 1;
        true
    }

    fn append(&mut self, stream: usize, unit: usize) {
        let s = self.open[stream].expect("reserved");
        if let Some((old, slot)) = self.place[unit] {
            let old = &mut self.segments[old];
            old.slots[slot] = None;
            old.valid -= 1;
            if old.state != State::Victim {
                old.stamp = self.now;
            }
        }
        let segment = &mut self.segments[s];
        self.place[unit] = Some((s, segment.slots.len()));
        segment.slots.push(Some(unit));
        segment.valid += 1;
        if segment.slots.len() == UNITS {
            segment.state = State::Closed;
            self.open[stream] = None;
        }
    }

    fn score(&self, segment: &Segment) -> f64 {
        let invalid = (segment.slots.len() - segment.valid) as f64;
        if self.options.text("policy", "cost-benefit") == "greedy" {
            return invalid * BLOCKS_PER_UNIT as f64;
        }
        let tick = self.options.number("tick", 0.0);
        let read = |t: f64| if tick > 0.0 { (t / tick).floor() * tick } else { t };
        (read(self.now) - read(segment.stamp)) * invalid / (2.0 * segment.valid as f64)
    }

    fn best(&self) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for (s, segment) in self.segments.iter().enumerate() {
            if segment.state == State::Closed && (1..UNITS).contains(&segment.valid) {
                let score = self.score(segment);
                if best.is_none_or(|(top, _)| score > top) {
                    best = Some((score, s));
                }
            }
        }
        best.map(|(_, s)| s)
    }

    fn average(&self) -> f64 {
        let live = self.place.len() as f64;
        let used = self.segments.iter().filter(|s| !matches!(s.state, State::Free | State::Erasing));
        match self.options.text("average", "used") {
            "physical" => live / (SEGMENTS * UNITS) as f64,
            "exported" => live / EXPORTED_UNITS,
            "used" => live / (used.count() * UNITS) as f64,
            "written" => live / used.map(|s| s.slots.len()).sum::<usize>() as f64,
            "candidates" => {
                let of = used.filter(|s| s.state == State::Closed && s.valid < UNITS).map(|s| s.valid);
                of.clone().sum::<usize>() as f64 / (of.count().max(1) * UNITS) as f64
            }
            other => panic!("no average {other}"),
        }
    }

    fn begin(&mut self, victim: usize) {
        let utilization = self.segments[victim].valid as f64 / UNITS as f64;
        let is_apart = match self.options.text("place", "single") {
            "single" => false,
            "every" => true,
            "below" => utilization < self.average(),
            "above" => utilization >= self.average(),
            other => panic!("no place {other}"),
        };
        self.segments[victim].state = State::Victim;
        self.job = Some(Job { victim, cursor: 0, stream: usize::from(is_apart), utilization });
    }

    /// Copies up to `budget` units, and erases the victim behind the last one.
    fn copy(&mut self, budget: usize) {
        let mut left = budget;
        while let Some(job) = self.job {
            let slots = &self.segments[job.victim].slots;
            let Some(slot) = (job.cursor..UNITS).find(|&slot| slots[slot].is_some()) else {
                self.job = None;
                self.begin_erase(job.victim);
                return;
            };
            let unit = slots[slot].expect("found");
            if left == 0 {
                return;
            }
            if self.open[job.stream].is_none() && !self.open_segment(job.stream, 1) {
                if self.erasing.is_some() {
                    self.end_erase(true);
                } else {
                    // No room for this stream: the other one's segment takes the rest.
                    assert!(self.open[1 - job.stream].is_some(), "no room to copy to");
                    self.job = Some(Job { stream: 1 - job.stream, ..job });
                }
                continue;
            }
            self.append(job.stream, unit);
            self.copied_units += 1;
            self.now += COPY_S;
            left -= 1;
            self.job = Some(Job { cursor: slot + 1, ..job });
        }
    }

    /// What the driver and its daemon do between two writes of the host.
    fn clean(&mut self) {
        self.end_erase(false);
        if self.erasing.is_none() && self.job.is_none() && self.free <= N {
            let empty = self.segments.iter().position(|s| s.state == State::Closed && s.valid == 0);
            if let Some(s) = empty {
                self.begin_erase(s);
            } else if let Some(s) = self.best() {
                let greedy = self.options.text("policy", "cost-benefit") == "greedy";
                let th = self.options.number("threshold", if greedy { GREEDY_TH } else { COST_BENEFIT_TH });
                let is_floor = self.free <= self.options.number("floor", 2.0) as usize;
                if is_floor || self.score(&self.segments[s]) > th * self.free as f64 / N as f64 {
                    self.begin(s);
                }
            }
        }
        if let Some(job) = self.job {
            let pace = (job.utilization / (1.0 - job.utilization)) as usize + 1;
            self.copy(if self.options.text("copies", "at-once") == "paced" { pace } else { UNITS });
        }
        if self.free == 0 && self.job.is_some() {
            self.copy(UNITS);
            self.end_erase(self.free == 0);
        }
    }

    fn write(&mut self, unit: usize) {
        self.clean();
        while self.open[0].is_none() && !self.open_segment(0, self.options.number("keep", 2.0) as usize) {
            if self.job.is_some() {
                self.copy(UNITS);
            } else if self.erasing.is_some() {
                self.end_erase(true);
            } else if let Some(s) = self.segments.iter().position(|s| s.state == State::Closed && s.valid == 0) {
                self.begin_erase(s);
            } else {
                let victim = self.best().expect("something to clean");
                self.begin(victim);
            }
        }
        self.append(0, unit);
        self.now += HOST_S;
    }
}

/// The units of each eighth.
fn eighths(options: &Options, units: usize, rng: &mut Rng) -> [Vec<usize>; 8] {
    let mut of: Vec<usize> = match options.text("eighths", "1") {
        "contiguous" => (0..units).map(|i| i * 8 / units).collect(),
        "random" => (0..units).map(|i| i % 8).collect(),
        together => {
            let together: usize = together.parse().expect("a number of units");
            (0..units).map(|i| i / together % 8).collect()
        }
    };
    if options.text("eighths", "1") == "random" {
        rng.shuffle(&mut of);
    }
    std::array::from_fn(|eighth| (0..units).filter(|&i| of[i] == eighth).collect())
}

/// The initial data in the order they are written, the file system's own blocks spread among them.
fn initial_data(options: &Options, units: usize, own: usize, rng: &mut Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..units).collect();
    for i in 0..own {
        order.insert(((i * (units + own)) / own).min(order.len()), units + i);
    }
    if options.text("order", "sequential") == "random" {
        rng.shuffle(&mut order);
    }
    order
}

/// Erases, copied blocks and KiB/s of one run.
fn run(options: &Options, seed: u64) -> [f64; 3] {
    let mut rng = Rng(seed);
    let units = (EXPORTED_UNITS * options.number("fill", 0.9)) as usize;
    let own = (options.number("own", 0.0) * UNITS as f64) as usize;
    let empty = Segment { slots: Vec::new(), valid: 0, state: State::Free, stamp: 0.0, free_since: 0 };
    let mut driver = Driver {
        options,
        segments: vec![empty; SEGMENTS],
        place: vec![None; units + own],
        open: [None; 2],
        aside: [[None; 2]; BANKS],
        active_bank: 0,
        free: SEGMENTS,
        turn: 1,
        now: 0.0,
        erasing: None,
        job: None,
        erases: 0,
        copied_units: 0,
    };
    let eighths = eighths(options, units, &mut rng);
    for unit in initial_data(options, units, own, &mut rng) {
        driver.write(unit);
    }
    let (erases, copied_units, start) = (driver.erases, driver.copied_units, driver.now);
    for _ in 0..WRITES {
        let unit = if options.text("workload", "640-116") == "random" {
            rng.below(units)
        } else {
            let eighth = &eighths[usize::from(rng.below(10) >= 6)];
            eighth[rng.below(eighth.len())]
        };
        driver.write(unit);
    }
    let copied_blocks = (driver.copied_units - copied_units) * BLOCKS_PER_UNIT;
    [(driver.erases - erases) as f64, copied_blocks as f64, WRITES as f64 * 4.0 / (driver.now - start)]
}

fn main() {
    let pairs = std::env::args().skip(1).map(|a| a.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned())));
    let options = Options(pairs.map(|pair| pair.expect("key=value")).collect());
    let seeds = options.number("seeds", 1.0) as u64;
    let mut sum = [0.0; 3];
    for seed in 1..=seeds {
        for (total, figure) in sum.iter_mut().zip(run(&options, seed)) {
            *total += figure / seeds as f64;
        }
    }
    println!("{:.0} erases, {:.0} copied blocks, {:.1} KiB/s", sum[0], sum[1], sum[2]);
}
