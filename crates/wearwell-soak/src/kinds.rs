//! The disks that are tried.

/// A chip and an engine, small enough that cleaning never rests.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// The chip's profile.
    pub(crate) chip: &'static str,
    /// Flags of `wearwell create`, beside the chip.
    pub(crate) flags: &'static [&'static str],
    /// Reads of the chip have bit errors, which a code corrects up to some number.
    pub(crate) has_bit_errors: bool,
}

const SLC: &str = include_str!("../chips/slc.toml");
const MLC: &str = include_str!("../chips/mlc.toml");
const NOR: &str = include_str!("../chips/nor.toml");

/// One after the other gets its turn.
pub(crate) const KINDS: &[Kind] = &[
    Kind { name: "page", chip: SLC, flags: &["--logical", "4608KiB"], has_bit_errors: true },
    Kind { name: "log-block", chip: SLC, flags: &["--logical", "4608KiB", "--ftl", "log-block"], has_bit_errors: true },
    Kind { name: "page on NOR", chip: NOR, flags: &["--logical", "4MiB"], has_bit_errors: false },
    Kind {
        name: "primary-replacement",
        chip: SLC,
        flags: &["--logical", "4608KiB", "--ftl", "primary-replacement"],
        has_bit_errors: true,
    },
    Kind {
        name: "page on MLC, hot and cold",
        chip: MLC,
        flags: &["--logical", "4MiB", "--which", "cat", "--where", "hot-cold-readonly", "--wear", "static-threshold:8"],
        has_bit_errors: true,
    },
    Kind { name: "fast", chip: SLC, flags: &["--logical", "4608KiB", "--ftl", "fast"], has_bit_errors: true },
    Kind {
        name: "page on NOR, cost-benefit",
        chip: NOR,
        flags: &["--logical", "3MiB", "--which", "cost-benefit", "--where", "separate-cleaning"],
        has_bit_errors: false,
    },
    Kind {
        name: "log-block on MLC",
        chip: MLC,
        flags: &["--logical", "4MiB", "--ftl", "log-block"],
        has_bit_errors: true,
    },
];
