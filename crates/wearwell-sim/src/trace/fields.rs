//! Fields of text lines.

use super::error::{Fault, shown};

/// The `N` comma-separated fields of a line. `expected` names their number for the error.
pub(super) fn split<'l, const N: usize>(line: &'l [u8], expected: &'static str) -> Result<[&'l [u8]; N], Fault> {
    let mut fields: [&[u8]; N] = [&[]; N];
    let mut found = 0;
    for field in line.split(|&byte| byte == b',') {
        if found < N {
            fields[found] = field;
        }
        found += 1;
    }
    if found == N { Ok(fields) } else { Err(Fault::FieldCount { expected, found }) }
}

/// A whole number below 2⁶⁴ in plain digits.
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut value = 0u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    Some(value)
}

/// [`digits`], or the fault that names the field.
pub(super) fn number(field: &'static str, text: &[u8]) -> Result<u64, Fault> {
    digits(text).ok_or_else(|| Fault::NotANumber { field, text: shown(text) })
}

/// Seconds, whole or with decimals, in whole microseconds; further decimals are cut off.
pub(super) fn seconds_as_us(field: &'static str, text: &[u8]) -> Result<u64, Fault> {
    let fault = || Fault::NotANumber { field, text: shown(text) };
    let (whole, fraction) = match text.iter().position(|&byte| byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b"0"[..]),
    };
    let mut micros = [b'0'; 6];
    let kept = fraction.len().min(micros.len());
    micros[..kept].copy_from_slice(&fraction[..kept]);
    if !fraction.iter().all(u8::is_ascii_digit) {
        return Err(fault());
    }
    let whole_us = digits(whole).and_then(|seconds| seconds.checked_mul(1_000_000)).ok_or_else(fault)?;
    let fraction_us = digits(&micros).ok_or_else(fault)?;
    whole_us.checked_add(fraction_us).ok_or_else(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_plain_digits_below_2_to_the_64() {
        assert_eq!(digits(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(digits(b"007"), Some(7));
        for wrong in [&b""[..], b"18446744073709551616", b"-1", b"+1", b" 1", b"1 ", b"0x1", b"1.0"] {
            assert_eq!(digits(wrong), None, "{}", shown(wrong));
        }
    }

    #[test]
    fn seconds() {
        for (text, us) in [("0", 0), ("1538323200", 1_538_323_200_000_000), ("1.5", 1_500_000), ("0.1234569", 123_456)]
        {
            assert_eq!(seconds_as_us("time", text.as_bytes()), Ok(us), "{text}");
        }
        for wrong in ["", ".5", "1.x", "1.2.3", "18446744073710"] {
            assert!(seconds_as_us("time", wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts_fields() {
        assert_eq!(split::<2>(b"a,b", "2"), Ok([&b"a"[..], b"b"]));
        assert_eq!(split::<2>(b"a", "2"), Err(Fault::FieldCount { expected: "2", found: 1 }));
        assert_eq!(split::<2>(b"a,b,", "2"), Err(Fault::FieldCount { expected: "2", found: 3 }));
    }
}
