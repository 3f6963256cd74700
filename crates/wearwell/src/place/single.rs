//! Everything into one open segment.

use super::{ClassPlacement, Copied, HostWrite, Shape};
use crate::addr::Class;

/// The one class.
#[derive(Debug, Clone)]
pub struct Single;

impl Single {
    pub fn new(_shape: Shape) -> Self {
        Self
    }

    pub fn classes() -> u32 {
        1
    }
}

impl ClassPlacement for Single {
    fn host(&mut self, _write: HostWrite<'_>) -> Class {
        Class(0)
    }

    fn copied(&mut self, _copy: Copied) -> Class {
        Class(0)
    }

    fn class_of_copies(&self) -> Option<Class> {
        Some(Class(0))
    }
}
