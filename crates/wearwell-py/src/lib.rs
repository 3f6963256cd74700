//! What `import wearwell` calls: runs and their tables, traces, and disks in memory. The classes that people see are in
//! `python/wearwell`.
#![forbid(unsafe_code)]

mod device;
mod errors;
mod own;
mod runs;
mod tables;
mod traces;
mod watch;

use pyo3::prelude::*;
use wearwell_emu::ChipProfile;
use wearwell_sim::arguments::{RunArguments, choices};

/// Anything as JSON.
fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| errors::Error::new_err(format!("JSON: {error}")))
}

/// The embedded chip profiles, as JSON.
#[pyfunction]
fn chips() -> PyResult<String> {
    json(&ChipProfile::all())
}

/// What arguments choose by name, as JSON.
#[pyfunction]
fn policies() -> PyResult<String> {
    json(&choices())
}

/// Raises an error if no argument of a run has this name, with the one that was meant.
#[pyfunction]
fn check_name(name: &str) -> PyResult<()> {
    RunArguments::check_name(name).map_err(errors::Raised::raised)
}

/// About how many bytes of memory a run takes, beside its trace; 0 for one that makes no sense.
#[pyfunction]
fn memory_bytes(said: Vec<(String, String)>) -> u64 {
    let mut run = RunArguments::default();
    // Without the workload, which need not be a pattern.
    let engine = said.iter().filter(|(name, _)| name != "workload");
    let set = engine.into_iter().try_for_each(|(name, text)| run.set(name, text));
    let set = set.and_then(|()| run.set("workload", "random")).and_then(|()| run.config());
    // The run itself reports what is wrong, with its own words.
    set.map_or(0, |config| config.memory_bytes())
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::add(module)?;
    module.add_class::<device::Device>()?;
    module.add_class::<runs::Run>()?;
    module.add_class::<traces::Trace>()?;
    module.add_function(wrap_pyfunction!(runs::run_all, module)?)?;
    module.add_function(wrap_pyfunction!(runs::charts, module)?)?;
    module.add_function(wrap_pyfunction!(runs::compared_by_default, module)?)?;
    module.add_function(wrap_pyfunction!(chips, module)?)?;
    module.add_function(wrap_pyfunction!(policies, module)?)?;
    module.add_function(wrap_pyfunction!(check_name, module)?)?;
    module.add_function(wrap_pyfunction!(memory_bytes, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
