//! The disks that are tried.

/// A chip and an engine, small enough that cleaning never stops.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// The chip's profile.
    pub(crate) chip: &'static str,
    /// Flags of `wearwell create`, beside the chip.
    pub(crate) flags: &'static [&'static str],
    /// NOR has no bit errors.
    pub(crate) is_nor: bool,
}

const SLC: &str = include_str!("../chips/slc.toml");
const MLC: &str = include_str!("../chips/mlc.toml");
const NOR: &str = include_str!("../chips/nor.toml");

/// The kinds, used in turn.
pub(crate) const KINDS: &[Kind] = &[
    Kind { name: "page", chip: SLC, flags: &["--logical", "4608KiB"], is_nor: false },
    Kind { name: "log-block", chip: SLC, flags: &["--logical", "4608KiB", "--ftl", "log-block"], is_nor: false },
    Kind { name: "page on NOR", chip: NOR, flags: &["--logical", "4MiB"], is_nor: true },
    Kind {
        name: "primary-replacement",
        chip: SLC,
        flags: &["--logical", "4608KiB", "--ftl", "primary-replacement"],
        is_nor: false,
    },
    Kind {
        name: "page on MLC, hot and cold",
        chip: MLC,
        flags: &["--logical", "4MiB", "--which", "cat", "--where", "hot-cold-readonly", "--wear", "static-threshold:8"],
        is_nor: false,
    },
    Kind { name: "fast", chip: SLC, flags: &["--logical", "4608KiB", "--ftl", "fast"], is_nor: false },
    Kind {
        name: "page on NOR, cost-benefit",
        chip: NOR,
        flags: &["--logical", "3MiB", "--which", "cost-benefit", "--where", "separate-cleaning"],
        is_nor: true,
    },
    Kind { name: "log-block on MLC", chip: MLC, flags: &["--logical", "4MiB", "--ftl", "log-block"], is_nor: false },
];
