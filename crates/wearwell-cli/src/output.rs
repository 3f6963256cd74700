//! Output of results: to standard output, or to a file that is either complete or absent.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Serialize;

use crate::failure::Failure;

/// `-` or the name of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Stdout,
    File(PathBuf),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "-" => Ok(Self::Stdout),
            // The system's names for standard output. If one were opened again, a file behind it would be overwritten
            // from its start.
            "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Ok(Self::Stdout),
            "" => Err("the name of a file is missing".to_owned()),
            name => Ok(Self::File(name.into())),
        }
    }
}

/// The command line of this process, as a shell takes it.
pub(crate) fn typed() -> String {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let words = words.iter().map(String::as_str);
    // No argument of a process has the zero byte that cannot be quoted.
    shlex::try_join(["wearwell"].into_iter().chain(words)).unwrap_or_default()
}

impl Target {
    /// Checks before a long run that its result can be written.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Self::File(path) = self else { return Ok(()) };
        if path.is_dir() {
            return Err(Failure::Refused(format!("{}: is a directory; name a file", path.display())));
        }
        check_folder(path)?;
        let tried = match Place::of(path) {
            // The folder must be writable, which only a try shows.
            Place::Beside(file) => File::create(part_of(&file)).and_then(|_| fs::remove_file(part_of(&file))),
            // Opening a pipe waits for its reader, and is possible only once.
            Place::Inside => Ok(()),
        };
        tried.map_err(|error| Failure::Refused(format!("{}: {error}", path.display())))
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(bytes)?;
                Ok(out.flush()?)
            }
            Self::File(path) => {
                replace(path, bytes).map_err(|error| Failure::Wrong(format!("{}: {error}", path.display())))
            }
        }
    }
}

/// Checks that there is a folder for a new file.
pub(crate) fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = folder_of(path);
    if folder.is_dir() {
        return Ok(());
    }
    let (path, folder) = (path.display(), folder.display());
    Err(Failure::Refused(format!("{path}: there is no folder {folder} to write it to")))
}

/// Checks all targets. Only one may be standard output, and no two may be the same file.
pub(crate) fn check_all(targets: &[&Option<Target>]) -> Result<(), Failure> {
    let targets: Vec<&Target> = targets.iter().filter_map(|target| target.as_ref()).collect();
    targets.iter().try_for_each(|target| target.check())?;
    if targets.iter().filter(|target| ***target == Target::Stdout).count() > 1 {
        let why = "only one of --json, --csv and --html can have standard output; name a file for the others";
        return Err(Failure::Refused(why.to_owned()));
    }
    let mut files = Vec::new();
    for target in targets {
        if let Target::File(path) = target
            && let Place::Beside(file) = Place::of(path)
        {
            if files.contains(&file) {
                return Err(Failure::Refused(format!("{}: is named for two results", path.display())));
            }
            files.push(file);
        }
    }
    Ok(())
}

/// How a file is written.
enum Place {
    /// As a whole: the file is written beside the target and renamed over it. Symbolic links are followed.
    Beside(PathBuf),
    /// Into an existing device, a pipe, or a link without a target. These must not be replaced.
    Inside,
}

impl Place {
    fn of(path: &Path) -> Self {
        let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        match fs::metadata(path) {
            Ok(found) if found.is_file() => fs::canonicalize(path).map_or(Self::Inside, Self::Beside),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_link => {
                let folder = fs::canonicalize(folder_of(path)).unwrap_or_else(|_| folder_of(path).to_owned());
                Self::Beside(folder.join(path.file_name().unwrap_or_default()))
            }
            _ => Self::Inside,
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The temporary name of a file.
fn part_of(path: &Path) -> PathBuf {
    // In the same folder, since a rename does not cross file systems. The process's number keeps two runs apart.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    folder_of(path).join(format!(".{name}.{}.part", std::process::id()))
}

/// Writes a file so that nobody sees an incomplete one. A target that is not a plain file is written directly.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let Place::Beside(file) = Place::of(path) else {
        return fs::write(path, bytes);
    };
    let beside = part_of(&file);
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, &file));
    if written.is_err() {
        // It may not have come to be. The first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// A value as indented JSON with a final newline.
pub(crate) fn json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| Failure::Wrong(format!("JSON: {error}")))?;
    bytes.push(b'\n');
    Ok(bytes)
}
