//! One request of a host, as traces record it and the simulator replays it.

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Read a range.
    Read,
    /// Write a range.
    Write,
    /// The host no longer needs what a range holds.
    Discard,
    /// Everything written before must survive a power cut from here on. Has no range: offset and length are 0.
    Flush,
    /// Make a range read as zeros, without data being sent; the device may unmap it.
    WriteZeroes,
    /// Recordings only: clean in the background, moving at most as many pages as the length says. Has no offset.
    Clean,
    /// Recordings only: the open segment of the stream's class ends, as a host asks for by a reclaim unit handle's update.
    /// Has no range.
    EndSegment,
    /// Recordings only, and there the first: the empty disk was shut down and mounted. Has no range.
    Mount,
}

impl Op {
    /// How wearwell's own format writes it.
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

    /// What wearwell's own format may write in a trace that is no recording.
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
    /// The stream the host gave a write, 0 where it gave none.
    pub stream: u16,
}

impl Request {
    /// The first byte after the range; 0 if it is none of bytes.
    pub fn end_bytes(&self) -> u64 {
        match self.op {
            Op::Clean => 0,
            _ => self.offset_bytes + self.length_bytes,
        }
    }
}
