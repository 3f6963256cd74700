//! Policies written in Python. Rows go to Python as columns of 64-bit integers, and classes and scores come back, in
//! bytes of this machine's order. The classes of `python/wearwell/_policy.py` make arrays of them.
//!
//! Invariant: after an error nothing is asked of Python any more. The run is stopped, and its result is not used.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use wearwell::place::ClassCount;
use wearwell::{Class, Limits};
use wearwell_sim::engine::{BatchPlacement, Candidates, CopyRow, HostRow, OwnPolicies, SegmentScores, Victim};

use crate::errors::PolicyError;

/// The first error of the policies of runs that are done together. It stops them all.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    raised: Arc<Mutex<Option<PyErr>>>,
    stop: Arc<AtomicBool>,
}

impl Failure {
    pub(crate) fn new(stop: &Arc<AtomicBool>) -> Self {
        Self { raised: Arc::default(), stop: Arc::clone(stop) }
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Asks Python, unless the run is to stop. An error stops it.
    fn guard(&self, ask: impl FnOnce(Python<'_>) -> PyResult<()>) {
        if self.stop.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = Python::attach(ask) {
            // Runs beside each other may fail at once. The first error is the one that is raised.
            self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// What a run is to be done by: objects of `_policy.py`, or none.
pub(crate) type Given = (Option<Py<PyAny>>, Option<Py<PyAny>>);

/// The policies of a run.
pub(crate) fn own(py: Python<'_>, given: &Given, failure: &Failure) -> PyResult<OwnPolicies> {
    let mut own = OwnPolicies::default();
    let name = |asked: &Py<PyAny>| asked.getattr(py, "name")?.extract::<String>(py);
    let pages = |asked: &Py<PyAny>, what: &str| asked.getattr(py, what)?.extract::<usize>(py);
    if let Some(asked) = &given.0 {
        let classes = pages(asked, "classes")?;
        let most = ClassCount::MOST;
        let wrong = || PolicyError::new_err(format!("a placement has 1 to {most} classes, not {classes}"));
        let count = u32::try_from(classes).ok().and_then(ClassCount::new).ok_or_else(wrong)?;
        let (asked, failure) = (asked.clone_ref(py), failure.clone());
        let placement = Placement { batch_pages: pages(&asked, "batch_pages")?, classes: count.get(), asked, failure };
        own = own.batched(&name(&placement.asked)?, count, placement);
    }
    if let Some(asked) = &given.1 {
        let (asked, failure) = (asked.clone_ref(py), failure.clone());
        let victims = Victims { victims_per_call: pages(&asked, "victims_per_call")?, asked, failure };
        own = own.scored(&name(&victims.asked)?, victims);
    }
    Ok(own)
}

/// A placement in Python.
#[derive(Debug)]
struct Placement {
    asked: Py<PyAny>,
    classes: u8,
    batch_pages: usize,
    failure: Failure,
}

impl Placement {
    /// Reads classes, one of 64 bits for each row.
    fn read(&self, answer: &Bound<'_, PyAny>, classes: &mut [Class], method: &str) -> PyResult<()> {
        let answer = answer.cast::<PyBytes>()?;
        for (at, (bytes, class)) in answer.as_bytes().as_chunks().0.iter().zip(classes).enumerate() {
            let answered = i64::from_ne_bytes(*bytes);
            *class = match u8::try_from(answered) {
                Ok(number) if number < self.classes => Class(number),
                _ => {
                    let why = format!(
                        "{method}() puts row {at} into class {answered}; the policy has classes 0 to {}",
                        self.classes - 1
                    );
                    return Err(PolicyError::new_err(why));
                }
            };
        }
        Ok(())
    }
}

impl BatchPlacement for Placement {
    fn start(&mut self, device: &Limits) {
        self.failure.guard(|py| {
            let shape = (device.logical_pages, device.segments, device.pages_per_segment);
            self.asked.call_method1(py, "start", shape).map(drop)
        });
    }

    fn batch_pages(&self) -> usize {
        self.batch_pages
    }

    fn host(&mut self, rows: &[HostRow], classes: &mut [Class]) {
        // -1 stands for none: the columns have whole numbers only, and no clock or class is negative.
        let columns: [fn(&HostRow) -> i64; 5] = [
            |row| i64::from(row.lpn.0),
            |row| i64::from(row.stream),
            |row| row.clock as i64,
            |row| row.last_write.map_or(-1, |clock| clock as i64),
            |row| row.old_class.map_or(-1, |class| i64::from(class.0)),
        ];
        self.failure.guard(|py| {
            let answer = self.asked.bind(py).call_method1("host", (bytes(py, rows, &columns)?, rows.len()))?;
            self.read(&answer, classes, "host")
        });
    }

    fn copied(&mut self, victim: &Victim, rows: &[CopyRow], classes: &mut [Class]) {
        let columns: [fn(&CopyRow) -> i64; 2] =
            [|row| i64::from(row.lpn.0), |row| row.last_write.map_or(-1, |clock| clock as i64)];
        let Victim { segment, class, clock, utilization, device_utilization } = *victim;
        self.failure.guard(|py| {
            let of_victim = (segment, class.0, clock, utilization, device_utilization);
            let arguments = (bytes(py, rows, &columns)?, rows.len(), of_victim);
            let answer = self.asked.bind(py).call_method1("copied", arguments)?;
            self.read(&answer, classes, "copied")
        });
    }
}

/// A victim score in Python.
#[derive(Debug)]
struct Victims {
    asked: Py<PyAny>,
    victims_per_call: usize,
    failure: Failure,
}

impl SegmentScores for Victims {
    fn victims_per_call(&self) -> usize {
        self.victims_per_call
    }

    fn scores(&self, now: u64, candidates: &Candidates, scores: &mut [f64]) {
        let rows = candidates.len();
        self.failure.guard(|py| {
            let columns = PyBytes::new_with(py, rows * size_of::<i64>() * candidates.columns().count(), |out| {
                let (values, _) = out.as_chunks_mut();
                for (column, values) in candidates.columns().zip(values.chunks_mut(rows)) {
                    column.iter().zip(values).for_each(|(number, value)| *value = number.to_ne_bytes());
                }
                Ok(())
            })?;
            let answer = self.asked.bind(py).call_method1("score", (columns, rows, now))?;
            let answer = answer.cast::<PyBytes>()?.as_bytes().as_chunks().0;
            scores.iter_mut().zip(answer).for_each(|(score, bytes)| *score = f64::from_ne_bytes(*bytes));
            // NaN compares with nothing, so that no victim could be chosen by it.
            match scores.iter().position(|score| score.is_nan()) {
                None => Ok(()),
                Some(row) => Err(PolicyError::new_err(format!("score() returned NaN for row {row}"))),
            }
        });
    }
}

/// Rows as columns, one behind the other.
fn bytes<'py, R>(py: Python<'py>, rows: &[R], columns: &[fn(&R) -> i64]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, rows.len() * columns.len() * size_of::<i64>(), |out| {
        let (values, _) = out.as_chunks_mut();
        for (column, values) in columns.iter().zip(values.chunks_mut(rows.len())) {
            rows.iter().zip(values).for_each(|(row, value)| *value = column(row).to_ne_bytes());
        }
        Ok(())
    })
}
