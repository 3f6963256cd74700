//! Runs, one or several beside each other.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use wearwell_sim::arguments::{self, RunArguments};
use wearwell_sim::charts::observed::{self, Named};
use wearwell_sim::charts::page;
use wearwell_sim::engine::{Engine, OwnPolicies};
use wearwell_sim::run::{self, Observation, Report, RunConfig, RunError};
use wearwell_sim::trace::Trace;

use crate::errors::Raised;
use crate::own::{self, Failure, Given};
use crate::tables;
use crate::traces::Trace as GivenTrace;
use crate::watch::{Heard, watched};

/// A run that is done: its report, and how it went.
#[pyclass(frozen, module = "wearwell._native")]
pub(crate) struct Run {
    report: Report,
    observation: Observation,
    warnings: Vec<String>,
}

#[pymethods]
impl Run {
    /// The report, as the command line writes it.
    fn json(&self) -> PyResult<String> {
        crate::json(&self.report)
    }

    /// What was said and changed nothing, a line each.
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn series(&self) -> PyResult<PyTable> {
        tables::series(&self.observation)
    }

    fn segments(&self) -> PyResult<PyTable> {
        tables::segments(&self.observation)
    }

    fn latency(&self) -> PyResult<PyTable> {
        tables::latency(&self.observation)
    }
}

/// Arguments of a run by name.
type Said = Vec<(String, String)>;

/// What was asked for: arguments, a trace in memory, policies in Python.
type Asked = (Said, Option<GivenTrace>, Given);

/// One of the runs that were asked for.
struct Job {
    config: RunConfig,
    /// Taken by the thread that does the run.
    own: Mutex<OwnPolicies>,
    warnings: Vec<String>,
    /// Place of its trace.
    trace: Option<usize>,
}

/// The jobs, and every trace that they replay once.
struct Jobs {
    jobs: Vec<Job>,
    traces: Vec<Trace>,
}

impl Jobs {
    /// Each run by its arguments, and the trace in memory that it replays, if it does.
    fn read(arguments: &[Asked]) -> PyResult<Self> {
        let (mut jobs, mut traces, mut known) = (Vec::new(), Vec::new(), HashMap::new());
        for (said, given, _) in arguments {
            let mut run = RunArguments::default();
            said.iter().try_for_each(|(name, text)| run.set(name, text)).map_err(Raised::raised)?;
            let config = run.config().map_err(Raised::raised)?;
            // Traces in memory may have equal names, and differ by this.
            let identity = given.as_ref().map_or(0, GivenTrace::identity);
            let key = (config.workload.to_string(), run.device.clone(), identity);
            let trace = match known.get(&key) {
                Some(&place) => place,
                None => {
                    let device = run.device.as_deref();
                    let loaded = match given {
                        Some(given) => given.load(device).map(Some),
                        None => run::load(&config.workload, device),
                    };
                    let loaded = loaded.map_err(Raised::raised)?;
                    let place = loaded.map(|trace| {
                        traces.push(trace);
                        traces.len() - 1
                    });
                    known.insert(key, place);
                    place
                }
            };
            let warnings = run.unused(&[config.engine.ftl]);
            jobs.push(Job { config, own: Mutex::default(), warnings, trace });
        }
        Ok(Self { jobs, traces })
    }

    /// Does them on so many threads. The first in order that fails is what is told.
    fn run(&self, threads: usize, heard: &[Heard<'_>]) -> Result<Vec<(Report, Observation)>, RunError> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<_>> = Mutex::new(self.jobs.iter().map(|_| None).collect());
        thread::scope(|scope| {
            let work = || {
                loop {
                    // Each thread takes the next run, so that a long one does not hold up those behind it.
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(job), Some(mut progress)) = (self.jobs.get(at), heard.get(at)) else { break };
                    let trace = job.trace.map(|place| &self.traces[place]);
                    let own = std::mem::take(&mut *job.own.lock().unwrap_or_else(PoisonError::into_inner));
                    let result = run::observed(&job.config, trace, own, &mut progress);
                    // In the order of the runs, whichever ends first.
                    results.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(result);
                }
            };
            for _ in 0..threads.clamp(1, self.jobs.len().max(1)) {
                // The interpreter gets to know the thread once, and not at every call of a policy.
                scope.spawn(move || Python::attach(|py| py.detach(work)));
            }
        });
        results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
    }
}

/// Does runs, each by its arguments, on so many threads. `progress(run, phase, done, steps)` is called now and then.
#[pyfunction]
pub(crate) fn run_all(
    py: Python<'_>,
    arguments: Vec<Asked>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Run>> {
    let mut jobs = py.detach(|| Jobs::read(&arguments))?;
    let stop = Arc::new(AtomicBool::new(false));
    let failure = Failure::new(&stop);
    for (job, (_, _, given)) in jobs.jobs.iter_mut().zip(&arguments) {
        job.own = Mutex::new(own::own(py, given, &failure)?);
    }
    let heard: Vec<Heard<'_>> = jobs.jobs.iter().map(|_| Heard::new(&stop)).collect();
    let tell = |py: Python<'_>| match &progress {
        None => Ok(()),
        Some(progress) => heard.iter().enumerate().try_for_each(|(at, heard)| {
            let (phase, done, steps) = heard.now();
            progress.call1(py, (at, phase, done, steps)).map(drop)
        }),
    };
    let done = watched(py, &stop, || jobs.run(threads, &heard), tell)?;
    // Before the result of the runs: they were stopped because of this error, and say only that.
    if let Some(error) = failure.take() {
        return Err(error);
    }
    let done = done.map_err(Raised::raised)?;
    let runs = done.into_iter().zip(jobs.jobs);
    Ok(runs.map(|((report, observation), job)| Run { report, observation, warnings: job.warnings }).collect())
}

/// The charts of runs, each with its name, as a page.
#[pyfunction]
pub(crate) fn charts(py: Python<'_>, runs: Vec<(String, Py<Run>)>) -> String {
    let named: Vec<Named<'_>> =
        runs.iter().map(|(name, run)| Named { name, observation: &run.get().observation }).collect();
    py.detach(|| {
        let mut body = String::new();
        page::charts(&observed::all(&named), &mut body);
        page::inner(&body)
    })
}

/// The argument that an engine's policies are compared by if nothing else is said, and its values.
#[pyfunction]
pub(crate) fn compared_by_default(ftl: Option<&str>) -> PyResult<Option<(&'static str, Vec<&'static str>)>> {
    let mut run = RunArguments::default();
    if let Some(ftl) = ftl {
        run.set("ftl", ftl).map_err(Raised::raised)?;
    }
    let engine = run.engine.ftl.unwrap_or(Engine::Page);
    Ok(arguments::compared_by_default(engine).map(|(name, values)| (name, values.to_vec())))
}
