//! Sockets and connections in front of a disk.
//!
//! A thread for each connection reads as much as has come, takes the disk's lock once for all requests in it, and sends
//! their replies together. Beside them one thread accepts clients and closes those whose time is up, and one cleans while
//! the host is idle. All meet in [`Engine`], and nothing else reaches the disk.

mod batch;
mod clients;
mod connection;
mod control;
mod due;
mod eager;
mod engine;
mod errors;
mod execute;
mod http;
mod idle;
mod input;
mod keeper;
mod latency;
mod listen;
mod notice;
mod nvme;
mod nvme_medium;
mod peer;
mod stop;
mod tls;
mod watch;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::disk::{Disk, DiskError, Health};
use crate::fdp::FdpSpec;
use crate::nbd::Export;
use crate::nvme::{Subsystem, Target};

pub use connection::ConnectionEnd;
pub use control::{ControlCommand, ControlError, WrongBits, ask};
pub use engine::{Access, Engine, Poisoned};
pub use listen::{Endpoint, ListenError};
pub use notice::Notice;
pub use stop::Stopper;
pub use tls::{Tls, TlsError};

use clients::Clients;
use connection::Connection;
use keeper::Keeper;
use listen::{Listener, Reach};
use nvme::NvmeConnection;
use peer::Peer;
use stop::{StopWaiter, Stopping};
use tls::Wire;

/// How long clients have, once the server stops, to take what it still sends them.
const DRAIN_PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait for files to be closed when there are too many to accept a client.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Whether replies wait for the chip's timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// As fast as it goes.
    Off,
    /// As fast as the chip would be.
    Real,
}

/// How a disk is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The export's name; empty is the default one.
    pub export: String,
    /// A line for people.
    pub description: String,
    /// Whether writes are refused.
    pub is_read_only: bool,
    /// Whether replies wait for the chip's timeline.
    pub timing: Timing,
    /// Whether cleaning goes on while the host is idle.
    pub cleans_when_idle: bool,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            export: String::new(),
            description: String::new(),
            is_read_only: false,
            timing: Timing::Off,
            cleans_when_idle: true,
        }
    }
}

/// Why a server ended other than as it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The system refused what the server cannot do without.
    #[error("the server failed: {0}")]
    System(#[from] io::Error),
    /// The disk failed in the middle of a command, so that it could not be closed properly.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
    /// The disk could not be flushed, or closed, at the end.
    #[error("the disk could not be closed: {0}")]
    Disk(#[from] DiskError),
    /// The disk was closed properly, but it was not recorded to the end.
    #[error("{0}")]
    Recording(DiskError),
}

/// What those are for that connect to a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Clients of the disk, over NBD.
    Disk,
    /// Hosts of the disk, over NVMe/TCP.
    Nvme,
    /// Whoever looks after it.
    Control,
    /// Browsers and scrapers of metrics.
    Http,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disk => "disk",
            Self::Nvme => "disk over NVMe/TCP",
            Self::Control => "control socket",
            Self::Http => "page",
        })
    }
}

/// A disk, ready to be served.
#[derive(Debug)]
pub struct Server {
    engine: Arc<Engine>,
    export: Export,
    /// Reclaim unit handles of the disk.
    fdp: Option<FdpSpec>,
    /// None if there is no NVMe/TCP.
    nvme: Option<Target>,
    cleans_when_idle: bool,
    tls: Option<Tls>,
    listeners: Vec<(Listener, Role)>,
    stopper: Stopper,
    waiter: StopWaiter,
    clients: Clients,
    stopping: Stopping,
    keeper: Keeper,
}

impl Server {
    /// A server that nobody can reach yet.
    ///
    /// # Errors
    /// If the system is out of files.
    pub fn new(disk: Disk, config: ServerConfig) -> io::Result<Self> {
        let (stopper, waiter) = stop::pair()?;
        let export = Export {
            name: config.export,
            description: config.description,
            size_bytes: disk.bytes(),
            page_bytes: disk.page_bytes(),
            is_read_only: config.is_read_only,
        };
        Ok(Self {
            fdp: disk.fdp(),
            engine: Arc::new(Engine::new(disk, config.timing)),
            export,
            nvme: None,
            cleans_when_idle: config.cleans_when_idle,
            tls: None,
            listeners: Vec::new(),
            stopper,
            waiter,
            clients: Clients::default(),
            stopping: Stopping::default(),
            keeper: Keeper::default(),
        })
    }

