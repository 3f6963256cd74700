//! One request of a host, as traces record it and the simulator replays it.

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Read a range.
    Read,
    /// Write a range.
    Write,
    /// Discard a range.
    Discard,
    /// Make everything written before durable. Has no range: offset and length are 0.
    Flush,
    /// Make a range read as zeros, without data being sent; the device may unmap it.
    WriteZeroes,
    /// Recordings only: clean in the background, moving at most as many pages as the length says. Has no offset.
    Clean,
    /// Recordings only: end the open segment of the stream's class, as an update of a reclaim unit handle does. Has no
    /// range.
    EndSegment,
    /// Recordings only, as the first operation: the empty disk was shut down and mounted. Has no range.
    Mount,
}

impl Op {
    /// How many operations there are.
    pub const COUNT: usize = Self::Mount as usize + 1;

    /// True if only recordings have it: it is a call of the engine, and no request of a host.
    pub fn is_call(self) -> bool {
        matches!(self, Self::Clean | Self::EndSegment | Self::Mount)
    }

    /// Its letter in wearwell's own format.
    pub fn letter(self) -> char {
        match self {
            Self::Read => 'R',
            Self::Write => 'W',
            Self::Discard => 'D',
            Self::Flush => 'F',
            Self::WriteZeroes => 'Z',
            Self::Clean => 'C',
            Self::EndSegment => 'E',
            Self::Mount => 'M',
        }
    }

    /// The operation of a letter, in a trace of wearwell's own format that is not a recording.
    #[inline]
    pub fn from_letter(letter: &[u8]) -> Option<Self> {
        match letter {
            b"R" => Some(Self::Read),
            b"W" => Some(Self::Write),
            b"D" => Some(Self::Discard),
            b"F" => Some(Self::Flush),
            b"Z" => Some(Self::WriteZeroes),
            _ => None,
        }
    }
}

/// One request: when it arrived, what it asks for, and of which bytes.
///
/// A request that came out of a trace reader ends at or below `u64::MAX`, and its length is 0 for
/// [`Op::Flush`], [`Op::EndSegment`] and [`Op::Mount`] only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Arrival in microseconds since the first request of the trace; in a recording, what the engine's clock was set
    /// to.
    pub time_us: u64,
    /// What is asked for.
    pub op: Op,
    /// First byte of the range.
    pub offset_bytes: u64,
    /// Length of the range in bytes.
    pub length_bytes: u64,
    /// The stream of a write, 0 if the host gave none.
    pub stream: u16,
}

impl Request {
    /// The first byte after the range; 0 for operations without a range of bytes.
    pub fn end_bytes(&self) -> u64 {
        match self.op {
            Op::Clean => 0,
            _ => self.offset_bytes + self.length_bytes,
        }
    }
}
