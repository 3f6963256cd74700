//! Sizes and percentages as people type them: `20.5MiB`, `4096`, `90%`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::names::nearest;

/// Suffixes and what they multiply by, largest first.
const UNITS: [(&str, u64); 5] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Most digits of a number. 10²⁶ times the largest unit still fits a u128, so nothing below overflows.
const MAX_DIGITS: usize = 26;

/// Why a size or percentage was not understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SizeError {
    /// No number at the start, or one with too many digits.
    #[error("`{text}` does not start with a number of at most {MAX_DIGITS} digits")]
    NotANumber {
        /// What was given.
        text: String,
    },
    /// An unknown suffix.
    #[error("`{text}` has an unknown unit; did you mean `{nearest}`?")]
    UnknownUnit {
        /// What was given.
        text: String,
        /// The known unit that looks most like it.
        nearest: &'static str,
    },
    /// A decimal that is not a whole number of bytes.
    #[error("`{text}` is not a whole number of bytes")]
    NotWhole {
        /// What was given.
        text: String,
    },
    /// 2⁶⁴ bytes or more.
    #[error("`{text}` is too large")]
    TooLarge {
        /// What was given.
        text: String,
    },
    /// A percentage without `%`, outside 0–100, or finer than a millionth of a per cent.
    #[error("`{text}` is not a percentage from 0% to 100% with at most 6 decimals")]
    NotAPercentage {
        /// What was given.
        text: String,
    },
}

/// A decimal number as `digits ÷ 10^decimals`, exactly. Invariant: at most [`MAX_DIGITS`] digits.
struct Decimal {
    digits: u128,
    decimals: u32,
}

impl Decimal {
    /// The decimal at the start of `text`, and what follows it; `None` where there is none.
    fn take(text: &str) -> Option<(Self, &str)> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        let (whole, fraction) = match number.split_once('.') {
            // A point needs decimals behind it.
            Some((_, "")) => return None,
            Some((whole, fraction)) => (whole, fraction.trim_end_matches('0')),
            None => (number, ""),
        };
        if whole.is_empty() || whole.len() + fraction.len() > MAX_DIGITS {
            return None;
        }
        let decimals = fraction.len() as u32;
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some((Self { digits, decimals }, rest))
    }

    /// The number times `factor` (at most 2⁴⁰), where that is whole.
    fn times(&self, factor: u64) -> Option<u128> {
        let scaled = self.digits * u128::from(factor);
        let divisor = 10u128.pow(self.decimals);
        scaled.is_multiple_of(divisor).then_some(scaled / divisor)
    }
}

/// Reads a size in bytes: a plain number, or a whole or decimal number of KiB, MiB, GiB or TiB.
///
/// # Errors
/// A text without a number, with an unknown unit, or whose value is not a whole number below 2⁶⁴.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let owned = || text.to_owned();
    let trimmed = text.trim();
    let (number, unit) = Decimal::take(trimmed).ok_or_else(|| SizeError::NotANumber { text: owned() })?;
    let unit = unit.trim_start();
    let factor = match UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
        Some(&(_, factor)) => factor,
        None if unit.is_empty() => 1,
        None => {
            let nearest = nearest(unit, UNITS.iter().map(|&(name, _)| name)).unwrap_or("MiB");
            return Err(SizeError::UnknownUnit { text: owned(), nearest });
        }
    };
    let bytes = number.times(factor).ok_or_else(|| SizeError::NotWhole { text: owned() })?;
    u64::try_from(bytes).map_err(|_| SizeError::TooLarge { text: owned() })
}

/// Writes a size so that [`parse_size`] gives it back exactly, in the largest unit that needs at most two
/// decimals: `20.5MiB`, `4KiB`, `513`.
pub fn format_size(bytes: u64) -> String {
    for (name, factor) in UNITS {
        let hundredths = u128::from(bytes) * 100;
        // Plain bytes are written without a unit, behind the loop.
        if bytes < factor || hundredths % u128::from(factor) != 0 || name == "B" {
            continue;
        }
        let hundredths = hundredths / u128::from(factor);
        let (whole, fraction) = (hundredths / 100, hundredths % 100);
        return match fraction {
            0 => format!("{whole}{name}"),
            f if f % 10 == 0 => format!("{whole}.{}{name}", f / 10),
            f => format!("{whole}.{f:02}{name}"),
        };
    }
    bytes.to_string()
}

/// A percentage from 0 % to 100 %, kept in millionths of a per cent so that it is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percent {
    /// Invariant: at most [`Percent::WHOLE`].
    millionths: u32,
}

