//! Opening a device, and what its files in `/sys` say of it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock, major, minor};
use rustix::io::Errno;

use crate::calls::{Info, MtdKind};
use crate::error::OpenError;
use crate::ioctl::{self, Ioctls};
use crate::nand::MtdNand;
use crate::spare::STORED_BYTES;

/// The major number of MTD character devices, and that of their block devices.
const CHARACTER_MAJOR: u32 = 90;
const BLOCK_MAJOR: u32 = 31;

/// `MTD_WRITEABLE`.
const WRITEABLE: u32 = 0x400;

/// What a device is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading. Others may use it meanwhile.
    Read,
    /// Reading, programming and erasing, alone.
    Write,
}

/// The driver of an open device.
pub type MtdFile = MtdNand<Ioctls>;

/// Opens a device. It is locked for writing as long as the driver lives.
///
/// # Errors
/// See [`OpenError`].
pub fn open(path: &Path, access: Access) -> Result<(MtdFile, Info), OpenError> {
    let owned = || path.to_owned();
    let io_error = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => OpenError::Permission { path: owned() },
        _ => OpenError::Io { path: owned(), error },
    };
    let found = fs::metadata(path).map_err(io_error)?;
    let (kind, number) = (found.file_type(), found.rdev());
    if kind.is_block_device() && major(number) == BLOCK_MAJOR {
        return Err(OpenError::BlockDevice { path: owned() });
    }
    if !kind.is_char_device() || major(number) != CHARACTER_MAJOR {
        return Err(OpenError::NotMtd { path: owned() });
    }
    let file = OpenOptions::new().read(true).write(access == Access::Write).open(path).map_err(|error| {
        // The kernel refuses to open a device for writing that has no way to write.
        match (Errno::from_io_error(&error), access) {
            (Some(Errno::ACCESS | Errno::ROFS), Access::Write) if is_read_only(number) => {
                OpenError::ReadOnly { path: owned() }
            }
            (Some(Errno::BUSY), _) => OpenError::InUse { path: owned(), by: "another driver".to_owned() },
            _ => io_error(error),
        }
    })?;
    let info = info_of(&file, number).map_err(|errno| match errno {
        Errno::NOTTY => OpenError::NotMtd { path: owned() },
        errno => io_error(errno.into()),
    })?;
    // Before anything about writing, so that a look by `Access::Read` refuses the same chips.
    check(path, &info)?;
    if access == Access::Write {
        if !info.is_writable {
            return Err(OpenError::ReadOnly { path: owned() });
        }
        if let Some(by) = holder(number) {
            return Err(OpenError::InUse { path: owned(), by });
        }
        // Another process of ours is neither UBI nor a mount. Only the lock shows it.
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
            Errno::WOULDBLOCK => OpenError::InUse { path: owned(), by: "another process".to_owned() },
            errno => io_error(errno.into()),
        })?;
    }
    Ok((MtdNand::new(Ioctls(file), &info), info))
}

/// Refuses what cannot hold a disk.
fn check(path: &Path, info: &Info) -> Result<(), OpenError> {
    let path = || path.to_owned();
    let what = match info.kind {
        MtdKind::SlcNand => None,
        MtdKind::MlcNand => Some("more than one bit in a cell, and Linux does not say which pages share cells"),
        MtdKind::Nor => Some("NOR flash"),
        MtdKind::UbiVolume => Some("a UBI volume, which levels wear itself"),
        MtdKind::Other(_) => Some("no NAND flash"),
    };
    if let Some(what) = what {
        return Err(OpenError::OtherKind { path: path(), what });
    }
    if info.oob_bytes == 0 {
        return Err(OpenError::NoOob { path: path() });
    }
    if (info.free_oob_bytes as usize) < STORED_BYTES {
        return Err(OpenError::LittleOob { path: path(), free_bytes: info.free_oob_bytes });
    }
    let Info { bytes, block_bytes, page_bytes, .. } = *info;
    // A device without blocks is refused below, and not by a division by zero.
    let blocks = bytes.checked_div(block_bytes.into()).unwrap_or(0);
    let is_whole = page_bytes.is_power_of_two() && (512..=65_536).contains(&page_bytes);
    let has_pages = is_whole && block_bytes >= page_bytes && block_bytes.is_multiple_of(page_bytes);
    // Pages are numbered with 32 bits.
    let is_numbered = has_pages && blocks > 0 && bytes / u64::from(page_bytes) <= u64::from(u32::MAX);
    if is_numbered { Ok(()) } else { Err(OpenError::Shape { path: path(), blocks, block_bytes, page_bytes }) }
}

