//! Wall time, and time on the processor.

use std::time::Instant;

/// Seconds that something took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Took {
    pub(crate) wall_seconds: f64,
    /// Time that this thread had the processor; wall time if that is not known.
    pub(crate) cpu_seconds: f64,
}

/// Measures what `work` takes.
pub(crate) fn took(work: impl FnOnce()) -> Took {
    let (began, cpu_began_ns) = (Instant::now(), cpu_ns());
    work();
    let wall_seconds = began.elapsed().as_secs_f64();
    let cpu_seconds = match (cpu_began_ns, cpu_ns()) {
        (Some(began_ns), Some(ended_ns)) if ended_ns > began_ns => (ended_ns - began_ns) as f64 / 1e9,
        _ => wall_seconds,
    };
    Took { wall_seconds, cpu_seconds }
}

/// Nanoseconds that this thread has had the processor, as Linux counts them.
fn cpu_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
