//! Short sessions, one after the other: what a mount has to read does not grow with them.

use wearwell::Rng;
use wearwell_emu::EmuChip;

use crate::model::{Command, Model};
use crate::rig::{NandRig, PageRig, Rig, nand};

const SESSIONS: usize = 1000;

/// Pages written in a session.
const PAGES: u32 = 10;

/// Runs sessions, and returns what each mount has read.
fn reads_of_mounts(rig: &NandRig, is_shut_down: impl Fn(usize) -> bool) -> Vec<u64> {
    let mut ftl = rig.format();
    let mut model = Model::new(rig.logical_pages(), 1);
    let mut rng = Rng::new(1);
    let mut reads = Vec::new();
    for page in 0..rig.logical_pages() / 2 {
        model.run(&mut ftl, Command::Write { page, stream: 0 }).expect("nothing fails");
    }
    for session in 0..SESSIONS {
        let end = if is_shut_down(session) { Command::Shutdown } else { Command::Flush };
        model.run(&mut ftl, end).expect("nothing fails");
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

#[test]
fn mounts_do_not_grow_with_short_sessions() {
    for (rig, slots, classes) in [
        (nand([512, 32, 64, 1], 1, 1, 700, "single"), 30, 1),
        (nand([512, 32, 64, 1], 1, 2, 600, "by-stream"), 29, 4),
        (nand([512, 16, 128, 2], 2, 1, 700, "hot-cold-readonly"), 30, 3),
    ] {
        let ends: [fn(usize) -> bool; 3] = [|_| false, |_| true, |session| session % 3 == 0];
        for (number, end) in ends.into_iter().enumerate() {
            let reads = reads_of_mounts(&rig, end);
            let most = |sessions: std::ops::Range<usize>| sessions.map(|s| reads[s]).max().expect("some");
            // Header, summary and first tag of each segment; and each page of those without a summary, to be read, and to
            // be copied when there are too many: what the last session had open, and a few of earlier ones.
            let bound = u64::from(3 * rig.profile().blocks / rig.profile().stripe + 3 * (4 + 2 * classes) * slots);
            let found = [most(0..10), most(10..100), most(100..SESSIONS)];
            println!("{} end {number}: {found:?} of {bound}", rig.config().policies.place);
            assert!(found.iter().all(|&reads| reads <= bound), "end {number}: {found:?}, {bound}");
            assert!(found[2] <= found[1] + found[1] / 2 + 100, "end {number}: {found:?}");
        }
    }
}
