//! TLS: who is let in, and that what goes over it is the disk.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use wearwell_serve::disk::Disk;
use wearwell_serve::server::{Endpoint, ListenError, Notice, Server, ServerConfig, Tls};

use crate::client::option;
use crate::running::{Ends, small};

const ERR_POLICY: u32 = 0x8000_0002;
const ERR_TLS_REQD: u32 = 0x8000_0005;

/// Fills a folder with an authority, a server and a client.
fn certificates(folder: &Path) {
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.distinguished_name.push(DnType::CommonName, "an authority");
    let ca_key = KeyPair::generate().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
    write("ca-cert.pem", ca.self_signed(&ca_key).unwrap().pem());
    let issuer = Issuer::new(ca, ca_key);
    for (who, names) in [("server", vec!["localhost".to_owned(), "127.0.0.1".to_owned()]), ("client", Vec::new())] {
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, who);
        let key = KeyPair::generate().unwrap();
        write(&format!("{who}-cert.pem"), params.signed_by(&key, &issuer).unwrap().pem());
        write(&format!("{who}-key.pem"), key.serialize_pem());
    }
}

/// A client that trusts the authority in one folder, and shows the certificate in another.
fn config(trusts: &Path, shows: Option<&Path>) -> Arc<ClientConfig> {
    let certificate = |path: &Path| CertificateDer::from_pem_file(path).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate(&trusts.join("ca-cert.pem"))).unwrap();
    let begun = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let begun = begun.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    Arc::new(match shows {
        None => begun.with_no_client_auth(),
        Some(folder) => {
            let key = PrivateKeyDer::from_pem_file(folder.join("client-key.pem")).unwrap();
            begun.with_client_auth_cert(vec![certificate(&folder.join("client-cert.pem"))], key).unwrap()
        }
    })
}

/// The type of the next option reply.
fn reply(stream: &mut impl Read) -> std::io::Result<u32> {
    let mut head = [0; 20];
    stream.read_exact(&mut head)?;
    let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
    stream.read_exact(&mut vec![0; number(16) as usize])?;
    Ok(number(12))
}

/// Greeted, and answered.
fn greeted<S: Read + Write>(mut stream: S) -> S {
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    stream.write_all(&[0, 0, 0, 3]).unwrap();
    stream
}

fn secured<S: Read + Write>(mut stream: S, config: &Arc<ClientConfig>) -> StreamOwned<ClientConnection, S> {
    stream.write_all(&option(5, b"")).unwrap();
    assert_eq!(reply(&mut stream).unwrap(), 1);
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::clone(config), name).unwrap(), stream)
}

/// Enters transmission, writes and reads back more than fits into a record or a socket's buffer.
fn writes_and_reads(mut stream: impl Read + Write) {
    let go = [&0_u32.to_be_bytes()[..], &[0, 0]].concat();
    stream.write_all(&option(7, &go)).unwrap();
    while reply(&mut stream).unwrap() != 1 {}
    let data: Vec<u8> = (0..700_000_u32).map(|at| (at / 3) as u8).collect();
    let request = |kind: u8, data: &[u8]| {
        let head =
            [&[0x25, 0x60, 0x95, 0x13, 0, 0, 0, kind][..], &[9; 8], &[0; 8], &700_000_u32.to_be_bytes()].concat();
        [&head[..], data].concat()
    };
    stream.write_all(&request(1, &data)).unwrap();
    let mut head = [0; 16];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(head[4..8], [0; 4]);
    stream.write_all(&request(0, b"")).unwrap();
    stream.read_exact(&mut head).unwrap();
    let mut found = vec![0; data.len()];
    stream.read_exact(&mut found).unwrap();
    assert!(found == data);
}

/// A server with certificates, at a TCP and a Unix socket.
struct Secure {
    tcp: SocketAddr,
    folder: tempfile::TempDir,
    ends: Ends,
    stopper: wearwell_serve::server::Stopper,
    thread: std::thread::JoinHandle<()>,
}

