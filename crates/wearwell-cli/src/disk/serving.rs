//! How a disk is served: where clients connect, what runs beside, what is told.

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Args, ValueEnum};
use sd_notify::NotifyState;
use tracing::error;
use wearwell_serve::disk::{Condition, Disk};
use wearwell_serve::nbd::{Export, NameError};
use wearwell_serve::nvme::{Hosts, NqnError, Subsystem};
use wearwell_serve::server::{Endpoint, ListenError, Role, Server, ServerConfig, Stopper, Timing, Tls};

use super::activation;
use super::control;
use super::log::{self, LogLevel};
use super::pid_file::PidFile;
use super::running::Running;
use super::{beside, system};
use crate::failure::Failure;
use crate::text::bytes;

/// The headings of these flags in the help.
pub(crate) const CLIENTS: &str = "Where clients connect";
pub(crate) const RUNNING: &str = "Running";
pub(crate) const WATCHING: &str = "Watching and recording";

/// The arguments of every command that serves a disk.
#[derive(Args)]
pub(crate) struct ServingArgs {
    /// Whether cleaning goes on while no request comes
    #[arg(long, value_name = "on|off", default_value = "on", help_heading = RUNNING)]
    idle: Switch,
    /// The Unix socket [default: IMAGE.sock, or one in a new private folder; none with --tcp or --nvme]
    #[arg(long, value_name = "PATH", help_heading = CLIENTS)]
    socket: Option<PathBuf>,
    /// Listen at TCP, too; only loopback addresses without --tls-certificates
    #[arg(long, value_name = "HOST:PORT", value_parser = address, help_heading = CLIENTS)]
    tcp: Option<SocketAddr>,
    /// Listen for NVMe/TCP hosts, too; only loopback addresses without --nvme-hosts
    #[arg(long, value_name = "HOST:PORT", value_parser = address, help_heading = CLIENTS)]
    nvme: Option<SocketAddr>,
    /// The qualified name of the NVMe subsystem [default: one made from the image's path, as a UUID]
    #[arg(long, value_name = "NQN", requires = "nvme", value_parser = qualified_name, help_heading = CLIENTS)]
    nqn: Option<String>,
    /// Let only the hosts of FILE connect, which must authenticate; a line has a host's NQN and its secret, and may
    /// have a secret of the controller
    #[arg(long, value_name = "FILE", requires = "nvme", help_heading = CLIENTS)]
    nvme_hosts: Option<PathBuf>,
    /// Want TLS over TCP, and certificates of clients; the folder has ca-cert.pem, server-cert.pem and server-key.pem
    #[arg(long, value_name = "DIR", help_heading = CLIENTS)]
    tls_certificates: Option<PathBuf>,
    /// The export's name; NAME@stream=N is the same disk, where what is written belongs to stream N
    #[arg(long, value_name = "NAME", default_value = "", value_parser = export_name, help_heading = CLIENTS)]
    export: String,
    /// Run a shell command with $uri and $unixsocket, stop when it ends, and end with its exit code
    #[arg(long, value_name = "COMMAND", help_heading = RUNNING)]
    run: Option<String>,
    /// Print where clients connect, a URI to a line, and nothing else
    #[arg(long, help_heading = RUNNING)]
    print_uri: bool,
    /// Write the process's number to FILE as soon as clients can connect
    #[arg(long, value_name = "FILE", help_heading = RUNNING)]
    pid_file: Option<PathBuf>,
    /// How much is told on standard error
    #[arg(long, value_name = "LEVEL", default_value = "info", help_heading = RUNNING)]
    log_level: LogLevel,
    /// The control socket, for `wearwell ctl`, or none [default: IMAGE.ctl; none without an image]
    #[arg(long, value_name = "PATH|none", help_heading = WATCHING)]
    control: Option<PathBuf>,
    /// Show a page, and metrics at /metrics; only loopback addresses
    #[arg(long, value_name = "HOST:PORT", value_parser = address, help_heading = WATCHING)]
    http: Option<SocketAddr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

/// Where a disk is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Home<'a> {
    /// In an image, beside which its sockets are.
    Image(&'a Path),
    /// On raw flash, which is a device of the system.
    Flash(&'a Path),
    /// In memory.
    Memory,
}

/// The sockets of a disk.
#[derive(Default)]
struct Reached {
    uris: Vec<String>,
    /// The last Unix socket among them.
    socket: Option<PathBuf>,
    page: Option<Endpoint>,
}

impl<'a> Home<'a> {
    fn path(self) -> Option<&'a Path> {
        match self {
            Self::Image(path) | Self::Flash(path) => Some(path),
            Self::Memory => None,
        }
    }

    fn image(self) -> Option<&'a Path> {
        if let Self::Image(path) = self { Some(path) } else { None }
    }

