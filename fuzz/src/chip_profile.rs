//! Chip profiles, and engines over the chips they describe.

use wearwell::page::log::Counted;
use wearwell::page::{PageConfig, Policies};
use wearwell::{BlockDevice, Inspect, PageFtl, Sectors, WriteHint};
use wearwell_emu::{ChipProfile, CountChip};
use wearwell_sim::inplace::InPlaceFtl;
use wearwell_sim::plain::PlainLog;

/// Larger chips are only described.
const MAX_PAGES: u64 = 1 << 14;

/// Reads the bytes as a profile. The chip of a valid profile can be made, and it either has room for a working device
/// or is refused.
pub fn chip_profile(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(profile) = ChipProfile::from_toml_str("input", text) else { return };
    profile.validate().expect("a profile that was read is valid");
    assert!(profile.logical_bytes <= profile.physical_bytes());
    if profile.pages() > MAX_PAGES || profile.banks > 1 << 10 {
        return;
    }
    let logical_pages = (profile.logical_bytes / u64::from(profile.page_bytes)) as u32;
    let config =
        PageConfig { logical_pages, policies: Policies::default(), seed: 0, endurance: profile.endurance_cycles };
    let log = PlainLog::<_, Counted>::with_payload(CountChip::new(&profile), profile.stripe);
    if let Ok(mut ftl) = PageFtl::format(log, (), config) {
        overwrite(&mut ftl);
    }
    if let Ok(mut ftl) = InPlaceFtl::<_, Counted>::format_with_payload(CountChip::new(&profile), logical_pages) {
        overwrite(&mut ftl);
    }
}

/// Overwrites some pages of a device repeatedly.
fn overwrite(ftl: &mut (impl BlockDevice + Inspect)) {
    let sectors_per_page = u64::from(ftl.page_bytes()) / 512;
    let pages = (ftl.sectors() / sectors_per_page).min(64);
    for write in 0..2 * pages {
        let at = Sectors { start: write % pages * sectors_per_page, count: sectors_per_page };
        ftl.write(at, &[], WriteHint::NONE).expect("a chip that only counts never fails");
    }
    assert_eq!(ftl.stats().host_pages, 2 * pages);
}
