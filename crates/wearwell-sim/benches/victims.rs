//! What a victim costs, and how that grows with the number of segments it is chosen from.
//!
//! `cargo bench -p wearwell-sim --bench victims`
//!
//! The time of a victim includes its choice, its copies, its erase, and the host writes before the next one. Segments
//! are short, so that the choice takes a large part of it.

mod device;

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use wearwell::Inspect;

use device::Device;

const PAGES_PER_SEGMENT: u32 = 32;

/// Host pages that are drawn before the clock starts, and written before victims are counted again.
const HOST_PAGES: u32 = 4096;

/// The time of `victims` victims, measured over whole portions of host writes.
fn time_of(device: &mut Device, victims: u64) -> Duration {
    let (mut took, mut cleaned) = (Duration::ZERO, 0);
    while cleaned < victims {
        let pages = device.draw(HOST_PAGES);
        let erases = device.engine.stats().erases;
        let began = Instant::now();
        device.write(&pages);
        took += began.elapsed();
        cleaned += device.engine.stats().erases - erases;
    }
    took.mul_f64(victims as f64 / cleaned as f64)
}

fn victims(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("victim");
    for which in ["greedy", "cost-benefit", "cat"] {
        for segments in [1 << 10, 1 << 14] {
            let mut device = Device::steady(which, PAGES_PER_SEGMENT, segments);
            group.bench_function(BenchmarkId::new(which, segments), |bencher| {
                bencher.iter_custom(|victims| time_of(&mut device, victims));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .without_plots()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500));
    targets = victims
}
criterion_main!(benches);
