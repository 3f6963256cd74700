//! The program itself: fixed seeds hold, and callbacks that hide failures are caught.

use std::process::Command;

fn torture(args: &[&str]) -> Option<i32> {
    let status = Command::new(env!("CARGO_BIN_EXE_wearwell-c-torture")).args(args).status();
    status.expect("the program starts").code()
}

#[test]
fn fixed_seeds_hold() {
    assert_eq!(torture(&["--seed", "1", "--seeds", "6"]), Some(0));
}

/// Where empty segments are kept, each mount behind a cut found more copies, until the arena was too small for them.
#[test]
fn copies_in_kept_segments_take_no_more_memory_from_mount_to_mount() {
    assert_eq!(torture(&["c-refresh", "--seed", "500000149", "--seeds", "1"]), Some(0));
}

#[test]
fn callbacks_that_hide_failed_programs_are_caught() {
    assert_eq!(torture(&["--seed", "1", "--seeds", "20", "--canary", "c-fails"]), Some(1));
}
