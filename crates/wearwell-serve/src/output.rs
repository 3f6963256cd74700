//! Bytes on their way to the peer.

/// Most bytes of memory that are kept between batches.
const KEPT_BYTES: usize = 4 << 20;

/// A buffer for replies that keeps its memory when it is cleared.
///
/// `bytes` keeps its greatest length, so that space which will be overwritten need not be zeroed.
#[derive(Debug, Default)]
pub struct Output {
    bytes: Vec<u8>,
    used: usize,
}

impl Output {
    /// The bytes in the buffer.
    pub fn filled(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// The number of bytes in the buffer.
    pub fn len(&self) -> usize {
        self.used
    }

    /// True if the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Empties the buffer, and frees memory beyond the limit.
    pub fn clear(&mut self) {
        self.used = 0;
        if self.bytes.len() > KEPT_BYTES {
            // Without this a client that once read much would hold that memory for as long as it stays connected.
            self.bytes.truncate(KEPT_BYTES);
            self.bytes.shrink_to(KEPT_BYTES);
        }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
    }

    pub(crate) fn put_u16(&mut self, number: u16) {
        self.put(&number.to_be_bytes());
    }

    pub(crate) fn put_u32(&mut self, number: u32) {
        self.put(&number.to_be_bytes());
    }

    pub(crate) fn put_u64(&mut self, number: u64) {
        self.put(&number.to_be_bytes());
    }

    /// Space for `count` bytes with undefined content. The caller overwrites all of it.
    pub(crate) fn room(&mut self, count: usize) -> &mut [u8] {
        let end = self.used + count;
        if end > self.bytes.len() {
            // The allocator doubles capacity, and all of it is used.
            self.bytes.resize(end, 0);
            self.bytes.resize(self.bytes.capacity(), 0);
        }
        let room = &mut self.bytes[self.used..end];
        self.used = end;
        room
    }

    /// Takes back everything from `used` on.
    pub(crate) fn cut_to(&mut self, used: usize) {
        debug_assert!(used <= self.used);
        self.used = used;
    }

    /// Overwrites bytes at `at`.
    pub(crate) fn patch(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_were_put_in_also_in_used_memory() {
        let mut output = Output::default();
        for round in 0..3_u8 {
            output.put(&[round; 5]);
            output.put_u16(0x0102);
            output.room(2).fill(9);
            output.patch(0, &[7]);
            assert_eq!(output.filled(), [7, round, round, round, round, 1, 2, 9, 9]);
            output.cut_to(1);
            assert_eq!(output.filled(), [7]);
            output.clear();
            assert!(output.is_empty());
        }
    }

    #[test]
    fn memory_of_a_large_batch_is_given_back() {
        let mut output = Output::default();
        output.room(KEPT_BYTES * 2).fill(1);
        output.clear();
        assert!(output.bytes.capacity() <= KEPT_BYTES);
    }
}