impl Percent {
    /// 100 % in millionths of a per cent.
    const WHOLE: u32 = 100_000_000;

    /// 0 %.
    pub const ZERO: Self = Self { millionths: 0 };

    /// 100 %.
    pub const FULL: Self = Self { millionths: Self::WHOLE };

    /// A percentage as typed after the `%` is taken off: `90`, `12.5`.
    pub(crate) fn from_number(text: &str) -> Option<Self> {
        let (number, rest) = Decimal::take(text)?;
        let millionths = u32::try_from(number.times(1_000_000)?).ok()?;
        (rest.is_empty() && millionths <= Self::WHOLE).then_some(Self { millionths })
    }

    /// Whether it is 0 %.
    pub fn is_zero(self) -> bool {
        self.millionths == 0
    }

    /// The percentage of `whole`, rounded down.
    pub fn of(self, whole: u64) -> u64 {
        let part = u128::from(whole) * u128::from(self.millionths) / u128::from(Self::WHOLE);
        // The result fits in a u64: the fraction is at most 1 by the type's invariant.
        part as u64
    }
}

impl FromStr for Percent {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        text.trim()
            .strip_suffix('%')
            .and_then(|number| Self::from_number(number.trim_end()))
            .ok_or_else(|| SizeError::NotAPercentage { text: text.to_owned() })
    }
}

impl fmt::Display for Percent {
    /// The number without `%`: `90`, `12.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.millionths / 1_000_000, self.millionths % 1_000_000);
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        let fraction = format!("{fraction:06}");
        write!(f, "{whole}.{}", fraction.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact() {
        for (text, bytes) in [
            ("0", 0),
            ("513", 513),
            ("512B", 512),
            ("4KiB", 4096),
            ("4kib", 4096),
            ("4 KiB", 4096),
            ("20.5MiB", 21_495_808),
            ("0.5KiB", 512),
            ("1.000TiB", 1 << 40),
            ("14MiB", 14 << 20),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
            assert_eq!(parse_size(&format_size(bytes)), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn sizes_that_make_no_sense_say_why() {
        let error = |text: &str| parse_size(text).unwrap_err();
        assert!(matches!(error("big"), SizeError::NotANumber { .. }));
        assert!(matches!(error(""), SizeError::NotANumber { .. }));
        assert!(matches!(error("-1"), SizeError::NotANumber { .. }));
        assert_eq!(error("4MB"), SizeError::UnknownUnit { text: "4MB".into(), nearest: "MiB" });
        assert_eq!(error("4K"), SizeError::UnknownUnit { text: "4K".into(), nearest: "KiB" });
        assert!(matches!(error("0.3KiB"), SizeError::NotWhole { .. }));
        assert!(matches!(error("1.5"), SizeError::NotWhole { .. }));
        assert!(matches!(error("16777216TiB"), SizeError::TooLarge { .. }));
        assert!(matches!(error("99999999999999999999999999"), SizeError::TooLarge { .. }));
        assert!(matches!(error(&"9".repeat(50)), SizeError::NotANumber { .. }));
        assert!(matches!(error("1."), SizeError::NotANumber { .. }));
        assert!(matches!(error("1.2.3"), SizeError::NotANumber { .. }));
    }

    #[test]
    fn formats_in_the_largest_exact_unit() {
        for (bytes, text) in
            [(0, "0"), (1, "1"), (1023, "1023"), (1024, "1KiB"), (1536, "1.5KiB"), (3 << 30, "3GiB"), (1280, "1.25KiB")]
        {
            assert_eq!(format_size(bytes), text);
        }
        assert_eq!(format_size((1 << 20) + 1), "1048577");
    }

    #[test]
    fn percentages() {
        let percent = |text: &str| text.parse::<Percent>();
        assert_eq!(percent("90%").map(|p| p.of(1000)), Ok(900));
        assert_eq!(percent("12.5%").map(|p| p.of(8)), Ok(1));
        assert_eq!(percent("100%"), Ok(Percent::FULL));
        assert_eq!(Percent::FULL.of(u64::MAX), u64::MAX);
        assert_eq!(percent("33.333333%").map(|p| p.to_string()), Ok("33.333333".into()));
        assert_eq!(percent("0.50%").map(|p| p.to_string()), Ok("0.5".into()));
        for wrong in ["90", "101%", "-1%", "%", "1e1%", "33.3333333%", "9.%", "9 0%"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
