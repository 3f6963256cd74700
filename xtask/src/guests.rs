//! Third-party clients, kernels and a browser on a served disk.

use std::env;
use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::Instant;

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// Programs that the clients' recipes need, and the Debian packages that have them.
const CLIENTS: &[(&str, &str)] =
    &[("nbdinfo", "libnbd-bin"), ("nbdcopy", "libnbd-bin"), ("qemu-io", "qemu-utils"), ("fio", "fio")];

/// Programs that the kernels' scripts need, and their packages.
const KERNELS: &[(&str, &str)] = &[
    ("nbdfuse", "libnbd-bin"),
    ("fusermount3", "fuse3"),
    ("fio", "fio"),
    ("mkfs.vfat", "dosfstools"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("mkfs.f2fs", "f2fs-tools"),
    ("xz", "xz-utils"),
    ("cc", "gcc"),
    ("insmod", "kmod"),
    ("linux.uml", "user-mode-linux"),
    ("qemu-storage-daemon", "qemu-system-common"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("nvme", "nvme-cli"),
    ("nbd-client", "nbd-client"),
    ("ubiformat", "mtd-utils"),
    ("strip", "binutils"),
    ("busybox", "busybox-static"),
    ("cpio", "cpio"),
];

/// A script in `xtask/guests`, its argument, and the folder that it gets.
type Script = (&'static str, &'static str, Place);

/// The tests with kernels and the browser. The two lists run at the same time, since an emulated machine keeps one core
/// busy. Scripts that fetch the same kernel are in one list.
const SCRIPTS: [&[Script]; 2] = [
    &[("nvme.sh", "", Place::Tree), ("mtd.sh", "", Place::Tree)],
    &[
        ("host-kernel.sh", "ext4", Place::Tree),
        ("host-kernel.sh", "xfs", Place::Tree),
        ("uml.sh", "", Place::Tree),
        ("nvme-streams.sh", "", Place::Tree),
        ("andrew.sh", "", Place::Tree),
        ("browser.sh", "", Place::Browser),
    ],
];

/// The folder that a script gets.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Files to copy.
    Tree,
    /// The browser's program, with what it imports.
    Browser,
}

/// The exit code of a script that this machine cannot run.
pub(crate) const SKIPPED: i32 = 77;

/// The name of a client, and its shell command with `$uri`. `a.img` has 24 MiB of mixed content.
const RECIPES: &[(&str, &str)] = &[
    ("nbdinfo", r#"nbdinfo "$uri" | grep -q 'block_size_preferred: 4096' && nbdinfo --can multi-conn "$uri""#),
    ("nbdinfo --map", r#"nbdcopy a.img "$uri" && nbdinfo --map "$uri" | grep -q 'hole,zero'"#),
    ("nbdcopy both ways", r#"nbdcopy a.img "$uri" && nbdcopy "$uri" b.img && cmp a.img b.img"#),
    (
        "qemu-img",
        r#"qemu-img convert -n -f raw -O raw a.img "$uri" && qemu-img compare -q -f raw -F raw a.img "$uri" &&
           qemu-img convert -f raw -O qcow2 "$uri" c.qcow2 && qemu-img compare -q a.img c.qcow2"#,
    ),
    (
        "qemu-io",
        r#"qemu-io -f raw "$uri" -c 'write -P 17 1M 1M' -c 'read -P 17 1M 1M' -c 'write -z 1M 64k' \
           -c 'read -P 0 1M 64k' -c 'discard 3M 1M' -c 'read -P 0 3M 1M' -c 'write -f -P 3 5M 4097' \
           -c 'read -P 3 5M 4097' -c flush > qemu-io.log &&
           ! grep -i -e fail -e error qemu-io.log"#,
    ),
    (
        "fio --verify",
        r#"fio --name=verify --ioengine=nbd --uri="$uri" --size=32m --rw=randwrite --bsrange=512-128k --iodepth=16 \
           --verify=crc32c --verify_fatal=1 --output=fio.log"#,
    ),
];

/// A folder of our own, and the program that the tests were built for.
fn prepare(workspace: &Workspace) -> Result<(PathBuf, PathBuf), TaskError> {
    process::run(&mut workspace.test_build())?;
    let folder = workspace.target("guests");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(TaskError::file(&folder))?;
    }
    fs::create_dir_all(&folder).map_err(TaskError::file(&folder))?;
    Ok((workspace.target("debug/wearwell"), folder))
}

/// Runs every recipe on a disk in memory, and again on an image.
pub(crate) fn clients(workspace: &Workspace) -> Result<(), TaskError> {
    install(CLIENTS)?;
    let (program, folder) = prepare(workspace)?;
    let shell = |line: &str| {
        let mut shell = Command::new("sh");
        shell.current_dir(&folder).args(["-ec", line]).env("wearwell", &program);
        shell
    };
    // Numbers, and zeros behind them: content that is never the same twice, and holes.
    process::run(&mut shell("seq 4000000 | head -c 25165824 > a.img; truncate -s 32M a.img"))?;
    let create = r#""$wearwell" create disk.ww --chip geometry:4096:64:160 --logical 32MiB"#;
    process::run(&mut shell(create))?;
    for (name, recipe) in RECIPES {
        for disk in [&["--memory", "32MiB"][..], &["disk.ww"]] {
            let mut serve = Command::new(&program);
            process::run(serve.current_dir(&folder).arg("serve").args(disk).args(["--run", recipe]))?;
            println!("{name} on {}: as it should be", disk.join(" "));
        }
    }
    // After all recipes, each of which was ended by a shutdown.
    process::run(&mut shell(r#""$wearwell" check disk.ww"#))
}

/// File systems of this machine's kernel and of a second one, and the live page in a browser.
pub(crate) fn kernels(workspace: &Workspace) -> Result<(), TaskError> {
    install(KERNELS)?;
    let (program, folder) = prepare(workspace)?;
    let browser = folder.join("browser");
    let has_browser = install_browser(workspace, &browser)?;
    let run_all = |scripts: &[Script]| -> Result<Outcome, TaskError> {
        let mut outcome = Outcome::default();
        for (script, arg, place) in scripts {
            let name = format!("{script} {arg}").trim_end().to_owned();
            let place = match place {
                Place::Tree => workspace.path("crates"),
                Place::Browser if !has_browser => {
                    outcome.skipped.push(name);
                    continue;
                }
                Place::Browser => browser.clone(),
            };
            let mut shell = Command::new("sh");
            shell.current_dir(&folder).env("wearwell", &program).arg(workspace.path("xtask/guests").join(script));
            shell.args((!arg.is_empty()).then_some(arg)).arg(place);
            outcome.enter(name, run_quietly(&mut shell))?;
        }
        Ok(outcome)
    };
    let outcomes = thread::scope(|scope| {
        let threads = SCRIPTS.map(|scripts| scope.spawn(move || run_all(scripts)));
        threads.map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let (mut skipped, mut failed) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        let outcome = outcome?;
        skipped.extend(outcome.skipped);
        failed.extend(outcome.failed);
    }
    match (&failed[..], &skipped[..]) {
        ([], []) => Ok(()),
        ([], skipped) => Err(TaskError::Skipped(skipped.join(", "))),
        (failed, _) => Err(TaskError::Found(format!("failed: {}", failed.join("; ")))),
    }
}

/// The scripts of a list that were skipped, and those that failed.
#[derive(Debug, Default)]
struct Outcome {
    skipped: Vec<String>,
    failed: Vec<String>,
}

impl Outcome {
    fn enter(&mut self, name: String, result: Result<(), TaskError>) -> Result<(), TaskError> {
        match result {
            Ok(()) => {}
            Err(TaskError::Skipped(_)) => self.skipped.push(name),
            Err(TaskError::Failed { .. }) => self.failed.push(name),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Runs a script as [`run_script`] does, and prints its output in one piece when it has ended, since another may run
/// beside it.
fn run_quietly(shell: &mut Command) -> Result<(), TaskError> {
    let start = Instant::now();
    let output = process::capture(shell)?;
    let command = process::shown(shell);
    let text = [output.stdout, output.stderr].concat();
    println!("{}{command}: {:.0} s", String::from_utf8_lossy(&text), start.elapsed().as_secs_f64());
    ended(command, output.status)
}

/// What the end of a script says.
fn ended(command: String, status: ExitStatus) -> Result<(), TaskError> {
    match status.code() {
        Some(0) => Ok(()),
        Some(SKIPPED) => Err(TaskError::Skipped(command)),
        _ => Err(TaskError::Failed { command, status }),
    }
}

/// Runs a script of `xtask/guests`. It is skipped if the script says that this machine cannot do it.
pub(crate) fn run_script(shell: &mut Command) -> Result<(), TaskError> {
    match process::run(shell) {
        Err(TaskError::Failed { command, status }) => ended(command, status),
        result => result,
    }
}

/// Puts the browser's scripts and their imports into `folder`. False if there is no browser.
pub(crate) fn install_browser(workspace: &Workspace, folder: &Path) -> Result<bool, TaskError> {
    // A browser is too large to install for one script.
    if let Some(missing) = ["chromium", "node", "npm"].iter().find(|program| !is_there(program)) {
        println!("skipped: no {missing}; the page is looked at in Chromium, by a script for Node.js with npm");
        return Ok(false);
    }
    fs::create_dir_all(folder).map_err(TaskError::file(folder))?;
    for file in ["package.json", "package-lock.json", "browser.mjs", "picture.mjs"] {
        let from = workspace.path("xtask/guests").join(file);
        fs::copy(&from, folder.join(file)).map_err(TaskError::file(&from))?;
    }
    let mut install = Command::new("npm");
    process::run(install.current_dir(folder).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))?;
    Ok(true)
}

pub(crate) fn is_there(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    // The programs that make file systems and load modules are not in every user's path.
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(system).any(|folder| folder.join(program).exists())
}

/// The packages that are missing. Programs of one package stand together in the lists.
fn missing<'a>(needed: &[(&str, &'a str)]) -> Vec<&'a str> {
    let missing = needed.iter().filter(|(program, _)| !is_there(program));
    let mut packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    packages.dedup();
    packages
}

/// Installs what is missing. This needs Debian and root; without them the step is skipped.
pub(crate) fn install(needed: &[(&str, &str)]) -> Result<(), TaskError> {
    if missing(needed).is_empty() {
        return Ok(());
    }
    // Two installations at a time would disturb each other, and steps run side by side.
    let path = env::temp_dir().join("wearwell-installs");
    let lock = fs::File::create(&path).map_err(TaskError::file(&path))?;
    lock.lock().map_err(TaskError::file(&path))?;
    let packages = missing(needed);
    if packages.is_empty() {
        return Ok(());
    }
    let id = process::capture(Command::new("id").arg("-u"))?;
    if id.stdout != b"0\n" || !is_there("apt-get") {
        return Err(TaskError::Skipped(format!("to install {} takes Debian, and root", packages.join(", "))));
    }
    process::run(Command::new("apt-get").args(["update", "-qq"]))?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive").args(["install", "-qq", "-y", "--no-install-recommends"]);
    process::run(install.args(packages))
}
