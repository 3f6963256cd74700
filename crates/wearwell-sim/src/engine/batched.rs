//! Placements that answer for many pages at a time, for languages in which a call costs more than a page.
//!
//! The host announces the pages that it will write next. The policy answers for all of them at once, and its answers
//! wait here until the engine asks. The pages of a victim are treated alike, when it is chosen.
//!
//! Invariant: of what comes later, a policy sees only the rows of its batch. In particular the last write of a page
//! that is copied is one that the host has done, not one that it has announced.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wearwell::place::{ClassPlacement, Copied, Emptying, HostWrite};
use wearwell::{Class, Limits, Lpn};

/// A placement that is asked for many pages at a time.
pub trait BatchPlacement: Debug + Send {
    /// Called once, before anything is written.
    fn start(&mut self, device: &Limits) {
        let _ = device;
    }

    /// Host pages that it wants to be asked for at a time. Batches may be shorter, and longer by the rest of a request.
    fn batch_pages(&self) -> usize;

    /// The classes of pages that the host writes, in the order of its writes.
    fn host(&mut self, rows: &[HostRow], classes: &mut [Class]);

    /// The classes of the pages of a victim. Those that are rewritten before they are moved are not moved.
    fn copied(&mut self, victim: &Victim, rows: &[CopyRow], classes: &mut [Class]);
}

/// A page that the host will write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRow {
    /// The page.
    pub lpn: Lpn,
    /// The stream of its request.
    pub stream: u16,
    /// Host pages written before it.
    pub clock: u64,
    /// The clock of the page's last write, rows before this one included; none if it holds nothing.
    pub last_write: Option<u64>,
    /// The class that the policy last gave to the page, as it is when the batch is made; none if it holds nothing.
    pub old_class: Option<Class>,
}

/// A page that will be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyRow {
    /// The page.
    pub lpn: Lpn,
    /// The clock of its last write; none if it was there before the run.
    pub last_write: Option<u64>,
}

/// A segment that is emptied, as it is when it is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Victim {
    /// Its number.
    pub segment: u32,
    /// Its class.
    pub class: Class,
    /// Host pages written so far.
    pub clock: u64,
    /// Its valid fraction.
    pub utilization: f64,
    /// Live pages of the device over the pages of all good segments.
    pub device_utilization: f64,
}

/// The clock of a page that was never written.
const NEVER: u64 = u64::MAX;

/// What is known of a page.
#[derive(Debug, Clone, Copy)]
struct Page {
    /// The clock of the last write that was announced.
    announced: u64,
    /// The clock of the last write that has begun.
    written: u64,
    /// The class for that write.
    wanted: Class,
    /// The class of the copy on flash.
    class: Option<Class>,
}

impl Page {
    const EMPTY: Self = Self { announced: NEVER, written: NEVER, wanted: Class(0), class: None };
}

/// Classes by page, in the order in which they will be asked for.
#[derive(Debug, Default)]
struct Answers {
    pages: Vec<Lpn>,
    classes: Vec<Class>,
    next: usize,
}

#[derive(Debug)]
struct State {
    policy: Box<dyn BatchPlacement>,
    /// A row for each of the host's pages.
    pages: Vec<Page>,
    /// Page writes announced, and begun.
    announced: u64,
    begun: u64,
    host: Answers,
    copies: Answers,
    host_rows: Vec<HostRow>,
    copy_rows: Vec<CopyRow>,
}

/// The two sides of a batched placement: the host announces to it, and the engine asks it.
#[derive(Debug, Clone)]
pub(crate) struct Batched(Arc<Mutex<State>>);

