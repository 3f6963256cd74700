//! The driver: NAND over the calls of an MTD device.

use rustix::io::Errno;
use wearwell_flash::{BlockAddr, Nand, NandGeometry, PageAddr, ReadReport};

use crate::calls::{Calls, EccStats, Info};
use crate::error::MtdError;
use crate::spare::{self, SPARE_BYTES, STORED_BYTES};

/// A NAND chip behind an MTD device.
///
/// Of the free spare bytes of a page it uses the first [`STORED_BYTES`]. The layer above has [`SPARE_BYTES`] of them.
#[derive(Debug)]
pub struct MtdNand<C> {
    calls: C,
    geometry: NandGeometry,
    /// Where the free spare bytes are that are used, in the order of the free ones.
    places: Vec<usize>,
    refresh_bits: Option<u32>,
    /// All spare bytes of a page, for a kernel without `MEMREAD`; empty as long as it is not known to be one.
    oob: Vec<u8>,
    oob_bytes: usize,
}

impl<C: Calls> MtdNand<C> {
    /// The driver of a device that has this shape. [`open`](crate::open()) checks it.
    pub fn new(calls: C, info: &Info) -> Self {
        // Free spare bytes may lie in several ranges. MEMREAD counts through all of them, and so does this.
        let free = info.free_oob.iter().flat_map(|&(first, length)| first as usize..(first + length) as usize);
        Self {
            calls,
            geometry: NandGeometry {
                page_bytes: info.page_bytes,
                spare_bytes: SPARE_BYTES as u32,
                pages_per_block: info.block_bytes / info.page_bytes,
                blocks: (info.bytes / u64::from(info.block_bytes)) as u32,
                ..NandGeometry::SLC
            },
            places: free.take(STORED_BYTES).collect(),
            refresh_bits: info.refresh_bits,
            oob: Vec::new(),
            oob_bytes: info.oob_bytes as usize,
        }
    }

    /// The calls below.
    pub fn calls_mut(&mut self) -> &mut C {
        &mut self.calls
    }

    /// The first byte of a page.
    fn page_at(&self, page: PageAddr) -> Result<u64, MtdError> {
        let is_there = u64::from(page.0) < self.geometry.pages();
        is_there
            .then(|| u64::from(page.0) * u64::from(self.geometry.page_bytes))
            .ok_or(MtdError::OutOfRange { page: page.0 })
    }

    /// The first byte of a block.
    fn block_at(&self, block: BlockAddr) -> Result<u64, MtdError> {
        self.page_at(PageAddr(block.0.saturating_mul(self.geometry.pages_per_block)))
    }

    /// Reads data and stored spare bytes, each unless it is empty.
    fn read_both(&mut self, at: u64, data: &mut [u8], stored: &mut [u8]) -> Result<EccStats, MtdError> {
        // A kernel that has said that it has no MEMREAD is not asked again.
        if self.oob.is_empty() {
            match self.calls.read_page(at, data, stored) {
                // Without the places of the free bytes there is no other way to read them.
                Err(Errno::NOTTY | Errno::OPNOTSUPP) if self.places.len() == STORED_BYTES => {
                    self.oob = vec![0; self.oob_bytes];
                }
                read => return read.map_err(|errno| MtdError::System { call: "MEMREAD", at, errno }),
            }
        }
        self.read_apart(at, data, stored)
    }

    /// As [`read_both`](Self::read_both), on a kernel without `MEMREAD`. Its counts are those of the device, so that a
    /// read of another process meanwhile can make a page look worse than it is.
    fn read_apart(&mut self, at: u64, data: &mut [u8], stored: &mut [u8]) -> Result<EccStats, MtdError> {
        let failed = |call| move |errno| MtdError::System { call, at, errno };
        let before = self.calls.ecc_stats().map_err(failed("ECCGETSTATS"))?;
        if !data.is_empty() {
            self.calls.read_data(at, data).map_err(failed("read"))?;
        }
        if !stored.is_empty() {
            // All spare bytes: this call does not know which of them are free.
            self.calls.read_oob(at, &mut self.oob).map_err(failed("MEMREADOOB64"))?;
            for (byte, &place) in stored.iter_mut().zip(&self.places) {
                *byte = self.oob[place];
            }
        }
        let after = self.calls.ecc_stats().map_err(failed("ECCGETSTATS"))?;
        Ok(EccStats {
            // The kernel's counters have 32 bits, and begin again behind the greatest number.
            corrected_bits: after.corrected_bits.wrapping_sub(before.corrected_bits),
            most_bits: None,
            failures: after.failures.wrapping_sub(before.failures),
        })
    }

