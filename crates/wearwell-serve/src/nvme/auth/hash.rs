//! The hashes of DH-HMAC-CHAP.

use ring::{digest, hmac};

/// A hash (Base 2.1, figure 743).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    pub(super) fn from_id(id: u8) -> Option<Self> {
        Some(match id {
            1 => Self::Sha256,
            2 => Self::Sha384,
            3 => Self::Sha512,
            _ => return None,
        })
    }

    pub(super) fn id(self) -> u8 {
        match self {
            Self::Sha256 => 1,
            Self::Sha384 => 2,
            Self::Sha512 => 3,
        }
    }

    /// Bytes of a result.
    pub(super) fn bytes(self) -> usize {
        self.digest().output_len()
    }

    fn digest(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha384 => &digest::SHA384,
            Self::Sha512 => &digest::SHA512,
        }
    }

    fn key(self, key: &[u8]) -> hmac::Key {
        let algorithm = match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha384 => hmac::HMAC_SHA384,
            Self::Sha512 => hmac::HMAC_SHA512,
        };
        hmac::Key::new(algorithm, key)
    }

    pub(super) fn of(self, data: &[u8]) -> Vec<u8> {
        digest::digest(self.digest(), data).as_ref().to_vec()
    }

    /// The HMAC of all parts.
    pub(super) fn tag(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        let mut context = hmac::Context::with_key(&self.key(key));
        parts.iter().for_each(|part| context.update(part));
        context.sign().as_ref().to_vec()
    }

    /// Whether `tag` is the HMAC of `data`. The time that this takes does not depend on where they differ.
    pub(super) fn is_tag(self, key: &[u8], data: &[u8], tag: &[u8]) -> bool {
        hmac::verify(&self.key(key), data, tag).is_ok()
    }
}
