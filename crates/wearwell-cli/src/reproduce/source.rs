//! Where the experiments come from: the files built into the command, or a folder.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::experiment::{Row, Table};
use crate::failure::Failure;

/// Every experiment and chip below `papers/`, by its path there.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// How paths in a row's arguments begin.
const ROOT: &str = "papers/";

/// The papers' folder.
pub(crate) struct Papers {
    root: PathBuf,
    /// Keeps the unpacked files until the end.
    _unpacked: Option<TempDir>,
}

/// One file of a paper.
pub(crate) struct Experiment {
    /// The folder, as `kawaguchi95`.
    pub(crate) paper: String,
    /// The file without its ending, as `table5`.
    pub(crate) name: String,
    pub(crate) table: Table,
    /// False of one that only explains figures of others: it has the rows for that, and is not shown.
    pub(crate) is_asked_for: bool,
}

impl Experiment {
    /// As `kawaguchi95/table5`.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.paper, self.name)
    }

    /// The experiment and the row that a name in `explained_by` means.
    pub(crate) fn reference<'a>(&'a self, name: &'a str) -> (Cow<'a, str>, &'a str) {
        if self.table.row.iter().any(|row| row.name == name) {
            return (Cow::Owned(self.path()), name);
        }
        name.split_once(": ").map_or((Cow::Owned(self.path()), name), |(path, row)| (Cow::Borrowed(path), row))
    }

    /// The names of rows that need to be explained, each with the name of what explains a figure of it.
    fn explaining(&self) -> impl Iterator<Item = (&str, &str)> {
        self.table.row.iter().flat_map(|row| row.all_explaining().map(move |(_, name)| (&*row.name, name)))
    }

    /// The row of this name, if it is one.
    fn sensitivity_run(&self, name: &str) -> Option<&Row> {
        self.table.row.iter().find(|row| row.name == name && row.sensitivity)
    }

    /// Only these rows, and those that their changes are against, to explain others.
    fn only(mut self, rows: &[String]) -> Self {
        let mut kept: Vec<String> = rows.to_vec();
        for row in self.table.row.iter().rev() {
            if kept.contains(&row.name) {
                kept.extend(row.against.clone());
            }
        }
        self.table.row.retain(|row| kept.contains(&row.name));
        self.is_asked_for = false;
        self
    }
}

fn unusable(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::Refused(format!("{}: {error}", path.display()))
}

impl Papers {
    /// A folder like `papers/`.
    pub(crate) fn folder(root: &Path) -> Self {
        Self { root: root.to_owned(), _unpacked: None }
    }

    /// Unpacks what is built in, since chips are read from files.
    pub(crate) fn built_in() -> Result<Self, Failure> {
        let wrong = |error: std::io::Error| Failure::Wrong(format!("a temporary folder for the experiments: {error}"));
        let unpacked = TempDir::new().map_err(wrong)?;
        for (name, text) in BUILT_IN {
            let path = unpacked.path().join(name);
            fs::create_dir_all(path.parent().unwrap_or(unpacked.path())).map_err(wrong)?;
            fs::write(path, text).map_err(wrong)?;
        }
        Ok(Self { root: unpacked.path().to_owned(), _unpacked: Some(unpacked) })
    }

    /// Reads the experiments of one paper or of all, of one name or of all.
    ///
    /// # Errors
    /// A name that is on no list, with the list; a file that cannot be read or makes no sense.
    pub(crate) fn experiments(&self, paper: Option<&str>, only: Option<&str>) -> Result<Vec<Experiment>, Failure> {
        let papers = names(&self.root, |path| path.is_dir())?;
        let papers = chosen("paper", papers, paper)?;
        let mut files = Vec::new();
        for paper in &papers {
            let tables = names(&self.root.join(paper), |path| path.extension().is_some_and(|e| e == "toml"))?;
            files.extend(tables.into_iter().map(|name| (paper.clone(), name)));
        }
        if let Some(only) = only {
            let mut known: Vec<String> = files.iter().map(|(_, name)| name.clone()).collect();
            known.sort();
            known.dedup();
            chosen("table or figure", known, Some(only))?;
            files.retain(|(_, name)| name == only);
        }
        let mut experiments =
            files.into_iter().map(|(paper, name)| self.load(paper, name)).collect::<Result<Vec<_>, Failure>>()?;
        self.add_explaining(&mut experiments)?;
        Ok(experiments)
    }

