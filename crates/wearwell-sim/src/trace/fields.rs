//! Fields of text lines.

use super::error::{Fault, shown};

/// Digits that always make a number below 2⁶⁴.
const SURE_DIGITS: usize = 19;

/// The comma-separated fields of a line, taken one by one.
pub(super) struct Fields<'l> {
    line: &'l [u8],
    /// Where the next field begins; behind the last one, one more than the length of the line.
    at: usize,
}

impl<'l> Fields<'l> {
    /// Takes the `count` fields of a line. `expected` names their number for the error.
    #[inline]
    pub(super) fn of<T>(
        line: &'l [u8],
        (count, expected): (usize, &'static str),
        take: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut fields = Self { line, at: 0 };
        match take(&mut fields) {
            Ok(taken) if fields.at == line.len() + 1 => Ok(taken),
            taken => Err(Self::fault(line, count, expected, taken.err())),
        }
    }

    /// A wrong number of fields is what is wrong first.
    #[cold]
    fn fault(line: &[u8], count: usize, expected: &'static str, fault: Option<Fault>) -> Fault {
        let found = line.split(|&byte| byte == b',').count();
        fault.filter(|_| found == count).unwrap_or(Fault::FieldCount { expected, found })
    }

    /// Where the next field begins.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next field; empty if there is none.
    #[inline]
    pub(super) fn text(&mut self) -> &'l [u8] {
        let rest = self.line.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|&byte| byte == b',').unwrap_or(rest.len());
        self.at += length + 1;
        &rest[..length]
    }

    /// The next field, a whole number below 2⁶⁴.
    #[inline]
    pub(super) fn number(&mut self, field: &'static str) -> Result<u64, Fault> {
        let rest = self.line.get(self.at..).unwrap_or_default();
        let mut value = 0_u64;
        let mut length = 0;
        while let Some(digit) = rest.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit <= 9) {
            // It wraps only beyond 19 digits. Such a number is read again below, with checks.
            value = value.wrapping_mul(10).wrapping_add(digit.into());
            length += 1;
        }
        let is_whole = rest.get(length).is_none_or(|&byte| byte == b',');
        if is_whole && 0 < length && length <= SURE_DIGITS {
            self.at += length + 1;
            return Ok(value);
        }
        // A number of 20 digits may still fit. Anything else gets its error here.
        number(field, self.text())
    }
}

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
    // Decimals that are missing are zeros.
    let mut micros = [b'0'; 6];
    let kept = fraction.len().min(micros.len());
    micros[..kept].copy_from_slice(&fraction[..kept]);
    // Decimals that are cut off have to be digits, too.
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
    fn numbers_of_all_lengths_among_all_bytes() {
        for length in 1..=20 {
            for text in ["9".repeat(length), "1".repeat(length), format!("{:0length$}", 42)] {
                let wanted = digits(text.as_bytes());
                for rest in ["", ",", ",123456789", ",W,99999999"] {
                    let line = format!("{text}{rest}");
                    let found = Fields { line: line.as_bytes(), at: 0 }.number("n").ok();
                    assert_eq!(found, wanted, "{line}");
                }
                for byte in (0..=255_u8).filter(|byte| *byte != b',' && !byte.is_ascii_digit()) {
                    let line = [text.as_bytes(), &[byte], b"7777777,1"].concat();
                    assert!(Fields { line: &line, at: 0 }.number("n").is_err(), "{}", shown(&line));
                }
            }
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
