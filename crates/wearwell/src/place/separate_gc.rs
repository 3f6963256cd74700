//! Copies apart from host writes: what survived a cleaning is older than what the host writes now.

use super::{ClassPlacement, Copied, HostWrite};
use crate::addr::Class;

/// Class 0 for the host, class 1 for copies.
#[derive(Debug, Clone)]
pub struct SeparateGc;

impl SeparateGc {
    pub fn new(_logical_pages: u32) -> Self {
        Self
    }
}

impl ClassPlacement for SeparateGc {
    const CLASSES: u32 = 2;

    fn host(&mut self, _write: HostWrite) -> Class {
        Class(0)
    }

    fn copied(&mut self, _copy: Copied) -> Class {
        Class(1)
    }

    fn class_of_copies(&self) -> Option<Class> {
        Some(Class(1))
    }
}
