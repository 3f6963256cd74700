//! A server in a thread, on a socket in a folder of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use wearwell_emu::ChipProfile;
use wearwell_serve::disk::{Disk, DiskConfig, Health};
use wearwell_serve::nvme::Hosts;
use wearwell_serve::server::{Endpoint, Engine, Notice, ServeError, Server, ServerConfig, Stopper};

/// A small disk: 1 MiB for the host, in pages of 2 KiB in 64 blocks of 16.
pub(crate) fn small() -> DiskConfig {
    let mut config = DiskConfig::new(ChipProfile::from_geometry_str("geometry:2048:16:64").unwrap());
    config.engine.logical_bytes = Some(1 << 20);
    config
}

/// What the NVMe subsystem is called.
pub(crate) const NQN: &str = "nqn.2026-11.example:disk";

/// How connections ended, as texts, in the order in which they did.
#[derive(Clone, Default)]
pub(crate) struct Ends(Arc<Mutex<Vec<String>>>);

impl Ends {
    pub(crate) fn hear(&self, notice: &Notice<'_>) {
        if let Notice::Ended { end, .. } = notice {
            self.0.lock().unwrap().push(end.to_string());
        }
    }

    pub(crate) fn so_far(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Waits until so many connections have ended. A server that is told to stop earlier ends the others itself.
    pub(crate) fn wait_for(&self, count: usize) -> Vec<String> {
        loop {
            let ends = self.so_far();
            if ends.len() >= count {
                return ends;
            }
            std::thread::yield_now();
        }
    }
}

pub(crate) struct Running {
    pub(crate) socket: PathBuf,
    /// The control socket.
    pub(crate) control: PathBuf,
    pub(crate) nvme: SocketAddr,
    pub(crate) engine: Arc<Engine>,
    pub(crate) bytes: u64,
    stopper: Stopper,
    ends: Ends,
    thread: Option<JoinHandle<Result<Health, ServeError>>>,
    _folder: tempfile::TempDir,
}

impl Running {
    pub(crate) fn start(disk: Disk, config: ServerConfig) -> Self {
        let bytes = disk.bytes();
        Self::of(Server::new(disk, config).unwrap(), bytes)
    }

    /// A server of a new disk to which only these NVMe hosts may connect.
    pub(crate) fn only_for(hosts: Hosts) -> Self {
        let disk = Disk::memory(&small()).unwrap();
        let bytes = disk.bytes();
        let mut server = Server::new(disk, ServerConfig::default()).unwrap();
        server.admit(hosts);
        Self::of(server, bytes)
    }

    fn of(mut server: Server, bytes: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (socket, control) = (folder.path().join("sock"), folder.path().join("ctl"));
        server.listen(&Endpoint::Unix(socket.clone())).unwrap();
        server.listen_control(&control).unwrap();
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let nvme = server.listen_nvme(loopback, Some(NQN.to_owned()), 7).unwrap().address;
        let (engine, stopper) = (server.engine(), server.stopper());
        let ends = Ends::default();
        let heard = ends.clone();
        let thread = std::thread::spawn(move || server.serve(&move |notice: &Notice<'_>| heard.hear(notice)));
        Self { socket, control, nvme, engine, bytes, stopper, ends, thread: Some(thread), _folder: folder }
    }

    pub(crate) fn memory(config: &DiskConfig) -> Self {
        Self::start(Disk::memory(config).unwrap(), ServerConfig::default())
    }

    pub(crate) fn tell_to_stop(&self) {
        self.stopper.stop();
    }

    /// Stops it, and returns how the connections ended.
    pub(crate) fn stop(mut self) -> (Result<Health, ServeError>, Vec<String>) {
        self.stopper.stop();
        let served = self.thread.take().unwrap().join().unwrap();
        assert!(!self.socket.exists(), "the socket goes with the server");
        (served, self.ends.so_far())
    }

    /// Waits until so many connections have ended.
    pub(crate) fn ends(&self, count: usize) -> Vec<String> {
        self.ends.wait_for(count)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}
