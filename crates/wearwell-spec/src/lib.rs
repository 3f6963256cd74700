//! The worked dumps of `docs/SPEC.md`. The tests of each encoder compare them with what it writes.
#![forbid(unsafe_code)]

/// The text.
pub const SPEC: &str = include_str!("../../../docs/SPEC.md");

/// The bytes of a dump: the fenced block whose first line is `hex` and its name. Bytes left out are zeros.
///
/// # Panics
/// If there is not exactly one, or if a line is no dump: only tests call this.
pub fn dump(name: &str) -> Vec<u8> {
    let fence = format!("```hex {name}\n");
    let mut blocks = SPEC.split(&fence).skip(1);
    let block = blocks.next().unwrap_or_else(|| panic!("SPEC.md has no dump {name}"));
    assert!(blocks.next().is_none(), "SPEC.md has {name} twice");
    let mut bytes = Vec::new();
    for line in block.lines().take_while(|line| *line != "```") {
        let mut words = line.split_whitespace();
        let offset = words.next().and_then(|word| usize::from_str_radix(word, 16).ok());
        let offset = offset.unwrap_or_else(|| panic!("{name}: no offset: {line}"));
        assert!(offset >= bytes.len(), "{name}: offsets go back: {line}");
        bytes.resize(offset, 0);
        let hex = |word| u8::from_str_radix(word, 16).unwrap_or_else(|_| panic!("{name}: no byte: {line}"));
        bytes.extend(words.map(hex));
    }
    bytes
}
