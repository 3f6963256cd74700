//! The log of `serve`: lines on standard error, with time, level and peer.

use std::io;

use clap::ValueEnum;
use sd_notify::NotifyState;
use tracing::{debug, error, info, level_filters::LevelFilter, warn};
use wearwell_serve::disk::Condition;
use wearwell_serve::server::{ConnectionEnd, Notice};

/// How much is logged. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// The disk or its recording has failed
    Error,
    /// The disk is degraded; a client misbehaves
    Warn,
    /// The disk is healthy again; the server is told to stop
    Info,
    /// Every client that comes or goes
    Debug,
}

/// Begins to write lines up to this level.
pub(crate) fn begin(level: LogLevel) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let lines = tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).with_target(false);
    lines.with_max_level(level).log_internal_errors(false).init();
}

/// Reports to the service manager, if there is one.
pub(crate) fn tell_manager(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        warn!("NOTIFY_SOCKET: {error}");
    }
}

/// Logs a notice of the server.
pub(crate) fn tell(notice: &Notice<'_>) {
    match notice {
        Notice::Came { peer, to } => debug!(peer, "has come to the {to}"),
        Notice::Ended { peer, end: end @ (ConnectionEnd::Left | ConnectionEnd::Stopped) } => debug!(peer, "{end}"),
        Notice::Ended { peer, end } => warn!(peer, "a connection ended: {end}"),
        Notice::Health(health) => {
            let line = format!("the disk is {health}");
            tell_manager(&[NotifyState::Status(&line)]);
            match health.state {
                Condition::Healthy => info!("{line}"),
                Condition::Degraded => warn!("{line}"),
                Condition::ReadOnly => error!("{line}"),
            }
        }
        Notice::RemountFailed(error) => error!("the disk could not be mounted anew: {error}"),
        Notice::RecordingFailed(error) => error!("the recording failed: {error}; the disk is served on without"),
        Notice::Stopping => {
            tell_manager(&[NotifyState::Stopping]);
            info!("told to stop");
        }
        _ => {}
    }
}
