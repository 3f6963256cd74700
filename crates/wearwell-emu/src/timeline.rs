//! Simulated time: when each bank and each channel is free, and when the current command is complete.
//!
//! All times are nanoseconds since the chip was powered on for the first time. `now` is the controller's own time:
//! it advances to the end of a read, because the data is needed to go on; programs, copies and erases only occupy
//! their bank. Within a bank operations run in the order in which they are issued, with one exception: a read that
//! arrives while the last operation of its bank is an erase suspends that erase, if the chip can.
//!
//! Transfers use their channel in the order of issue. A transfer that waits for its die does not block the channel for
//! others.

use wearwell_flash::BankAddr;

use crate::profile::{ChipProfile, Times};

/// The simulated time of one chip. Without [`Times`] every operation takes no time and costs one branch.
#[derive(Debug, Clone)]
pub struct Timeline {
    costs: Option<Costs>,
    /// Those of the last number of bytes, since a chip nearly always moves whole pages.
    spans: Spans,
    now_ns: u64,
    completion_ns: u64,
    last_end_ns: u64,
    banks: Vec<Bank>,
    channel_free_ns: Vec<u64>,
}

/// [`Times`] in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Costs {
    read_ns: f64,
    read_ns_per_byte: f64,
    program_ns: f64,
    program_ns_per_byte: f64,
    erase_ns: u64,
    suspend_ns: Option<u64>,
    bus_ns_per_byte: f64,
    copy_back: bool,
}

/// How long it takes to read, to program and to transfer so many bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Spans {
    bytes: u32,
    read_ns: u64,
    program_ns: u64,
    transfer_ns: u64,
}

/// The work of a bank. `erase_start_ns ≤ erase_end_ns ≤ free_ns`; the bank can suspend an erase while
/// `now < erase_end_ns == free_ns`, that is while nothing is queued behind it.
#[derive(Debug, Clone, Copy, Default)]
struct Bank {
    free_ns: u64,
    erase_start_ns: u64,
    erase_end_ns: u64,
}

/// Nanoseconds as a whole number. The cast saturates, also for a sum that is out of range.
fn whole_ns(ns: f64) -> u64 {
    (ns + 0.5) as u64
}

impl Costs {
    fn new(t: &Times, copy_back: bool) -> Self {
        Self {
            read_ns: t.read_us * 1e3,
            read_ns_per_byte: t.read_us_per_byte * 1e3,
            program_ns: t.program_us * 1e3,
            program_ns_per_byte: t.program_us_per_byte * 1e3,
            erase_ns: whole_ns(t.erase_us * 1e3),
            suspend_ns: t.suspend_us.map(|us| whole_ns(us * 1e3)),
            bus_ns_per_byte: t.bus_bytes_per_us.map_or(0.0, |rate| 1e3 / rate),
            copy_back,
        }
    }

    fn spans(&self, bytes: u32) -> Spans {
        Spans {
            bytes,
            read_ns: whole_ns(self.read_ns + self.read_ns_per_byte * f64::from(bytes)),
            program_ns: whole_ns(self.program_ns + self.program_ns_per_byte * f64::from(bytes)),
            transfer_ns: whole_ns(self.bus_ns_per_byte * f64::from(bytes)),
        }
    }
}

impl Timeline {
    /// A timeline for the banks and channels of `profile`, at time 0.
    pub fn new(profile: &ChipProfile) -> Self {
        let costs = profile.times.as_ref().map(|t| Costs::new(t, profile.copy_back));
        Self {
            spans: costs.map_or(Spans::default(), |costs| costs.spans(0)),
            costs,
            now_ns: 0,
            completion_ns: 0,
            last_end_ns: 0,
            banks: vec![Bank::default(); profile.banks as usize],
            channel_free_ns: vec![0; profile.channels as usize],
        }
    }

    /// True if operations take time.
    pub fn has_times(&self) -> bool {
        self.costs.is_some()
    }

    /// The controller's time.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Advances the controller's time to `ns`, if that is later than now.
    pub fn advance_to(&mut self, ns: u64) {
        self.now_ns = self.now_ns.max(ns);
    }