impl Secure {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        certificates(folder.path());
        let mut server = Server::new(Disk::memory(&small()).unwrap(), ServerConfig::default()).unwrap();
        let anywhere = Endpoint::Tcp("0.0.0.0:0".parse().unwrap());
        assert!(matches!(server.listen(&anywhere), Err(ListenError::NeedsTls(_))));
        server.secure(Tls::load(folder.path()).unwrap());
        let Endpoint::Tcp(bound) = server.listen(&anywhere).unwrap() else { panic!("no TCP") };
        let uri = server.uri(&Endpoint::Tcp(bound));
        assert!(uri.starts_with("nbds://0.0.0.0:"), "{uri}");
        assert!(matches!(server.listen_http("0.0.0.0:0".parse().unwrap()), Err(ListenError::NotLoopback(_))));
        server.listen(&Endpoint::Unix(folder.path().join("sock"))).unwrap();
        let (stopper, ends) = (server.stopper(), Ends::default());
        let heard = ends.clone();
        let thread = std::thread::spawn(move || {
            server.serve(&|notice: &Notice<'_>| heard.hear(notice)).unwrap();
        });
        let tcp = ([127, 0, 0, 1], bound.port()).into();
        Self { tcp, folder, ends, stopper, thread }
    }

    fn connect(&self) -> TcpStream {
        greeted(TcpStream::connect(self.tcp).unwrap())
    }

    /// Stops it once so many connections have ended, and returns how they did.
    fn stop_after(self, count: usize) -> Vec<String> {
        self.ends.wait_for(count);
        self.stopper.stop();
        self.thread.join().unwrap();
        self.ends.so_far()
    }
}

#[test]
fn a_client_with_a_certificate_uses_the_disk_and_no_other_does() {
    let server = Secure::start();
    let (folder, foreign) = (server.folder.path(), tempfile::tempdir().unwrap());
    certificates(foreign.path());
    writes_and_reads(secured(server.connect(), &config(folder, Some(folder))));

    let mut plain = server.connect();
    plain.write_all(&option(3, b"")).unwrap();
    assert_eq!(reply(&mut plain).unwrap(), ERR_TLS_REQD);
    drop(plain);
    for shows in [None, Some(foreign.path())] {
        let mut stream = secured(server.connect(), &config(folder, shows));
        let told = stream.write_all(&option(3, b"")).and_then(|()| reply(&mut stream));
        assert!(told.is_err(), "{told:?}");
    }
    let mut distrustful = secured(server.connect(), &config(foreign.path(), Some(foreign.path())));
    assert!(distrustful.write_all(b"x").is_err());
    // The server has heard why, and closes: what it would say to a socket that is gone could take its place.
    let _ = distrustful.sock.read_to_end(&mut Vec::new());
    drop(distrustful);
    let mut early = server.connect();
    early.write_all(&[option(5, b""), option(3, b"")].concat()).unwrap();
    let _ = early.read_to_end(&mut Vec::new());
    let ends = server.stop_after(6);
    assert_eq!(ends.iter().filter(|end| end.starts_with("no TLS: ")).count(), 3, "{ends:?}");
    assert!(ends.contains(&"the client went on in plain text after it had asked for TLS".to_owned()), "{ends:?}");
    assert_eq!(ends.len(), 6, "{ends:?}");
}

#[test]
fn at_a_unix_socket_tls_is_offered_and_permissions_are_enough() {
    let server = Secure::start();
    let folder = server.folder.path();
    let connect = || greeted(std::os::unix::net::UnixStream::connect(folder.join("sock")).unwrap());
    writes_and_reads(secured(connect(), &config(folder, None)));
    writes_and_reads(connect());
    server.stop_after(2);
}

#[test]
fn without_certificates_there_is_no_tls() {
    let server = crate::running::Running::memory(&small());
    let mut stream = greeted(std::os::unix::net::UnixStream::connect(&server.socket).unwrap());
    stream.write_all(&option(5, b"")).unwrap();
    assert_eq!(reply(&mut stream).unwrap(), ERR_POLICY);
    writes_and_reads(stream);
}

#[test]
fn a_folder_without_certificates_is_refused_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |file: &str| {
        let error = Tls::load(folder.path()).unwrap_err();
        assert!(error.path.ends_with(file), "{error}");
    };
    refused("ca-cert.pem");
    certificates(folder.path());
    for file in ["server-key.pem", "server-cert.pem", "ca-cert.pem"] {
        let good = std::fs::read(folder.path().join(file)).unwrap();
        std::fs::write(folder.path().join(file), "garbage").unwrap();
        refused(file);
        std::fs::write(folder.path().join(file), good).unwrap();
    }
    Tls::load(folder.path()).unwrap();
    std::fs::copy(folder.path().join("client-key.pem"), folder.path().join("server-key.pem")).unwrap();
    assert_eq!(Tls::load(folder.path()).unwrap_err().path, folder.path());
}
