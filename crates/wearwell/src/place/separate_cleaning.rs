//! Kawaguchi's separate segment for cleaning ('95, section 3.4): a victim that is less utilized than the device on
//! average counts as cold, and its pages go to the cleaning segment. Pages of other victims go with the host's.

use super::{ClassPlacement, Copied, HostWrite, Shape};
use crate::addr::Class;

/// Class 0 for the host and not-cold victims, class 1 for cold victims.
#[derive(Debug, Clone)]
pub struct SeparateCleaning;

impl SeparateCleaning {
    pub fn new(_shape: Shape) -> Self {
        Self
    }

    pub fn classes() -> u32 {
        2
    }
}

impl ClassPlacement for SeparateCleaning {
    fn host(&mut self, _write: HostWrite<'_>) -> Class {
        Class(0)
    }

    fn copied(&mut self, copy: Copied) -> Class {
        Class(u8::from(copy.victim_utilization < copy.device_utilization))
    }
}
