//! The commands of a fuzzed NVMe/TCP host, and what they must do.

use std::ops::Range;

use crate::input::Input;
use crate::nvme_disk::{HANDLES, SIZE_BYTES};

const BLOCK_BYTES: u64 = 512;
/// Most blocks of a command: more data than fits into its own message.
const BLOCKS: u64 = 64;
/// First blocks that a command may name: some beyond the disk.
const FIRST_BLOCKS: u64 = SIZE_BYTES / BLOCK_BYTES + 16;

const SUCCESS: u16 = 0;
const INVALID_FIELD: u16 = 0x002;
const FDP_DISABLED: u16 = 0x029;
const OUT_OF_RANGE: u16 = 0x080;

/// What a command does if it succeeds. Ranges are in bytes of the disk.
#[derive(Debug)]
pub(crate) enum Effect {
    None,
    Reads(Range<usize>),
    Writes(Range<usize>),
    Zeroes(Range<usize>),
    Compares(Range<usize>),
    Copies {
        from: Range<usize>,
        to: usize,
    },
    Connects {
        is_admin: bool,
    },
    /// Whatever the controller says is right.
    Any,
}

/// A command.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) opcode: u8,
    /// The namespace; the kind of a command of Fabrics.
    pub(crate) namespace: u8,
    /// Dwords from the tenth on.
    pub(crate) words: [u32; 4],
    pub(crate) data: Vec<u8>,
    /// Bytes of data that the host has room for.
    pub(crate) room_bytes: u32,
    /// The status that it must have.
    pub(crate) status: u16,
    pub(crate) effect: Effect,
}

impl Request {
    pub(crate) fn of(opcode: u8, effect: Effect) -> Self {
        Self { opcode, namespace: 1, words: [0; 4], data: Vec::new(), room_bytes: 0, status: SUCCESS, effect }
    }
}

/// Blocks that a command names: the first, their number, and their bytes if they lie on the disk.
struct Blocks {
    first: u64,
    count: u64,
    range: Option<Range<usize>>,
}

fn blocks(input: &mut Input<'_>) -> Blocks {
    let first = u64::from(u16::from_le_bytes(input.array())) % FIRST_BLOCKS;
    let count = 1 + u64::from(input.byte()) % BLOCKS;
    let range = (first * BLOCK_BYTES) as usize..((first + count) * BLOCK_BYTES) as usize;
    Blocks { first, count, range: Some(range).filter(|range| range.end as u64 <= SIZE_BYTES) }
}

/// A command of an I/O queue.
pub(crate) fn request(kind: u8, input: &mut Input<'_>, has_handles: bool) -> Request {
    let Blocks { first, count, range } = blocks(input);
    let bytes = (count * BLOCK_BYTES) as usize;
    let of = |opcode, effect: fn(Range<usize>) -> Effect| {
        let status = if range.is_some() { SUCCESS } else { OUT_OF_RANGE };
        let effect = range.clone().map_or(Effect::None, effect);
        Request { words: [first as u32, 0, count as u32 - 1, 0], status, ..Request::of(opcode, effect) }
    };
    match kind >> 1 & 7 {
        0 => Request { room_bytes: bytes as u32, ..of(2, Effect::Reads) },
        1 | 2 => {
            let mut write = Request { data: filled(input.byte(), bytes), ..of(1, Effect::Writes) };
            // With a placement identifier, of which some do not exist; without handles it does not count.
            (write.words[2], write.words[3]) = (write.words[2] | 2 << 20, u32::from(input.byte() % 6) << 16);
            write
        }
        3 => of(8, Effect::Zeroes),
        4 => Request { data: filled(input.byte(), bytes), ..of(5, Effect::Compares) },
        5 => {
            let mut data = [0, count as u32].map(u32::to_le_bytes).concat();
            data.extend(first.to_le_bytes());
            Request { data, words: [0, 1 << 2, 0, 0], ..of(9, Effect::Zeroes) }
        }
        6 => copy(first, count, range, input),
        _ => of_handles(input, has_handles),
    }
}

/// Bytes that differ from block to block.
fn filled(with: u8, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| with.wrapping_add((at / 512) as u8)).collect()
}

/// Copies blocks to others.
fn copy(first: u64, count: u64, from: Option<Range<usize>>, input: &mut Input<'_>) -> Request {
    let to = u64::from(u16::from_le_bytes(input.array())) % FIRST_BLOCKS;
    let fits = to + count <= SIZE_BYTES / BLOCK_BYTES;
    let (status, effect) = match from.filter(|_| fits) {
        Some(from) => (SUCCESS, Effect::Copies { from, to: (to * BLOCK_BYTES) as usize }),
        None => (OUT_OF_RANGE, Effect::None),
    };
    let mut data = vec![0; 8];
    data.extend(first.to_le_bytes());
    data.extend((count as u16 - 1).to_le_bytes());
    data.resize(32, 0);
    Request { data, words: [to as u32, 0, 0, 0], status, ..Request::of(0x19, effect) }
}

/// Asks how handles are, or gives one another reclaim unit; or flushes.
fn of_handles(input: &mut Input<'_>, has_handles: bool) -> Request {
    let (choice, handle) = (input.byte(), u16::from(input.byte() % 6));
    let status = |is_there| match (has_handles, is_there) {
        (false, _) => FDP_DISABLED,
        (true, true) => SUCCESS,
        (true, false) => INVALID_FIELD,
    };
    match choice % 3 {
        0 => Request::of(0, Effect::None),
        1 => Request { words: [1, 63, 0, 0], room_bytes: 256, status: status(true), ..Request::of(0x12, Effect::None) },
        _ => Request {
            words: [1, 0, 0, 0],
            data: handle.to_le_bytes().to_vec(),
            status: status(handle < HANDLES),
            ..Request::of(0x1d, Effect::None)
        },
    }
}

/// A command of the admin queue that any controller must answer, with whatever status.
pub(crate) fn admin_request(input: &mut Input<'_>) -> Request {
    let (choice, number) = (input.byte() % 4, u32::from(input.byte()));
    let of = |opcode, namespace, words, room_bytes| Request {
        namespace,
        words,
        room_bytes,
        ..Request::of(opcode, Effect::Any)
    };
    match choice {
        0 => of(0x06, number as u8 & 1, [number >> 1, 0, 0, 0], 4096),
        1 => of(0x02, 0, [number | 127 << 16, 1 << 16, 0, 0], 512),
        2 => of(0x0c, 0, [0; 4], 0),
        // The events that are wanted.
        _ => of(0x09, 0, [0x0b, number, 0, 0], 0),
    }
}

pub(crate) fn keep_alive() -> Request {
    Request { namespace: 0, ..Request::of(0x18, Effect::None) }
}

/// Enables or disables the controller.
pub(crate) fn property(enables: bool) -> Request {
    let configuration = if enables { 0x0046_0001 } else { 0x0046_0000 };
    Request { namespace: 0, words: [0, 0x14, configuration, 0], ..Request::of(0x7f, Effect::None) }
}
