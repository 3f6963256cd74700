//! Serves a disk over sockets.
//!
//! Each connection has a thread. It reads the bytes that have come, takes the disk's lock once for all requests in
//! them, and sends their replies together. One more thread accepts clients and closes those whose time is up, one
//! cleans while the host is idle, and one watches the disk's health. All of them access the disk only through
//! [`Engine`].

mod batch;
mod class_names;
mod clients;
mod connection;
mod control;
mod due;
mod eager;
mod end;
mod engine;
mod errors;
mod execute;
mod history;
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

use ring::rand::{SecureRandom, SystemRandom};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::disk::{Disk, DiskError, Health};
use crate::fdp::FdpSpec;
use crate::nbd::Export;
use crate::nvme::{Admission, Hosts, Subsystem, Target};

pub use control::{ControlCommand, ControlError, WrongBits, ask};
pub use end::ConnectionEnd;
pub use engine::{Access, Engine};
pub use errors::Poisoned;
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

/// The time that clients have to read the last replies when the server stops.
const DRAIN_PATIENCE: Duration = Duration::from_secs(5);
/// The wait after a client could not be accepted because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Whether replies wait for the chip's timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// Replies are sent as soon as possible.
    Off,
    /// Replies are sent when the chip would have finished.
    Real,
}

/// The configuration of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The export's name; empty is the default one.
    pub export: String,
    /// A line that describes the disk.
    pub description: String,
    /// Whether writes are refused.
    pub is_read_only: bool,
    /// Whether replies wait for the chip's timeline.
    pub timing: Timing,
    /// Whether the disk is cleaned while the host is idle.
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

