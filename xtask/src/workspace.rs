//! Paths of the workspace.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The source tree and its target folder.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// The workspace that cargo runs this program for; without cargo, the one it was built in.
    pub(crate) fn find() -> Self {
        let package =
            env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        let root = package.parent().unwrap_or(&package).to_owned();
        // A relative folder counts from the root. `join` leaves a full path as it is.
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
        Self { root, target }
    }

    /// A file or folder of the source tree.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// A file or folder in the target folder.
    pub(crate) fn target(&self, relative: &str) -> PathBuf {
        self.target.join(relative)
    }

    /// Cargo, in the root of the workspace.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&self.root).args(args);
        cargo
    }

    /// The tests but those in comments. The whole workspace is named, because a package by itself takes other features
    /// of its dependencies, and would be built again. Examples without tests are only checked, by the step `clippy`.
    pub(crate) fn tests(&self) -> Command {
        self.cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--example", "spi_nand"])
    }

    /// Builds what the step `tests` has built: programs with assertions on.
    pub(crate) fn test_build(&self) -> Command {
        let mut build = self.tests();
        build.args(["--no-run", "--quiet"]);
        build
    }

    /// Cargo for a crate outside the workspace, in a target folder of its own.
    pub(crate) fn cargo_apart(&self, folder: &str, target: &str, args: &[&str]) -> Command {
        let mut cargo = self.cargo(args);
        cargo.arg("--manifest-path").arg(self.path(folder).join("Cargo.toml"));
        cargo.env("CARGO_TARGET_DIR", self.target(target));
        cargo
    }
}
