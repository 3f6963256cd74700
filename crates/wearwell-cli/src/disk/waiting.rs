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
        scope.spawn(move || show_until(&ended, what));
        let result = work();
        drop(done);
        result
    })
}

/// Shows a line from the second second on, until the sender of `ended` is gone.
fn show_until(ended: &Receiver<()>, what: &str) {
    if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        line.set_style(style);
    }
    line.set_message(what.to_owned());
    while ended.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
        line.tick();
    }
    line.finish_and_clear();
}
