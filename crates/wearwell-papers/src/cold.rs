//! Blocks that cleaning once judged as cold, for figures 9 and 10 of Kawaguchi '95: those of victims that were less
//! utilized than the file system on average (section 3.4). A block that the host writes is a new one, without the mark.
//!
//! The engine has no such marks. A placement that sorts as the row's own sees every write and every copy, and counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wearwell::place::{ClassCount, ClassPlacement, Copied, HostWrite};
use wearwell::{Class, Placement};
use wearwell_sim::engine::OwnPolicies;
use wearwell_sim::run::{self, Report, RunConfig};

/// Sorts as `single` or `separate-cleaning` does, and marks.
#[derive(Debug)]
struct Marks {
    /// True for `separate-cleaning`.
    separates: bool,
    /// By logical page.
    is_cold: Vec<bool>,
    /// How many of them are.
    cold: Arc<AtomicU64>,
}

impl ClassPlacement for Marks {
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        if std::mem::replace(&mut self.is_cold[write.lpn.0 as usize], false) {
            self.cold.fetch_sub(1, Ordering::Relaxed);
        }
        Class(0)
    }

    fn copied(&mut self, copy: Copied) -> Class {
        let is_cold = copy.victim_utilization < copy.device_utilization;
        if is_cold && !std::mem::replace(&mut self.is_cold[copy.lpn.0 as usize], true) {
            self.cold.fetch_add(1, Ordering::Relaxed);
        }
        Class(u8::from(self.separates && is_cold))
    }
}

/// The cold blocks after a run whose report is known.
///
/// # Errors
/// A placement without these marks, a run that failed, or one that went another way than the reported one.
pub(crate) fn blocks(config: &RunConfig, report: &Report) -> Result<u64, String> {
    let separates = match config.engine.place {
        Placement::Single => false,
        Placement::SeparateCleaning => true,
        other => return Err(format!("cold blocks are not counted with --where {other}")),
    };
    let cold = Arc::new(AtomicU64::new(0));
    let is_cold = vec![false; report.config.logical_pages as usize];
    let marks = Marks { separates, is_cold, cold: Arc::clone(&cold) };
    let classes = ClassCount::new(2).ok_or("two classes are possible")?;
    let own = OwnPolicies::default().placement("marks", classes, marks);
    let marked = run::run_by(config, None, own, &mut ()).map_err(|error| error.to_string())?;
    if marked.map_digest != report.map_digest {
        return Err("the run that counted cold blocks went another way".to_owned());
    }
    Ok(cold.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use wearwell_emu::ChipProfile;

    use super::*;

    #[test]
    fn marks_change_nothing_and_a_separate_segment_keeps_more_cold() {
        let chip = ChipProfile::resolve("geometry:512:16:64").unwrap();
        let cold = [Placement::Single, Placement::SeparateCleaning].map(|place| {
            let mut config = RunConfig::new(chip.clone(), "hot:90/10".parse().unwrap());
            config.engine.place = place;
            let report = run::run(&config, None, &mut ()).unwrap();
            blocks(&config, &report).unwrap()
        });
        assert!(cold[0] > 0 && cold[1] > cold[0], "{cold:?}");
        let mut config = RunConfig::new(chip, "random".parse().unwrap());
        config.engine.place = Placement::SeparateGc;
        let report = run::run(&config, None, &mut ()).unwrap();
        assert!(blocks(&config, &report).is_err());
    }
}