impl Batched {
    pub(super) fn new(policy: Box<dyn BatchPlacement>) -> Self {
        let state = State {
            policy,
            pages: Vec::new(),
            announced: 0,
            begun: 0,
            host: Answers::default(),
            copies: Answers::default(),
            host_rows: Vec::new(),
            copy_rows: Vec::new(),
        };
        Self(Arc::new(Mutex::new(state)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns the shape of the device.
    pub(crate) fn start(&self, device: &Limits) {
        let mut state = self.lock();
        state.pages = vec![Page::EMPTY; device.logical_pages as usize];
        state.policy.start(device);
    }

    /// Host pages that are wanted at a time.
    pub(crate) fn batch_pages(&self) -> usize {
        self.lock().policy.batch_pages()
    }

    /// True if every announced page has been written.
    pub(crate) fn is_used_up(&self) -> bool {
        let state = self.lock();
        state.host.next == state.host.pages.len()
    }

    /// Announces the next page writes, with their streams.
    pub(crate) fn announce(&self, writes: impl Iterator<Item = (u64, u16)>) {
        self.lock().announce(writes);
    }

    /// The host writes pages now. They must be those that it announced, if it announced any.
    pub(crate) fn begin(&self, pages: Range<u64>, stream: u16) {
        let mut state = self.lock();
        // Nothing more is announced, so this request is a batch of its own.
        if state.host.next == state.host.pages.len() {
            state.announce(pages.clone().map(|page| (page, stream)));
        }
        for page in pages {
            let at = state.host.next;
            assert!(u64::from(state.host.pages[at].0) == page, "a host writes what it has announced");
            let (clock, class) = (state.begun, state.host.classes[at]);
            let known = &mut state.pages[page as usize];
            (known.written, known.wanted) = (clock, class);
            state.host.next += 1;
            state.begun += 1;
        }
    }
}

impl State {
    fn announce(&mut self, writes: impl Iterator<Item = (u64, u16)>) {
        self.host_rows.clear();
        for (page, stream) in writes {
            let known = &mut self.pages[page as usize];
            let last_write = (known.announced != NEVER).then_some(known.announced);
            // At once, because a page may come twice in a batch. The second row names the first as the last write.
            known.announced = self.announced;
            let (lpn, old_class) = (Lpn(page as u32), known.class);
            self.host_rows.push(HostRow { lpn, stream, clock: self.announced, last_write, old_class });
            self.announced += 1;
        }
        let rows = &self.host_rows;
        self.host.begin(rows.iter().map(|row| row.lpn));
        if !rows.is_empty() {
            self.policy.host(rows, &mut self.host.classes);
        }
    }

    fn copies(&mut self, victim: &Victim, pages: &[Lpn]) {
        let Self { pages: known, copy_rows, copies, policy, .. } = self;
        let row = |&lpn: &Lpn| {
            // Behind the host's pages are the engine's own, which are no concern of a policy's.
            let known = known.get(lpn.0 as usize)?;
            Some(CopyRow { lpn, last_write: (known.written != NEVER).then_some(known.written) })
        };
        copy_rows.clear();
        copy_rows.extend(pages.iter().filter_map(row));
        copies.begin(copy_rows.iter().map(|row| row.lpn));
        if !copy_rows.is_empty() {
            policy.copied(&Victim { clock: self.begun, ..*victim }, copy_rows, &mut copies.classes);
        }
    }
}

impl Answers {
    /// Begins with these pages, all in class 0 until the policy has answered.
    fn begin(&mut self, pages: impl Iterator<Item = Lpn>) {
        self.pages.clear();
        self.pages.extend(pages);
        self.classes.clear();
        self.classes.resize(self.pages.len(), Class(0));
        self.next = 0;
    }

    /// The answer for a page, if there is one. Those before it are not needed any more.
    fn take(&mut self, lpn: Lpn) -> Option<Class> {
        let found = self.next + self.pages[self.next..].iter().position(|&page| page == lpn)?;
        self.next = found + 1;
        Some(self.classes[found])
    }
}

impl ClassPlacement for Batched {
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        let known = &mut self.lock().pages[write.lpn.0 as usize];
        // Not when the write begins: it may wait in the engine's buffer, with the old copy on flash.
        known.class = Some(known.wanted);
        known.wanted
    }

    fn copied(&mut self, copy: Copied) -> Class {
        let Copied { lpn, clock, victim, from, victim_utilization, device_utilization } = copy;
        let mut state = self.lock();
        // A page of the engine's own, which the policy is not asked about.
        if lpn.0 as usize >= state.pages.len() {
            return Class(0);
        }
        let class = state.copies.take(lpn).unwrap_or_else(|| {
            // A page that was not announced, as if the victim had only this one.
            let utilization = victim_utilization;
            let victim = Victim { segment: victim.0, class: from, clock, utilization, device_utilization };
            state.copies(&victim, &[lpn]);
            state.copies.take(lpn).unwrap_or_default()
        });
        state.pages[lpn.0 as usize].class = Some(class);
        class
    }

    fn wants_victims(&self) -> bool {
        true
    }

    fn emptying(&mut self, emptied: Emptying<'_>) {
        let Emptying { victim, from, clock, victim_utilization, device_utilization, pages } = emptied;
        let utilization = victim_utilization;
        let victim = Victim { segment: victim.0, class: from, clock, utilization, device_utilization };
        self.lock().copies(&victim, pages);
    }

    fn discarded(&mut self, lpn: Lpn) {
        let known = &mut self.lock().pages[lpn.0 as usize];
        // A write that is announced is still to come.
        if known.announced == known.written {
            known.announced = NEVER;
        }
        (known.written, known.class) = (NEVER, None);
    }

    fn table_bytes(&self) -> u64 {
        (self.lock().pages.len() * size_of::<Page>()) as u64
    }
}
