//! A device that records the accesses of a file system as requests.

use std::io;

use super::image::SparseImage;
use super::{Device, SECTOR};
use crate::request::{Op, Request};

/// Bytes of the longest request. Longer transfers are split, as hosts do.
const MAX_REQUEST_BYTES: u64 = 64 << 10;

/// Keeps the content of a volume in memory, and a queue of the requests that a disk would have seen.
///
/// A transfer that begins where the last one of its kind ended becomes part of that request, up to 64 KiB.
pub struct Recorder {
    image: SparseImage,
    sectors: u64,
    queue: Vec<Request>,
    /// The bytes of the writes in the queue, one after the other; `None` if they are not wanted.
    written: Option<Vec<u8>>,
}

impl Recorder {
    /// An empty disk.
    pub fn new(sectors: u64) -> Self {
        Self { image: SparseImage::new(sectors), sectors, queue: Vec::new(), written: None }
    }

    /// An empty disk that also keeps what each request writes.
    pub fn keeping_bytes(sectors: u64) -> Self {
        Self { written: Some(Vec::new()), ..Self::new(sectors) }
    }

    /// Exchanges the requests since the last time for an empty list.
    pub fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.queue)
    }

    /// The bytes of the writes since the last call, one after the other in the order of their requests.
    pub fn take_written(&mut self) -> Vec<u8> {
        self.written.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn record(&mut self, op: Op, sector: u64, length_bytes: u64) {
        let offset_bytes = sector * SECTOR as u64;
        if let Some(last) = self.queue.last_mut()
            && (last.op, last.end_bytes()) == (op, offset_bytes)
            && last.length_bytes + length_bytes <= MAX_REQUEST_BYTES
        {
            last.length_bytes += length_bytes;
            return;
        }
        self.queue.push(Request { time_us: 0, op, offset_bytes, length_bytes, stream: 0 });
    }
}

impl Device for Recorder {
    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn read(&mut self, sector: u64, data: &mut [u8]) -> io::Result<()> {
        self.record(Op::Read, sector, data.len() as u64);
        for (sector, out) in (sector..).zip(data.chunks_exact_mut(SECTOR)) {
            self.image.read(sector, out);
        }
        Ok(())
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> io::Result<()> {
        self.record(Op::Write, sector, data.len() as u64);
        if let Some(written) = &mut self.written {
            written.extend_from_slice(data);
        }
        let (sectors, _) = data.as_chunks::<SECTOR>();
        for (sector, bytes) in (sector..).zip(sectors) {
            self.image.write(sector, bytes);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.queue.push(Request { time_us: 0, op: Op::Flush, offset_bytes: 0, length_bytes: 0, stream: 0 });
        Ok(())
    }
}
