//! A placement that knows how often each page is written, and not when.

use wearwell::Class;
use wearwell::place::{ClassCount, ClassPlacement, Copied, HostWrite};

use super::recording::Recording;

/// Classes by the power of two of the number of writes.
#[derive(Debug, Clone)]
pub struct KnownRate {
    class: Vec<u8>,
}

impl KnownRate {
    /// 1 write, 2 or 3, 4 to 7, …, 8192 and more.
    pub const CLASSES: ClassCount = match ClassCount::new(14) {
        Some(classes) => classes,
        None => ClassCount::ONE,
    };

    /// The rates of a whole recording.
    pub fn of(recording: &Recording) -> Self {
        let mut writes = vec![0_u32; recording.pages()];
        recording.writes().iter().for_each(|&page| writes[page as usize] += 1);
        let hottest = Self::CLASSES.get() - 1;
        // Pages between others may never be written, and zero has no logarithm.
        Self { class: writes.into_iter().map(|n| (n.max(1).ilog2() as u8).min(hottest)).collect() }
    }

    fn class_of(&self, page: u32) -> Class {
        Class(self.class.get(page as usize).copied().unwrap_or(0))
    }
}

impl ClassPlacement for KnownRate {
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        self.class_of(write.lpn.0)
    }

    fn copied(&mut self, copy: Copied) -> Class {
        self.class_of(copy.lpn.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two() {
        let writes = [1, 2, 3, 4, 8191, 100_000].into_iter().zip(0..);
        let writes = writes.flat_map(|(count, page)| std::iter::repeat_n(page, count)).collect();
        let place = KnownRate::of(&Recording::new(writes, Vec::new(), 0));
        let classes: Vec<u8> = (0..7).map(|page| place.class_of(page).0).collect();
        assert_eq!(classes, [0, 1, 1, 2, 12, 13, 0]);
    }
}
