//! How a run went, as Arrow tables. Their columns are taken from here as they lie, without a copy.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt8Array, UInt32Array, UInt64Array};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use wearwell_sim::engine::{SegmentRow, SegmentState};
use wearwell_sim::run::{Observation, Sample};

use crate::errors::Error;

/// A table of one batch.
fn table(columns: Vec<(&'static str, ArrayRef)>) -> PyResult<PyTable> {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| {
        let is_nullable = column.is_nullable();
        (name, column, is_nullable)
    }));
    let batch = batch.map_err(|error| Error::new_err(error.to_string()))?;
    let schema = batch.schema();
    PyTable::try_new(vec![batch], schema)
}

fn whole<T>(of: &[T], get: impl Fn(&T) -> u64) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(of.iter().map(get)))
}

fn small<T>(of: &[T], get: impl Fn(&T) -> u32) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(of.iter().map(get)))
}

/// A ratio from each sample to the next; null in the first, and where nothing happened.
fn ratios(samples: &[Sample], of: impl Fn(&Sample, &Sample) -> (f64, f64)) -> ArrayRef {
    let between = samples.windows(2).map(|two| {
        let (part, whole) = of(&two[0], &two[1]);
        (whole > 0.0).then(|| part / whole)
    });
    Arc::new(Float64Array::from_iter(std::iter::once(None).chain(between).take(samples.len())))
}

/// Counters over time, a row a sample.
pub(crate) fn series(observation: &Observation) -> PyResult<PyTable> {
    let samples = &observation.samples;
    let since = |from: u64, to: u64| (to - from) as f64;
    table(vec![
        ("host_bytes", whole(samples, |s| s.host_bytes)),
        ("sim_ns", whole(samples, |s| s.sim_ns)),
        ("host_pages", whole(samples, |s| s.host_pages)),
        ("programmed_pages", whole(samples, |s| s.programmed_pages)),
        ("copied_pages", whole(samples, |s| s.copied_pages)),
        ("erases", whole(samples, |s| s.erases)),
        ("free_segments", small(samples, |s| s.free_segments)),
        (
            "wa",
            ratios(samples, |a, b| (since(a.programmed_pages, b.programmed_pages), since(a.host_pages, b.host_pages))),
        ),
        (
            "throughput_kib_s",
            ratios(samples, |a, b| (since(a.host_bytes, b.host_bytes) / 1024.0, since(a.sim_ns, b.sim_ns) / 1e9)),
        ),
    ])
}

fn states(states: impl Iterator<Item = SegmentState>) -> ArrayRef {
    let name = |state| serde_json::to_value(state).ok()?.as_str().map(str::to_owned);
    let states: StringArray = states.map(name).collect();
    Arc::new(states)
}

/// The segments of an engine as they are now, a row each.
pub(crate) fn segment_rows(segments: &[SegmentRow]) -> PyResult<PyTable> {
    table(vec![
        ("segment", small(segments, |s| s.segment)),
        ("state", states(segments.iter().map(|s| s.state))),
        ("pages", small(segments, |s| s.pages)),
        ("valid_pages", small(segments, |s| s.valid_pages)),
        ("erases", small(segments, |s| s.erases)),
        ("class", Arc::new(UInt8Array::from_iter(segments.iter().map(|s| s.class)))),
    ])
}

/// The segments at the end, a row each.
pub(crate) fn segments(observation: &Observation) -> PyResult<PyTable> {
    let segments = &observation.segments;
    table(vec![
        ("segment", Arc::new(UInt32Array::from_iter_values(0..segments.len() as u32)) as ArrayRef),
        ("state", states(segments.iter().map(|s| s.state))),
        ("pages", small(segments, |s| s.pages)),
        ("valid_pages", small(segments, |s| s.valid_pages)),
        ("untouched_pages", small(segments, |s| s.untouched_pages)),
        ("erases", small(segments, |s| s.erases)),
    ])
}

/// Quantiles of the commands' latency.
pub(crate) fn latency(observation: &Observation) -> PyResult<PyTable> {
    let of = |get: fn(&(f64, f64)) -> f64| Float64Array::from_iter_values(observation.latency_us.iter().map(get));
    table(vec![("quantile", Arc::new(of(|l| l.0)) as ArrayRef), ("latency_us", Arc::new(of(|l| l.1)))])
}
