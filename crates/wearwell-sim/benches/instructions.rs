//! Instructions that the engine takes. The number is the same on every run of the same build.
//!
//! `cargo bench -p wearwell-sim --bench instructions`; needs valgrind and `gungraun-runner`.
#![allow(missing_docs, reason = "the macros make public items")]

mod device;

use gungraun::{library_benchmark, library_benchmark_group, main};
use wearwell::page::log::NandLog;
use wearwell::page::{MountReport, PageConfig, PageFtl, Policies};
use wearwell::{BlockDevice, Lpn, Rng, Sectors, WriteHint};
use wearwell_aware::Aware;
use wearwell_emu::{ChipProfile, EmuNand, Faults};

use device::{Device, Engine};

const HOST_PAGES: u32 = 10_000;

/// A device of 256 segments of 64 pages, and what is to be written to it.
fn steady(which: &str) -> (Device, Vec<Lpn>) {
    let mut device = Device::steady(which, 64, 256);
    let pages = device.draw(HOST_PAGES);
    (device, pages)
}

#[library_benchmark(setup = steady)]
#[bench::greedy("greedy")]
#[bench::cost_benefit("cost-benefit")]
#[bench::cat("cat")]
fn write_10_000_pages((mut device, pages): (Device, Vec<Lpn>)) -> (Device, Vec<Lpn>) {
    device.write(&pages);
    (device, pages)
}

/// The same with inference in front. It finds nothing to infer from, because the chip keeps no bytes.
fn steady_behind_aware(which: &str) -> (Device<Aware<Engine>>, Vec<Lpn>) {
    let (device, pages) = steady(which);
    let device = device.behind(|engine| Aware::new(engine, wearwell_aware::Config::DEFAULT));
    assert_eq!(device.engine.volumes().count(), 0);
    (device, pages)
}

#[library_benchmark(setup = steady_behind_aware)]
#[bench::greedy("greedy")]
fn write_10_000_pages_behind_aware(
    (mut device, pages): (Device<Aware<Engine>>, Vec<Lpn>),
) -> (Device<Aware<Engine>>, Vec<Lpn>) {
    device.write(&pages);
    (device, pages)
}

/// Commands on sectors, as a host gives them. This chip does not store their bytes.
fn write_commands<F: BlockDevice>(engine: &mut F, pages: &[Lpn]) {
    for lpn in pages {
        let at = Sectors { start: u64::from(lpn.0) * 8, count: 8 };
        engine.write(at, &[], WriteHint::NONE).expect("room");
    }
}

#[library_benchmark(setup = steady)]
#[bench::greedy("greedy")]
fn write_10_000_commands((mut device, pages): (Device, Vec<Lpn>)) -> (Device, Vec<Lpn>) {
    write_commands(&mut device.engine, &pages);
    (device, pages)
}

#[library_benchmark(setup = steady_behind_aware)]
#[bench::greedy("greedy")]
fn write_10_000_commands_behind_aware(
    (mut device, pages): (Device<Aware<Engine>>, Vec<Lpn>),
) -> (Device<Aware<Engine>>, Vec<Lpn>) {
    write_commands(&mut device.engine, &pages);
    (device, pages)
}

/// 64 blocks of 32 pages.
const CHIP: &str = "geometry:2048:32:64";
const LOGICAL_PAGES: u32 = 1536;

fn config() -> PageConfig {
    PageConfig { logical_pages: LOGICAL_PAGES, policies: Policies::default(), seed: 1, endurance: 100_000 }
}

#[derive(Clone, Copy)]
enum End {
    ShutDown,
    PowerCut,
}

/// A chip with a full disk. Each page was written three times on average.
fn used_chip(end: End) -> NandLog<EmuNand> {
    let profile = ChipProfile::resolve(CHIP).expect("a geometry");
    let chip = EmuNand::in_memory(&profile, Faults::default()).expect("memory");
    let log = NandLog::new(chip, 1).expect("the layout fits");
    let mut disk = PageFtl::format(log, (), config()).expect("fits");
    let mut host = Rng::new(7);
    let all = (0..LOGICAL_PAGES).map(Lpn);
    let random = (0..2 * LOGICAL_PAGES).map(|_| Lpn(host.below(LOGICAL_PAGES)));
    for lpn in all.chain(random) {
        disk.write_page(lpn, &[0x5A; 2048], WriteHint::NONE).expect("room");
    }
    match end {
        End::ShutDown => disk.shutdown().expect("room"),
        End::PowerCut => disk.flush().expect("room"),
    }
    disk.into_log()
}

#[library_benchmark(setup = used_chip)]
#[bench::after_a_shutdown(End::ShutDown)]
#[bench::after_a_power_cut(End::PowerCut)]
fn mount(log: NandLog<EmuNand>) -> (PageFtl<NandLog<EmuNand>>, MountReport) {
    PageFtl::mount(log, (), config()).expect("mounts")
}

library_benchmark_group!(
    name = engine,
    benchmarks = [
        write_10_000_pages,
        write_10_000_pages_behind_aware,
        write_10_000_commands,
        write_10_000_commands_behind_aware,
        mount
    ]
);
main!(library_benchmark_groups = engine);
