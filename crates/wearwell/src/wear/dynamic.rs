//! Dynamic wear leveling: only segments that become free anyway are leveled.

use super::WearRule;

/// The least worn free segment is opened first.
pub(super) struct Dynamic;

impl WearRule for Dynamic {
    fn opens_least_worn(&self) -> bool {
        true
    }
}
