//! The Diffie-Hellman group ffdhe2048 of RFC 7919.

use crypto_bigint::modular::{FixedMontyForm, FixedMontyParams};
use crypto_bigint::{Odd, U256, U2048};

/// Its number (Base 2.1, figure 744).
pub(super) const ID: u8 = 1;
/// Bytes of a public value, and of what both sides share.
pub(super) const BYTES: usize = 256;
/// Bytes of a private exponent. RFC 7919 asks for 225 bits at least.
pub(super) const EXPONENT_BYTES: usize = 32;

/// RFC 7919, appendix A.1.
const PRIME: Odd<U2048> = Odd::<U2048>::from_be_hex(
    "FFFFFFFFFFFFFFFFADF85458A2BB4A9AAFDC5620273D3CF1D8B9C583CE2D3695\
     A9E13641146433FBCC939DCE249B3EF97D2FE363630C75D8F681B202AEC4617A\
     D3DF1ED5D5FD65612433F51F5F066ED0856365553DED1AF3B557135E7F57C935\
     984F0C70E0E68B77E2A689DAF3EFE8721DF158A136ADE73530ACCA4F483A797A\
     BC0AB182B324FB61D108A94BB2C8E3FBB96ADAB760D7F4681D4F42A3DE394DF4\
     AE56EDE76372BB190B07A7C8EE0A6D709E02FCE1CDF7E2ECC03404CD28342F61\
     9172FE9CE98583FF8E4F1232EEF28183C3FE3B1B4C6FAD733BB5FCBC2EC22005\
     C58EF1837D1683B2C6F34A26C1B2EFFA886B423861285C97FFFFFFFFFFFFFFFF",
);
const GENERATOR: U2048 = U2048::from_u8(2);

/// A private exponent.
pub(super) type Exponent = [u8; EXPONENT_BYTES];

/// The public value of an exponent.
pub(super) fn public(exponent: &Exponent) -> [u8; BYTES] {
    power(&GENERATOR, exponent)
}

/// What is shared with the owner of a public value; none if that value is one of those that give away the result.
pub(super) fn shared(exponent: &Exponent, public: &[u8]) -> Option<[u8; BYTES]> {
    let public = U2048::from_be_slice(<&[u8; BYTES]>::try_from(public).ok()?);
    // 0, 1 and the prime minus one have powers that anybody can guess.
    let last = PRIME.get().wrapping_sub(&U2048::ONE);
    (public > U2048::ONE && public < last).then(|| power(&public, exponent))
}

/// In a time that does not depend on the exponent.
fn power(base: &U2048, exponent: &Exponent) -> [u8; BYTES] {
    let exponent = U256::from_be_slice(exponent);
    let power = FixedMontyForm::new(base, &FixedMontyParams::new(PRIME)).pow(&exponent).retrieve();
    let mut bytes = [0; BYTES];
    bytes.copy_from_slice(power.to_be_bytes().as_ref());
    bytes
}
