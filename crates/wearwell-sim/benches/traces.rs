//! How fast traces are read: records a second of the project's own CSV and of MSR Cambridge's.
//!
//! `cargo bench -p wearwell-sim --bench traces`

use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wearwell::Rng;
use wearwell_sim::trace;

const RECORDS: u32 = 20_000;

fn own_csv() -> String {
    let mut rng = Rng::new(7);
    let mut text = String::from("time_us,op,offset,length\n");
    for record in 0..RECORDS {
        let op = ["W", "R"][rng.below(2) as usize];
        let (offset, length) = (u64::from(rng.below(1 << 23)) * 4096, (rng.below(16) + 1) * 4096);
        writeln!(text, "{},{op},{offset},{length}", u64::from(record) * 137).expect("a string takes it");
    }
    text
}

fn msr_csv() -> String {
    let mut rng = Rng::new(7);
    let mut text = String::new();
    for record in 0..RECORDS {
        let op = ["Write", "Read"][rng.below(2) as usize];
        let (offset, length) = (u64::from(rng.below(1 << 23)) * 4096, (rng.below(16) + 1) * 4096);
        let time = 128_166_372_003_061_629 + u64::from(record) * 1370;
        writeln!(text, "{time},usr,0,{op},{offset},{length},41286").expect("a string takes it");
    }
    text
}

fn traces(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("trace");
    group.throughput(Throughput::Elements(u64::from(RECORDS)));
    for (name, text) in [("wearwell CSV", own_csv()), ("MSR Cambridge", msr_csv())] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let trace = trace::parse(name, &mut black_box(text.as_bytes())).expect("a trace");
                assert_eq!(trace.requests.len(), RECORDS as usize);
                trace
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .without_plots()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = traces
}
criterion_main!(benches);
