//! Modes: kinds of devices, and their faults.

/// How harsh the chip is where the contract leaves a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Temper {
    /// A cut erase may leave each page in another state.
    pub mixed_erases: bool,
    /// It may also leave most pages as they were, or most of them erased.
    pub uneven_erases: bool,
    /// Pages that share cells with one whose program was cut may fade.
    pub fading_pairs: bool,
}

/// How often pages decay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decay {
    /// One in so many commands lets a page decay; none if it is 0.
    pub every_commands: u32,
    /// Percent of mounts before which a page decays.
    pub mount_percent: u32,
}

impl Decay {
    /// Never.
    pub const NEVER: Self = Self { every_commands: 0, mount_percent: 0 };
    /// Seldom enough that each one matters: what it explains is little.
    pub const SELDOM: Self = Self { every_commands: 2000, mount_percent: 2 };
    /// Often enough that several meet.
    pub const OFTEN: Self = Self { every_commands: 50, mount_percent: 20 };
}

/// The kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Page mapping over NAND.
    Page,
    /// Page mapping over NOR.
    NorPage,
    /// Block mapping of this scheme.
    Block(&'static str),
    /// Inference of dead data, in front of page mapping.
    Aware,
    /// Page mapping over NAND with the map on flash.
    Paged,
}

/// The names of victim policies and placements to draw from.
#[derive(Debug, Clone, Copy)]
pub struct Choices {
    /// Victim policies.
    pub which: &'static [&'static str],
    /// Placements.
    pub place: &'static [&'static str],
    /// Both, of the engine with its map on flash.
    pub paged: &'static [&'static str],
}

/// Victim policy and placement of the engine with its map on flash. If nobody chooses, it has the first.
pub(crate) const PAGED: &[&str] = &[
    "cost-benefit,separate-gc",
    "greedy,separate-gc",
    "lfs,separate-gc",
    "cost-benefit,by-handle",
    "greedy,by-handle",
    "cat,by-handle",
];

/// Those that were there first: seeds of older modes keep their devices.
pub(crate) const FIRST: &Choices = &Choices {
    which: &[
        "greedy",
        "greedy-first",
        "cost-benefit",
        "lfs",
        "cat",
        "fifo",
        "random",
        "d-choices:3",
        "windowed-greedy:4",
    ],
    place: &[
        "single",
        "single",
        "separate-gc",
        "separate-cleaning",
        "hot-cold-readonly",
        "by-stream",
        "by-stream-shared",
    ],
    paged: &[PAGED[0]],
};

/// Those that came later: they learn, choose victims themselves, or have many classes.
pub(crate) const LATER: &Choices = &Choices {
    which: &[
        "greedy",
        "cost-benefit:opened",
        "cost-benefit:sealed",
        "cost-benefit-sqrt:sealed",
        "cost-benefit-settled",
        "lfs",
        "cat",
    ],
    place: &[
        "dac:6",
        "sepbit",
        "midas",
        "dogi",
        "fadac:6",
        "warcip:6",
        "sfs:6",
        "multilog:6",
        "frequency:7",
        "frequency:2",
        "by-handle",
        "by-handle-shared",
        "by-handle-apart:3",
    ],
    paged: PAGED,
};

/// A mode.
#[derive(Debug, Clone, Copy)]
pub struct Mode {
    /// Its name on the command line.
    pub name: &'static str,
    /// One of these is drawn for each seed.
    pub targets: &'static [Target],
    /// The policies that are drawn.
    pub choices: &'static Choices,
    /// Percent of devices that are as full as possible.
    pub full_percent: u32,
    /// True if stripes always cover all dies.
    pub striped: bool,
    /// Percent of cycles that end in a power cut.
    pub cut_percent: u32,
    /// Most programs and erases that fail in a cycle.
    pub failures: u32,
    /// Percent of mounts in which a program or an erase fails.
    pub mount_failures_percent: u32,
    /// Bad-block marks fail as well.
    pub failing_marks: bool,
    /// Somebody else marks blocks bad while the device is off.
    pub marks_empty: bool,
    /// How often pages decay.
    pub decay: Decay,
    /// Reads ask for their page to be moved.
    pub refreshes: bool,
    /// The driver returns errors of its own.
    pub other_errors: bool,
    /// Percent of commands that are additional discards or flushes.
    pub discard_percent: u32,
    /// The chip's behaviour where the contract leaves a choice.
    pub temper: Temper,
    /// A seed runs so many short histories, each on a tiny chip of its own, in place of one long history. A cut erase
    /// may leave each page of half of them in another state.
    pub short_histories: u32,
    /// Short histories begin on a full device whose pages were written again and again.
    pub worn_in: bool,
    /// A seed is a change of a history that is kept, and nothing else of the mode but its targets counts.
    pub near_kept: bool,
}

