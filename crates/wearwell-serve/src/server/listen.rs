//! Sockets that clients connect to.

use std::fmt;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use super::peer::Peer;

/// The most bytes in a Unix socket's path, without the zero at its end (unix(7)).
const SOCKET_PATH_BYTES: usize = 107;

/// The most clients that may wait to be accepted.
const WAITING_CLIENTS: i32 = 128;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A Unix socket, only for the user who started the server.
    Unix(PathBuf),
    /// TCP; without TLS only on loopback addresses.
    Tcp(SocketAddr),
}

/// Why a socket cannot be listened at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Another server listens there.
    #[error("{}: another server listens here", .0.display())]
    InUse(PathBuf),
    /// The path exists and is not a socket.
    #[error("{}: exists, and is no socket", .0.display())]
    NoSocket(PathBuf),
    /// The path is too long for a Unix socket.
    #[error(
        "{}: {} bytes, and the path of a Unix socket has {SOCKET_PATH_BYTES} at most: name a shorter one (--socket, \
         --control), or go to a folder near it",
        .0.display(), .0.as_os_str().len()
    )]
    TooLong(PathBuf),
    /// The address can be reached from other machines, which needs TLS.
    #[error(
        "{0} can be reached from other machines, so it needs TLS: give --tls-certificates a folder with ca-cert.pem, \
         server-cert.pem and server-key.pem, or listen at a loopback address"
    )]
    NeedsTls(SocketAddr),
    /// The address can be reached from other machines, and the page is for this machine only.
    #[error("{0} can be reached from other machines: the page is shown at loopback addresses only")]
    NotLoopback(SocketAddr),
    /// The address can be reached from other machines, and any NVMe host could connect.
    #[error(
        "{0} can be reached from other machines, so NVMe hosts must show who they are: give --nvme-hosts a file with \
         their names and secrets, or listen at a loopback address"
    )]
    NeedsAuthentication(SocketAddr),
    /// The passed file is not a socket of a kind that can be served.
    #[error("a socket that was handed over cannot be served: {0}")]
    Inherited(&'static str),
    /// The system refused.
    #[error("cannot listen at {endpoint}: {error}")]
    System {
        /// The endpoint.
        endpoint: Endpoint,
        /// The system's error.
        error: io::Error,
    },
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

impl Endpoint {
    /// The URI of an export at this endpoint; over TCP `with_tls` if there is TLS.
    pub fn uri(&self, export: &str, with_tls: bool) -> String {
        let scheme = if with_tls { "nbds" } else { "nbd" };
        match self {
            Self::Unix(path) => {
                let path = encoded(path.as_os_str().as_encoded_bytes());
                format!("nbd+unix:///{}?socket={path}", encoded(export.as_bytes()))
            }
            Self::Tcp(address) if export.is_empty() => format!("{scheme}://{address}"),
            Self::Tcp(address) => format!("{scheme}://{address}/{}", encoded(export.as_bytes())),
        }
    }
}

/// A text as it is encoded in a URI.
fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        // These stand for themselves in a path and in a query (RFC 3986). All else is encoded, "@" and "=" of an alias
        // included.
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// Who may reach a TCP socket.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reach {
    Anywhere,
    /// Only this machine; other addresses are refused with this error.
    ThisMachine(fn(SocketAddr) -> ListenError),
}

impl Reach {
    fn check(self, address: SocketAddr) -> Result<(), ListenError> {
        match self {
            Self::ThisMachine(refused) if !address.ip().is_loopback() => Err(refused(address)),
            Self::ThisMachine(_) | Self::Anywhere => Ok(()),
        }
    }
}

/// A listening socket. The file of a Unix socket is removed with it.
#[derive(Debug)]
pub(super) enum Listener {
    /// None for a passed socket, whose file is not ours.
    Unix {
        socket: UnixListener,
        _file: Option<SocketFile>,
    },
    Tcp(TcpListener),
}

