//! Where results go: standard output, or a file that is either whole or not there.

use std::fs;
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
            "" => Err("the name of a file is missing".to_owned()),
            name => Ok(Self::File(name.into())),
        }
    }
}

impl Target {
    /// Finds out before a long run whether its result has a place to go.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Self::File(path) = self else { return Ok(()) };
        if path.is_dir() {
            return Err(Failure::Refused(format!("{}: is a directory; name a file", path.display())));
        }
        let folder = folder_of(path);
        if folder.is_dir() {
            return Ok(());
        }
        Err(Failure::Refused(format!("{}: there is no folder {} to write it to", path.display(), folder.display())))
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

/// Checks all targets, of which only one may be standard output.
pub(crate) fn check_all(targets: &[&Option<Target>]) -> Result<(), Failure> {
    if targets.iter().filter(|target| **target == &Some(Target::Stdout)).count() > 1 {
        let why = "only one of --json, --csv and --html can have standard output; name a file for the others";
        return Err(Failure::Refused(why.to_owned()));
    }
    targets.iter().filter_map(|target| target.as_ref()).try_for_each(Target::check)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file beside the one meant and renames it, so that nobody ever sees half of it.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder_of(path).join(format!(".{name}.{}.part", std::process::id()));
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// A value as indented JSON and a line's end.
pub(crate) fn json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| Failure::Wrong(format!("JSON: {error}")))?;
    bytes.push(b'\n');
    Ok(bytes)
}
