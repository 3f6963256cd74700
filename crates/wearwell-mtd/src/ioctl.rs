//! The ioctls of an MTD character device (`mtd-abi.h`). All unsafe code of this crate is here.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::ptr;

use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};

use crate::calls::{Calls, EccStats};

/// The letter of all these ioctls.
const GROUP: u8 = b'M';

/// `MTD_OPS_AUTO_OOB`: spare bytes are the free ones, one after the other.
const AUTO_OOB: u8 = 1;

/// A type that an ioctl here takes.
///
/// # Safety
/// It has C's layout and consists of integers, so that any bytes are a value. Addresses in it are those of buffers that
/// live as long as the call, with at least the length beside them.
unsafe trait Argument {}

/// `struct mtd_info_user`.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct InfoUser {
    pub(crate) kind: u8,
    pub(crate) flags: u32,
    pub(crate) size: u32,
    pub(crate) erasesize: u32,
    pub(crate) writesize: u32,
    pub(crate) oobsize: u32,
    padding: u64,
}

/// `struct erase_info_user64`.
#[derive(Debug)]
#[repr(C)]
struct EraseInfo {
    start: u64,
    length: u64,
}

/// `struct mtd_oob_buf64`.
#[derive(Debug)]
#[repr(C)]
struct OobBuffer {
    start: u64,
    pad: u32,
    length: u32,
    usr_ptr: u64,
}

/// `struct mtd_write_req`.
#[derive(Debug)]
#[repr(C)]
struct WriteRequest {
    start: u64,
    len: u64,
    ooblen: u64,
    usr_data: u64,
    usr_oob: u64,
    mode: u8,
    padding: [u8; 7],
}

/// `struct mtd_read_req`.
#[derive(Debug)]
#[repr(C)]
struct ReadRequest {
    start: u64,
    len: u64,
    ooblen: u64,
    usr_data: u64,
    usr_oob: u64,
    mode: u8,
    padding: [u8; 7],
    uncorrectable_errors: u32,
    corrected_bitflips: u32,
    max_bitflips: u32,
}

/// `struct mtd_ecc_stats`.
#[derive(Debug, Default)]
#[repr(C)]
struct EccCounts {
    corrected: u32,
    failed: u32,
    badblocks: u32,
    bbtblocks: u32,
}

/// `struct nand_ecclayout_user`.
#[derive(Debug)]
#[repr(C)]
struct EccLayout {
    eccbytes: u32,
    eccpos: [u32; 64],
    oobavail: u32,
    oobfree: [[u32; 2]; 8],
}

// SAFETY: all are `repr(C)` structures of integers, or integers. Those with addresses are made in this file only, where
// each address is that of a slice that is borrowed until the call returns, beside its length.
unsafe impl Argument for InfoUser {}
// SAFETY: as above.
unsafe impl Argument for EraseInfo {}
// SAFETY: as above.
unsafe impl Argument for OobBuffer {}
// SAFETY: as above.
unsafe impl Argument for WriteRequest {}
// SAFETY: as above.
unsafe impl Argument for ReadRequest {}
// SAFETY: as above.
unsafe impl Argument for EccCounts {}
// SAFETY: as above.
unsafe impl Argument for EccLayout {}
// SAFETY: as above.
unsafe impl Argument for i64 {}

/// An ioctl with its argument. Its output is the number that the system call returns.
struct Call<'a, T> {
    opcode: Opcode,
    argument: &'a mut T,
}

// SAFETY: the argument is a valid pointer for the whole call, of the type that the number names: numbers are made from
// that type in `call` and `call_of`. The kernel may write to it, and nothing else refers to it meanwhile.
unsafe impl<T: Argument> Ioctl for Call<'_, T> {
    type Output = c_int;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        self.opcode
    }

    fn as_ptr(&mut self) -> *mut c_void {
        ptr::from_mut(self.argument).cast()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut c_void) -> rustix::io::Result<c_int> {
        Ok(out)
    }
}

/// Calls the ioctl of a number that `numbered` makes from the type of the argument.
fn call<T: Argument>(
    device: BorrowedFd<'_>,
    numbered: fn(u8, u8) -> Opcode,
    number: u8,
    argument: &mut T,
) -> Result<c_int, Errno> {
    // SAFETY: a device that does not know the number answers `ENOTTY`. One that knows it takes the argument's type,
    // which is part of the number; `Argument` says that what it refers to is valid.
    unsafe { ioctl(device, Call { opcode: numbered(GROUP, number), argument }) }
}

/// The address of a buffer that the kernel reads; 0 if it is empty.
fn address(buffer: &[u8]) -> u64 {
    // An empty slice has an address that is not zero, and the kernel takes 0 for a part that is left out.
    if buffer.is_empty() { 0 } else { buffer.as_ptr() as u64 }
}

/// The address of a buffer that the kernel writes; 0 if it is empty.
fn address_mut(buffer: &mut [u8]) -> u64 {
    if buffer.is_empty() { 0 } else { buffer.as_mut_ptr() as u64 }
}

/// `MEMGETINFO`.
pub(crate) fn info(device: BorrowedFd<'_>) -> Result<InfoUser, Errno> {
    let mut info = InfoUser::default();
    call(device, opcode::read::<InfoUser>, 1, &mut info)?;
    Ok(info)
}

