//! Random numbers, from a seed that the caller gives.

/// A small, fast, seeded generator (Steele, Lea and Flood's SplitMix64).
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The generator of this seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        debug_assert!(bound > 0);
        // Each result stands for ⌊2³² / bound⌋ or ⌈2³² / bound⌉ numbers. That is even enough, and takes no division.
        (((self.next_u64() >> 32) * u64::from(bound)) >> 32) as u32
    }
}