    /// The number by which an NVMe host identifies the disk: constant for an image or a chip at one path, and new for
    /// each disk in memory.
    fn unique(self) -> u128 {
        let place = match self.path() {
            Some(path) => fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).into_os_string(),
            None => {
                let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
                format!("{} {}", std::process::id(), since.as_nanos()).into()
            }
        };
        xxhash_rust::xxh3::xxh3_128(place.as_encoded_bytes())
    }
}

impl ServingArgs {
    /// Takes the sockets that were passed to the process, looks at what would be written, and begins the log. Called
    /// before anything is opened.
    pub(super) fn begin(&self, home: Home<'_>, record: Option<&Path>) -> Result<Vec<(Role, OwnedFd)>, Failure> {
        let handed_over = activation::sockets()?;
        self.check_outputs(home, record)?;
        log::begin(self.log_level);
        Ok(handed_over)
    }

    /// Refuses to overwrite the disk, under any of its names, or a file that we may not replace.
    fn check_outputs(&self, home: Home<'_>, record: Option<&Path>) -> Result<(), Failure> {
        // Device and inode, since a file may have many names.
        let identity = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
        let own = home.path().and_then(identity);
        let outputs = [
            ("--record", record),
            ("--pid-file", self.pid_file.as_deref()),
            ("--socket", self.socket.as_deref()),
            ("--control", self.control.as_deref()),
        ];
        for (flag, path) in outputs {
            let Some(path) = path else { continue };
            if own.is_some() && identity(path) == own {
                let what = if home.image().is_some() { "image" } else { "flash" };
                return Err(Failure::Refused(format!("{flag}: {} is the {what} itself", path.display())));
            }
        }
        self.pid_file.as_deref().map_or(Ok(()), PidFile::check)
    }

    /// Serves a disk until SIGTERM or SIGINT, or until the command of `--run` ends. `handed_over` is what
    /// [`begin`](Self::begin) returned.
    pub(super) fn serve(
        &self,
        disk: Disk,
        home: Home<'_>,
        is_read_only: bool,
        timing: Timing,
        handed_over: Vec<(Role, OwnedFd)>,
    ) -> Result<(), Failure> {
        let description = format!("{} of {}", bytes(disk.bytes() as f64), disk.chip_profile().name);
        let config = ServerConfig {
            export: self.export.clone(),
            description: description.clone(),
            is_read_only,
            timing,
            // Cleaning would change a disk that is to stay as it is.
            cleans_when_idle: self.idle == Switch::On && !is_read_only,
        };
        let mut server = Server::new(disk, config).map_err(|error| system(&error))?;
        // Before it listens anywhere: without TLS, or known hosts, only loopback addresses are allowed.
        if let Some(folder) = &self.tls_certificates {
            server.secure(Tls::load(folder).map_err(|error| Failure::Refused(error.to_string()))?);
        }
        if let Some(path) = &self.nvme_hosts {
            server.admit(hosts(path)?);
        }
        let stopper = server.stopper();
        // Before clients can connect: from then on a signal must not end the process without closing the disk.
        stopper.stop_on_signals().map_err(|error| system(&error))?;
        let is_alone = !handed_over.iter().any(|(role, _)| *role == Role::Disk);
        let private = if is_alone { self.private_folder(home).map_err(|error| system(&error))? } else { None };
        let reached = self.listen(home, &mut server, handed_over, private.as_ref().map(tempfile::TempDir::path))?;
        // Clients can connect, which is what the file says. It is removed when this function ends.
        let _pid_file = self.pid_file.as_deref().map(PidFile::write).transpose()?;
        // Everything listens by then: the command may connect at once, and is served a moment later.
        let running = self.tell(&description, reached, stopper)?;
        // The command was started before, so that what fails there is not told as ready.
        log::tell_manager(&[NotifyState::Ready]);
        let served = server.serve(&log::tell).map_err(|error| Failure::Wrong(error.to_string())).and_then(|health| {
            let is_well = health.state == Condition::Healthy;
            if is_well { Ok(()) } else { Err(Failure::Wrong(format!("the disk ended {health}"))) }
        });
        // The disk is closed. What the command still does goes on without it, and is ended here.
        match (served, running.map_or(Ok(()), Running::end)) {
            // The exit code is the command's.
            (Err(why), Err(code)) => {
                error!("{}", why.line().unwrap_or_default());
                Err(code)
            }
            (served, ended) => served.and(ended),
        }
    }

    /// Says where clients connect: to the command of `--run`, which it starts, or to whoever reads standard output.
    fn tell(&self, description: &str, reached: Reached, stopper: Stopper) -> Result<Option<Running>, Failure> {
        let Reached { uris, socket, page } = reached;
        if let Some(line) = &self.run {
            return Running::start(line, uris.first(), socket.as_deref(), stopper).map(Some);
        }
        if self.print_uri {
            announce(&uris.iter().map(|uri| format!("{uri}\n")).collect::<String>());
        } else {
            let page = page.map(|page| format!(", page at http://{page}/")).unwrap_or_default();
            announce(&format!("{description} at {}{page}\n", uris.join(" ")));
        }
        Ok(None)
    }

