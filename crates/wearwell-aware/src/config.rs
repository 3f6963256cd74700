//! The settings of the inference.

/// When a cluster is dead after its table entry became zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// At once, as FSAF '09 was published: the write that zeroes an entry of the first active table kills its cluster.
    /// **It destroys data** under a host that holds writes back, and in a power cut before the table is durable. It is
    /// for experiments.
    Paper,
    /// Two flushes later, for a host whose writes arrive in the order in which its file system made them (firmware that
    /// writes through): HOLD is 0 and an epoch is one flush, whatever the configuration says.
    OrderedHost,
    /// After a whole epoch without a write or a table that shows it in use, for any host that holds no write back for
    /// longer than HOLD.
    #[default]
    Strict,
}

/// The stream of a write without a stream from the host, by the [`Kind`](crate::Kind) of its first sector. 0 gives
/// none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    /// Partition tables, boot sectors, reserved areas.
    pub boot: u16,
    /// Allocation tables.
    pub table: u16,
    /// Directories, where known.
    pub directory: u16,
    /// All else in a FAT volume.
    pub data: u16,
    /// Journals of ext3 and ext4. Other data of these volumes gets no stream.
    pub journal: u16,
}

impl Streams {
    /// Gives no streams.
    pub const NONE: Self = Self { boot: 0, table: 0, directory: 0, data: 0, journal: 0 };

    /// Streams at the upper end of the range, which hosts that number their streams do not reach.
    pub const DEFAULT: Self = Self { boot: 0xFFF0, table: 0xFFF1, directory: 0xFFF2, data: 0xFFF3, journal: 0xFFF4 };
}

/// The settings of an [`Aware`](crate::Aware).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// When clusters are dead.
    pub mode: Mode,
    /// Least duration of an epoch, in microseconds of the time that [`set_time_us`](wearwell::BlockDevice::set_time_us)
    /// sets. It must exceed the time for which the host holds writes back.
    pub hold_us: u64,
    /// Least number of flushes in an epoch; 0 counts as 1.
    pub flushes: u32,
    /// The streams given.
    pub streams: Streams,
}

impl Config {
    /// `strict`, 60 seconds, one flush.
    pub const DEFAULT: Self = Self { mode: Mode::Strict, hold_us: 60_000_000, flushes: 1, streams: Streams::DEFAULT };
}

impl Default for Config {
    fn default() -> Self {
        Self::DEFAULT
    }
}
