//! `wearwell serve`: a disk for other programs.

use std::ffi::OsString;
use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Args, ValueEnum};
use sd_notify::NotifyState;
use tracing::{error, warn};
use wearwell_emu::Faults;
use wearwell_serve::disk::{Condition, Disk, DiskConfig};
use wearwell_serve::nbd::{Export, NameError};
use wearwell_serve::nvme::{Hosts, NqnError, Subsystem};
use wearwell_serve::server::{Endpoint, ListenError, Role, Server, ServerConfig, Timing, Tls};
use wearwell_sim::engine::EngineSpec;

use super::activation;
use super::control;
use super::log::{self, LogLevel};
use super::pid_file::PidFile;
use super::running::Running;
use super::waiting::while_waiting;
use crate::args::{EngineArgs, size};
use crate::failure::Failure;
use crate::text::bytes;

/// Arguments of `wearwell serve`.
#[derive(Args)]
#[command(next_help_heading = "Disk")]
pub(crate) struct ServeCommand {
    /// The disk image, with the engine that it was made with
    #[arg(value_name = "IMAGE", required_unless_present = "memory", conflicts_with_all = ["memory", "EngineArgs"])]
    image: Option<PathBuf>,
    /// Serve a new disk in memory: of this size, or on the chip that --chip names
    ///
    /// The engine flags below say what engine it has. With a size the chip follows, so that --chip and --logical make
    /// no sense beside one.
    #[arg(long, value_name = "SIZE", value_parser = size, num_args = 0..=1)]
    memory: Option<Option<u64>>,
    /// Refuse writes, and leave the image as it is
    #[arg(long)]
    read_only: bool,
    /// Whether replies come as late as the chip would send them
    #[arg(long, value_name = "off|real", default_value = "off")]
    timing: TimingMode,
    /// Whether cleaning goes on while no request comes
    #[arg(long, value_name = "on|off", default_value = "on")]
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
    /// The control socket, for `wearwell ctl`, or none [default: IMAGE.ctl; none for a disk in memory]
    #[arg(long, value_name = "PATH|none", help_heading = WATCHING)]
    control: Option<PathBuf>,
    /// Show a page, and metrics at /metrics; only loopback addresses
    #[arg(long, value_name = "HOST:PORT", value_parser = address, help_heading = WATCHING)]
    http: Option<SocketAddr>,
    /// Write every call into the engine to FILE, as a trace that `run` replays to the same erases, copies and map
    #[arg(long, value_name = "FILE", help_heading = WATCHING)]
    record: Option<PathBuf>,
    /// Write over the file of --record if it exists
    #[arg(long, requires = "record", help_heading = WATCHING)]
    force: bool,
    #[command(flatten)]
    engine: EngineArgs,
}

