//! Numbers and lines for people.

/// A whole number in groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number with about four digits.
pub(crate) fn short(number: f64) -> String {
    match number.abs() {
        x if x >= 1000.0 => grouped((number + 0.5) as u64),
        x if x >= 100.0 => format!("{number:.1}"),
        x if x >= 10.0 => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

/// Bytes in the largest unit that gives at least 1, as in `112 MiB`.
pub(crate) fn bytes(bytes: f64) -> String {
    let mut value = bytes;
    for unit in ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"] {
        if value < 1024.0 {
            return format!("{} {unit}", trimmed(value));
        }
        value /= 1024.0;
    }
    format!("{} EiB", trimmed(value))
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Microseconds in a suitable unit.
pub(crate) fn micros(us: f64) -> String {
    if us < 1000.0 {
        format!("{us:.0} µs")
    } else if us < 1e6 {
        format!("{} ms", short(us / 1e3))
    } else {
        format!("{} s", short(us / 1e6))
    }
}

/// Labels and values in two columns, a line each.
pub(crate) fn aligned(lines: &[(String, String)]) -> String {
    let width = lines.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    lines.iter().map(|(label, value)| format!("{label:width$}  {value}").trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.875, 6.43, 24.0, 512.34, 9876.5].map(short), ["0.875", "6.430", "24.00", "512.3", "9,877"]);
        assert_eq!(
            [0.0, 513.0, 117_440_512.0, 1.5 * 1024.0 * 1024.0 * 1024.0].map(bytes),
            ["0 bytes", "513 bytes", "112 MiB", "1.5 GiB"]
        );
        assert_eq!([250.4, 2500.0, 1.5e6].map(micros), ["250 µs", "2.500 ms", "1.500 s"]);
    }
}