    /// Starts a host command that arrives at `arrival_ns`. The controller starts it then, or now if now is later.
    pub fn begin_command(&mut self, arrival_ns: u64) {
        self.advance_to(arrival_ns);
        // A command without operations is complete at once.
        self.completion_ns = self.now_ns;
    }

    /// When the current command is complete: the end of the last read, program or copy since
    /// [`begin_command`](Self::begin_command), and not before now. Erases are not waited for.
    pub fn completion_ns(&self) -> u64 {
        self.completion_ns.max(self.now_ns)
    }

    /// When every operation issued so far has ended, erases included.
    pub fn idle_ns(&self) -> u64 {
        self.last_end_ns.max(self.now_ns)
    }

    /// When the bank has finished everything that was issued to it.
    #[cfg(test)]
    fn bank_free_ns(&self, bank: BankAddr) -> u64 {
        self.banks[bank.0 as usize].free_ns
    }

    /// True while an erase of the bank is waiting or running.
    pub fn is_erasing(&self, bank: BankAddr) -> bool {
        self.now_ns < self.banks[bank.0 as usize].erase_end_ns
    }

    /// Lets time pass until the bank has no erase left.
    pub fn wait_erase(&mut self, bank: BankAddr) {
        self.advance_to(self.banks[bank.0 as usize].erase_end_ns);
    }

    /// Forgets all that is in progress: power is gone. The time stays.
    pub fn power_off(&mut self) {
        let now = self.now_ns;
        self.banks.fill(Bank { free_ns: now, erase_start_ns: now, erase_end_ns: now });
        self.channel_free_ns.fill(now);
        self.completion_ns = now;
        self.last_end_ns = now;
    }

    /// The times of an operation on so many bytes, if operations take any.
    #[inline]
    fn spans(&mut self, bytes: u32) -> Option<Spans> {
        let costs = self.costs.as_ref()?;
        if self.spans.bytes != bytes {
            self.spans = costs.spans(bytes);
        }
        Some(self.spans)
    }

    /// A read of `bytes` from the bank; now advances to its end.
    #[inline]
    pub fn read(&mut self, bank: BankAddr, bytes: u32) {
        if let Some(spans) = self.spans(bytes) {
            self.now_ns = self.read_timed(spans, bank);
            self.ends(self.now_ns);
        }
    }

    /// A program of `bytes`: over the channel once bank and channel are free, then into the array.
    #[inline]
    pub fn program(&mut self, bank: BankAddr, bytes: u32) {
        if let Some(spans) = self.spans(bytes) {
            let ready = self.now_ns.max(self.banks[bank.0 as usize].free_ns);
            let loaded = self.transfer(spans, bank, ready);
            self.occupy(bank, loaded.saturating_add(spans.program_ns));
        }
    }

    /// A copy of `bytes`: inside the die where the chip can, else a read, two transfers and a program. The
    /// controller does not wait for it.
    #[inline]
    pub fn copy(&mut self, from: BankAddr, to: BankAddr, bytes: u32) {
        if let Some(spans) = self.spans(bytes) {
            self.copy_timed(spans, from, to);
        }
    }

    /// An erase of a block of the bank, once the bank is free.
    #[inline]
    pub fn erase(&mut self, bank: BankAddr) {
        if let Some(costs) = &self.costs {
            let now = self.now_ns;
            let b = &mut self.banks[bank.0 as usize];
            let start = b.free_ns.max(now);
            // An erase right behind another one extends it, so that a read can suspend whichever is running.
            if b.erase_end_ns != start || b.erase_end_ns <= now {
                b.erase_start_ns = start;
            }
            b.erase_end_ns = start.saturating_add(costs.erase_ns);
            b.free_ns = b.erase_end_ns;
            // The command does not wait for the erase, so it is not a part of `completion_ns`.
            self.last_end_ns = self.last_end_ns.max(b.free_ns);
        }
    }

