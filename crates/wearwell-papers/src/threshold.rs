//! The cleaning threshold of Kawaguchi '95 (section 2.8) during a run: with f of at most N segments free, a victim
//! needs more than TH·f/N invalid blocks.

use wearwell::CleaningTrigger;
use wearwell::clean::when::Threshold;
use wearwell_sim::run::{Observation, RunConfig};

/// The mean threshold of a run, in blocks, over its samples.
///
/// # Errors
/// A policy without such a threshold, or a run with too many free segments for cleaning to be asked.
pub(crate) fn mean_blocks(config: &RunConfig, observation: &Observation) -> Result<f64, String> {
    let Some(CleaningTrigger::Falling { n, threshold: Threshold::Score(most), .. }) = config.engine.when else {
        return Err("the cleaning policy has no threshold in blocks".to_owned());
    };
    let n = f64::from(n);
    // With more than N segments free, cleaning is not asked.
    let free = observation.samples.iter().map(|sample| f64::from(sample.free_segments)).filter(|free| *free <= n);
    let thresholds: Vec<f64> = free.map(|free| most * free / n).collect();
    match thresholds.len() {
        0 => Err("cleaning was never asked".to_owned()),
        count => Ok(thresholds.iter().sum::<f64>() / count as f64),
    }
}

#[cfg(test)]
mod tests {
    use wearwell_emu::ChipProfile;
    use wearwell_sim::arguments;
    use wearwell_sim::run::Sample;

    use super::*;

    #[test]
    fn the_threshold_falls_with_the_free_segments() {
        let mut config = RunConfig::new(ChipProfile::resolve("geometry:512:16:64").unwrap(), "random".parse().unwrap());
        let of = |free_segments| Sample {
            host_bytes: 0,
            sim_ns: 0,
            host_pages: 0,
            programmed_pages: 0,
            copied_pages: 0,
            erases: 0,
            free_segments,
        };
        let seen =
            |free: &[u32]| Observation { samples: free.iter().copied().map(of).collect(), ..Observation::default() };
        assert!(mean_blocks(&config, &seen(&[12])).is_err(), "a watermark has none");
        config.engine.when = Some(arguments::when("falling:12:455").unwrap());
        assert_eq!(mean_blocks(&config, &seen(&[12, 6, 20])), Ok(455.0 * 0.75));
        assert!(mean_blocks(&config, &seen(&[20])).is_err());
        config.engine.when = Some(arguments::when("falling:12:455:100").unwrap());
        assert_eq!(mean_blocks(&config, &seen(&[12, 6, 20])), Ok(455.0 * 0.75), "the lag changes no threshold");
    }
}