/// The mildest chip that keeps the contract.
pub const MILD: Temper = Temper { mixed_erases: false, uneven_erases: false, fading_pairs: false };

const UNEVEN: Temper = Temper { mixed_erases: true, uneven_erases: true, ..MILD };

/// Nothing but cuts, and no name.
pub const PLAIN: Mode = Mode {
    name: "",
    targets: &[Target::Page],
    choices: FIRST,
    full_percent: 30,
    striped: false,
    cut_percent: 90,
    failures: 0,
    mount_failures_percent: 0,
    failing_marks: false,
    marks_empty: false,
    decay: Decay::NEVER,
    refreshes: false,
    other_errors: false,
    discard_percent: 0,
    temper: MILD,
    short_histories: 0,
    worn_in: false,
    near_kept: false,
};

const LOG_BLOCK: &[Target] = &[Target::Block("log-block")];
const PRIMARY: &[Target] = &[Target::Block("primary-replacement")];
const FAST: &[Target] = &[Target::Block("fast")];
const FAST_BY_STREAM: &[Target] = &[Target::Block("fast-by-stream")];
const ALL_BLOCKS: &[Target] = &[
    Target::Block("log-block"),
    Target::Block("primary-replacement"),
    Target::Block("fast"),
    Target::Block("fast-by-stream"),
];
const ALL_NAND: &[Target] = &[
    Target::Page,
    Target::Page,
    Target::Aware,
    Target::Block("log-block"),
    Target::Block("primary-replacement"),
    Target::Block("fast"),
    Target::Block("fast-by-stream"),
];

const SHORT: &[Target] = &[Target::Page, Target::Paged];

const WORN_IN: &[Target] =
    &[Target::Page, Target::Page, Target::Page, Target::Paged, Target::Paged, Target::Aware, Target::NorPage];

const FULL: &[Target] = &[
    Target::Page,
    Target::Page,
    Target::Paged,
    Target::Paged,
    Target::Block("log-block"),
    Target::Block("primary-replacement"),
    Target::Block("fast"),
    Target::Block("fast-by-stream"),
];

const MARKED: &[Target] =
    &[Target::Page, Target::Page, Target::Paged, Target::Paged, Target::Block("log-block"), Target::Block("fast")];

const POLICIES: &[Target] = &[Target::Page, Target::Page, Target::Page, Target::Aware, Target::NorPage];

const ALL: &[Target] = &[
    Target::Page,
    Target::Aware,
    Target::Paged,
    Target::NorPage,
    Target::Block("log-block"),
    Target::Block("primary-replacement"),
    Target::Block("fast"),
    Target::Block("fast-by-stream"),
];

