//! The same host on a device with inference and on one without, and their differences.

use std::collections::BTreeSet;

use wearwell::{BlockDevice, Rng};
use wearwell_aware::{Aware, Config, Counters, State};
use wearwell_emu::{CutOutcome, EmuChip, EmuNand, PowerCut};
use wearwell_sim::fat::Device;

use crate::engines::Make;
use crate::host::CachingHost;
use crate::rig::{Disk, Engine, SECTOR};

/// Both devices, each under a host that does the same.
pub(crate) struct Twins<M: Make> {
    make: M,
    config: Config,
    seed: u64,
    pub(crate) bare: CachingHost<Engine>,
    pub(crate) aware: CachingHost<Aware<Engine>>,
    /// Sectors that became dead and were not written since, up to the current operation; and those of them whose new
    /// content the host lost in a cut. Their old content is zeros, whatever the tables say.
    pub(crate) dead: BTreeSet<u64>,
    pub(crate) lost: BTreeSet<u64>,
}

impl<M: Make> Twins<M> {
    pub(crate) fn new(make: M, image: &[u8], config: Config, seed: u64) -> Self {
        let mut bare = Disk::behind(make.format(), 0);
        let mut aware = Disk::behind(Aware::new(make.format(), config), 0);
        aware.pass(0);
        bare.put_image(image);
        aware.put_image(image);
        let (bare, aware) = (CachingHost::new(bare, seed), CachingHost::new(aware, seed));
        Self { make, config, seed, bare, aware, dead: BTreeSet::new(), lost: BTreeSet::new() }
    }

    /// Writes the differences between two images. Both hosts hold them back.
    pub(crate) fn apply(&mut self, before: &[u8], after: &[u8]) -> std::io::Result<()> {
        for (sector, bytes) in changes(before, after) {
            self.aware.write(sector, bytes)?;
            self.bare.write(sector, bytes)?;
        }
        let done = self.aware.flush();
        self.bare.fuse = done.is_err().then_some(self.aware.written);
        let _ = self.bare.flush();
        done
    }

    /// The same, written at once.
    pub(crate) fn put(&mut self, before: &[u8], after: &[u8]) {
        for (sector, bytes) in changes(before, after) {
            self.aware.disk.write(sector, bytes).expect("no cut is armed");
            self.bare.disk.write(sector, bytes).expect("no cut is armed");
        }
        self.flush();
    }

    fn flush(&mut self) {
        self.aware.disk.flush().expect("no cut is armed");
        self.bare.disk.flush().expect("no cut is armed");
    }

    /// Writes everything that the hosts hold back, and lets all free clusters become dead.
    pub(crate) fn settle(&mut self) {
        self.aware.drain().expect("no cut is armed");
        self.bare.drain().expect("no cut is armed");
        self.aware.disk.pass_epochs(3).expect("no cut is armed");
        self.bare.disk.pass_epochs(3).expect("no cut is armed");
    }

    pub(crate) fn note_dead(&mut self) {
        note_dead(&mut self.aware, &mut self.dead);
    }

    pub(crate) fn arm(&mut self, rng: &mut Rng) {
        let chip = self.aware.disk.ftl.inner_mut().chip_mut();
        let at_op = chip.ops() + u64::from(rng.below(200));
        chip.arm(Some(PowerCut { at_op, outcome: CutOutcome::Seeded { seed: at_op } }));
    }