impl Listener {
    pub(super) fn bind(endpoint: &Endpoint, reach: Reach) -> Result<(Self, Endpoint), ListenError> {
        let system = |error| ListenError::System { endpoint: endpoint.clone(), error };
        match endpoint {
            Endpoint::Unix(path) => {
                let whole = std::path::absolute(path).map_err(system)?;
                let path = socket_path(&whole).ok_or_else(|| ListenError::TooLong(whole.clone()))?;
                // Two servers of one image cannot meet here: the image was opened, and locked, before.
                make_way(&path)?;
                let socket = bind_private(&path).map_err(system)?;
                // This removes the file even if the rest fails.
                let file = SocketFile::of(whole).map_err(system)?;
                socket.set_nonblocking(true).map_err(system)?;
                Ok((Self::Unix { socket, _file: Some(file) }, Endpoint::Unix(path)))
            }
            Endpoint::Tcp(address) => {
                // Before the socket exists, so that nobody can connect for a moment.
                reach.check(*address)?;
                let socket = TcpListener::bind(address).map_err(system)?;
                socket.set_nonblocking(true).map_err(system)?;
                let bound = socket.local_addr().map_err(system)?;
                Ok((Self::Tcp(socket), Endpoint::Tcp(bound)))
            }
        }
    }

    /// Takes a socket that another process opened, such as systemd.
    pub(super) fn adopt(socket: OwnedFd, reach: Reach) -> Result<(Self, Endpoint), ListenError> {
        let no_socket = |_| ListenError::Inherited("it is no socket");
        // Whoever started us may have handed over anything. At a socket that does not listen every `accept` would fail,
        // over and over.
        if sockopt::socket_type(&socket).map_err(no_socket)? != SocketType::STREAM
            || !sockopt::socket_acceptconn(&socket).map_err(no_socket)?
        {
            return Err(ListenError::Inherited("nobody can connect to it"));
        }
        // Commands that the server starts must not inherit it.
        fcntl_setfd(&socket, FdFlags::CLOEXEC).map_err(no_socket)?;
        match sockopt::socket_domain(&socket).map_err(no_socket)? {
            AddressFamily::UNIX => {
                let socket = UnixListener::from(socket);
                let address = socket.local_addr().ok();
                // A socket in the abstract namespace has no file, so that no permissions say who may connect.
                let Some(path) = address.as_ref().and_then(|address| address.as_pathname()) else {
                    return Err(ListenError::Inherited("it has no path"));
                };
                let endpoint = Endpoint::Unix(path.to_owned());
                let system = |error| ListenError::System { endpoint: endpoint.clone(), error };
                socket.set_nonblocking(true).map_err(system)?;
                Ok((Self::Unix { socket, _file: None }, endpoint))
            }
            AddressFamily::INET | AddressFamily::INET6 => {
                let socket = TcpListener::from(socket);
                let bound = socket.local_addr().map_err(|_| ListenError::Inherited("it has no address"))?;
                let system = |error| ListenError::System { endpoint: Endpoint::Tcp(bound), error };
                // The same limits as for sockets of our own. Only the bound address says who can reach it.
                reach.check(bound)?;
                socket.set_nonblocking(true).map_err(system)?;
                Ok((Self::Tcp(socket), Endpoint::Tcp(bound)))
            }
            _ => Err(ListenError::Inherited("it is neither a Unix socket nor TCP")),
        }
    }

    /// The next client; none if there is none.
    pub(super) fn accept(&self) -> io::Result<Option<Peer>> {
        let accepted = match self {
            Self::Unix { socket, .. } => socket.accept().map(|(stream, _)| Peer::Unix(stream)),
            Self::Tcp(socket) => socket.accept().and_then(|(stream, _)| {
                // Replies are written in one piece each, so waiting for more to send would only delay them.
                stream.set_nodelay(true)?;
                Ok(Peer::Tcp(stream))
            }),
        };
        match accepted {
            Ok(peer) => Ok(Some(peer)),
            // The client has gone between the poll and this call. A socket that blocks would hold up everybody here.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix { socket, .. } => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
        }
    }
}

