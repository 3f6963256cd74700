//! Table 8 of Kawaguchi '95: an Andrew-like benchmark on a real ext4 over a served disk, at the speed of his host.
//!
//! This file has its results. `served.rs` runs it.

#[cfg(target_os = "linux")]
mod served;

use std::collections::HashMap;

use crate::bench::Sample;
use crate::column::Figures;
use crate::experiment::{Paper, Row};
use crate::source::Folder;
use crate::{CommandLine, PapersError, Watch};

/// The results of the benchmarks, by table and row; empty if they were not asked for.
#[derive(Default)]
pub(crate) struct Benchmarks(Option<HashMap<(String, String), Result<Figures, String>>>);

impl Benchmarks {
    /// Runs the benchmarks one at a time, with nothing beside them. The requests of the file system depend on the clock
    /// of this machine and not on a seed, so each is run once.
    ///
    /// # Errors
    /// Arguments that `wearwell serve` would refuse.
    pub(crate) fn measure(
        papers: &[Paper],
        folder: &Folder,
        commands: &dyn CommandLine,
        seed: u64,
        watch: &dyn Watch,
    ) -> Result<Self, PapersError> {
        let rows: Vec<_> = papers.iter().flat_map(rows).collect();
        let figures = served::measure(&rows, folder, commands, seed, watch)?;
        let names = rows.iter().map(|(name, row)| (name.clone(), row.name.clone()));
        Ok(Self(Some(names.zip(figures).collect())))
    }

    pub(crate) fn were_run(&self) -> bool {
        self.0.is_some()
    }

    /// The result of a row.
    pub(crate) fn sample(&self, table: &str, row: &Row) -> Result<Sample, String> {
        let Some(all) = &self.0 else {
            return Err("it needs a file system on a served disk: it runs with --guests, as root".to_owned());
        };
        let found = all.get(&(table.to_owned(), row.name.clone())).cloned();
        found.unwrap_or_else(|| Err("it was not run".to_owned())).map(|figures| vec![figures])
    }
}

/// The rows of a paper that are benchmarks, each with its table's name.
pub(crate) fn rows(paper: &Paper) -> Vec<(String, &Row)> {
    let all = paper.tables.iter().flat_map(|table| table.row.iter().map(|row| (table.name.clone(), row)));
    all.filter(|(_, row)| row.andrew.is_some()).collect()
}

/// Checks that this machine can run the benchmark, before anything is run.
///
/// # Errors
/// What is missing.
pub(crate) fn check() -> Result<(), PapersError> {
    served::check()
}

/// Disks are served on Linux only.
#[cfg(not(target_os = "linux"))]
mod served {
    use super::*;

    pub(super) fn check() -> Result<(), PapersError> {
        Err(PapersError::Refused("--guests: disks are served on Linux only".to_owned()))
    }

    pub(super) fn measure(
        _rows: &[(String, &Row)],
        _folder: &Folder,
        _commands: &dyn CommandLine,
        _seed: u64,
        _watch: &dyn Watch,
    ) -> Result<Vec<Result<Figures, String>>, PapersError> {
        check().map(|()| Vec::new())
    }
}