fn info_of(file: &File, number: u64) -> Result<Info, Errno> {
    let told = ioctl::info(file.as_fd())?;
    // Large chips have more places, and new kernels no such call.
    let (free, free_oob) = ioctl::free_oob(file.as_fd()).unwrap_or_default();
    let attribute = |name: &str| fs::read_to_string(folder(number).join(name)).ok();
    let value = |name: &str| attribute(name).and_then(|text| text.trim().parse::<u64>().ok());
    Ok(Info {
        name: attribute("name").map_or_else(|| "MTD".to_owned(), |name| name.trim().to_owned()),
        kind: match told.kind {
            3 => MtdKind::Nor,
            4 => MtdKind::SlcNand,
            7 => MtdKind::UbiVolume,
            8 => MtdKind::MlcNand,
            other => MtdKind::Other(other),
        },
        // The ioctl's number has 32 bits.
        bytes: value("size").unwrap_or_else(|| told.size.into()),
        block_bytes: told.erasesize,
        page_bytes: told.writesize,
        oob_bytes: told.oobsize,
        free_oob_bytes: value("oobavail").map_or(free, |bytes| u32::try_from(bytes).unwrap_or(free)),
        free_oob,
        refresh_bits: value("bitflip_threshold").and_then(|bits| u32::try_from(bits).ok()),
        is_writable: told.flags & WRITEABLE != 0,
    })
}

/// The folder of a device in `/sys`.
fn folder(number: u64) -> PathBuf {
    PathBuf::from(format!("/sys/dev/char/{}:{}", major(number), minor(number)))
}

/// True if the device says that it cannot be written to.
fn is_read_only(number: u64) -> bool {
    let flags = fs::read_to_string(folder(number).join("flags")).unwrap_or_default();
    let flags = flags.trim().strip_prefix("0x").and_then(|flags| u32::from_str_radix(flags, 16).ok());
    flags.is_some_and(|flags| flags & WRITEABLE == 0)
}

/// What holds a device: UBI that is attached to it, or a file system. The kernel would let both write to it.
fn holder(number: u64) -> Option<String> {
    // Every MTD has two character devices: /dev/mtd0, /dev/mtd0ro, /dev/mtd1 and so on.
    let mtd = (minor(number) / 2).to_string();
    let ubis = fs::read_dir("/sys/class/ubi").into_iter().flatten().flatten();
    let of_this = |ubi: &fs::DirEntry| {
        fs::read_to_string(ubi.path().join("mtd_num")).is_ok_and(|attached| attached.trim() == mtd)
    };
    if let Some(ubi) = ubis.into_iter().find(of_this) {
        return Some(format!("UBI: detach {} first", ubi.file_name().to_string_lossy()));
    }
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    // JFFS2 is mounted by the name of the MTD, others by its block device.
    let devices = [format!("mtd{mtd}"), format!("/dev/mtdblock{mtd}")];
    let mounted = mounts
        .lines()
        .find(|line| line.split(' ').next().is_some_and(|device| devices.iter().any(|own| own == device)))?;
    Some(format!("a file system at {}", mounted.split(' ').nth(1).unwrap_or("?")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// nandsim's 256 MiB, with the kernel's Hamming code.
    fn nandsim() -> Info {
        Info {
            name: "NAND simulator partition 0".to_owned(),
            kind: MtdKind::SlcNand,
            bytes: 256 << 20,
            block_bytes: 128 << 10,
            page_bytes: 2048,
            oob_bytes: 64,
            free_oob_bytes: 38,
            free_oob: vec![(2, 38)],
            refresh_bits: Some(1),
            is_writable: true,
        }
    }

    #[test]
    fn what_cannot_hold_a_disk_is_refused_by_its_reason() {
        let path = Path::new("/dev/mtd9");
        assert!(check(path, &nandsim()).is_ok());
        let refused = |change: fn(&mut Info)| {
            let mut info = nandsim();
            change(&mut info);
            check(path, &info).unwrap_err()
        };
        assert!(matches!(refused(|info| info.kind = MtdKind::Nor), OpenError::OtherKind { what: "NOR flash", .. }));
        assert!(matches!(refused(|info| info.kind = MtdKind::MlcNand), OpenError::OtherKind { .. }));
        assert!(matches!(refused(|info| info.oob_bytes = 0), OpenError::NoOob { .. }));
        let little = refused(|info| info.free_oob_bytes = 17);
        assert_eq!(
            little.to_string(),
            "/dev/mtd9: 17 spare bytes of a page are free, and a tag with its code takes 18"
        );
        assert!(matches!(refused(|info| info.page_bytes = 528), OpenError::Shape { .. }));
        assert!(matches!(refused(|info| info.block_bytes = 0), OpenError::Shape { .. }));
        assert!(matches!(refused(|info| info.bytes = 0), OpenError::Shape { .. }));
    }

    #[test]
    fn what_is_no_device_is_refused() {
        for path in ["/dev/null", "/proc/self/exe", "/tmp"] {
            let refused = open(Path::new(path), Access::Read).unwrap_err();
            assert!(matches!(refused, OpenError::NotMtd { .. }), "{path}: {refused}");
        }
        let refused = open(Path::new("/dev/mtd-that-is-not-there"), Access::Read).unwrap_err();
        assert!(matches!(refused, OpenError::Io { .. }), "{refused}");
    }
}