    #[inline]
    fn copy_timed(&mut self, spans: Spans, from: BankAddr, to: BankAddr) {
        let stays = self.costs.as_ref().is_some_and(|costs| costs.copy_back) && from == to;
        if stays {
            let start = self.now_ns.max(self.banks[to.0 as usize].free_ns);
            // The page stays in the register of its die, so the channel stays free.
            self.occupy(to, start.saturating_add(spans.read_ns + spans.program_ns));
            return;
        }
        // `now` stays as it is, because the controller does not wait for a copy.
        let read = self.read_timed(spans, from);
        let ready = read.max(self.banks[to.0 as usize].free_ns);
        let loaded = self.transfer(spans, to, ready);
        self.occupy(to, loaded.saturating_add(spans.program_ns));
    }

    /// Reads into the register and over the channel; returns the end.
    fn read_timed(&mut self, spans: Spans, bank: BankAddr) -> u64 {
        let now = self.now_ns;
        let b = self.banks[bank.0 as usize];
        // An erase with an operation behind it is not suspended: the read would overtake that operation.
        let suspends = now < b.erase_end_ns && b.erase_end_ns == b.free_ns;
        let suspend_ns = if suspends { self.costs.as_ref().and_then(|costs| costs.suspend_ns) } else { None };
        let Some(suspend_ns) = suspend_ns else {
            let end = self.transfer(spans, bank, now.max(b.free_ns).saturating_add(spans.read_ns));
            // The page stays in the die's register until it has left over the channel.
            self.banks[bank.0 as usize].free_ns = end;
            return end;
        };
        // A running erase stops for the read; one that waits for its turn lets the read go first.
        let running = b.erase_start_ns <= now;
        let (from, start) =
            if running { (now, now.saturating_add(suspend_ns)) } else { (b.erase_start_ns, b.erase_start_ns) };
        let end = self.transfer(spans, bank, start.saturating_add(spans.read_ns));
        // What is left of the erase runs behind the read.
        let delay = end - from;
        let b = &mut self.banks[bank.0 as usize];
        if !running {
            b.erase_start_ns = b.erase_start_ns.saturating_add(delay);
        }
        b.erase_end_ns = b.erase_end_ns.saturating_add(delay);
        b.free_ns = b.erase_end_ns;
        self.last_end_ns = self.last_end_ns.max(b.free_ns);
        end
    }

    /// Moves the bytes over the bank's channel, not before `ready_ns`; returns the end.
    #[inline]
    fn transfer(&mut self, spans: Spans, bank: BankAddr, ready_ns: u64) -> u64 {
        // Dividing takes longer than all the rest.
        let channels = self.channel_free_ns.len() as u32;
        let channel = if bank.0 < channels { bank.0 } else { bank.0 % channels };
        let free_ns = &mut self.channel_free_ns[channel as usize];
        let end = ready_ns.max(*free_ns).saturating_add(spans.transfer_ns);
        // The channel is charged as if the transfer began at once: while it waits for its die, others may go first.
        *free_ns = self.now_ns.max(*free_ns).saturating_add(spans.transfer_ns);
        end
    }

    fn occupy(&mut self, bank: BankAddr, until_ns: u64) {
        self.banks[bank.0 as usize].free_ns = until_ns;
        self.ends(until_ns);
    }

