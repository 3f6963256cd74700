//! What makes results mean less than they seem to.

use std::collections::BTreeSet;

use wearwell::{Class, Placement};

use super::report::Report;
use crate::engine::SegmentRow;

/// The segments that a device should have for each class, from the third class on.
const SEGMENTS_A_CLASS: u32 = 40;

/// The warnings about a run, a sentence each. `segments` are those at its end.
pub(super) fn of(report: &Report, segments: &[SegmentRow]) -> Vec<String> {
    [cut_short(report), overruled(report), crowded(report, segments)].into_iter().flatten().collect()
}

/// The trace did not run to its end.
fn cut_short(report: &Report) -> Option<String> {
    let requests = report.requests?;
    let done = requests.served + requests.refused;
    (done < requests.read)
        .then(|| format!("the trace was cut short: --write ended it after {done} of its {} requests", requests.read))
}

/// The policies that choose victims had little to say.
fn overruled(report: &Report) -> Option<String> {
    // Greedy takes the fewest valid pages anyway. Nobody can overrule it.
    let which = report.config.which.as_deref().filter(|which| *which != "greedy");
    let has_a_say = |place: &&str| Placement::parse(place).is_some_and(|place| place.has_a_say_in_victims());
    let place = report.config.r#where.as_deref().filter(has_a_say);
    let policies = match (place, which) {
        (Some(place), Some(which)) => format!("{place} with {which}"),
        (place, which) => place.or(which)?.to_owned(),
    };
    let (urgent, all) = (report.counters.urgent_cleanings, report.counters.cleanings);
    // Below half of the victims, the policies had most of the choice.
    (urgent * 2 > all).then(|| {
        format!(
            "{policies} was overruled: {:.0} % of the victims had the fewest valid pages, whatever the policy, because \
             fewer than 2 segments were free; higher marks of --when would leave it the choice",
            100.0 * urgent as f64 / all as f64
        )
    })
}

/// The device is small for so many classes. Those in use count: some placements have more than they take.
fn crowded(report: &Report, segments: &[SegmentRow]) -> Option<String> {
    let place = report.config.r#where.as_deref()?;
    // Wear leveling has its class whatever the placement.
    let classes = segments.iter().filter_map(|row| row.class).filter(|&class| class != Class::WEAR.0);
    let in_use = classes.collect::<BTreeSet<u8>>().len() as u32;
    // To keep copies apart pays on the smallest devices, too.
    let most = (report.segments / SEGMENTS_A_CLASS).max(2);
    (report.counters.cleanings > 0 && in_use > most).then(|| {
        format!(
            "{place} uses {in_use} classes on {} segments, and each keeps a segment open that cleaning then lacks: \
             take at most {most} classes, or {} segments, {SEGMENTS_A_CLASS} for each class",
            report.segments,
            SEGMENTS_A_CLASS * in_use
        )
    })
}
