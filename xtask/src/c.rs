//! The C library: C programs over arrays find after power cuts what they had synced. (A test of `xtask/header` shows
//! that its header is current.)

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::guests;
use crate::process::{self, TaskError};
use crate::workspace::Workspace;

const FOLDER: &str = "crates/wearwell-c";

/// Where it is built, below `target`.
const TARGET: &str = "wearwell-c";

/// Seeds of the test with cuts.
const SEEDS: &str = "100";

/// What an installed library is found by.
const TOOLS: &[(&str, &str)] = &[("cmake", "cmake"), ("pkg-config", "pkgconf")];

/// What the headers, the adapter and the tests are compiled with.
const FLAGS: &[&str] = &["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-g"];

/// Folders that the tests include from.
const INCLUDES: &[&str] = &["include", "dhara", "examples/fatfs", "tests", "tests/stand-in"];

/// A test program: its name, and its sources beside those that all have.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("disk", &["tests/disk.c"]),
    ("dhara", &["tests/dhara.c", "dhara/wearwell_dhara.c"]),
    ("fatfs", &["tests/fatfs.c", "examples/fatfs/wearwell_diskio.c"]),
];

const SHARED: &[&str] = &["tests/chip.c", "tests/model.c"];

pub(crate) fn test(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(workspace.cargo_apart(FOLDER, TARGET, &["clippy", "--quiet"]).args(["--", "-D", "warnings"]))?;
    process::run(&mut workspace.cargo_apart(FOLDER, TARGET, &["build", "--quiet"]))?;
    let library = workspace.target(TARGET).join("debug/libwearwell.a");
    for (name, sources) in PROGRAMS {
        // Nothing is linked but the C library, and that is for the tests.
        let mut link = compiler(workspace, name, sources);
        process::run(link.args(["-nodefaultlibs", "-Wl,--gc-sections"]).arg(&library).arg("-lc"))?;
    }
    process::run(Command::new(program(workspace, "disk")).arg(SEEDS))?;
    process::run(&mut Command::new(program(workspace, "dhara")))?;
    process::run(&mut Command::new(program(workspace, "fatfs")))?;
    notices_forgotten_programs(workspace)?;
    guests::install(TOOLS)?;
    installed(workspace)
}

/// The canary: on a chip that forgets programs, the test has to fail, and by its own checks.
fn notices_forgotten_programs(workspace: &Workspace) -> Result<(), TaskError> {
    let mut canary = Command::new(program(workspace, "disk"));
    let status = process::capture(canary.arg("--canary"))?.status;
    match status.code() {
        Some(1) => Ok(()),
        _ => Err(TaskError::Found(format!("`{}` ended with {status} and not with 1", process::shown(&canary)))),
    }
}

/// Builds and installs by CMake, and builds the test again as somebody else's program, by what pkg-config says.
fn installed(workspace: &Workspace) -> Result<(), TaskError> {
    let (build, prefix) = (workspace.target(TARGET).join("cmake"), workspace.target(TARGET).join("prefix"));
    for folder in [&build, &prefix] {
        fs::create_dir_all(folder).map_err(TaskError::file(folder))?;
    }
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(workspace.path(FOLDER)).arg("-B").arg(&build).args(["-D", "CMAKE_INSTALL_LIBDIR=lib"]);
    process::run(&mut configure)?;
    process::run(Command::new("cmake").arg("--build").arg(&build))?;
    process::run(Command::new("cmake").arg("--install").arg(&build).arg("--prefix").arg(&prefix))?;
    let mut ask = Command::new("pkg-config");
    ask.args(["--cflags", "--libs", "wearwell"]).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let answer = process::capture(&mut ask)?;
    process::check(&ask, answer.status)?;
    let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
    process::run(compiler(workspace, "installed", &["tests/disk.c"]).args(answer.split_whitespace()))?;
    process::run(Command::new(program(workspace, "installed")).arg("1"))
}

/// The C compiler, told all but what to link.
fn compiler(workspace: &Workspace, name: &str, sources: &[&str]) -> Command {
    let folder = workspace.path(FOLDER);
    let mut compiler = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler.args(FLAGS).args(INCLUDES.iter().map(|include| format!("-I{}", folder.join(include).display())));
    compiler.args(sources.iter().chain(SHARED).map(|source| folder.join(source)));
    compiler.arg("-o").arg(program(workspace, name));
    compiler
}

fn program(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.target(TARGET).join(name)
}
