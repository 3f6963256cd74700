//! The texts of the command line: workloads, policies, sizes, geometries.

use std::fmt::Display;

use wearwell::{CleaningTrigger, Placement, VictimPolicy, WearLeveling};
use wearwell_emu::ChipProfile;
use wearwell_sim::size::{Percent, format_size, parse_size};
use wearwell_sim::workload::WorkloadSpec;

/// Reads the bytes as each of them. A value that parses must parse again from its printed form.
pub fn workload_spec(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    reads_back(text, |text| text.parse::<WorkloadSpec>().ok());
    reads_back(text, CleaningTrigger::parse);
    reads_back(text, VictimPolicy::parse);
    reads_back(text, Placement::parse);
    reads_back(text, WearLeveling::parse);
    if let Ok(percent) = text.parse::<Percent>() {
        assert_eq!(format!("{percent}%").parse(), Ok(percent));
        assert!(percent.of(1000) <= 1000, "{percent}");
    }
    if let Ok(bytes) = parse_size(text) {
        assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
    }
    if let Ok(profile) = ChipProfile::from_geometry_str(text) {
        assert_eq!(profile.name, text);
    }
}

fn reads_back<T: Display + PartialEq>(text: &str, parse: impl Fn(&str) -> Option<T>) {
    if let Some(spec) = parse(text) {
        let printed = spec.to_string();
        assert!(parse(&printed).is_some_and(|again| again == spec), "{text} prints as {printed}");
    }
}
