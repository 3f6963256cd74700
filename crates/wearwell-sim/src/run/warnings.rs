//! What makes results mean less than they seem to.

use wearwell::Placement;

use super::report::Report;

/// The warnings about a run, a sentence each.
pub(super) fn of(report: &Report) -> Vec<String> {
    [cut_short(report), overruled(report)].into_iter().flatten().collect()
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
