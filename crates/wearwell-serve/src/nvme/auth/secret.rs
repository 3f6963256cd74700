//! The secrets of hosts, as `nvme gen-dhchap-key` writes them, and the list of hosts that may connect.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt;

use super::hash::Hash;
use crate::nvme::subsystem::Subsystem;

/// What a secret begins with. Two digits follow that name the hash of its transformation, and the key in Base64.
const PREFIX: &str = "DHHC-1:";
/// Bytes of the CRC-32 behind a key.
const CHECK_BYTES: usize = 4;
/// The end of the text that a key is transformed with.
const PURPOSE: &[u8] = b"NVMe-over-Fabrics";

/// A secret (Base 2.1, section 8.3.5.5.7).
#[derive(Clone, PartialEq, Eq)]
pub(in crate::nvme) struct Secret {
    key: Vec<u8>,
    /// The hash that transforms the key; none for a key that is used as it is.
    hash: Option<Hash>,
}

/// A host that may connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::nvme) struct KnownHost {
    pub(in crate::nvme) nqn: String,
    pub(in crate::nvme) secret: Secret,
    /// With this secret the controller answers, if the host wants to know who it is.
    pub(in crate::nvme) controller: Option<Secret>,
}

/// The hosts that may connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(Vec<KnownHost>);

/// Why a text is no list of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostsError {
    /// A line has another form.
    #[error("line {line}: not a host's NQN, its secret, and perhaps the controller's")]
    Form {
        /// Its number, from 1.
        line: usize,
    },
    /// A name is not a qualified name.
    #[error("line {line}: the host's name is not a qualified name")]
    Name {
        /// The number of the line.
        line: usize,
    },
    /// A secret has another form, or was mistyped.
    #[error("line {line}: not a secret as nvme gen-dhchap-key writes it, or it does not match its checksum")]
    Secret {
        /// The number of the line.
        line: usize,
    },
    /// A host has two lines.
    #[error("line {line}: the host has a line already")]
    Twice {
        /// The number of the second one.
        line: usize,
    },
    /// No line has a host.
    #[error("no host is named")]
    Empty,
}

impl Hosts {
    /// Reads a list: in each line the NQN of a host, its secret, and the controller's secret if the host asks for it.
    /// Empty lines and lines that begin with `#` do not count.
    ///
    /// # Errors
    /// Names the line that is wrong.
    pub fn parse(text: &str) -> Result<Self, HostsError> {
        let mut hosts: Vec<KnownHost> = Vec::new();
        for (line, content) in (1..).zip(text.lines()) {
            let words: Vec<&str> = content.split_whitespace().collect();
            if words.first().is_none_or(|word| word.starts_with('#')) {
                continue;
            }
            let (nqn, secrets) = words.split_first().ok_or(HostsError::Form { line })?;
            let mut secrets = secrets.iter().map(|text| Secret::parse(text).ok_or(HostsError::Secret { line }));
            let secret = secrets.next().ok_or(HostsError::Form { line })??;
            let controller = secrets.next().transpose()?;
            if secrets.next().is_some() {
                return Err(HostsError::Form { line });
            }
            Subsystem::check_nqn(nqn).map_err(|_| HostsError::Name { line })?;
            if hosts.iter().any(|host| host.nqn == *nqn) {
                return Err(HostsError::Twice { line });
            }
            hosts.push(KnownHost { nqn: (*nqn).to_owned(), secret, controller });
        }
        if hosts.is_empty() { Err(HostsError::Empty) } else { Ok(Self(hosts)) }
    }

    pub(in crate::nvme) fn find(&self, nqn: &str) -> Option<&KnownHost> {
        self.0.iter().find(|host| host.nqn == nqn)
    }
}

impl Secret {
    fn parse(text: &str) -> Option<Self> {
        let (digits, rest) = text.strip_prefix(PREFIX)?.split_once(':')?;
        let hash = match digits {
            "00" => None,
            "01" => Some(Hash::Sha256),
            "02" => Some(Hash::Sha384),
            "03" => Some(Hash::Sha512),
            _ => return None,
        };
        let mut key = STANDARD.decode(rest.strip_suffix(':')?).ok()?;
        // The checksum finds a secret that was mistyped; it protects nothing.
        let key_bytes = key.len().checked_sub(CHECK_BYTES)?;
        let check = key.split_off(key_bytes);
        let fits = match hash {
            None => matches!(key_bytes, 32 | 48 | 64),
            Some(hash) => key_bytes == hash.bytes(),
        };
        (fits && check == crc32fast::hash(&key).to_le_bytes()).then_some(Self { key, hash })
    }

    /// The key that answers are made with, for the one whose secret it is.
    pub(super) fn key_of(&self, nqn: &str) -> Vec<u8> {
        match self.hash {
            None => self.key.clone(),
            // One secret of several hosts gives each of them another key.
            Some(hash) => hash.tag(&self.key, &[nqn.as_bytes(), PURPOSE]),
        }
    }
}

/// Says nothing about the key.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
