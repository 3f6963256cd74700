//! Builds the papers' experiments into the command, so that `wearwell reproduce` works in any folder.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Experiments, chips, and series that are drawn.
const EXTENSIONS: [&str; 2] = ["toml", "csv"];

fn main() -> Result<(), Box<dyn Error>> {
    let papers = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../papers").canonicalize()?;
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    for paper in sorted(&papers)?.into_iter().filter(|path| path.is_dir()) {
        files.extend(sorted(&paper)?);
        let chips = paper.join("chips");
        if chips.is_dir() {
            files.extend(sorted(&chips)?);
        }
    }
    let mut code = "&[\n".to_owned();
    let is_used = |file: &&PathBuf| EXTENSIONS.iter().any(|used| file.extension().is_some_and(|own| own == *used));
    for file in files.iter().filter(is_used) {
        // The folders are not watched: their READMEs are written from the results and are not used here.
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&papers)?.to_string_lossy().replace('\\', "/");
        writeln!(code, "    ({name:?}, include_str!({:?})),", file.display().to_string())?;
    }
    code.push(']');
    fs::write(Path::new(&env::var("OUT_DIR")?).join("papers.rs"), code)?;
    Ok(())
}

/// The content of a folder, sorted by name.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    paths.sort();
    Ok(paths)
}
