//! TLS for connections: certificates from a folder with the file names of libnbd, nbdkit and qemu.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, Stream};

use super::peer::Peer;

/// The certificate of the authority that signs all others.
const CA_FILE: &str = "ca-cert.pem";
/// The server's certificate.
const CERTIFICATE_FILE: &str = "server-cert.pem";
/// The key of the server's certificate.
const KEY_FILE: &str = "server-key.pem";

/// Why TLS cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct TlsError {
    /// The file, or the folder if the files do not match.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// A server's certificate, and the authority that it trusts.
#[derive(Debug, Clone)]
pub struct Tls {
    /// For clients that have to show a certificate.
    mutual: Arc<ServerConfig>,
    /// For clients that are authorized in another way.
    one_sided: Arc<ServerConfig>,
}

impl Tls {
    /// Reads `ca-cert.pem`, `server-cert.pem` and `server-key.pem` in a folder.
    ///
    /// # Errors
    /// Names the file that is missing or has other content.
    pub fn load(folder: &Path) -> Result<Self, TlsError> {
        let (ca, shown) = (folder.join(CA_FILE), folder.join(CERTIFICATE_FILE));
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&ca)? {
            roots.add(certificate).map_err(|error| wrong(&ca, &error))?;
        }
        let chain = certificates(&shown)?;
        let key_path = folder.join(KEY_FILE);
        let key = PrivateKeyDer::from_pem_file(&key_path).map_err(|error| wrong(&key_path, &error))?;
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        let verifier = verifier.map_err(|error| wrong(&ca, &error))?;
        let versions = || {
            let begun =
                ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
            begun.map_err(|error| wrong(folder, &error))
        };
        let mutual = versions()?.with_client_cert_verifier(verifier).with_single_cert(chain.clone(), key.clone_key());
        let one_sided = versions()?.with_no_client_auth().with_single_cert(chain, key);
        Ok(Self {
            mutual: Arc::new(mutual.map_err(|error| wrong(folder, &error))?),
            one_sided: Arc::new(one_sided.map_err(|error| wrong(folder, &error))?),
        })
    }

    /// The server's side of a new connection. On TCP the client has to show a certificate that the authority signed;
    /// at a Unix socket the file's permissions have let it in.
    fn connection(&self, peer: &Peer) -> Result<ServerConnection, rustls::Error> {
        let config = if matches!(peer, Peer::Tcp(_)) { &self.mutual } else { &self.one_sided };
        ServerConnection::new(Arc::clone(config))
    }
}

fn wrong(path: &Path, error: &impl ToString) -> TlsError {
    TlsError { path: path.to_owned(), reason: error.to_string() }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let read = read.map_err(|error| wrong(path, &error))?;
    // A file without any certificate is no error to the parser, but an empty list.
    if read.is_empty() { Err(wrong(path, &"there is no certificate in it")) } else { Ok(read) }
}

/// The bytes of a connection: plain, and inside TLS from some point on.
pub(super) struct Wire<'s> {
    peer: &'s Peer,
    tls: Option<Box<ServerConnection>>,
}

impl<'s> Wire<'s> {
    pub(super) fn new(peer: &'s Peer) -> Self {
        Self { peer, tls: None }
    }

    /// Runs the handshake. Everything after it is inside TLS.
    pub(super) fn start_tls(&mut self, tls: &Tls) -> io::Result<()> {
        let mut connection = Box::new(tls.connection(self.peer).map_err(io::Error::other)?);
        // A client that sends nothing is closed by the time limit of handshakes, which ends the read.
        while connection.is_handshaking() {
            connection.complete_io(&mut self.peer)?;
        }
        self.tls = Some(connection);
        Ok(())
    }

    /// Sends the end of TLS, if the peer is still there.
    pub(super) fn goodbye(&mut self) {
        if let Some(connection) = &mut self.tls {
            // By it the client sees that nobody has cut the stream. It need not be there any more, so errors do not
            // matter.
            connection.send_close_notify();
            let _ = connection.write_tls(&mut self.peer);
        }
    }
}

impl Read for Wire<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let Some(connection) = &mut self.tls else { return self.peer.read(bytes) };
        match Stream::new(&mut **connection, &mut self.peer).read(bytes) {
            // The protocol has a disconnect of its own, so many clients close the connection without ending TLS.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            result => result,
        }
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(connection) => Stream::new(&mut **connection, &mut self.peer).write(bytes),
            None => self.peer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            Some(connection) => Stream::new(&mut **connection, &mut self.peer).flush(),
            None => Ok(()),
        }
    }
}