    /// Turns the power on. What the hosts held back is lost. A sector that was being written has its old or its new
    /// content, and the device without inference gets the same.
    pub(crate) fn mount(mut self) -> Self {
        let now_us = self.aware.disk.now_us;
        self.note_dead();
        self.lost.extend(self.aware.kept_back().filter(|sector| self.dead.contains(sector)));
        let in_flight = self.aware.in_flight.take();
        let (make, config, seed) = (self.make, self.config, self.seed + 1000);
        let mut bare = Disk::behind(make.mount(powered(self.bare.disk.ftl.into_chip())), 0);
        let nand = powered(self.aware.disk.ftl.into_inner().into_chip());
        let mut aware = Disk::behind(Aware::new(make.mount(nand), config), 0);
        (aware.now_us, bare.now_us) = (now_us, now_us);
        aware.pass(0);
        if let Some((sector, new)) = in_flight {
            let (mut found, mut old) = ([0; SECTOR], [0; SECTOR]);
            aware.read(sector, &mut found).expect("it can be read");
            bare.read(sector, &mut old).expect("it can be read");
            let was_dead = self.dead.contains(&sector) && found == [0; SECTOR];
            let is_old = found == old || is_same_to_the_end(&found, &old);
            assert!(was_dead || is_old || found[..] == new, "seed {seed}: sector {sector} is neither old nor new");
            if !was_dead {
                bare.write(sector, &found).expect("no cut is armed");
            }
        }
        let (bare, aware) = (CachingHost::new(bare, seed), CachingHost::new(aware, seed));
        Self { make, config, seed, bare, aware, dead: BTreeSet::new(), lost: self.lost }
    }

    pub(crate) fn bare_image(&mut self) -> Vec<u8> {
        image_of(&mut self.bare.disk)
    }

    pub(crate) fn aware_image(&mut self) -> Vec<u8> {
        image_of(&mut self.aware.disk)
    }

    pub(crate) fn counters(&self) -> Counters {
        self.aware.disk.ftl.counters()
    }
}

/// Notes the sectors written since the last call, and those that are dead now.
pub(crate) fn note_dead<F: BlockDevice>(host: &mut CachingHost<Aware<F>>, dead: &mut BTreeSet<u64>) {
    for sector in host.reached.drain(..) {
        dead.remove(&sector);
    }
    let aware = &host.disk.ftl;
    dead.extend((0..aware.sectors()).filter(|&lba| aware.state_at(lba) == Some(State::Dead)));
}

/// True if two sectors with the end of a file are equal up to that end, and one has zeros behind it. No byte of a file
/// is zero. The bytes behind it are what the host read there before it wrote.
pub(crate) fn is_same_to_the_end(here: &[u8], there: &[u8]) -> bool {
    let end = here.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    end > 0 && here[..end] == there[..end]
}

fn powered(mut nand: EmuNand) -> EmuNand {
    nand.arm(None);
    nand.power_on();
    nand
}

fn image_of<F: BlockDevice>(disk: &mut Disk<F>) -> Vec<u8> {
    let mut image = vec![0; disk.sectors() as usize * SECTOR];
    disk.read(0, &mut image).expect("it can be read");
    image
}

/// The sectors that differ, with their new content.
pub(crate) fn changes<'a>(before: &'a [u8], after: &'a [u8]) -> impl Iterator<Item = (u64, &'a [u8])> {
    let sectors = (0_u64..).zip(before.chunks(SECTOR).zip(after.chunks(SECTOR)));
    sectors.filter(|(_, (before, after))| before != after).map(|(sector, (_, after))| (sector, after))
}

/// The first sector that differs and that is not `free`.
pub(crate) fn difference(here: &[u8], there: &[u8], free: &[u64]) -> Option<u64> {
    changes(here, there).map(|(sector, _)| sector).find(|sector| free.binary_search(sector).is_err())
}

/// A disk to look at an image with.
pub(crate) struct Held(pub(crate) Vec<u8>);

impl Device for Held {
    fn sectors(&self) -> u64 {
        (self.0.len() / SECTOR) as u64
    }
    fn read(&mut self, sector: u64, data: &mut [u8]) -> std::io::Result<()> {
        data.copy_from_slice(&self.0[sector as usize * SECTOR..][..data.len()]);
        Ok(())
    }
    fn write(&mut self, sector: u64, data: &[u8]) -> std::io::Result<()> {
        self.0[sector as usize * SECTOR..][..data.len()].copy_from_slice(data);
        Ok(())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
