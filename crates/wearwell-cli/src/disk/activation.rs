//! Sockets that systemd opened for `wearwell serve`, by the protocol of sd_listen_fds(3).

use std::os::fd::OwnedFd;

use wearwell_serve::server::Role;

use crate::failure::Failure;

/// The variables that systemd sets, which are for this process and not for its children.
pub(crate) const VARIABLES: [&str; 5] =
    ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID", "NOTIFY_SOCKET"];

/// The sockets that were passed to this process; none if it was not started like this. The name of a socket
/// (`FileDescriptorName=`) says what it is for: `control`, `http`, or anything else for clients of the disk.
///
/// It must be called once, before any file is opened.
pub(crate) fn sockets() -> Result<Vec<(Role, OwnedFd)>, Failure> {
    let found = sd_listen_fds::get();
    let found = found.map_err(|error| Failure::Refused(format!("LISTEN_PID, LISTEN_FDS: {error}")))?;
    let role = |name: Option<String>| match name.as_deref() {
        Some("control") => Role::Control,
        Some("http") => Role::Http,
        _ => Role::Disk,
    };
    Ok(found.into_iter().map(|(name, socket)| (role(name), socket.into_std())).collect())
}
