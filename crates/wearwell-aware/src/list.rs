//! A list with a fixed capacity that does not allocate.

/// At most `N` items. Invariant: the first `len` places hold the items, in the order of insertion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List<T, const N: usize> {
    items: [T; N],
    len: usize,
}

impl<T: Copy + Default, const N: usize> Default for List<T, N> {
    fn default() -> Self {
        Self { items: [T::default(); N], len: 0 }
    }
}

impl<T: Copy + PartialEq, const N: usize> List<T, N> {
    /// Adds an item; false if the list is full.
    pub(crate) fn push(&mut self, item: T) -> bool {
        let Some(place) = self.items.get_mut(self.len) else { return false };
        *place = item;
        self.len += 1;
        true
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.items[..self.len]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.items[..self.len]
    }

    /// Keeps the items that `keep` is true for.
    pub(crate) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        let mut kept = 0;
        for i in 0..self.len {
            if keep(&self.items[i]) {
                self.items[kept] = self.items[i];
                kept += 1;
            }
        }
        self.len = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_fits_and_keeps_its_order() {
        let mut list: List<u32, 4> = List::default();
        assert!((1..=4).all(|n| list.push(n)));
        assert!(!list.push(5));
        list.retain(|n| n % 2 == 0);
        assert_eq!(list.as_slice(), [2, 4]);
        list.clear();
        assert!(list.as_slice().is_empty());
    }
}
