//! The header in the tree is what its sources make.

use std::process::Command;

#[test]
fn the_header_is_current() {
    let status = Command::new(env!("CARGO_BIN_EXE_wearwell-header")).status().expect("the program starts");
    assert!(status.success(), "it says why above");
}