const CLIENTS: &str = "Where clients connect";
const RUNNING: &str = "Running";
const WATCHING: &str = "Watching and recording";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TimingMode {
    Off,
    Real,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

/// Serves until SIGTERM or SIGINT, or until the command ends. `typed_chip` is the chip if one was named.
pub(crate) fn run(command: &ServeCommand, typed_chip: Option<&str>) -> Result<(), Failure> {
    let handed_over = activation::sockets()?;
    command.check_outputs()?;
    log::begin(command.log_level);
    let (mut disk, is_worn_out) = command.disk(typed_chip)?;
    let is_read_only = command.read_only || is_worn_out;
    command.record(&mut disk)?;
    let description = format!("{} of {}", bytes(disk.bytes() as f64), disk.chip_profile().name);
    let config = ServerConfig {
        export: command.export.clone(),
        description: description.clone(),
        is_read_only,
        timing: if command.timing == TimingMode::Real { Timing::Real } else { Timing::Off },
        cleans_when_idle: command.idle == Switch::On && !is_read_only,
    };
    if config.timing == Timing::Real && disk.chip_profile().times.is_none() {
        warn!("--timing real: {} has no times, so that no reply waits", disk.chip_profile().name);
    }
    let mut server = Server::new(disk, config).map_err(|error| system(&error))?;
    if let Some(folder) = &command.tls_certificates {
        server.secure(Tls::load(folder).map_err(|error| Failure::Refused(error.to_string()))?);
    }
    if let Some(path) = &command.nvme_hosts {
        server.admit(hosts(path)?);
    }
    let stopper = server.stopper();
    stopper.stop_on_signals().map_err(|error| system(&error))?;
    let is_alone = !handed_over.iter().any(|(role, _)| *role == Role::Disk);
    let private = if is_alone { command.private_folder().map_err(|error| system(&error))? } else { None };
    let reached = command.listen(&mut server, handed_over, private.as_ref().map(tempfile::TempDir::path))?;
    let Reached { uris, socket, page } = reached;
    let _pid_file = command.pid_file.as_deref().map(PidFile::write).transpose()?;
    let running = match &command.run {
        Some(line) => Some(Running::start(line, uris.first(), socket.as_deref(), stopper)?),
        None if command.print_uri => {
            announce(&uris.iter().map(|uri| format!("{uri}\n")).collect::<String>());
            None
        }
        None => {
            let page = page.map(|page| format!(", page at http://{page}/")).unwrap_or_default();
            announce(&format!("{description} at {}{page}\n", uris.join(" ")));
            None
        }
    };
    log::tell_manager(&[NotifyState::Ready]);
    let served = server.serve(&log::tell).map_err(|error| Failure::Wrong(error.to_string())).and_then(|health| {
        let is_well = health.state == Condition::Healthy;
        if is_well { Ok(()) } else { Err(Failure::Wrong(format!("the disk ended {health}"))) }
    });
    match (served, running.map_or(Ok(()), Running::end)) {
        // The exit code is the command's.
        (Err(why), Err(code)) => {
            error!("{}", why.line().unwrap_or_default());
            Err(code)
        }
        (served, ended) => served.and(ended),
    }
}

/// The sockets of a disk.
#[derive(Default)]
struct Reached {
    uris: Vec<String>,
    /// The last Unix socket among them.
    socket: Option<PathBuf>,
    page: Option<Endpoint>,
}

impl ServeCommand {
    /// Listens at the sockets that were passed to the process, and at those of the flags and defaults.
    fn listen(
        &self,
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
        for endpoint in self.endpoints(private, has_disk) {
            let bound = server.listen(&endpoint).map_err(refused)?;
            reached.clients_at(server.uri(&bound), bound);
        }
        if let Some(address) = self.nvme {
            let subsystem = server.listen_nvme(address, self.nqn.clone(), self.unique()).map_err(refused)?;
            reached.uris.push(format!("nvme+tcp://{}/{}", subsystem.address, subsystem.nqn));
        }
        if let Some(path) = self.control_socket(has_control) {
            server.listen_control(&path).map_err(refused)?;
        }
        if let Some(address) = self.http {
            reached.page = Some(server.listen_http(address).map_err(refused)?);
        }
        Ok(reached)
    }

    /// Refuses to overwrite the image, under any of its names, or a file that we may not replace. Called before
    /// anything is opened.
    fn check_outputs(&self) -> Result<(), Failure> {
        let identity = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
        let image = self.image.as_deref().and_then(identity);
        let outputs = [
            ("--record", &self.record),
            ("--pid-file", &self.pid_file),
            ("--socket", &self.socket),
            ("--control", &self.control),
        ];
        for (flag, path) in outputs {
            let Some(path) = path else { continue };
            if image.is_some() && identity(path) == image {
                return Err(Failure::Refused(format!("{flag}: {} is the image itself", path.display())));
            }
        }
        self.pid_file.as_deref().map_or(Ok(()), PidFile::check)
    }

    /// The disk, and whether the chip is so worn that it can only be read.
    fn disk(&self, typed_chip: Option<&str>) -> Result<(Disk, bool), Failure> {
        let Some(memory_bytes) = self.memory else {
            // The arguments contain one of the two.
            let path = self.image.as_deref().unwrap_or(Path::new(""));
            let open = || if self.read_only { Disk::open_private(path) } else { Disk::open(path) };
            let (disk, found) = while_waiting(&format!("mounting {}", path.display()), open)?;
            return Ok((disk, found.read_only));
        };
        let spec = self.engine.spec();
        let engine = match (memory_bytes, typed_chip) {
            (None, None) => {
                let why = "--memory: a size is missing, or the chip that the disk is to be on (--chip)";
                return Err(Failure::Refused(why.to_owned()));
            }
            (None, Some(_)) => spec,
            (Some(size), Some(chip)) => {
                let (size, why) =
                    (bytes(size as f64), "the chip follows from the size; leave out the one or the other");
                return Err(Failure::Refused(format!("--memory {size} with --chip {chip}: {why}")));
            }
            (Some(size), None) if spec.logical_bytes.is_some() => {
                let (size, why) = (bytes(size as f64), "both say how much is for the host; leave one out");
                return Err(Failure::Refused(format!("--memory {size} with --logical: {why}")));
            }
            (Some(size), None) => DiskConfig::sized(EngineSpec { chip: DiskConfig::memory_chip()?, ..spec }, size)?,
        };
        Ok((Disk::memory(&DiskConfig { engine, fdp: None, faults: Faults::default() })?, false))
    }

    /// Begins a recording if there is `--record`.
    fn record(&self, disk: &mut Disk) -> Result<(), Failure> {
        let Some(path) = &self.record else { return Ok(()) };
        let refused = |why: String| Failure::Refused(format!("--record: {}: {why}", path.display()));
        // A pipe or a device has no content to lose.
        let may_exist = self.force || fs::metadata(path).is_ok_and(|found| !found.is_file());
        let mut options = fs::OpenOptions::new();
        let options = if may_exist { options.create(true).truncate(true) } else { options.create_new(true) };
        let file = options.write(true).open(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                refused("exists: name another file, or write over it with --force".to_owned())
            }
            _ => refused(error.to_string()),
        })?;
        let begun = disk.record(Box::new(io::BufWriter::with_capacity(1 << 16, file)));
        if begun.is_err() && !may_exist {
            // The file is ours, and empty.
            let _ = fs::remove_file(path);
        }
        Ok(begun?)
    }

    /// A folder for the socket of a disk in memory, which has no image to lie beside.
    fn private_folder(&self) -> io::Result<Option<tempfile::TempDir>> {
        let is_reached = self.socket.is_some() || self.tcp.is_some() || self.nvme.is_some();
        let wanted = self.image.is_none() && !is_reached;
        wanted.then(|| tempfile::Builder::new().prefix("wearwell-").tempdir()).transpose()
    }

    /// The number by which an NVMe host identifies the disk: constant for an image at one path, and new for each disk
    /// in memory.
    fn unique(&self) -> u128 {
        let place = match &self.image {
            Some(path) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()).into_os_string(),
            None => {
                let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
                format!("{} {}", std::process::id(), since.as_nanos()).into()
            }
        };
        xxhash_rust::xxh3::xxh3_128(place.as_encoded_bytes())
    }

    /// None by default if one was passed to the process.
    fn control_socket(&self, has_one: bool) -> Option<PathBuf> {
        let default = || self.image.as_deref().filter(|_| !has_one).map(control::socket_of);
        match &self.control {
            Some(none) if none.as_os_str() == "none" => None,
            named => named.clone().or_else(default),
        }
    }

    /// The endpoints in addition to the passed sockets.
    fn endpoints(&self, private: Option<&Path>, has_one: bool) -> Vec<Endpoint> {
        let default = || match &self.image {
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
    if fs::metadata(path).map_err(system)?.mode() & 0o077 != 0 {
        return Err(refused("has secrets, and others can read it: chmod 600".to_owned()));
    }
    let text = fs::read_to_string(path).map_err(system)?;
    Hosts::parse(&text).map_err(|error| refused(error.to_string()))
}

/// The path of a file that belongs to an image.
pub(crate) fn beside(image: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(image);
    name.push(ending);
    PathBuf::from(name)
}

/// Prints where the disk is. Errors are ignored: the disk is served even if the reader of the pipe has gone.
fn announce(line: &str) {
    let mut out = io::stdout().lock();
    if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
        let _ = write!(io::stderr(), "wearwell: nobody reads standard output: {line}");
    }
}

pub(crate) fn system(error: &io::Error) -> Failure {
    Failure::Wrong(format!("the system refuses: {error}"))
}
