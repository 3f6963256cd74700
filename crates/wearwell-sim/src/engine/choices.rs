//! Choices by name, apart from the policies.

use std::fmt;

/// Makes an enum of choices by name, with a line about each.
macro_rules! choices {
    ($(#[$about:meta])* $type:ident { $($variant:ident = $name:literal, $line:literal;)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $type { $(#[doc = $line] $variant,)* }

        impl $type {
            /// Every choice: its name, and a line about it.
            pub const LIST: &'static [(&'static str, &'static str)] = &[$(($name, $line),)*];

            /// Reads a name.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($name => Some(Self::$variant),)* _ => None }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $name,)* })
            }
        }
    };
}

choices! {
    /// Whether the emulated chip keeps bytes.
    DataMode {
        None = "none", "the chip only counts operations: fastest";
        Stored = "stored", "the chip keeps every byte, and everything read is checked";
    }
}

choices! {
    /// A flash translation layer.
    Engine {
        Page = "page", "page mapping over a log (Kawaguchi '95, Chiang '97)";
        LogBlock = "log-block", "block mapping, a log block for each block being written (Lee '07)";
        PrimaryReplacement = "primary-replacement", "block mapping, primary and replacement blocks (FSAF '09)";
        Fast = "fast", "block mapping, log blocks shared by all (FAST)";
        FastByStream = "fast-by-stream", "as fast, but streams do not share log blocks (after Lim '14)";
        InPlace = "in-place", "update in place, the baseline of Chiang '97";
    }
}

impl Engine {
    /// True if it cleans segments by the policies of when, which and where.
    pub fn chooses_victims(self) -> bool {
        self == Self::Page
    }

    /// True if it can put off the erase of blocks without live pages.
    pub fn reclaims(self) -> bool {
        matches!(self, Self::Page | Self::LogBlock | Self::PrimaryReplacement)
    }

    /// True if it has a number of log blocks to set.
    pub fn has_log_blocks(self) -> bool {
        matches!(self, Self::LogBlock | Self::Fast | Self::FastByStream)
    }
}

choices! {
    /// How records lie on flash.
    Layout {
        Plain = "plain", "data only: what the models and the papers' counts assume";
        Nand = "nand", "tags in the spare bytes, and a summary in each segment";
        NandCheckpoint = "nand-checkpoint", "the same, and what a mount would find out in blocks at the end of the \
            chip";
        Nor = "nor", "headers and flags that are cleared in place, as in the papers";
    }
}

choices! {
    /// Whether dead data is inferred from file systems, and how much is trusted.
    AwareMode {
        Off = "off", "no inference";
        Paper = "paper", "a freed cluster is dead at once (FSAF '09): loses data under hosts that keep writes back";
        OrderedHost = "ordered-host", "dead two flushes later, for hosts that write in order";
        Strict = "strict", "dead after a whole epoch of the hold time without a sign of life, for any host";
    }
}

choices! {
    /// Where the streams of writes come from.
    StreamSource {
        Host = "host", "the workload's own, if it has any";
        Inferred = "inferred", "from the kind of data, where the workload gives none; needs inference";
    }
}
