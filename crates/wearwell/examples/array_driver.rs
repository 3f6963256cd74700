//! A driver for an array in memory, and a disk on it.

use wearwell::{BlockAddr, Config, Disk, Error, ErrorKind, Nand, NandGeometry, PageAddr, ReadReport};

const PAGE: usize = 2048;
const SPARE: usize = 64;

struct Array(Vec<[u8; PAGE + SPARE]>);

impl Nand for Array {
    type Error = ErrorKind;

    fn geometry(&self) -> NandGeometry {
        let (page_bytes, spare_bytes) = (PAGE as u32, SPARE as u32);
        NandGeometry { page_bytes, spare_bytes, pages_per_block: 64, blocks: 32, ..NandGeometry::SLC }
    }

    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let cells = &self.0[page.0 as usize];
        data.copy_from_slice(&cells[..data.len()]);
        spare.copy_from_slice(&cells[PAGE..PAGE + spare.len()]);
        Ok(ReadReport::default())
    }

    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), ErrorKind> {
        let cells = &mut self.0[page.0 as usize];
        cells[..PAGE].copy_from_slice(data);
        cells[PAGE..PAGE + spare.len()].copy_from_slice(spare);
        Ok(())
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        self.0[block.0 as usize * 64..][..64].fill([0xFF; PAGE + SPARE]);
        Ok(())
    }

    fn is_bad(&mut self, _: BlockAddr) -> Result<bool, ErrorKind> {
        Ok(false)
    }

    fn mark_bad(&mut self, _: BlockAddr) -> Result<(), ErrorKind> {
        Ok(())
    }
}

fn main() -> Result<(), Error<ErrorKind>> {
    let chip = Array(vec![[0xFF; PAGE + SPARE]; 64 * 32]);
    let mut disk = Disk::format(chip, Config::new(1500))?;
    disk.write(7, &[42; PAGE])?;
    disk.flush()?;

    let (mut disk, report) = Disk::mount(disk.into_chip(), Config::new(1500))?;
    let mut page = [0; PAGE];
    disk.read(7, &mut page)?;
    assert_eq!((page, report.clean), ([42; PAGE], false), "flushed, and then the power failed");
    Ok(())
}
