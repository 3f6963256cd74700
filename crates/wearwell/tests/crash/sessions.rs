//! Short sessions, one after the other: what a mount has to read does not grow with them.

use wearwell::Rng;
use wearwell_emu::EmuChip;

use crate::model::{Command, Model};
use crate::rig::{NandRig, PageRig, Rig, nand};

/// Pages written in a session.
const PAGES: u32 = 10;

/// How a session ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Cut,
    Shutdown,
    /// In a shutdown every third time.
    Mixed,
}

impl End {
    fn command(self, session: usize) -> Command {
        match self {
            Self::Shutdown => Command::Shutdown,
            Self::Mixed if session.is_multiple_of(3) => Command::Shutdown,
            Self::Cut | Self::Mixed => Command::Flush,
        }
    }
}

/// Runs so many sessions, and returns what each mount has read.
fn reads_of_mounts(rig: &NandRig, sessions: usize, end: End) -> Vec<u64> {
    let mut ftl = rig.format();
    let mut model = Model::new(rig.logical_pages(), 1);
    let mut rng = Rng::new(1);
    let mut reads = Vec::new();
    for page in 0..rig.logical_pages() {
        model.run(&mut ftl, Command::Write { page, stream: 0 }).expect("nothing fails");
    }
    for session in 0..sessions {
        model.run(&mut ftl, end.command(session)).expect("nothing fails");
        let mut chip = NandRig::into_chip(ftl);
        chip.power_on();
        let before = chip.counts().reads;
        ftl = rig.mount(chip).expect("mounts").0;
        reads.push(NandRig::chip_of(&ftl).counts().reads - before);
        for _ in 0..PAGES {
            let page = rng.below(rig.logical_pages());
            model.run(&mut ftl, Command::Write { page, stream: rng.below(3) as u16 }).expect("nothing fails");
        }
    }
    model.check_exact(&mut ftl).expect("nothing was cut in a program");
    reads
}

/// A device that is 62 % full, where hardly a segment is free when a session begins or ends.
#[test]
fn mounts_do_not_grow_with_short_sessions() {
    for (place, end, sessions) in [
        ("single", End::Cut, 6000),
        ("single", End::Shutdown, 6000),
        ("single", End::Mixed, 1000),
        ("by-stream", End::Cut, 6000),
        ("by-stream", End::Shutdown, 6000),
        ("by-stream", End::Mixed, 1000),
    ] {
        let rig = nand([512, 32, 64, 1], 1, 1, 1190, place);
        // Header, summary and first tag of each segment; and each page of those that the last session had open, of four
        // others without a summary, and of two that may have been being erased.
        let bound = u64::from(3 * rig.profile().blocks + (3 + 4 + 2) * 30);
        let reads = reads_of_mounts(&rig, sessions, end);
        let most = |sessions: std::ops::Range<usize>| sessions.map(|s| reads[s]).max().expect("some");
        let found = [most(0..10), most(10..500), most(500..sessions)];
        println!("{place}, {end:?}: {found:?} reads in a mount, of {bound}");
        assert!(found.iter().all(|&reads| reads <= bound), "{place}, {end:?}: {found:?}, {bound}");
        assert!(found[2] <= found[1] + found[1] / 4, "{place}, {end:?}: {found:?}");
    }
}