/// A path that is short enough for a socket: the full path, or else the one from the current folder; none if both are
/// too long.
pub(super) fn socket_path(path: &Path) -> Option<PathBuf> {
    let fits = |path: &PathBuf| path.as_os_str().len() <= SOCKET_PATH_BYTES;
    let whole = std::path::absolute(path).ok()?;
    let from_here = || Some(whole.strip_prefix(std::env::current_dir().ok()?).ok()?.to_owned());
    Some(whole.clone()).filter(fits).or_else(|| from_here().filter(fits))
}

/// Removes a socket that no server listens at. Refuses to remove anything else.
fn make_way(path: &Path) -> Result<(), ListenError> {
    let system = |error| ListenError::System { endpoint: Endpoint::Unix(path.to_owned()), error };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(system(error)),
        // A link is not followed: what it points to is not ours to remove.
        Ok(found) if !found.file_type().is_socket() => return Err(ListenError::NoSocket(path.to_owned())),
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(ListenError::InUse(path.to_owned())),
        // Nobody listens there: a killed server has left it. Any other error leaves that open.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(system),
        Err(error) => Err(system(error)),
    }
}

/// Binds a socket that is never open to others, not even for a moment. The file gets the mode that the socket has
/// before. (A umask would change the mode for all threads of the process.)
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    net::listen(&socket, WAITING_CLIENTS)?;
    Ok(UnixListener::from(socket))
}

/// The file of our socket. It is removed with this value, unless another server's file has replaced it.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    fn of(path: PathBuf) -> io::Result<Self> {
        let found = fs::symlink_metadata(&path)?;
        Ok(Self { path, device: found.dev(), inode: found.ino() })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|now| (now.dev(), now.ino()) == (self.device, self.inode)) {
            // An error cannot be reported here; the next server replaces the file.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const HERE: Reach = Reach::ThisMachine(ListenError::NeedsTls);

    #[test]
    fn a_unix_socket_is_private_and_goes_with_its_listener() {
        let folder = tempfile::tempdir().unwrap();
        let endpoint = Endpoint::Unix(folder.path().join("a b.sock"));
        let (listener, bound) = Listener::bind(&endpoint, HERE).unwrap();
        assert_eq!(bound, endpoint);
        assert!(bound.uri("x@stream=1", true).ends_with("/a%20b.sock"));
        assert!(bound.uri("x@stream=1", true).starts_with("nbd+unix:///x%40stream%3D1?socket=/"));
        let Endpoint::Unix(path) = bound else { panic!("not a Unix socket") };
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(Listener::bind(&endpoint, HERE), Err(ListenError::InUse(_))));
        drop(listener);
        assert!(!path.exists());
    }

    #[test]
    fn a_stale_socket_is_replaced_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "left behind as by a kill");
        Listener::bind(&Endpoint::Unix(path.clone()), HERE).unwrap();
        fs::write(&path, "precious").unwrap();
        assert!(matches!(Listener::bind(&Endpoint::Unix(path.clone()), HERE), Err(ListenError::NoSocket(_))));
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }

    #[test]
    fn tcp_is_for_this_machine() {
        let anywhere = "0.0.0.0:0".parse().unwrap();
        assert!(matches!(Listener::bind(&Endpoint::Tcp(anywhere), HERE), Err(ListenError::NeedsTls(_))));
        let page = Reach::ThisMachine(ListenError::NotLoopback);
        assert!(matches!(Listener::bind(&Endpoint::Tcp(anywhere), page), Err(ListenError::NotLoopback(_))));
        let (_listener, bound) = Listener::bind(&Endpoint::Tcp("[::1]:0".parse().unwrap()), HERE).unwrap();
        assert!(bound.uri("", true).starts_with("nbds://[::1]:"));
        assert!(bound.uri("", false).starts_with("nbd://[::1]:") && !bound.uri("", false).ends_with(":0"));
    }
}