/// Why a server did not end as it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The system refused something that the server needs.
    #[error("the server failed: {0}")]
    System(#[from] io::Error),
    /// The disk failed in the middle of a command and could not be closed properly.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
    /// The disk could not be flushed, or closed, at the end.
    #[error("the disk could not be closed: {0}")]
    Disk(#[from] DiskError),
    /// The disk was closed properly, but the recording is not complete.
    #[error("{0}")]
    Recording(DiskError),
}

/// The role of the clients of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Clients of the disk, over NBD.
    Disk,
    /// Hosts of the disk, over NVMe/TCP.
    Nvme,
    /// Control clients.
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

/// A server of a disk.
#[derive(Debug)]
pub struct Server {
    engine: Arc<Engine>,
    export: Export,
    /// Reclaim unit handles of the disk.
    fdp: Option<FdpSpec>,
    /// Whether the disk keeps what hosts enable for its handles.
    keeps_events: bool,
    /// None if there is no NVMe/TCP.
    nvme: Option<Target>,
    /// None if any NVMe host may connect.
    hosts: Option<Hosts>,
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
    /// A server without sockets.
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
            keeps_events: disk.keeps_watched(),
            engine: Arc::new(Engine::new(disk, config.timing)),
            export,
            nvme: None,
            hosts: None,
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

    /// Requires TLS and a certificate of clients over TCP, and offers TLS at Unix sockets. It must be called before the
    /// server listens anywhere: without TLS it listens only at loopback addresses.
    pub fn secure(&mut self, tls: Tls) {
        self.tls = Some(tls);
    }

    /// Only lets these NVMe hosts connect, which have to authenticate every queue. It must be called before the server
    /// listens for them: without it it listens only at loopback addresses.
    pub fn admit(&mut self, hosts: Hosts) {
        self.hosts = Some(hosts);
    }

    /// The URI of the export at an endpoint.
    pub fn uri(&self, endpoint: &Endpoint) -> String {
        endpoint.uri(&self.export.name, self.tls.is_some())
    }

    /// Listens, and returns the endpoint: the full path, or the path from the current folder if the full one is too
    /// long for a socket; or the address with the port that the system chose.
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

    /// Serves a page at `/`, and metrics at `/metrics`. Returns the endpoint with the port that the system chose.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub fn listen_http(&mut self, address: SocketAddr) -> Result<Endpoint, ListenError> {
        let (listener, bound) = Listener::bind(&Endpoint::Tcp(address), self.reach(Role::Http))?;
        self.listeners.push((listener, Role::Http));
        Ok(bound)
    }

    /// Listens for NVMe/TCP hosts. Returns the subsystem with the port that the system
    /// chose. Its name is `nqn`, or one made from `unique`.
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
        // Hosts are told this address by the discovery log, so it has the port that the system chose.
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
            keeps_events: self.keeps_events,
        };
        let admission = self.hosts.clone().map(|hosts| Admission { hosts, entropy: fill_with_entropy });
        self.nvme = Some(Target::new(subsystem.clone(), admission));
        self.listeners.push((listener, Role::Nvme));
        Ok(subsystem)
    }

    /// Takes a socket for a role that another process opened, such as systemd, and returns its endpoint. Its file is
    /// not removed at the end.
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
            Role::Nvme if self.hosts.is_some() => Reach::Anywhere,
            Role::Nvme => Reach::ThisMachine(ListenError::NeedsAuthentication),
            // TLS does not change that: neither of them has any.
            Role::Control | Role::Http => Reach::ThisMachine(ListenError::NotLoopback),
        }
    }

    /// The handle that stops the server.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// The disk, for callers that want to look at it.
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine)
    }

    /// Serves until it is told to stop, then closes the disk properly. `tell` is called for each notice, from several
    /// threads. Returns the disk's health at the end.
    ///
    /// # Errors
    /// If the disk could not be closed, or the system does not let the server wait for clients.
    pub fn serve(mut self, tell: &(impl Fn(&Notice<'_>) + Sync)) -> Result<Health, ServeError> {
        // They are taken out so that they can be closed while the rest of the server is borrowed by its threads.
        let listeners = std::mem::take(&mut self.listeners);
        let server = &self;
        let accepted = thread::scope(|scope| {
            if server.cleans_when_idle {
                scope.spawn(|| server.clean_when_idle());
            }
            scope.spawn(|| server.keep(tell));
            let accepted = server.accept_until_stopped(scope, &listeners, tell);
            // Before connections are shut down: their threads then see why they end, and nobody is blamed.
            server.stopping.begin();
            tell(&Notice::Stopping);
            // From here on nobody can connect.
            drop(listeners);
            server.clients.drain(DRAIN_PATIENCE);
            accepted
        });
        // All threads have ended, so nobody changes the disk any more. A change since the last look is told here.
        let health = self.keeper.look(&self.engine, tell)?;
        let mut access = self.engine.access()?;
        // A replay is compared with what clients saw, without the writes of the shutdown.
        let recorded = access.disk_mut().end_recording().map(drop);
        // A flush may fail for lost data. The disk is shut down properly all the same.
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
            // A connection that comes later comes through this loop, so its deadline is seen in the next round.
            let next_deadline = self.clients.expire(Instant::now()).and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut waited, next_deadline.as_ref()) {
                // If the signal is one to stop, its handler has written to the waiter, and the next round sees that.
                Err(rustix::io::Errno::INTR) => continue,
                result => result?,
            };
            // Before clients are accepted: whoever comes in the same moment would only be closed again.
            if !waited[0].revents().is_empty() {
                return Ok(());
            }
            for ((listener, role), _) in
                listeners.iter().zip(&waited[1..]).filter(|(_, waited)| !waited.revents().is_empty())
            {
                match listener.accept() {
                    Ok(Some(peer)) => self.spawn(scope, peer, *role, tell),
                    Ok(None) => {}
                    // The client has gone again, or too many files are open. Other clients may succeed.
                    Err(_) => thread::sleep(ACCEPT_PAUSE),
                }
            }
        }
    }

    /// Serves a client in a thread of its own. Closes the connection if no thread can be started.
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
        // One of the two stays here, for the case that there is no thread.
        let in_thread = Arc::clone(&peer);
        let spawned = thread::Builder::new().name("connection".to_owned()).spawn_scoped(scope, move || {
            // Otherwise the client would never be forgotten, and the scope would panic at the end, before the disk is
            // closed.
            let end = panic::catch_unwind(AssertUnwindSafe(|| self.connect(&in_thread, role)));
            // The server's own reason goes first: to the thread, a connection that was closed as too slow looks as if
            // its client had left.
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
        // A server that listens for NVMe has a target.
        let Some(target) = &self.nvme else { return ConnectionEnd::Stopped };
        let Self { clients, engine, stopping, .. } = self;
        NvmeConnection { peer, clients, engine, target, stopping }.run()
    }
}

fn fill_with_entropy(bytes: &mut [u8]) -> bool {
    SystemRandom::new().fill(bytes).is_ok()
}
