//! The chips that a disk can be made on, and how the driver's own errors pass through the engine.

use wearwell_flash::{
    BankAddr, BlockAddr, ChipError, ErrorKind, Nand, NandGeometry, Nor, NorAddr, NorGeometry, PageAddr, ReadReport,
};

use super::{Config, ShapeError};
use crate::addr::SECTOR_BYTES;
use crate::page::log::{Log, NandLog, NorLog, Stored, TagPlace};

/// A chip that a [`Disk`](super::Disk) can be made on: any [`Nand`] as it is, or a [`Nor`] in [`OnNor`].
///
/// Nothing else implements this trait, and only the disk calls it.
pub trait Medium: sealed::Sealed {
    /// The driver.
    type Chip;
    /// The driver's error.
    type Error: ChipError;
    #[doc(hidden)]
    type Log: Log + OverDriver<Self::Chip, Self::Error>;
    #[doc(hidden)]
    fn into_log<V, W>(self, config: &Config<V, W>) -> Result<Self::Log, ShapeError>;
}

/// A log over a driver whose errors are kept.
#[doc(hidden)]
pub trait OverDriver<C, E> {
    fn kept(&self) -> &Kept<C, E>;
    fn kept_mut(&mut self) -> &mut Kept<C, E>;
    fn into_driver(self) -> C;
}

impl<N: Nand, T: TagPlace> OverDriver<N, N::Error> for NandLog<Kept<N, N::Error>, Stored, T> {
    fn kept(&self) -> &Kept<N, N::Error> {
        self.chip()
    }

    fn kept_mut(&mut self) -> &mut Kept<N, N::Error> {
        self.chip_mut()
    }

    fn into_driver(self) -> N {
        self.into_chip().chip
    }
}

impl<N: Nor> OverDriver<N, N::Error> for NorLog<Kept<N, N::Error>> {
    fn kept(&self) -> &Kept<N, N::Error> {
        self.chip()
    }

    fn kept_mut(&mut self) -> &mut Kept<N, N::Error> {
        self.chip_mut()
    }

    fn into_driver(self) -> N {
        self.into_chip().chip
    }
}

/// A NOR chip to make a [`Disk`](super::Disk) on: `Disk::format(OnNor(chip), config)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnNor<N>(pub N);

mod sealed {
    /// Keeps other crates from implementing [`Medium`](super::Medium).
    pub trait Sealed {}
    impl<N: wearwell_flash::Nand> Sealed for N {}
    impl<N: wearwell_flash::Nor> Sealed for super::OnNor<N> {}
}

impl<N: Nand> Medium for N {
    type Chip = N;
    type Error = N::Error;
    type Log = NandLog<Kept<N, N::Error>>;

    fn into_log<V, W>(self, config: &Config<V, W>) -> Result<Self::Log, ShapeError> {
        let NandGeometry { blocks, dies, .. } = self.geometry();
        let blocks_per_segment = config.blocks_per_segment;
        // `Stripe` takes anything else for a mistake of ours, and panics.
        if blocks_per_segment != 1 && (blocks_per_segment == 0 || !dies.is_multiple_of(blocks_per_segment)) {
            return Err(ShapeError::Segments { blocks_per_segment, blocks, dies });
        }
        Ok(NandLog::new(Kept::new(self), blocks_per_segment)?)
    }
}

impl<N: Nor> Medium for OnNor<N> {
    type Chip = N;
    type Error = N::Error;
    type Log = NorLog<Kept<N, N::Error>>;

    fn into_log<V, W>(self, config: &Config<V, W>) -> Result<Self::Log, ShapeError> {
        let page_bytes = config.page_bytes;
        if page_bytes == 0 || !page_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(ShapeError::PageBytes { page_bytes });
        }
        let slots = NorLog::<N>::most_slots(self.0.geometry().block_bytes, page_bytes);
        Ok(NorLog::new(Kept::new(self.0), slots, page_bytes)?)
    }
}

/// A driver whose last error is kept, because the engine passes only error kinds.
#[derive(Debug, Clone)]
pub struct Kept<N, E> {
    pub(super) chip: N,
    last: Option<E>,
}

impl<N, E: ChipError> Kept<N, E> {
    pub(super) const fn new(chip: N) -> Self {
        Self { chip, last: None }
    }

    /// The driver's error behind the engine's `kind`.
    pub(super) fn take_error(&mut self, kind: ErrorKind) -> Option<E> {
        // The last error may be an older one, which the engine has dealt with.
        self.last.take().filter(|error| error.kind() == kind)
    }

    fn keep<T>(&mut self, done: Result<T, E>) -> Result<T, ErrorKind> {
        done.map_err(|error| {
            let kind = error.kind();
            self.last = Some(error);
            kind
        })
    }
}

impl<N: Nand> Nand for Kept<N, N::Error> {
    type Error = ErrorKind;

    fn geometry(&self) -> NandGeometry {
        self.chip.geometry()
    }

    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let read = self.chip.read(page, data, spare);
        self.keep(read)
    }

    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), ErrorKind> {
        let programmed = self.chip.program(page, data, spare);
        self.keep(programmed)
    }

    fn copy(&mut self, from: PageAddr, to: PageAddr, spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let copied = self.chip.copy(from, to, spare);
        self.keep(copied)
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        let erased = self.chip.erase(block);
        self.keep(erased)
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, ErrorKind> {
        let is_bad = self.chip.is_bad(block);
        self.keep(is_bad)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        let marked = self.chip.mark_bad(block);
        self.keep(marked)
    }

    fn is_erasing(&mut self, die: BankAddr) -> bool {
        self.chip.is_erasing(die)
    }

    fn wait_erase(&mut self, die: BankAddr) {
        self.chip.wait_erase(die);
    }
}

impl<N: Nor> Nor for Kept<N, N::Error> {
    type Error = ErrorKind;

    fn geometry(&self) -> NorGeometry {
        self.chip.geometry()
    }

    fn read(&mut self, at: NorAddr, buf: &mut [u8]) -> Result<(), ErrorKind> {
        let read = self.chip.read(at, buf);
        self.keep(read)
    }

    fn program(&mut self, at: NorAddr, bytes: &[u8]) -> Result<(), ErrorKind> {
        let programmed = self.chip.program(at, bytes);
        self.keep(programmed)
    }

    fn erase_start(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        let started = self.chip.erase_start(block);
        self.keep(started)
    }

    fn erase_ready(&mut self, bank: BankAddr) -> bool {
        self.chip.erase_ready(bank)
    }

    fn erase_finish(&mut self, bank: BankAddr) -> Result<(), ErrorKind> {
        let finished = self.chip.erase_finish(bank);
        self.keep(finished)
    }
}
