//! A NOR chip whose image the fuzzer edits. Programs clear bits, and nothing fails on its own.

use wearwell_flash::{BankAddr, BlockAddr, ErrorKind, Nor, NorAddr, NorGeometry};

use crate::device::{Image, LOGICAL_PAGES};
use crate::input::Input;

const CRC32: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
const CRC16: crc::Crc<u16> = crc::Crc::<u16>::new(&crc::CRC_16_IBM_3740);
/// Where the layout puts the record of a segment's opening, and the entries of its slots.
const OPENING: usize = 16;
const ENTRIES: usize = 64;
const ENTRY_BYTES: usize = 8;

#[derive(Debug, Clone)]
pub(crate) struct FuzzNor {
    geometry: NorGeometry,
    blocks: Vec<Vec<u8>>,
    /// The block that is being erased in each bank.
    erasing: Vec<Option<BlockAddr>>,
}

impl FuzzNor {
    pub(crate) fn new(geometry: NorGeometry) -> Self {
        Self {
            geometry,
            blocks: vec![vec![0xFF; geometry.block_bytes as usize]; geometry.blocks as usize],
            erasing: vec![None; geometry.banks as usize],
        }
    }

    /// Turns the power off and on again. A block that was being erased is half erased.
    pub(crate) fn power_cycle(&mut self) {
        for block in self.erasing.iter_mut().filter_map(Option::take) {
            let bytes = &mut self.blocks[block.0 as usize];
            bytes.iter_mut().for_each(|byte| *byte |= 0x55);
        }
    }

    /// Changes the image: by single bytes, by copying blocks, and by records whose checksums are right.
    pub(crate) fn edit(&mut self, slots: usize, input: &mut Input<'_>) -> Image {
        let (operation, block) = (input.byte(), input.below(self.blocks.len()));
        let bytes = &mut self.blocks[block];
        let mut put = |at: usize, record: &[u8]| bytes[at..at + record.len()].copy_from_slice(record);
        match operation % 6 {
            0 => put(input.below(self.geometry.block_bytes as usize), &[input.byte()]),
            1 => put(input.below(ENTRIES + slots * ENTRY_BYTES), &[input.byte()]),
            2 => {
                let mut header: [u8; 12] = *b"WWnr________";
                header[4..8].copy_from_slice(&(2 | LOGICAL_PAGES << 8).to_le_bytes());
                header[8..].copy_from_slice(&input.array::<4>());
                put(0, &header);
                put(12, &CRC32.checksum(&header).to_le_bytes());
            }
            3 => {
                let opening = input.array::<12>();
                put(OPENING, &opening);
                put(OPENING + 12, &CRC32.checksum(&opening).to_le_bytes());
            }
            4 => {
                let at = ENTRIES + input.below(slots) * ENTRY_BYTES;
                let entry = input.array::<5>();
                put(at, &entry);
                put(at + 5, &CRC16.checksum(&entry).to_le_bytes());
                put(at + 7, &[input.byte()]);
            }
            _ => {
                let from = input.below(self.blocks.len());
                self.blocks[block] = self.blocks[from].clone();
            }
        }
        if operation % 6 < 2 { Image::Damaged } else { Image::Forged }
    }
}

impl Nor for FuzzNor {
    type Error = ErrorKind;

    fn geometry(&self) -> NorGeometry {
        self.geometry
    }

    fn read(&mut self, at: NorAddr, buf: &mut [u8]) -> Result<(), ErrorKind> {
        let block = self.blocks.get(at.block.0 as usize).ok_or(ErrorKind::OutOfRange)?;
        assert!(!self.erasing.contains(&Some(at.block)), "a read of a block that erases");
        buf.copy_from_slice(
            block.get(at.offset as usize..).and_then(|b| b.get(..buf.len())).ok_or(ErrorKind::OutOfRange)?,
        );
        Ok(())
    }

    fn program(&mut self, at: NorAddr, bytes: &[u8]) -> Result<(), ErrorKind> {
        let bank = self.geometry.bank_of(at.block).0 as usize;
        assert!(self.erasing[bank].is_none(), "a program in a bank that erases");
        let stored = &mut self.blocks[at.block.0 as usize][at.offset as usize..][..bytes.len()];
        stored.iter_mut().zip(bytes).for_each(|(stored, byte)| *stored &= byte);
        Ok(())
    }

    fn erase_start(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        let bank = self.geometry.bank_of(block).0 as usize;
        assert!(self.erasing[bank].is_none(), "two erases in a bank");
        self.erasing[bank] = Some(block);
        Ok(())
    }

    fn erase_ready(&mut self, _: BankAddr) -> bool {
        false
    }

    fn erase_finish(&mut self, bank: BankAddr) -> Result<(), ErrorKind> {
        if let Some(block) = self.erasing[bank.0 as usize].take() {
            self.blocks[block.0 as usize].fill(0xFF);
        }
        Ok(())
    }
}
