//! Running other programs.

use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Output};

/// Why a task failed or was skipped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    #[error("cannot start `{command}`: {source}")]
    NotStarted { command: String, source: io::Error },
    #[error("`{command}` ended with {status}")]
    Failed { command: String, status: ExitStatus },
    #[error("cannot use {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Found(String),
    /// This machine cannot do all of it. Nothing else went wrong.
    #[error("skipped: {0}")]
    Skipped(String),
}

impl TaskError {
    /// Adds the path to an error about a file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}

/// A command as it would be typed, without quoting.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs a command with our own output.
pub(crate) fn run(command: &mut Command) -> Result<(), TaskError> {
    let status = command.status().map_err(|source| TaskError::NotStarted { command: shown(command), source })?;
    check(command, status)
}

/// An error unless a command that has ended succeeded.
pub(crate) fn check(command: &Command, status: ExitStatus) -> Result<(), TaskError> {
    if status.success() { Ok(()) } else { Err(TaskError::Failed { command: shown(command), status }) }
}

/// Runs a command and keeps its output. The caller checks its status, with [`check`] if there is no more to say.
pub(crate) fn capture(command: &mut Command) -> Result<Output, TaskError> {
    command.output().map_err(|source| TaskError::NotStarted { command: shown(command), source })
}
