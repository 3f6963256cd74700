//! Clients that others wrote, on a served disk.

use std::env;
use std::fs;
use std::process::Command;

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// Programs that are needed, and the Debian packages that have them.
const NEEDED: &[(&str, &str)] =
    &[("nbdinfo", "libnbd-bin"), ("nbdcopy", "libnbd-bin"), ("qemu-io", "qemu-utils"), ("fio", "fio")];

/// What a client is called, and what it does as a shell command with `$uri`; `a.img` has 24 MiB of everything.
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
        r#"qemu-io -f raw "$uri" -c 'write -P 17 1M 1M' -c 'read -P 17 1M 1M' -c 'write -z 1M 64k' -c 'read -P 0 1M 64k' \
           -c 'discard 3M 1M' -c 'read -P 0 3M 1M' -c 'write -f -P 3 5M 4097' -c 'read -P 3 5M 4097' -c flush > qemu-io.log &&
           ! grep -i -e fail -e error qemu-io.log"#,
    ),
    (
        "fio --verify",
        r#"fio --name=verify --ioengine=nbd --uri="$uri" --size=32m --rw=randwrite --bsrange=512-128k --iodepth=16 \
           --verify=crc32c --verify_fatal=1 --output=fio.log"#,
    ),
];

/// Runs every recipe on a disk in memory, and again on an image.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    install()?;
    process::run(&mut workspace.cargo(&["build", "--profile", "test", "--workspace"]))?;
    let program = workspace.target("debug/wearwell");
    let folder = workspace.target("guests");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(TaskError::file(&folder))?;
    }
    fs::create_dir_all(&folder).map_err(TaskError::file(&folder))?;
    let shell = |line: &str| {
        let mut shell = Command::new("sh");
        shell.current_dir(&folder).args(["-ec", line]).env("wearwell", &program);
        shell
    };
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
    process::run(&mut shell(r#""$wearwell" check disk.ww"#))
}

/// Installs what is missing; that needs Debian, and root.
fn install() -> Result<(), TaskError> {
    let folders: Vec<_> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let is_there = |program: &str| folders.iter().any(|folder| folder.join(program).exists());
    let missing = NEEDED.iter().filter(|(program, _)| !is_there(program));
    let packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    if packages.is_empty() {
        return Ok(());
    }
    process::run(Command::new("apt-get").args(["update", "-q"]))?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive").args(["install", "-q", "-y", "--no-install-recommends"]);
    process::run(install.args(packages))
}
