//! Trace files of any format.

use wearwell_sim::trace::{self, write_csv};

/// Reads the bytes as a trace. The parsed trace must be valid, and must read back the same from our own format.
pub fn trace(data: &[u8]) {
    let mut bytes = data;
    let Ok(read) = trace::parse("input", &mut bytes) else { return };
    let times: Vec<u64> = read.requests.iter().map(|request| request.time_us).collect();
    assert!(times.is_sorted(), "times go back");
    assert!(times.first().is_none_or(|&first| first == 0), "times do not start at 0");
    assert!(read.requests.iter().all(|request| request.end_bytes() <= read.end_bytes()));
    let mut own = Vec::new();
    write_csv(&mut own, &read.requests).expect("memory takes it");
    let again = trace::parse("own", &mut own.as_slice()).expect("our own format reads back");
    assert_eq!(again.requests, read.requests);
}
