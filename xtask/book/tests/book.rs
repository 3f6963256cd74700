//! The book builds, and its links lead somewhere.

use std::process::Command;

#[test]
fn the_book_builds_and_its_links_hold() {
    let status = Command::new(env!("CARGO_BIN_EXE_wearwell-book")).status().expect("the program starts");
    assert!(status.success(), "it says why above");
}