/// `ECCGETLAYOUT`: how many spare bytes are free, and where they are.
pub(crate) fn free_oob(device: BorrowedFd<'_>) -> Result<(u32, Vec<(u32, u32)>), Errno> {
    let mut layout = EccLayout { eccbytes: 0, eccpos: [0; 64], oobavail: 0, oobfree: [[0; 2]; 8] };
    call(device, opcode::read::<EccLayout>, 17, &mut layout)?;
    let ranges = layout.oobfree.iter().map(|&[offset, length]| (offset, length));
    Ok((layout.oobavail, ranges.filter(|&(_, length)| length > 0).collect()))
}

/// The calls on an open device.
#[derive(Debug)]
pub struct Ioctls(pub(crate) File);

impl Ioctls {
    fn call<T: Argument>(&self, numbered: fn(u8, u8) -> Opcode, number: u8, argument: &mut T) -> Result<c_int, Errno> {
        use std::os::fd::AsFd;
        call(self.0.as_fd(), numbered, number, argument)
    }
}

impl Calls for Ioctls {
    fn read_page(&mut self, at: u64, data: &mut [u8], oob: &mut [u8]) -> Result<EccStats, Errno> {
        let mut request = ReadRequest {
            start: at,
            len: data.len() as u64,
            ooblen: oob.len() as u64,
            usr_data: address_mut(data),
            usr_oob: address_mut(oob),
            mode: AUTO_OOB,
            padding: [0; 7],
            uncorrectable_errors: 0,
            corrected_bitflips: 0,
            max_bitflips: 0,
        };
        let read = self.call(opcode::read_write::<ReadRequest>, 26, &mut request);
        let (corrected_bits, most_bits) = (request.corrected_bitflips, Some(request.max_bitflips));
        match read {
            // With these two the counts are filled in.
            Ok(_) | Err(Errno::UCLEAN) => Ok(EccStats { corrected_bits, most_bits, failures: 0 }),
            Err(Errno::BADMSG) => {
                // The error itself says that there was one.
                Ok(EccStats { corrected_bits, most_bits, failures: request.uncorrectable_errors.max(1) })
            }
            Err(error) => Err(error),
        }
    }

    fn read_data(&mut self, at: u64, data: &mut [u8]) -> Result<(), Errno> {
        let read = self.0.read_exact_at(data, at);
        // An error without a number is an early end of the device.
        read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    fn read_oob(&mut self, at: u64, oob: &mut [u8]) -> Result<(), Errno> {
        let length = oob.len() as u32;
        let mut buffer = OobBuffer { start: at, pad: 0, length, usr_ptr: address_mut(oob) };
        match self.call(opcode::read_write::<OobBuffer>, 22, &mut buffer) {
            // The spare bytes were read; what the code thinks of the page is asked for elsewhere.
            Ok(_) | Err(Errno::UCLEAN | Errno::BADMSG) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn ecc_stats(&mut self) -> Result<EccStats, Errno> {
        let mut counts = EccCounts::default();
        self.call(opcode::read::<EccCounts>, 18, &mut counts)?;
        Ok(EccStats { corrected_bits: counts.corrected, most_bits: None, failures: counts.failed })
    }

    fn write_page(&mut self, at: u64, data: &[u8], oob: &[u8]) -> Result<(), Errno> {
        let mut request = WriteRequest {
            start: at,
            len: data.len() as u64,
            ooblen: oob.len() as u64,
            usr_data: address(data),
            usr_oob: address(oob),
            mode: AUTO_OOB,
            padding: [0; 7],
        };
        self.call(opcode::read_write::<WriteRequest>, 24, &mut request).map(drop)
    }

    fn erase_block(&mut self, at: u64, bytes: u64) -> Result<(), Errno> {
        self.call(opcode::write::<EraseInfo>, 20, &mut EraseInfo { start: at, length: bytes }).map(drop)
    }

    fn is_bad(&mut self, at: u64) -> Result<bool, Errno> {
        // The ioctl takes the block's first byte, and not its number.
        match self.call(opcode::write::<i64>, 11, &mut (at as i64)) {
            Ok(answer) => Ok(answer != 0),
            // A chip without marks has no bad blocks.
            Err(Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn mark_bad(&mut self, at: u64) -> Result<(), Errno> {
        self.call(opcode::write::<i64>, 12, &mut (at as i64)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `_IOR` and its like make of `mtd-abi.h`, where the kernel numbers directions as on x86 and ARM.
    #[cfg(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64", target_arch = "arm"))]
    #[test]
    fn the_numbers_are_those_of_the_header() {
        assert_eq!(opcode::read::<InfoUser>(GROUP, 1), 0x8020_4D01);
        assert_eq!(opcode::write::<i64>(GROUP, 11), 0x4008_4D0B);
        assert_eq!(opcode::read::<EccLayout>(GROUP, 17), 0x8148_4D11);
        assert_eq!(opcode::read::<EccCounts>(GROUP, 18), 0x8010_4D12);
        assert_eq!(opcode::write::<EraseInfo>(GROUP, 20), 0x4010_4D14);
        assert_eq!(opcode::read_write::<OobBuffer>(GROUP, 22), 0xC018_4D16);
        assert_eq!(opcode::read_write::<WriteRequest>(GROUP, 24), 0xC030_4D18);
        assert_eq!(opcode::read_write::<ReadRequest>(GROUP, 26), 0xC040_4D1A);
    }
}