    /// Listens at the sockets that were passed to the process, and at those of the flags and defaults.
    fn listen(
        &self,
        home: Home<'_>,
        server: &mut Server,
        handed_over: Vec<(Role, OwnedFd)>,
        private: Option<&Path>,
    ) -> Result<Reached, Failure> {
        let refused = |error: ListenError| Failure::Refused(error.to_string());
        let mut reached = Reached::default();
        let has = |wanted| handed_over.iter().any(|(role, _)| *role == wanted);
        let (has_disk, has_control) = (has(Role::Disk), has(Role::Control));
        for (role, socket) in handed_over {
            let bound = server.adopt(socket, role).map_err(refused)?;
            match role {
                Role::Disk => reached.clients_at(server.uri(&bound), bound),
                Role::Http => reached.page = Some(bound),
                Role::Control | Role::Nvme => {}
            }
        }
        for endpoint in self.endpoints(home, private, has_disk) {
            let bound = server.listen(&endpoint).map_err(refused)?;
            reached.clients_at(server.uri(&bound), bound);
        }
        if let Some(address) = self.nvme {
            let subsystem = server.listen_nvme(address, self.nqn.clone(), home.unique()).map_err(refused)?;
            reached.uris.push(format!("nvme+tcp://{}/{}", subsystem.address, subsystem.nqn));
        }
        if let Some(path) = self.control_socket(home, has_control) {
            server.listen_control(&path).map_err(refused)?;
        }
        if let Some(address) = self.http {
            reached.page = Some(server.listen_http(address).map_err(refused)?);
        }
        Ok(reached)
    }

    /// A folder for the socket of a disk that has no image to lie beside.
    fn private_folder(&self, home: Home<'_>) -> io::Result<Option<tempfile::TempDir>> {
        let is_reached = self.socket.is_some() || self.tcp.is_some() || self.nvme.is_some();
        let wanted = home.image().is_none() && !is_reached;
        wanted.then(|| tempfile::Builder::new().prefix("wearwell-").tempdir()).transpose()
    }

    /// None by default if one was passed to the process.
    fn control_socket(&self, home: Home<'_>, has_one: bool) -> Option<PathBuf> {
        let default = || home.image().filter(|_| !has_one).map(control::socket_of);
        match &self.control {
            Some(none) if none.as_os_str() == "none" => None,
            named => named.clone().or_else(default),
        }
    }

    /// The endpoints in addition to the passed sockets.
    fn endpoints(&self, home: Home<'_>, private: Option<&Path>, has_one: bool) -> Vec<Endpoint> {
        let default = || match home.image() {
            _ if self.tcp.is_some() || self.nvme.is_some() || has_one => None,
            Some(image) => Some(beside(image, ".sock")),
            None => private.map(|folder| folder.join("nbd.sock")),
        };
        let socket = self.socket.clone().or_else(default).map(Endpoint::Unix);
        socket.into_iter().chain(self.tcp.map(Endpoint::Tcp)).collect()
    }
}

impl Reached {
    fn clients_at(&mut self, uri: String, bound: Endpoint) {
        self.uris.push(uri);
        if let Endpoint::Unix(path) = bound {
            self.socket = Some(path);
        }
    }
}

/// The address of a host and a port. Among several it is the first of IPv4, which all clients try.
fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().map_err(|error| format!("no HOST:PORT that is known here: {error}"))?;
    // Of equal keys the first is taken, in the order of the resolver.
    found.min_by_key(|address| !address.is_ipv4()).ok_or_else(|| "the host has no address".to_owned())
}

fn export_name(text: &str) -> Result<String, NameError> {
    Export::check_name(text).map(|()| text.to_owned())
}

fn qualified_name(text: &str) -> Result<String, NqnError> {
    Subsystem::check_nqn(text).map(|()| text.to_owned())
}

/// The hosts that a file names. It has their secrets, so nobody else may read it.
fn hosts(path: &Path) -> Result<Hosts, Failure> {
    let refused = |why: String| Failure::Refused(format!("--nvme-hosts: {}: {why}", path.display()));
    let system = |error: io::Error| refused(error.to_string());
    // Any right of the group or of others is too much, also that to write.
    if fs::metadata(path).map_err(system)?.mode() & 0o077 != 0 {
        return Err(refused("has secrets, and others can read it: chmod 600".to_owned()));
    }
    let text = fs::read_to_string(path).map_err(system)?;
    Hosts::parse(&text).map_err(|error| refused(error.to_string()))
}

/// Prints where the disk is. Errors are ignored: the disk is served even if the reader of the pipe has gone.
fn announce(line: &str) {
    let mut out = io::stdout().lock();
    if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
        let _ = write!(io::stderr(), "wearwell: nobody reads standard output: {line}");
    }
}
