//! A disk in memory, to step by hand.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3_arrow::PyTable;
use serde_json::json;
use wearwell_sim::arguments::RunArguments;
use wearwell_sim::device::{Device as SimDevice, DeviceError as SimDeviceError};

use crate::errors::{DeviceError, PowerOff, Raised};
use crate::tables;

impl Raised for SimDeviceError {
    fn raised(self) -> PyErr {
        let text = self.to_string();
        if matches!(self, Self::Off) { PowerOff::new_err(text) } else { DeviceError::new_err(text) }
    }
}

/// Steps take one at a time.
#[pyclass(frozen, module = "wearwell._native")]
pub(crate) struct Device(Mutex<SimDevice>);

impl Device {
    fn lock(&self) -> MutexGuard<'_, SimDevice> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a step off the interpreter's lock.
    fn step<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut SimDevice) -> Result<T, SimDeviceError> + Send,
    ) -> PyResult<T> {
        // The lock is taken and let go of inside: no thread waits for the interpreter while it holds the lock.
        py.detach(|| act(&mut self.lock())).map_err(Raised::raised)
    }
}

#[pymethods]
impl Device {
    #[new]
    fn new(py: Python<'_>, arguments: Vec<(String, String)>) -> PyResult<Self> {
        let mut said = RunArguments::default();
        arguments.iter().try_for_each(|(name, text)| said.set(name, text)).map_err(Raised::raised)?;
        let spec = said.engine.spec().map_err(|error| crate::errors::ArgumentError::new_err(error.to_string()))?;
        let device = py.detach(|| SimDevice::new(&spec)).map_err(Raised::raised)?;
        Ok(Self(Mutex::new(device)))
    }

    fn capacity(&self) -> u64 {
        self.lock().bytes()
    }

    fn is_off(&self) -> bool {
        self.lock().is_off()
    }

    fn read<'py>(&self, py: Python<'py>, offset: u64, length: u64) -> PyResult<Bound<'py, PyBytes>> {
        let data = self.step(py, |device| device.read(offset, length))?;
        Ok(PyBytes::new(py, &data))
    }

    fn write(&self, py: Python<'_>, offset: u64, data: &[u8], stream: u16) -> PyResult<()> {
        self.step(py, |device| device.write(offset, data, stream))
    }

    fn discard(&self, py: Python<'_>, offset: u64, length: u64) -> PyResult<()> {
        self.step(py, |device| device.discard(offset, length))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.step(py, SimDevice::flush)
    }

    fn clean(&self, py: Python<'_>, pages: u32) -> PyResult<bool> {
        self.step(py, |device| device.clean(pages))
    }

    fn shutdown(&self, py: Python<'_>) -> PyResult<()> {
        self.step(py, SimDevice::shutdown)
    }

    fn cut_power(&self, after_ops: u64, seed: u64) {
        self.lock().cut_power(after_ops, seed);
    }

    /// What the mount found, as JSON.
    fn mount(&self, py: Python<'_>) -> PyResult<String> {
        let found = self.step(py, SimDevice::mount)?;
        let found = json!({
            "clean": found.clean,
            "open_segments": found.open_segments,
            "rescued_pages": found.rescued_pages,
            "undone_segments": found.undone_segments,
            "lost_discards": found.lost_discards,
            "read_only": found.read_only,
        });
        Ok(found.to_string())
    }

    /// The counters, as JSON.
    fn stats(&self) -> String {
        let (stats, limits) = {
            let device = self.lock();
            (device.stats(), device.limits())
        };
        let stats = json!({
            "host_pages": stats.host_pages,
            "copied_pages": stats.copied_pages,
            "programmed_pages": stats.programmed_pages(),
            "erases": stats.erases,
            "wa_data": stats.wa_data(),
            "wa_total": stats.wa_total(),
            "host_reads": stats.host_reads,
            "discarded_pages": stats.discarded_pages,
            "flushes": stats.flushes,
            "cleanings": stats.cleanings,
            "live_pages": limits.live_pages,
            "dead_pages": limits.dead_pages,
            "free_segments": limits.free_segments,
            "segments": limits.segments,
            "pages_per_segment": limits.pages_per_segment,
            "logical_pages": limits.logical_pages,
        });
        stats.to_string()
    }

    fn segments(&self) -> PyResult<PyTable> {
        tables::segment_rows(&self.lock().segments())
    }
}
