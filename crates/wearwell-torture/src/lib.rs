//! A torture of the engines that shares nothing with their proofs: chips of its own ([`nand`], [`nor`]), a model of its
//! own ([`model`]), random devices ([`setup`]) and random histories ([`generate`]). It knows only the public interface
//! of the engines and the contracts on `Nand` and `Nor`.
//!
//! A [history](history::Step) is data: what the host did and what happened to the chip, in order. So a run that fails
//! can be replayed, [shortened](shrink) and printed as a [test](text::as_test).
//!
//! [`session`] runs seeds of many modes, a thread for each core. `wearwell-c-torture` does so through the functions of
//! the C library: a [`run::Rig`] has an [`Opener`](device::Opener), which need not be the engines'.
//!
//! A further device needs a [`Target`](mode::Target), an [`Engine`](setup::Engine) and an arm in [`device`].
#![forbid(unsafe_code)]

pub mod content;
pub mod device;
pub mod failure;
pub mod faults;
pub mod generate;
pub mod history;
pub mod medium;
pub mod mode;
pub mod model;
pub mod nand;
pub mod near;
pub mod nor;
pub mod run;
pub mod session;
pub mod setup;
pub mod shrink;
pub mod text;

use generate::Generator;
use mode::Mode;
use run::{Record, Rig, Tally};
use setup::Setup;

/// Runs a seed of a mode.
pub fn torture(mode: &Mode, seed: u64) -> (Rig, Record) {
    torture_as(mode, seed, Rig::new)
}

/// Runs a seed of a mode on a device that is broken on purpose. Of a mode with short histories the first one that
/// fails, or the last one, with the counts of all.
pub fn torture_as(mode: &Mode, seed: u64, break_it: impl Fn(Setup) -> Rig) -> (Rig, Record) {
    // Each mode has its own devices.
    let salt = mode.name.bytes().fold(0_u64, |salt, byte| salt.wrapping_mul(31).wrapping_add(byte.into()));
    let mut rng = fastrand::Rng::with_seed(seed ^ salt << 32);
    if mode.near_kept {
        let (setup, steps) = near::draw(&mut rng, mode);
        let rig = break_it(setup);
        let record = run::run(&rig, &mut run::Replay(steps.iter()));
        return (rig, record);
    }
    let mut tally = Tally::default();
    let mut left = mode.short_histories;
    loop {
        // The history goes on with the draws of the setup, so one seed decides both.
        let mut draws = if left > 0 { rng.fork() } else { rng.clone() };
        let rig = break_it(Setup::random(&mut draws, mode, device::most_logical_pages));
        let mut record = run::run(&rig, &mut Generator::new(mode, &rig.setup, draws));
        tally.add(&record.tally);
        if record.failure.is_some() || left <= 1 {
            record.tally = tally;
            return (rig, record);
        }
        left -= 1;
    }
}

/// Replays a history on a device.
pub fn replay(setup: &Setup, history: &[history::Step]) -> Record {
    run::run(&Rig::new(*setup), &mut run::Replay(history.iter()))
}
