//! The source of the experiments: files built into the library, or a folder.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::PapersError;
use crate::experiment::{Paper, Table};

/// Every experiment and chip below `papers/`, by its path there.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// The beginning of paths in a row's arguments.
const ROOT: &str = "papers/";

/// The file about the paper as a whole. The other files in its folder are tables.
const ABOUT: &str = "paper";

/// The papers' folder.
pub(crate) struct Folder {
    root: PathBuf,
    /// Keeps the unpacked files until the end.
    _unpacked: Option<TempDir>,
}

fn unusable(path: &Path) -> impl Fn(std::io::Error) -> PapersError {
    move |error| PapersError::Refused(format!("{}: {error}", path.display()))
}

impl Folder {
    /// A folder like `papers/`.
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), _unpacked: None }
    }

    /// Unpacks the built-in files, because chips are read from files.
    pub(crate) fn built_in() -> Result<Self, PapersError> {
        let wrong = |error: std::io::Error| PapersError::Wrong(format!("a temporary folder: {error}"));
        let unpacked = TempDir::new().map_err(wrong)?;
        for (name, text) in BUILT_IN {
            let path = unpacked.path().join(name);
            fs::create_dir_all(path.parent().unwrap_or(unpacked.path())).map_err(wrong)?;
            fs::write(path, text).map_err(wrong)?;
        }
        Ok(Self { root: unpacked.path().to_owned(), _unpacked: Some(unpacked) })
    }

    /// Reads one paper, or all except those that must be named. A paper is read whole, because a choice is judged by
    /// every row that it touches.
    ///
    /// # Errors
    /// A name that is on no list, with the list; a file that cannot be read or makes no sense.
    pub(crate) fn papers(&self, paper: Option<&str>, only: Option<&str>) -> Result<Vec<Paper>, PapersError> {
        let folders = chosen("paper", names(&self.root, |path| path.is_dir())?, paper)?;
        let mut papers = folders.into_iter().map(|folder| self.paper(folder)).collect::<Result<Vec<_>, _>>()?;
        papers.retain(|own| !own.about.only_if_named || paper.is_some());
        if let Some(only) = only {
            let tables = papers.iter().flat_map(|paper| &paper.tables).map(|table| table.name.clone());
            let mut known: Vec<String> = tables.collect();
            known.sort();
            known.dedup();
            chosen("table or figure", known, Some(only))?;
            papers.retain(|paper| paper.tables.iter().any(|table| table.name == only));
        }
        Ok(papers)
    }

    fn paper(&self, folder: String) -> Result<Paper, PapersError> {
        let path = self.root.join(&folder);
        let about = path.join(ABOUT).with_extension("toml");
        let mut paper = Paper { folder, about: parsed(&about)?, tables: Vec::new() };
        let tables = names(&path, |file| file.extension().is_some_and(|e| e == "toml") && *file != *about)?;
        for name in tables {
            paper.tables.push(table(&path, name)?);
        }
        match paper.fault() {
            Some(fault) => Err(PapersError::Refused(format!("{}: {fault}", about.display()))),
            None => Ok(paper),
        }
    }

    /// The words of a row's arguments. A leading `papers/` is replaced by the real folder.
    pub(crate) fn words(&self, args: &str) -> Vec<String> {
        let word = |word: &str| match word.strip_prefix(ROOT) {
            Some(rest) => self.root.join(rest).to_string_lossy().into_owned(),
            None => word.to_owned(),
        };
        args.split_whitespace().map(word).collect()
    }
}

fn parsed<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, PapersError> {
    let text = fs::read_to_string(path).map_err(unusable(path))?;
    toml::from_str(&text).map_err(|error| PapersError::Refused(format!("{}: {error}", path.display())))
}

fn table(folder: &Path, name: String) -> Result<Table, PapersError> {
    let path = folder.join(&name).with_extension("toml");
    let mut table: Table = parsed(&path)?;
    table.name = name;
    let read = |file: &str| {
        let file = folder.join(file);
        fs::read_to_string(&file).map_err(unusable(&file))
    };
    for chart in &mut table.chart {
        if let Some(file) = &chart.file {
            chart.text = read(file)?;
        }
    }
    for point in table.row.iter_mut().filter_map(|row| row.file.as_mut()) {
        point.text = read(&point.name)?;
    }
    match table.fault() {
        Some(fault) => Err(PapersError::Refused(format!("{}: {fault}", path.display()))),
        None => Ok(table),
    }
}

/// The sorted names, without extensions, of one kind of files in a folder.
fn names(folder: &Path, is_meant: impl Fn(&Path) -> bool) -> Result<Vec<String>, PapersError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(unusable(folder))? {
        let path = entry.map_err(unusable(folder))?.path();
        if is_meant(&path) {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    // Figure 9 before figure 10.
    names
        .sort_by_key(|name| (name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned(), name.len(), name.clone()));
    Ok(names)
}

/// All names, or the one that is wanted.
fn chosen(what: &str, names: Vec<String>, wanted: Option<&str>) -> Result<Vec<String>, PapersError> {
    let Some(wanted) = wanted else { return Ok(names) };
    match names.iter().any(|name| name == wanted) {
        true => Ok(vec![wanted.to_owned()]),
        false => Err(PapersError::Refused(format!("there is no {what} '{wanted}'; there are {}", names.join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_built_in_are_those_in_the_folder() {
        let names = |folder: &Folder| -> Vec<String> {
            let papers = folder.papers(None, None).unwrap();
            let of = |paper: &Paper| paper.tables.iter().map(|t| format!("{}/{}", paper.folder, t.name)).collect();
            papers.iter().flat_map(|paper| -> Vec<String> { of(paper) }).collect()
        };
        let folder = Folder::at(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers"));
        assert_eq!(names(&folder), names(&Folder::built_in().unwrap()));
        assert!(names(&folder).contains(&"kawaguchi95/table5".to_owned()));
    }

    #[test]
    fn paths_in_arguments_start_in_the_folder() {
        let folder = Folder::at(Path::new("/there"));
        assert_eq!(folder.words("--chip papers/x/chips/y.toml"), ["--chip", "/there/x/chips/y.toml"]);
    }
}
