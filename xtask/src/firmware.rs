//! The C library on a Cortex-M4. Debian's Rust builds it with its own build of the core library. The example runs in
//! QEMU on emulated SPI NAND with power cuts, with either map. Prints sizes and the example's measurements. The example
//! fails where stack or arena are more than their bound.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::guests;
use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// The required programs and files, and the Debian packages that have them. A full path is looked for as it is: another
/// Rust has no sources of its libraries for other processors.
const NEEDED: &[(&str, &str)] = &[
    ("arm-none-eabi-gcc", "gcc-arm-none-eabi"),
    ("qemu-system-arm", "qemu-system-arm"),
    ("cmake", "cmake"),
    (CARGO, "cargo-web"),
    (RUSTC, "rustc-web"),
    ("/usr/lib/rustlib/src/rust/library/core/Cargo.toml", "rust-web-src"),
];

const CARGO: &str = "/usr/bin/cargo";
const RUSTC: &str = "/usr/bin/rustc";

const FOLDER: &str = "crates/wearwell-c";

/// The build folder, below `target`.
const BUILT: &str = "firmware";

/// The example takes a minute. It is ended after this time.
const MOST_SECONDS: &str = "600";

/// The example's last line, if nothing was lost.
const SUCCESS: &str = "both disks kept all that was synced";

const RUST_TARGET: &str = "thumbv7em-none-eabi";

const C_FLAGS: &[&str] = &[
    "-std=gnu11",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Os",
    "-mcpu=cortex-m4",
    "-mthumb",
    "-mfloat-abi=soft",
    "-ffreestanding",
    "-ffunction-sections",
    "-fdata-sections",
    "-nostdlib",
    "-Wl,--gc-sections,-z,noexecstack",
];

/// Relative to the crate.
const INCLUDES: &[&str] = &["include", "tests", "examples/firmware", "examples/firmware/board"];
const EXAMPLE: &[&str] = &[
    "examples/firmware/main.c",
    "examples/firmware/spi_nand.c",
    "examples/firmware/board/emulated_nand.c",
    "examples/firmware/board/mps2.c",
    "tests/model.c",
];
const SIZE: &[&str] = &["examples/firmware/board/size.c"];
/// Which disks a program opens, and what the compiler is told for that.
const SIZES: &[(&str, &str)] =
    &[("either map", "-DBOTH"), ("their map in memory", "-DONLY_IN_MEMORY"), ("their map on flash", "-DONLY_PAGED")];
const LAYOUT: &str = "examples/firmware/board/mps2.ld";

pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    guests::install(NEEDED).map_err(|error| match error {
        skipped @ TaskError::Skipped(_) => skipped,
        // Debian's Rust of this kind is not in every release.
        failed => TaskError::Skipped(format!("the firmware: {failed}")),
    })?;
    let library = library(workspace)?;
    print_sizes(workspace, &library, "the library, with all calls")?;
    print_sizes(workspace, &smallest(workspace)?, "the smallest library")?;
    let layout = workspace.path(FOLDER).join(LAYOUT).display().to_string();
    let firmware = link(workspace, &library, "firmware.elf", EXAMPLE, &["-T", &layout])?;
    println!("the example:");
    process::run(Command::new("arm-none-eabi-size").arg(&firmware))?;
    emulate(&firmware)
}

/// Builds the library, and core and alloc with it.
fn library(workspace: &Workspace) -> Result<PathBuf, TaskError> {
    let mut build = Command::new(CARGO);
    build.args(["build", "--quiet", "--release", "-Z", "build-std=core,alloc"]);
    build.args(["-Z", "build-std-features=optimize_for_size", "--target", RUST_TARGET]);
    build.arg("--manifest-path").arg(workspace.path(FOLDER).join("Cargo.toml"));
    build.arg("--target-dir").arg(workspace.target(BUILT));
    // Building core is not stable. Settings of another Rust on this machine must not have an effect.
    build.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", RUSTC).env_remove("RUSTFLAGS").env_remove("RUSTUP_TOOLCHAIN");
    process::run(&mut build)?;
    Ok(workspace.target(BUILT).join(RUST_TARGET).join("release/libwearwell.a"))
}

/// Builds the library as CMake does for as little code as possible.
fn smallest(workspace: &Workspace) -> Result<PathBuf, TaskError> {
    let built = workspace.target("firmware-smallest");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(workspace.path(FOLDER)).arg("-B").arg(&built).arg("-DWEARWELL_SMALLEST=ON");
    configure.arg(format!("-DWEARWELL_CARGO={CARGO}")).arg(format!("-DWEARWELL_RUST_TARGET={RUST_TARGET}"));
    process::run(configure.stdout(std::process::Stdio::null()))?;
    let mut build = Command::new("cmake");
    build.arg("--build").arg(&built);
    process::run(build.env("RUSTC", RUSTC).env_remove("RUSTUP_TOOLCHAIN"))?;
    Ok(built.join("cargo").join(RUST_TARGET).join("release/libwearwell.a"))
}

fn print_sizes(workspace: &Workspace, library: &Path, what: &str) -> Result<(), TaskError> {
    for (disks, defined) in SIZES {
        let size = link(workspace, library, "size.elf", SIZE, &["-e", "main", defined])?;
        println!("{what}, for disks with {disks}:");
        process::run(Command::new("arm-none-eabi-size").arg(size))?;
    }
    Ok(())
}

fn link(
    workspace: &Workspace,
    library: &Path,
    name: &str,
    sources: &[&str],
    more: &[&str],
) -> Result<PathBuf, TaskError> {
    let folder = workspace.path(FOLDER);
    let program = workspace.target(BUILT).join(name);
    let mut compiler = Command::new("arm-none-eabi-gcc");
    compiler.args(C_FLAGS).args(more);
    compiler.args(INCLUDES.iter().map(|include| format!("-I{}", folder.join(include).display())));
    compiler.args(sources.iter().map(|source| folder.join(source))).arg("-o").arg(&program);
    process::run(compiler.arg(library).arg("-lgcc"))?;
    Ok(program)
}

/// Runs the example on the emulated board. With `icount` an instruction takes a nanosecond, on every machine.
fn emulate(firmware: &Path) -> Result<(), TaskError> {
    let mut qemu = Command::new("timeout");
    qemu.args([MOST_SECONDS, "qemu-system-arm", "-machine", "mps2-an386", "-nographic", "-icount", "shift=0"]);
    qemu.args(["-semihosting-config", "enable=on,target=native", "-kernel"]).arg(firmware);
    let output = process::capture(qemu.stdin(std::process::Stdio::null()))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    print!("{said}");
    process::check(&qemu, output.status)?;
    succeeded(&said)
}

/// An error unless the example ran to its end. QEMU's exit code alone says only that nothing in it has failed.
fn succeeded(said: &str) -> Result<(), TaskError> {
    // QEMU may have a warning behind it.
    if said.lines().any(|line| line == SUCCESS) {
        return Ok(());
    }
    Err(TaskError::Found(format!("the example ended without `{SUCCESS}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_that_stops_in_between_has_failed() {
        assert!(succeeded("power cuts: 50\nboth disks kept all that was synced\n").is_ok());
        assert!(succeeded("both disks kept all that was synced\nqemu: a warning\n").is_ok());
        assert!(succeeded("power cuts: 50\n").is_err());
        assert!(succeeded("").is_err());
    }
}
