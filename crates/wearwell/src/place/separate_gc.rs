//! Separates copies from host writes: data that survived a cleaning is older than what the host writes now.

use super::{ClassPlacement, Copied, HostWrite, Shape};
use crate::addr::Class;

/// Class 0 for the host, class 1 for copies.
#[derive(Debug, Clone)]
pub struct SeparateGc;

impl SeparateGc {
    pub fn new(_shape: Shape) -> Self {
        Self
    }

    pub fn classes() -> u32 {
        2
    }
}

impl ClassPlacement for SeparateGc {
    fn host(&mut self, _write: HostWrite<'_>) -> Class {
        Class(0)
    }

    fn copied(&mut self, _copy: Copied) -> Class {
        Class(1)
    }

    fn class_of_copies(&self) -> Option<Class> {
        Some(Class(1))
    }
}
