//! The host's data: sectors that carry their page, their index and their version.

/// Bytes in a sector.
pub const SECTOR_BYTES: usize = 512;

/// What a page holds: a version for each of its sectors. Version 0 is a sector of zeros.
pub type Content = Vec<u32>;

/// The first bytes of every sector that the host writes.
const MAGIC: u32 = 0xFEED_F00D;
/// Bytes of magic, page, sector and version.
const HEAD_BYTES: usize = 16;
/// An odd number with bits everywhere.
const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;
/// One version in 17 is all ones after its head. It looks erased to code that looks only at the end of a page.
const ALL_ONES_EVERY: u32 = 17;

/// Makes version `version` of a sector of a page.
pub fn fill(sector: &mut [u8], page: u32, index: u32, version: u32) {
    if version == 0 {
        sector.fill(0);
        return;
    }
    let (head, body) = sector.split_at_mut(HEAD_BYTES);
    for (bytes, word) in head.chunks_exact_mut(4).zip([MAGIC, page, index, version]) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    if version.is_multiple_of(ALL_ONES_EVERY) {
        body.fill(0xFF);
    } else {
        let of_sector = u64::from(page) << 40 ^ u64::from(index) << 32 ^ u64::from(version);
        // Each word depends on all of these, and costs an addition.
        let step = of_sector.wrapping_mul(WEYL) | 1;
        let mut word = of_sector ^ WEYL;
        for bytes in body.chunks_exact_mut(8) {
            bytes.copy_from_slice(&word.to_le_bytes());
            word = word.wrapping_add(step);
        }
    }
}

/// The version that a sector holds, if every byte matches a version of this page and sector.
pub fn version_of(sector: &[u8], page: u32, index: u32) -> Option<u32> {
    let mut expected = [0; SECTOR_BYTES];
    let [magic, of_page, of_index, version] = head_of(sector);
    if magic == 0 {
        // A sector of zeros has no head, and it must be zero to its end.
        return (sector == expected).then_some(0);
    }
    fill(&mut expected, page, index, version);
    (magic == MAGIC && of_page == page && of_index == index && sector == expected).then_some(version)
}

/// The logical page and the content in the bytes of a flash page. `None` if it holds no host data.
pub fn owner_of(flash_page: &[u8], sectors_per_page: u32) -> Option<(u32, Content)> {
    let mut found = None;
    for sector in flash_page.chunks_exact(SECTOR_BYTES) {
        let [magic, page, index, version] = head_of(sector);
        // A tag in the page, or a sector of zeros, is not the host's: it does not say whose page this is.
        if magic == MAGIC && index < sectors_per_page {
            let (_, content) = found.get_or_insert_with(|| (page, vec![0; sectors_per_page as usize]));
            content[index as usize] = version;
        }
    }
    found
}

fn head_of(sector: &[u8]) -> [u32; 4] {
    std::array::from_fn(|word| {
        let at = word * 4;
        u32::from_le_bytes([sector[at], sector[at + 1], sector[at + 2], sector[at + 3]])
    })
}
