//! Generates `wearwell.h` from the crate `wearwell-c` with cbindgen. Without `--write`, compares it with the one in the
//! tree.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use cbindgen::{Builder, Config};

/// The files with C's interface.
const SOURCES: &[&str] = &["src/error.rs", "src/driver.rs", "src/open.rs", "src/calls.rs"];

const HEADER: &str = "include/wearwell.h";

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/wearwell-c");
    let writes = env::args().any(|arg| arg == "--write");
    match make(&folder).and_then(|header| keep(&folder.join(HEADER), &header, writes)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The header as text.
fn make(folder: &Path) -> Result<String, String> {
    let config = Config::from_file(folder.join("cbindgen.toml"))?;
    let sources = SOURCES.iter().fold(Builder::new().with_config(config), |all, file| all.with_src(folder.join(file)));
    let mut header = Vec::new();
    sources.generate().map_err(|error| error.to_string())?.write(&mut header);
    let text = String::from_utf8(header).map_err(|error| error.to_string())?;
    // Rust's "Safety" section is what a C function requires of its caller.
    Ok(text.replace(" * # Safety\n", " * The caller must ensure:\n"))
}

fn keep(path: &Path, header: &str, writes: bool) -> Result<(), String> {
    let of_file = |error| format!("{}: {error}", path.display());
    if writes {
        return fs::write(path, header).map_err(of_file);
    }
    match fs::read_to_string(path).map_err(of_file)? == header {
        true => Ok(()),
        false => Err(format!("{} is not current: cargo run -p wearwell-header -- --write", path.display())),
    }
}