    /// Whether data with so many corrected bits is to be moved. Where the kernel does not say how many a chip can bear,
    /// any is a reason.
    fn wants_refresh(&self, corrected_bits: u32) -> bool {
        corrected_bits >= self.refresh_bits.filter(|&bits| bits > 0).unwrap_or(1)
    }
}

impl<C: Calls> Nand for MtdNand<C> {
    type Error = MtdError;

    fn geometry(&self) -> NandGeometry {
        self.geometry
    }

    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, MtdError> {
        let at = self.page_at(page)?;
        let fits = |len: usize, whole: usize| len == 0 || len == whole;
        if !fits(data.len(), self.geometry.page_bytes as usize) || !fits(spare.len(), SPARE_BYTES) {
            return Err(MtdError::OutOfRange { page: page.0 });
        }
        // Bytes that are not read stay as erased ones are. They are a word of the code, so that nothing is found wrong
        // with them.
        let mut stored = [0xFF; STORED_BYTES];
        let wanted = if spare.is_empty() { 0 } else { STORED_BYTES };
        if data.is_empty() && wanted == 0 {
            return Ok(ReadReport::default());
        }
        let stats = self.read_both(at, data, &mut stored[..wanted])?;
        let beside = spare::correct(&mut stored);
        // A failure of the chip's code counts also if only spare bytes are wanted, since it may cover them.
        let Some(spare_bits) = beside.filter(|_| stats.failures == 0) else {
            return Err(MtdError::Uncorrectable { page: page.0 });
        };
        spare.copy_from_slice(&stored[..spare.len()]);
        // The sum over all code words is no less than the most in one, so that a page is moved early rather than late.
        let corrected_bits = stats.most_bits.unwrap_or(stats.corrected_bits);
        // One wrong bit is all that the code of the spare bytes bears.
        let refresh_soon = self.wants_refresh(corrected_bits) || spare_bits > 0;
        Ok(ReadReport { corrected_bits: corrected_bits.max(spare_bits), refresh_soon })
    }

    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), MtdError> {
        let at = self.page_at(page)?;
        if data.len() != self.geometry.page_bytes as usize || spare.len() > SPARE_BYTES {
            return Err(MtdError::OutOfRange { page: page.0 });
        }
        self.calls.write_page(at, data, &spare::encode(spare)).map_err(|errno| match errno {
            // EIO is what the chip has said. Any other error is the kernel's, and says nothing about the block.
            Errno::IO => MtdError::ProgramFailed { page: page.0 },
            errno => MtdError::System { call: "MEMWRITE", at, errno },
        })
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), MtdError> {
        let at = self.block_at(block)?;
        let bytes = u64::from(self.geometry.page_bytes) * u64::from(self.geometry.pages_per_block);
        self.calls.erase_block(at, bytes).map_err(|errno| match errno {
            Errno::IO => MtdError::EraseFailed { block: block.0 },
            errno => MtdError::System { call: "MEMERASE64", at, errno },
        })
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, MtdError> {
        let at = self.block_at(block)?;
        self.calls.is_bad(at).map_err(|errno| MtdError::System { call: "MEMGETBADBLOCK", at, errno })
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), MtdError> {
        let at = self.block_at(block)?;
        self.calls.mark_bad(at).map_err(|errno| MtdError::System { call: "MEMSETBADBLOCK", at, errno })
    }
}