/// All modes, in the order of their turns.
pub const MODES: &[Mode] = &[
    Mode { name: "page", ..PLAIN },
    Mode { name: "log-block", targets: LOG_BLOCK, ..PLAIN },
    Mode { name: "primary-replacement", targets: PRIMARY, ..PLAIN },
    Mode { name: "fast", targets: FAST, ..PLAIN },
    Mode { name: "fast-by-stream", targets: FAST_BY_STREAM, ..PLAIN },
    Mode { name: "nor", targets: &[Target::NorPage], ..PLAIN },
    Mode { name: "aware", targets: &[Target::Aware], ..PLAIN },
    Mode { name: "paged", targets: &[Target::Paged], ..PLAIN },
    Mode { name: "paged-fails", targets: &[Target::Paged], failures: 3, full_percent: 60, ..PLAIN },
    Mode { name: "fails", failures: 3, full_percent: 60, ..PLAIN },
    Mode { name: "nor-fails", targets: &[Target::NorPage], failures: 3, full_percent: 60, ..PLAIN },
    Mode { name: "block-fails", targets: ALL_BLOCKS, failures: 3, ..PLAIN },
    Mode { name: "decay", decay: Decay::OFTEN, failures: 2, ..PLAIN },
    Mode { name: "block-decay", targets: ALL_BLOCKS, decay: Decay::OFTEN, failures: 2, ..PLAIN },
    Mode { name: "refresh", targets: ALL_NAND, refreshes: true, ..PLAIN },
    Mode { name: "marks", targets: ALL_NAND, failing_marks: true, failures: 2, ..PLAIN },
    Mode { name: "multi", targets: ALL_NAND, striped: true, failures: 3, full_percent: 80, ..PLAIN },
    Mode { name: "mixed", targets: ALL_NAND, temper: Temper { mixed_erases: true, ..MILD }, ..PLAIN },
    Mode { name: "other", targets: ALL_NAND, other_errors: true, ..PLAIN },
    Mode { name: "pairs", targets: ALL_NAND, temper: Temper { fading_pairs: true, ..MILD }, ..PLAIN },
    Mode { name: "trim", targets: ALL_NAND, discard_percent: 60, ..PLAIN },
    Mode { name: "rare-cuts", targets: ALL_NAND, cut_percent: 20, failures: 4, ..PLAIN },
    Mode { name: "marked", targets: MARKED, marks_empty: true, cut_percent: 10, ..PLAIN },
    Mode { name: "policies", targets: POLICIES, choices: LATER, failures: 2, full_percent: 60, ..PLAIN },
    Mode { name: "paged-mixed", targets: &[Target::Paged], temper: Temper { mixed_erases: true, ..MILD }, ..PLAIN },
    Mode { name: "paged-decay", targets: &[Target::Paged], decay: Decay::OFTEN, failures: 2, ..PLAIN },
    Mode { name: "mixed-fails", failures: 3, full_percent: 60, temper: Temper { mixed_erases: true, ..MILD }, ..PLAIN },
    Mode { name: "short", targets: SHORT, short_histories: 200, decay: Decay::OFTEN, failures: 1, ..PLAIN },
    Mode { name: "block-short", targets: ALL_BLOCKS, short_histories: 200, failures: 1, ..PLAIN },
    Mode {
        name: "mixed-decay",
        targets: SHORT,
        decay: Decay::OFTEN,
        failures: 2,
        full_percent: 60,
        temper: Temper { mixed_erases: true, ..MILD },
        ..PLAIN
    },
    Mode {
        name: "seldom-decay",
        targets: FULL,
        decay: Decay::SELDOM,
        failures: 1,
        full_percent: 80,
        temper: Temper { mixed_erases: true, fading_pairs: true, ..MILD },
        ..PLAIN
    },
    Mode {
        name: "full-short",
        targets: WORN_IN,
        worn_in: true,
        short_histories: 100,
        decay: Decay::OFTEN,
        failures: 1,
        ..PLAIN
    },
    Mode {
        name: "block-full-short",
        targets: ALL_BLOCKS,
        worn_in: true,
        short_histories: 100,
        decay: Decay::OFTEN,
        failures: 1,
        ..PLAIN
    },
    Mode { name: "mount-fails", targets: ALL, failures: 2, mount_failures_percent: 10, full_percent: 60, ..PLAIN },
    Mode {
        name: "paged-policies",
        targets: &[Target::Paged],
        choices: LATER,
        failures: 2,
        full_percent: 60,
        temper: Temper { mixed_erases: true, ..MILD },
        ..PLAIN
    },
    Mode { name: "uneven", targets: ALL, temper: UNEVEN, ..PLAIN },
    Mode { name: "uneven-short", targets: FULL, short_histories: 200, temper: UNEVEN, ..PLAIN },
];

/// Modes that change histories which are kept ([`near`](crate::near)). They run only if they are named: what they find
/// is more than what fresh devices show, and no test run could hold to it.
pub const NEAR: &[Mode] = &[
    Mode { name: "near-page", targets: &[Target::Page], near_kept: true, ..PLAIN },
    Mode { name: "near-paged", targets: &[Target::Paged], near_kept: true, ..PLAIN },
    Mode { name: "near-block", targets: ALL_BLOCKS, near_kept: true, ..PLAIN },
];

/// Every mode that can be named.
pub fn all() -> impl Iterator<Item = &'static Mode> {
    MODES.iter().chain(NEAR)
}

/// The mode of that name.
pub fn named(name: &str) -> Option<&'static Mode> {
    all().find(|mode| mode.name == name)
}
