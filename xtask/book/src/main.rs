//! Builds the book with mdBook, and checks the links between its pages.
#![forbid(unsafe_code)]

mod links;

use std::path::Path;
use std::process::ExitCode;

use mdbook_driver::MDBook;

fn main() -> ExitCode {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    if let Err(error) = MDBook::load(&docs).and_then(|book| book.build()) {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    match links::broken_in(&docs.join("src")) {
        Ok(broken) if broken.is_empty() => ExitCode::SUCCESS,
        Ok(broken) => {
            broken.iter().for_each(|link| eprintln!("error: {link}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
