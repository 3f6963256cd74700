//! Work on a thread of its own, a few items ahead of whoever takes them.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Scope;

/// Items that wait for whoever takes them. More are not made, so memory is bounded.
const WAITING: usize = 4;

/// The items of an iterator. Once it has given a full one, it goes on in a thread of its own: a short trace costs no
/// thread. When this is dropped, that thread ends with its next item.
pub(super) struct Ahead<'s, 'e, T> {
    scope: &'s Scope<'s, 'e>,
    is_full: fn(&T) -> bool,
    source: Source<'s, T>,
}

enum Source<'s, T> {
    Here(Box<dyn Iterator<Item = T> + Send + 's>),
    There(Receiver<T>),
    Ended,
}

impl<'s, 'e, T: Send + 's> Ahead<'s, 'e, T> {
    pub(super) fn new(
        scope: &'s Scope<'s, 'e>,
        items: impl Iterator<Item = T> + Send + 's,
        is_full: fn(&T) -> bool,
    ) -> Self {
        Self { scope, is_full, source: Source::Here(Box::new(items)) }
    }
}

impl<'s, T: Send + 's> Iterator for Ahead<'s, '_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        // What is left if this returns early: nothing more will come.
        match std::mem::replace(&mut self.source, Source::Ended) {
            Source::Ended => None,
            Source::There(items) => {
                // The other end is gone once the last item was sent.
                let item = items.recv().ok()?;
                self.source = Source::There(items);
                Some(item)
            }
            Source::Here(mut items) => {
                let item = items.next()?;
                self.source = if (self.is_full)(&item) {
                    let (sender, receiver) = sync_channel(WAITING);
                    // Sending fails if nobody takes the items any more.
                    self.scope.spawn(move || items.try_for_each(|item| sender.send(item)));
                    Source::There(receiver)
                } else {
                    Source::Here(items)
                };
                Some(item)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn items_come_in_order_and_only_a_few_ahead() {
        let made = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let items = (0..1000_u64).inspect(|_| {
                made.fetch_add(1, Ordering::SeqCst);
            });
            let ahead = Ahead::new(scope, items, |&item| item >= 3);
            for (item, wanted) in ahead.zip(0..) {
                assert_eq!(item, wanted);
                // One more is being made, and one is being sent.
                assert!(made.load(Ordering::SeqCst) <= item + WAITING as u64 + 3);
                if item == 500 {
                    break;
                }
            }
        });
        assert!(made.load(Ordering::SeqCst) < 510, "the thread has ended");
    }

    #[test]
    fn what_is_short_has_no_thread() {
        std::thread::scope(|scope| {
            let here = std::thread::current().id();
            let ids = (0..100).map(|_| std::thread::current().id());
            assert!(Ahead::new(scope, ids, |_| false).all(|id| id == here));
        });
    }
}
