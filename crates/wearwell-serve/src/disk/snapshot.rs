//! A copy of the image while it is served, for another server.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{SeekFrom, ioctl_ficlone, seek};
use rustix::io::Errno;

use super::{Disk, DiskError};

impl Disk {
    /// Flushes, and copies the image to a new file, which is a disk of its own: all that was written so far is in it.
    /// It opens as after a power cut.
    ///
    /// Where the file system shares blocks between files, this takes no time and no room. Elsewhere it takes as long as
    /// copying what the image holds.
    ///
    /// # Errors
    /// `NoImage`; as [`flush`](Self::flush); `Io` if the file exists, or cannot be written.
    pub fn snapshot(&mut self, to: &Path) -> Result<(), DiskError> {
        if self.file.is_none() {
            return Err(DiskError::NoImage);
        }
        self.flush()?;
        let Some(image) = &self.file else { return Err(DiskError::NoImage) };
        let failed = |error| DiskError::Io { path: to.to_owned(), error };
        // The copy has all data of the disk. Who else may read it is for its owner to say.
        let copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(failed)?;
        // The chip is mapped from the file, so what was stored is in the cache that reads of the file see.
        let copied = copy_of(image.file(), &copy).and_then(|()| copy.sync_all());
        copied.map_err(|error| {
            // The file is ours, and no disk.
            let _ = fs::remove_file(to);
            failed(error)
        })
    }
}

/// Copies a file, and leaves its holes holes.
fn copy_of(image: &File, mut copy: &File) -> io::Result<()> {
    // On any error the bytes are copied. A cause that remains shows there.
    if ioctl_ficlone(copy, image).is_ok() {
        return Ok(());
    }
    let bytes = image.metadata()?.len();
    // At first it is one hole, so that holes need not be written, the one at the end included.
    copy.set_len(bytes)?;
    let mut at = 0;
    while at < bytes {
        let data = match seek(image, SeekFrom::Data(at)) {
            // There is nothing behind it.
            Err(Errno::NXIO) => return Ok(()),
            found => found?,
        };
        // The end of a file counts as a hole, so this moves on each time.
        at = seek(image, SeekFrom::Hole(data))?;
        for file in [image, copy] {
            seek(file, SeekFrom::Start(data))?;
        }
        io::copy(&mut image.take(at - data), &mut copy)?;
    }
    Ok(())
}
