//! Everything into one open segment.

use super::{ClassPlacement, Copied, HostWrite};
use crate::addr::Class;

/// The one class.
#[derive(Debug, Clone)]
pub struct Single;

impl Single {
    pub fn new(_logical_pages: u32) -> Self {
        Self
    }
}

impl ClassPlacement for Single {
    const CLASSES: u32 = 1;

    fn host(&mut self, _write: HostWrite) -> Class {
        Class(0)
    }

    fn copied(&mut self, _copy: Copied) -> Class {
        Class(0)
    }

    fn class_of_copies(&self) -> Option<Class> {
        Some(Class(0))
    }
}
