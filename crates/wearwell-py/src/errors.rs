//! The exceptions, with the messages of the command line.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use wearwell_sim::arguments::ArgumentError as SimArgumentError;
use wearwell_sim::run::RunError as SimRunError;
use wearwell_sim::trace::TraceError as SimTraceError;

create_exception!(wearwell, Error, PyException, "Whatever wearwell refuses or finds wrong.");
create_exception!(wearwell, ArgumentError, Error, "An argument that is not understood, or makes no sense.");
create_exception!(wearwell, TraceError, Error, "A trace that cannot be read.");
create_exception!(wearwell, PolicyError, Error, "A policy in Python that lacks something, or answers wrongly.");
create_exception!(wearwell, DeviceError, Error, "A command that a device in memory refuses or fails.");
create_exception!(wearwell, PowerOff, DeviceError, "A command to a device without power.");
create_exception!(wearwell, RunError, Error, "A run that began, and found something wrong.");

/// An exception for what the simulator says.
pub(crate) trait Raised {
    fn raised(self) -> PyErr;
}

impl Raised for SimArgumentError {
    fn raised(self) -> PyErr {
        ArgumentError::new_err(self.to_string())
    }
}

impl Raised for SimTraceError {
    fn raised(self) -> PyErr {
        TraceError::new_err(self.to_string())
    }
}

impl Raised for SimRunError {
    fn raised(self) -> PyErr {
        let text = self.to_string();
        if self.is_refusal() { ArgumentError::new_err(text) } else { RunError::new_err(text) }
    }
}

/// Puts the exceptions into the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("ArgumentError", py.get_type::<ArgumentError>())?;
    module.add("TraceError", py.get_type::<TraceError>())?;
    module.add("PolicyError", py.get_type::<PolicyError>())?;
    module.add("DeviceError", py.get_type::<DeviceError>())?;
    module.add("PowerOff", py.get_type::<PowerOff>())?;
    module.add("RunError", py.get_type::<RunError>())
}
