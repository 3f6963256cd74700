//! The file with the number of a serving process: `wearwell serve --pid-file`.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::failure::Failure;

/// More bytes than any process number with its newline.
const NUMBER_BYTES: u64 = 32;

/// A file with our process's number, for as long as it serves. Only a file that holds just the number of a process that
/// has ended is replaced, and only our own file is removed.
pub(crate) struct PidFile(PathBuf);

impl PidFile {
    /// Checks that the name can be used.
    pub(crate) fn check(path: &Path) -> Result<(), Failure> {
        holder(path).map(drop)
    }

    /// Writes the file. It appears with its content.
    pub(crate) fn write(path: &Path) -> Result<Self, Failure> {
        let refused = |error: io::Error| Failure::Refused(format!("--pid-file: {}: {error}", path.display()));
        // Asked again: since the first check the disk was mounted, and another server may have come.
        let is_stale = holder(path)?.is_some();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new();
        // The mask for new files applies.
        let mut file = file.permissions(Permissions::from_mode(0o666)).tempfile_in(folder).map_err(refused)?;
        file.write_all(format!("{}\n", process::id()).as_bytes()).map_err(refused)?;
        // A file that has appeared since is not replaced. It may be that of a server that started at the same moment.
        let put = if is_stale { file.persist(path) } else { file.persist_noclobber(path) };
        put.map_err(|failed| refused(failed.error))?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // Another server may have replaced it if somebody removed it before.
        if number_in(&self.0).is_ok_and(|number| number.is_some_and(is_ours)) {
            // A file that is gone already is no error.
            let _ = fs::remove_file(&self.0);
        }
    }
}

/// The process that has ended and left its number in a file; none if there is no file.
fn holder(path: &Path) -> Result<Option<Pid>, Failure> {
    let refused = |why: String| Err(Failure::Refused(format!("--pid-file: {}: {why}", path.display())));
    match number_in(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => refused(error.to_string()),
        Ok(None) => refused("exists, and holds something other than the number of a process".to_owned()),
        Ok(Some(number)) if is_ours(number) || test_kill_process(number) == Err(Errno::SRCH) => Ok(Some(number)),
        Ok(Some(number)) => refused(format!("process {number} still runs")),
    }
}

/// True for our own number. After a restart of the machine, numbers start again, so an old file may hold it.
fn is_ours(number: Pid) -> bool {
    u32::try_from(number.as_raw_nonzero().get()) == Ok(process::id())
}

/// The number in a file that holds only the number of a process. Only plain files are read.
fn number_in(path: &Path) -> io::Result<Option<Pid>> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    // Somebody may have named a large file by mistake.
    fs::File::open(path)?.take(NUMBER_BYTES).read_to_end(&mut bytes)?;
    let text = str::from_utf8(&bytes).ok().and_then(|text| text.strip_suffix('\n'));
    let digits = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    Ok(digits.and_then(|digits| digits.parse().ok()).and_then(Pid::from_raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_of_a_process_that_has_gone_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pid");
        let ended = process::Command::new("true").spawn().map(|mut child| (child.id(), child.wait())).unwrap().0;
        let ours = format!("{}\n", process::id());
        for stale in [format!("{ended}\n"), ours.clone()] {
            fs::write(&path, stale).unwrap();
            let written = PidFile::write(&path).map_err(|failure| failure.line()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), ours);
            drop(written);
            assert!(!path.exists());
        }
        for kept in ["", "precious", "1\n", "12", "+12\n", "0\n", "99999999999\n", "4000000\nand more"] {
            fs::write(&path, kept).unwrap();
            assert_eq!(PidFile::write(&path).err().map(|failure| failure.exit_code()), Some(2), "{kept:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), kept);
        }
    }

    #[test]
    fn what_another_process_took_over_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pid");
        let written = PidFile::write(&path).map_err(|failure| failure.line()).unwrap();
        fs::write(&path, "1\n").unwrap();
        drop(written);
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n");
    }
}