    /// Checks that every row which is named to explain something is there, and adds those of tables not asked for.
    fn add_explaining(&self, experiments: &mut Vec<Experiment>) -> Result<(), Failure> {
        // The tables not asked for, each with the rows that are wanted of it.
        let mut others: Vec<(Experiment, Vec<String>)> = Vec::new();
        for experiment in experiments.iter() {
            for (row, name) in experiment.explaining() {
                let missing = || {
                    let at = experiment.path();
                    Failure::Refused(format!("{at}: {row}: there is no sensitivity run '{name}' that could explain it"))
                };
                let (path, wanted) = experiment.reference(name);
                if let Some(asked_for) = experiments.iter().find(|other| other.path() == path) {
                    asked_for.sensitivity_run(wanted).ok_or_else(missing)?;
                    continue;
                }
                if !others.iter().any(|(other, _)| other.path() == path) {
                    let (paper, table) = path.split_once('/').ok_or_else(missing)?;
                    others.push((self.load(paper.to_owned(), table.to_owned())?, Vec::new()));
                }
                if let Some((other, rows)) = others.iter_mut().find(|(other, _)| other.path() == path) {
                    other.sensitivity_run(wanted).ok_or_else(missing)?;
                    rows.push(wanted.to_owned());
                }
            }
        }
        experiments.extend(others.into_iter().map(|(other, rows)| other.only(&rows)));
        Ok(())
    }

    fn load(&self, paper: String, name: String) -> Result<Experiment, Failure> {
        let path = self.root.join(&paper).join(format!("{name}.toml"));
        let text = fs::read_to_string(&path).map_err(unusable(&path))?;
        let refused = |what: String| Failure::Refused(format!("{}: {what}", path.display()));
        let mut table: Table = toml::from_str(&text).map_err(|error| refused(error.to_string()))?;
        for chart in &mut table.chart {
            if let Some(file) = &chart.file {
                let path = self.root.join(&paper).join(file);
                chart.text = fs::read_to_string(&path).map_err(unusable(&path))?;
            }
        }
        match table.fault() {
            Some(fault) => Err(refused(fault)),
            None => Ok(Experiment { paper, name, table, is_asked_for: true }),
        }
    }

    /// A word of a row's arguments, with `papers/` at its beginning replaced by where that is.
    pub(crate) fn word(&self, word: &str) -> String {
        word.strip_prefix(ROOT)
            .map_or_else(|| word.to_owned(), |rest| self.root.join(rest).to_string_lossy().into_owned())
    }
}

/// The names, without endings, of what a folder has of a kind; sorted.
fn names(folder: &Path, is_meant: impl Fn(&Path) -> bool) -> Result<Vec<String>, Failure> {
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
fn chosen(what: &str, names: Vec<String>, wanted: Option<&str>) -> Result<Vec<String>, Failure> {
    match wanted {
        None => Ok(names),
        Some(wanted) if names.iter().any(|name| name == wanted) => Ok(vec![wanted.to_owned()]),
        Some(wanted) => Err(Failure::Refused(format!("there is no {what} '{wanted}'; there are {}", names.join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_experiments_built_in_are_those_in_the_folder() {
        let folder = Papers::folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers"));
        let built_in = Papers::built_in().unwrap();
        let paths = |papers: &Papers| -> Vec<String> {
            papers.experiments(None, None).unwrap().iter().map(Experiment::path).collect()
        };
        assert_eq!(paths(&folder), paths(&built_in));
        assert!(paths(&folder).contains(&"kawaguchi95/table5".to_owned()));
    }

    #[test]
    fn paths_in_arguments_start_in_the_folder() {
        let papers = Papers::folder(Path::new("/there"));
        assert_eq!(papers.word("papers/x/chips/y.toml"), "/there/x/chips/y.toml");
        assert_eq!(papers.word("--chip"), "--chip");
    }
}