    fn ends(&mut self, ns: u64) {
        self.completion_ns = self.completion_ns.max(ns);
        self.last_end_ns = self.last_end_ns.max(ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: BankAddr = BankAddr(0);
    const B: BankAddr = BankAddr(1);

    /// Two dies on one channel: read 10 µs, program 100 µs, erase 1,000 µs, suspend 5 µs, a page of 1,000 bytes takes
    /// 20 µs on the bus.
    fn two_dies(copy_back: bool) -> Timeline {
        let mut p = ChipProfile::from_geometry_str("geometry:512:8:16:2").expect("valid");
        p.copy_back = copy_back;
        p.times = Some(Times {
            read_us: 10.0,
            read_us_per_byte: 0.0,
            program_us: 100.0,
            program_us_per_byte: 0.0,
            erase_us: 1000.0,
            suspend_us: Some(5.0),
            bus_bytes_per_us: Some(50.0),
        });
        Timeline::new(&p)
    }

    #[test]
    fn two_dies_program_side_by_side_and_share_the_bus() {
        let mut t = two_dies(true);
        t.begin_command(7_000);
        t.program(A, 1000); // bus 7-27, array 27-127
        t.program(B, 1000); // bus 27-47, array 47-147
        assert_eq!((t.now_ns(), t.bank_free_ns(A), t.bank_free_ns(B)), (7_000, 127_000, 147_000));
        t.program(A, 1000); // the die is busy until 127: bus 127-147, array 147-247
        assert_eq!((t.bank_free_ns(A), t.completion_ns()), (247_000, 247_000));
        t.read(B, 1000); // array 147-157, bus 157-177: the transfer waiting for die A did not hold the bus
        assert_eq!((t.now_ns(), t.completion_ns()), (177_000, 247_000));
    }

    #[test]
    fn a_read_suspends_a_running_erase() {
        let mut t = two_dies(true);
        t.erase(A); // 0-1000
        assert_eq!(t.completion_ns(), 0, "an erase is not waited for");
        t.advance_to(100_000);
        t.read(A, 1000); // suspended 100-105, array 105-115, bus 115-135; the erase goes on for 900
        assert_eq!((t.now_ns(), t.bank_free_ns(A)), (135_000, 1_035_000));
        assert!(t.is_erasing(A) && !t.is_erasing(B));
        t.wait_erase(A);
        assert_eq!((t.now_ns(), t.is_erasing(A)), (1_035_000, false));
    }

    #[test]
    fn a_read_goes_before_an_erase_that_waits_and_behind_a_program_that_waits_for_one() {
        let mut t = two_dies(true);
        t.program(A, 1000); // bus 0-20, array 20-120
        t.erase(A); // 120-1120
        t.read(A, 1000); // array 120-130, bus 130-150; the erase becomes 150-1150
        assert_eq!((t.now_ns(), t.bank_free_ns(A)), (150_000, 1_150_000));
        t.program(A, 1000); // bus 1150-1170, array 1170-1270
        t.read(A, 1000); // array 1270-1280, bus 1280-1300
        assert_eq!(t.now_ns(), 1_300_000);
    }

    #[test]
    fn two_erases_in_a_row_can_be_suspended_from_the_first_on() {
        let mut t = two_dies(true);
        t.erase(A);
        t.erase(A); // together 0-2000
        t.advance_to(1_000);
        t.read(A, 1000); // 1 + 5 + 10 + 20
        assert_eq!((t.now_ns(), t.bank_free_ns(A)), (36_000, 2_035_000));
    }

    #[test]
    fn copies_stay_in_the_die_only_where_the_chip_can() {
        let mut t = two_dies(true);
        t.copy(A, A, 1000); // array 0-10, array 10-110
        assert_eq!((t.now_ns(), t.bank_free_ns(A), t.completion_ns()), (0, 110_000, 110_000));
        let mut t = two_dies(false);
        t.copy(A, A, 1000); // array 0-10, bus 10-30, bus 30-50, array 50-150
        assert_eq!(t.bank_free_ns(A), 150_000);
        let mut t = two_dies(true);
        t.copy(A, B, 1000);
        assert_eq!((t.bank_free_ns(A), t.bank_free_ns(B)), (30_000, 150_000));
    }

    #[test]
    fn without_suspend_a_read_waits_for_the_erase() {
        let mut p = ChipProfile::by_name("lim-slc-1gb").expect("known");
        p.times.as_mut().expect("times").bus_bytes_per_us = None;
        let mut t = Timeline::new(&p);
        t.erase(A);
        t.read(A, 2048);
        assert_eq!(t.now_ns(), 2_025_000);
    }

    #[test]
    fn kawaguchis_bank_writes_400_kib_in_a_second() {
        let mut t = Timeline::new(&ChipProfile::by_name("kawaguchi-28f008sa").expect("known"));
        for _ in 0..800 {
            t.program(A, 512);
        }
        assert_eq!(t.completion_ns(), 1_000_000_000);
    }

    #[test]
    fn without_times_nothing_takes_any() {
        let mut t = Timeline::new(&ChipProfile::resolve("geometry:512:8:16:2").expect("valid"));
        t.program(A, 512);
        t.erase(B);
        t.copy(A, B, 512);
        t.read(B, 512);
        assert_eq!((t.now_ns(), t.idle_ns(), t.is_erasing(B)), (0, 0, false));
    }
}
