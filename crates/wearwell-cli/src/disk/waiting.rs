//! Shows that a disk is being mounted, only on a terminal.

use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::progress::PATIENCE;

/// Does some work. As soon as it has taken a second, a line says what goes on, until it has ended.
pub(super) fn while_waiting<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if !stderr().is_terminal() {
        return work();
    }
    let (done, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || show_until(&ended, what, ProgressDrawTarget::stderr()));
        let result = work();
        // This ends the other thread: nothing is ever sent.
        drop(done);
        result
    })
}

/// Shows a line from the second second on, until the sender of `ended` is gone.
fn show_until(ended: &Receiver<()>, what: &str, target: ProgressDrawTarget) {
    if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let line = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        line.set_style(style);
    }
    line.set_message(what.to_owned());
    while ended.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
        line.tick();
    }
    line.finish_and_clear();
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    /// What a terminal shows while `show_until` runs in a thread of its own, until `is_shown` holds for it; then what
    /// it shows after the end.
    fn shown(is_shown: impl Fn(&str) -> bool) -> (String, String) {
        let (done, ended) = mpsc::channel();
        let terminal = InMemoryTerm::new(4, 80);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let showing = thread::spawn(move || show_until(&ended, "mounting disk.ww", target));
        while !is_shown(&terminal.contents()) {
            thread::sleep(Duration::from_millis(5));
        }
        let during = terminal.contents();
        drop(done);
        showing.join().unwrap();
        (during, terminal.contents())
    }

    #[test]
    fn a_long_wait_is_named_until_it_ends() {
        let (during, after) = shown(|contents| !contents.is_empty());
        assert!(during.contains("mounting disk.ww"), "{during:?}");
        assert_eq!(after, "");
    }

    #[test]
    fn a_short_wait_shows_nothing() {
        let (during, after) = shown(|_| true);
        assert_eq!((during.as_str(), after.as_str()), ("", ""));
    }
}
