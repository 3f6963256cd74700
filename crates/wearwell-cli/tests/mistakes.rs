//! Command lines as people type them the first time: each is answered in one line that says what is wrong, where, and
//! what to do.

use std::process::Command;

/// The command refuses with exit code 2 and this line.
fn assert_told(args: &[&str], told: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_wearwell")).args(args).output().expect("the command starts");
    assert_eq!(String::from_utf8_lossy(&output.stderr), format!("wearwell: {told}\n"), "{args:?}");
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
}

#[test]
fn numbers() {
    let run = |more: &[&str], told: &str| assert_told(&[&["run", "--workload", "random"], more].concat(), told);
    run(&["--seed", "-1"], "'--seed -1': no value may be below zero");
    run(&["--write", "-5MiB"], "'--write -5MiB': no value may be below zero");
    run(&["--seed=-1"], "invalid value '-1' for '--seed <N>': a whole number from 0 on is needed");
    run(&["--seed", "one"], "invalid value 'one' for '--seed <N>': a whole number from 0 on is needed");
    run(
        &["--seed", "99999999999999999999"],
        "invalid value '99999999999999999999' for '--seed <N>': the number is too \
         large",
    );
    run(&["--hold", "long"], "invalid value 'long' for '--hold <SECONDS>': a number is needed");
}

#[test]
fn commands_flags_and_arguments() {
    assert_told(
        &["ctl", "disk.ww", "frob"],
        "there is no command 'frob' of wearwell ctl; there are stats, events, policy, hint, clean, snapshot, cut, \
         fault",
    );
    assert_told(
        &["run", "--workload", "random", "more"],
        "'more' is an argument too many: `wearwell run --help` says what wearwell run takes",
    );
    assert_told(
        &["trace", "convert", "a", "b"],
        "'b' is an argument too many: `wearwell trace convert --help` says what wearwell trace convert takes",
    );
    assert_told(
        &["serve", "disk.ww", "--frob"],
        "there is no flag '--frob' of wearwell serve: `wearwell serve --help` lists them",
    );
}

#[test]
fn what_is_not_said() {
    for bound in [&["bound"][..], &["bound", "--chip", "w25n01gv"]] {
        assert_told(bound, "<WORKLOAD|TRACE> is missing: `wearwell bound --help` says more");
    }
    assert_told(&["run"], "--workload <WORKLOAD> is missing: `wearwell run --help` says more");
    assert_told(&["serve"], "<IMAGE> is missing: `wearwell serve --help` says more");
}

#[test]
#[cfg(target_os = "linux")]
fn files() {
    for command in ["inspect", "check", "serve"] {
        assert_told(&[command, "none.ww"], "none.ww: No such file; `wearwell create none.ww` makes a disk");
    }
    assert_told(&["create", "/none/a.ww"], "/none/a.ww: there is no folder /none to write it to");
    assert_told(&["create", "/dev/null"], "/dev/null: exists already; remove it, or name another image");
    assert_told(
        &["ctl", "none.ww", "stats"],
        "none.ww.ctl: no server answers here: No such file or directory (os error 2); `wearwell serve IMAGE` starts \
         one",
    );
}
