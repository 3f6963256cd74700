//! Images on a file system that is full. By itself, since what it runs inherits, for a moment, the locks of other
//! tests.

use std::fs;
use std::path::Path;

use wearwell_emu::{ChipKind, ChipProfile};
use wearwell_serve::disk::{Disk, DiskConfig, DiskError, Finding, check};
use wearwell_sim::engine::Engine;

/// A file system in memory, of so many bytes.
struct Small(tempfile::TempDir);

impl Small {
    /// None if this user may not mount one.
    fn mount(bytes: u64) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "wearwell-test"])
            .arg(folder.path())
            .output();
        mounted.is_ok_and(|mounted| mounted.status.success()).then_some(Self(folder))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_file_system_is_an_error_and_what_was_flushed_stays() {
    for (name, chip, ftl) in [
        ("page", "geometry:2048:64:64", Engine::Page),
        ("log-block", "geometry:2048:64:64", Engine::LogBlock),
        ("primary-replacement", "geometry:2048:64:64", Engine::PrimaryReplacement),
        ("fast", "geometry:2048:64:64", Engine::Fast),
        ("nor", "kawaguchi-28f008sa", Engine::Page),
    ] {
        let mut config = DiskConfig::new(ChipProfile::resolve(chip).expect("valid"));
        (config.engine.ftl, config.engine.logical_bytes) = (ftl, Some(4 << 20));
        let nor = config.engine.chip.kind == ChipKind::Nor;
        let Some(folder) = Small::mount(20 << 20) else {
            return eprintln!("skipped: a file system can only be mounted by root");
        };
        let (path, hog) = (folder.0.path().join("disk.ww"), folder.0.path().join("hog"));
        let mut disk = Disk::create(&path, &config).expect("there is room for a new one");
        let page = vec![7; disk.page_bytes() as usize];
        disk.write(0, &page, 0).and_then(|()| disk.flush()).expect("room for a page");
        let mut rest = fs::File::create(&hog).expect("a file");
        while std::io::Write::write_all(&mut rest, &[1; 4096]).is_ok() {}
        // A NOR chip has all of its room from the start.
        let pages = disk.bytes() / page.len() as u64;
        let filled = (1..pages).try_for_each(|at| disk.write(at * page.len() as u64, &page, 0));
        assert_eq!(matches!(filled, Err(DiskError::NoRoom)), !nor, "{name}: {filled:?}");
        let mut found = vec![0; page.len()];
        disk.read(0, &mut found).expect("reading goes on");
        assert!(found == page, "{name}");
        if !nor {
            for refused in [disk.write(0, &page, 0), disk.flush(), disk.shutdown(), disk.discard(0, 4096)] {
                assert!(matches!(refused, Err(DiskError::NoRoom)), "{name}: {refused:?}");
            }
        }
        drop((disk, rest));
        let other = folder.0.path().join("other.ww");
        assert!(Disk::create(&other, &config).is_err(), "{name}");
        assert!(!other.exists(), "{name}: what could not become a disk is removed");
        fs::remove_file(&hog).expect("room again");
        let (mut disk, _) = Disk::open(&path).expect("it was a power cut, not more");
        disk.read(0, &mut found).expect("read");
        assert!(found == page, "{name}");
        assert_eq!(check_closed(disk, &path), [], "{name}");
    }
}

/// Closes a disk, and returns what is wrong with it.
fn check_closed(mut disk: Disk, path: &Path) -> Vec<Finding> {
    disk.shutdown().expect("shutdown");
    drop(disk);
    check(path).expect("can be looked at").findings
}