    /// Wants TLS of clients over TCP, and a certificate, and offers it at Unix sockets. To be called before anything is
    /// listened at: without TLS only loopback addresses are.
    pub fn secure(&mut self, tls: Tls) {
        self.tls = Some(tls);
    }

    /// How clients name the export at an endpoint.
    pub fn uri(&self, endpoint: &Endpoint) -> String {
        endpoint.uri(&self.export.name, self.tls.is_some())
    }

    /// Listens, and returns where: the path in full, or from the current folder on if a socket's cannot be so long; the port
    /// that the system chose.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub fn listen(&mut self, endpoint: &Endpoint) -> Result<Endpoint, ListenError> {
        let (listener, bound) = Listener::bind(endpoint, self.reach(Role::Disk))?;
        self.listeners.push((listener, Role::Disk));
        Ok(bound)
    }

    /// Listens for control clients at a Unix socket; [`ask`] is one.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub fn listen_control(&mut self, path: &Path) -> Result<(), ListenError> {
        let (listener, _) = Listener::bind(&Endpoint::Unix(path.to_owned()), self.reach(Role::Control))?;
        self.listeners.push((listener, Role::Control));
        Ok(())
    }

    /// Serves a page at `/`, and metrics at `/metrics`. Returns where, with the port that the system chose.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub fn listen_http(&mut self, address: SocketAddr) -> Result<Endpoint, ListenError> {
        let (listener, bound) = Listener::bind(&Endpoint::Tcp(address), self.reach(Role::Http))?;
        self.listeners.push((listener, Role::Http));
        Ok(bound)
    }

    /// Listens for NVMe/TCP hosts, of whom there is no authentication. Returns the subsystem, with the port that the system
    /// chose; its name is `nqn`, or one made from `unique`.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub fn listen_nvme(
        &mut self,
        address: SocketAddr,
        nqn: Option<String>,
        unique: u128,
    ) -> Result<Subsystem, ListenError> {
        let endpoint = Endpoint::Tcp(address);
        let (listener, bound) = Listener::bind(&endpoint, self.reach(Role::Nvme))?;
        let address = if let Endpoint::Tcp(bound) = bound { bound } else { address };
        let subsystem = Subsystem {
            nqn: nqn.unwrap_or_else(|| Subsystem::default_nqn(unique)),
            unique,
            address,
            size_bytes: self.export.size_bytes,
            page_bytes: self.export.page_bytes,
            segment_bytes: self.engine.segment_bytes(),
            is_read_only: self.export.is_read_only,
            fdp: self.fdp,
        };
        self.nvme = Some(Target::new(subsystem.clone()));
        self.listeners.push((listener, Role::Nvme));
        Ok(subsystem)
    }

    /// Takes a socket for a role that somebody else opened, as systemd does, and returns where it listens. Its file is left
    /// where it is in the end.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub fn adopt(&mut self, socket: OwnedFd, role: Role) -> Result<Endpoint, ListenError> {
        let (listener, bound) = Listener::adopt(socket, self.reach(role))?;
        if role == Role::Control && matches!(bound, Endpoint::Tcp(_)) {
            return Err(ListenError::Inherited("the control socket must be a Unix socket"));
        }
        self.listeners.push((listener, role));
        Ok(bound)
    }

    fn reach(&self, role: Role) -> Reach {
        match role {
            Role::Disk if self.tls.is_some() => Reach::Anywhere,
            Role::Disk => Reach::ThisMachine(ListenError::NeedsTls),
            Role::Nvme => Reach::ThisMachine(ListenError::NeedsAuthentication),
            Role::Control | Role::Http => Reach::ThisMachine(ListenError::NotLoopback),
        }
    }

    /// What stops it.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// The disk, which others than clients may want to look at.
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine)
    }

    /// Serves until it is told to stop; then closes the disk properly. `tell` hears what happens, from several threads.
    /// Returns how the disk was in the end.
    ///
    /// # Errors
    /// If the disk could not be closed, or the system does not let it wait for clients.
    pub fn serve(mut self, tell: &(impl Fn(&Notice<'_>) + Sync)) -> Result<Health, ServeError> {
        let listeners = std::mem::take(&mut self.listeners);
        let server = &self;
        let accepted = thread::scope(|scope| {
            if server.cleans_when_idle {
                scope.spawn(|| server.clean_when_idle());
            }
            scope.spawn(|| server.keep(tell));
            let accepted = server.accept_until_stopped(scope, &listeners, tell);
            server.stopping.begin();
            tell(&Notice::Stopping);
            // From here on nobody can connect.
            drop(listeners);
            server.clients.drain(DRAIN_PATIENCE);
            accepted
        });
        let health = self.keeper.look(&self.engine, tell)?;
        let mut access = self.engine.access()?;
        // A replay is compared with what clients saw, not with what shutting down adds.
        let recorded = access.disk_mut().end_recording().map(drop);
        // A flush may fail for data that was lost; all the same the disk is shut down in good order.
        let flushed = access.command().flush();
        access.command().shutdown()?;
        flushed?;
        accepted?;
        recorded.map_err(ServeError::Recording)?;
        Ok(health)
    }

    fn keep(&self, tell: &impl Fn(&Notice<'_>)) {
        // As below.
        let _ = panic::catch_unwind(AssertUnwindSafe(|| self.keeper.keep(&self.engine, &self.stopping, tell)));
    }

    fn clean_when_idle(&self) {
        // A panic has poisoned the lock, which every request then reports.
        let _ = panic::catch_unwind(AssertUnwindSafe(|| idle::clean_when_idle(&self.engine, &self.stopping)));
    }

    fn accept_until_stopped<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        listeners: &[(Listener, Role)],
        tell: &'env (impl Fn(&Notice<'_>) + Sync),
    ) -> io::Result<()> {
        loop {
            let mut waited: Vec<PollFd<'_>> = vec![PollFd::new(&self.waiter, PollFlags::IN)];
            waited.extend(listeners.iter().map(|(listener, _)| PollFd::new(listener, PollFlags::IN)));
            let next_deadline = self.clients.expire(Instant::now()).and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut waited, next_deadline.as_ref()) {
                Err(rustix::io::Errno::INTR) => continue,
                result => result?,
            };
            if !waited[0].revents().is_empty() {
                return Ok(());
            }
            for ((listener, role), _) in
                listeners.iter().zip(&waited[1..]).filter(|(_, waited)| !waited.revents().is_empty())
            {
                match listener.accept() {
                    Ok(Some(peer)) => self.spawn(scope, peer, *role, tell),
                    Ok(None) => {}
                    // Of a client that went again, or for lack of files: others may do better.
                    Err(_) => thread::sleep(ACCEPT_PAUSE),
                }
            }
        }
    }

    /// Serves a client in a thread of its own; closes the connection if there cannot be one.
    fn spawn<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        peer: Peer,
        role: Role,
        tell: &'env (impl Fn(&Notice<'_>) + Sync),
    ) {
        let (name, peer) = (peer.name(), Arc::new(peer));
        if let Err(end) = self.clients.admit(&peer, role, Instant::now()) {
            return tell(&Notice::Ended { peer: &name, end: &end });
        }
        tell(&Notice::Came { peer: &name, to: role });
        let in_thread = Arc::clone(&peer);
        let spawned = thread::Builder::new().name("connection".to_owned()).spawn_scoped(scope, move || {
            let end = panic::catch_unwind(AssertUnwindSafe(|| self.connect(&in_thread, role)));
            let decided = self.clients.forget(&in_thread);
            let end = decided.unwrap_or_else(|| end.unwrap_or(ConnectionEnd::Panicked));
            let end = if self.stopping.has_begun() { end.without_blame() } else { end };
            tell(&Notice::Ended { peer: &name, end: &end });
        });
        if spawned.is_err() {
            self.clients.forget(&peer);
        }
    }

    fn connect(&self, peer: &Peer, role: Role) -> ConnectionEnd {
        match role {
            Role::Control => return control::control(&self.engine, peer).unwrap_or_else(|end| end),
            Role::Http => return http::browse(&self.engine, &self.clients, peer).unwrap_or_else(|end| end),
            Role::Nvme => return self.connect_nvme(peer),
            Role::Disk => {}
        }
        let connection = Connection {
            peer,
            clients: &self.clients,
            wire: Wire::new(peer),
            tls: self.tls.as_ref(),
            engine: &self.engine,
            export: &self.export,
            stopping: &self.stopping,
        };
        connection.run()
    }

    fn connect_nvme(&self, peer: &Peer) -> ConnectionEnd {
        // Whoever listens there has one.
        let Some(target) = &self.nvme else { return ConnectionEnd::Stopped };
        let Self { clients, engine, stopping, .. } = self;
        NvmeConnection { peer, clients, engine, target, stopping }.run()
    }
}
