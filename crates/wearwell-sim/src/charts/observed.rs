//! Charts of runs: over time, of latency, and of the segments at the end.

use crate::engine::SegmentState;
use crate::run::{Observation, Sample, SegmentUse};

use super::plot::{Axes, Series, columns, lines};
use super::{Chart, Data, cells, figure};

/// Bins of a distribution over parts of 1.
const BINS: usize = 20;
/// Most bins of a distribution of erase counts.
const ERASE_BINS: u32 = 24;
/// Most points of a line; with more samples, a point stands for several.
const MAX_POINTS: usize = 96;

/// A run and its name.
pub struct Named<'a> {
    /// The name in charts.
    pub name: &'a str,
    /// The observation of the run.
    pub observation: &'a Observation,
}

/// Figures over the bytes that the host has written, each between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverTime {
    /// Bytes the host wrote a second.
    Throughput,
    /// Pages programmed for each host page.
    WriteAmplification,
    /// Pages copied for every segment erased.
    CleaningCost,
}

impl OverTime {
    fn title(self) -> &'static str {
        match self {
            Self::Throughput => "write throughput, KiB/s",
            Self::WriteAmplification => "write amplification, all pages",
            Self::CleaningCost => "pages copied per segment erased",
        }
    }

    fn between(self, from: &Sample, to: &Sample) -> Option<f64> {
        let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        match self {
            Self::Throughput => {
                ratio(to.host_bytes - from.host_bytes, to.sim_ns - from.sim_ns).map(|rate| rate * 1e9 / 1024.0)
            }
            Self::WriteAmplification => {
                ratio(to.programmed_pages - from.programmed_pages, to.host_pages - from.host_pages)
            }
            Self::CleaningCost => ratio(to.copied_pages - from.copied_pages, to.erases - from.erases),
        }
    }
}

/// The charts of a run, or of several side by side.
pub fn all(runs: &[Named<'_>]) -> Vec<Chart> {
    let mut charts = vec![
        over_time("Write amplification over time", OverTime::WriteAmplification, runs),
        over_time("Throughput over time", OverTime::Throughput, runs),
        over_time("Cleaning cost over time", OverTime::CleaningCost, runs),
        latencies("Latency", runs),
        utilizations("Utilization of the segments", runs),
        erase_counts("Erases of the segments", runs),
    ];
    for run in runs {
        let of = if runs.len() == 1 { String::new() } else { format!(", {}", run.name) };
        charts.push(map_of_use(&format!("Segments by utilization, in their order{of}"), run));
        charts.push(map_of_wear(&format!("Segments by erases, in their order{of}"), run, runs));
    }
    charts
}

/// A figure over the bytes written.
pub fn over_time(caption: &str, what: OverTime, runs: &[Named<'_>]) -> Chart {
    let line = |run: &Named<'_>| {
        let samples = &run.observation.samples;
        let every = samples.len().div_ceil(MAX_POINTS).max(1);
        let mut kept: Vec<&Sample> = samples.iter().step_by(every).collect();
        // The last sample is kept, too, unless the steps have met it.
        if samples.len() % every != 1 % every {
            kept.extend(samples.last());
        }
        let point =
            |two: &[&Sample]| Some((two[1].host_bytes as f64 / f64::from(1 << 20), what.between(two[0], two[1])?));
        Series { name: run.name.to_owned(), points: kept.windows(2).filter_map(point).collect(), ..Series::default() }
    };
    let series: Vec<Series> = runs.iter().map(line).collect();
    let axes = Axes { x_title: "MiB written".to_owned(), y_title: what.title().to_owned(), ..Axes::default() };
    Chart { caption: caption.to_owned(), svg: lines(caption, &axes, &series), data: by_x(&axes.x_title, &series) }
}

/// Latency of the commands, from the shortest to the longest.
pub fn latencies(caption: &str, runs: &[Named<'_>]) -> Chart {
    let longest = runs.iter().max_by_key(|run| run.observation.latency_us.len());
    let place = |&(quantile, _): &(f64, f64)| match quantile {
        0.0 => "min".to_owned(),
        1.0 => "max".to_owned(),
        _ => format!("p{}", (quantile * 1e4).round() / 1e2),
    };
    let places = longest.map(|run| run.observation.latency_us.iter().map(place).collect()).unwrap_or_default();
    let axes = Axes {
        x_title: "percentile of the host's commands".to_owned(),
        y_title: "latency".to_owned(),
        places,
        is_time: true,
        has_zero: false,
    };
    let line = |run: &Named<'_>| {
        let points = run.observation.latency_us.iter().enumerate().map(|(at, &(_, us))| (at as f64, us));
        Series { name: run.name.to_owned(), points: points.collect(), ..Series::default() }
    };
    let series: Vec<Series> = runs.iter().map(line).collect();
    Chart { caption: caption.to_owned(), svg: lines(caption, &axes, &series), data: by_place(&axes, &series) }
}

/// True of a segment that holds data.
fn is_used(segment: &SegmentUse) -> bool {
    !matches!(segment.state, SegmentState::Free | SegmentState::Erasing | SegmentState::Bad)
}

fn utilization(segment: &SegmentUse) -> f64 {
    f64::from(segment.valid_pages) / f64::from(segment.pages.max(1))
}

/// The distribution of segments by utilization (Kawaguchi '95, figure 8).
pub fn utilizations(caption: &str, runs: &[Named<'_>]) -> Chart {
    let count = |run: &Named<'_>| {
        let mut bins = [0_u32; BINS];
        for segment in run.observation.segments.iter().filter(|segment| is_used(segment)) {
            bins[((utilization(segment) * BINS as f64) as usize).min(BINS - 1)] += 1;
        }
        let points = bins.iter().enumerate().map(|(at, &count)| (at as f64, f64::from(count)));
        let has_segments = !run.observation.segments.is_empty();
        let points = if has_segments { points.collect() } else { Vec::new() };
        Series { name: run.name.to_owned(), points, ..Series::default() }
    };
    let series: Vec<Series> = runs.iter().map(count).collect();
    let places = (0..BINS).map(|at| format!("{:.2}", at as f64 / BINS as f64)).collect();
    let axes = Axes {
        x_title: "utilization of a segment, from".to_owned(),
        y_title: "segments".to_owned(),
        places,
        is_time: false,
        has_zero: true,
    };
    Chart { caption: caption.to_owned(), svg: columns(caption, &axes, &series), data: by_place(&axes, &series) }
}

/// The distribution of segments by erase count.
pub fn erase_counts(caption: &str, runs: &[Named<'_>]) -> Chart {
    let all = || runs.iter().flat_map(|run| &run.observation.segments).map(|segment| segment.erases);
    let (low, high) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
    let step = (high - low + 1).div_ceil(ERASE_BINS);
    let bins = (high - low + 1).div_ceil(step);
    let count = |run: &Named<'_>| {
        let mut counts = vec![0_u32; bins as usize];
        run.observation.segments.iter().for_each(|segment| counts[((segment.erases - low) / step) as usize] += 1);
        let points = counts.iter().enumerate().map(|(at, &count)| (at as f64, f64::from(count)));
        let points = if run.observation.segments.is_empty() { Vec::new() } else { points.collect() };
        Series { name: run.name.to_owned(), points, ..Series::default() }
    };
    let series: Vec<Series> = runs.iter().map(count).collect();
    let axes = Axes {
        x_title: if step > 1 {
            format!("erases of a segment, from ({step} a column)")
        } else {
            "erases of a segment".to_owned()
        },
        y_title: "segments".to_owned(),
        places: (0..bins).map(|bin| (low + bin * step).to_string()).collect(),
        is_time: false,
        has_zero: true,
    };
    Chart { caption: caption.to_owned(), svg: columns(caption, &axes, &series), data: by_place(&axes, &series) }
}

/// Erases of every segment, in their order (Chiang '97, figure 9).
pub fn erases_by_segment(caption: &str, runs: &[Named<'_>]) -> Chart {
    let line = |run: &Named<'_>| {
        let points =
            run.observation.segments.iter().enumerate().map(|(at, segment)| (at as f64, f64::from(segment.erases)));
        Series { name: run.name.to_owned(), points: points.collect(), ..Series::default() }
    };
    let series: Vec<Series> = runs.iter().map(line).collect();
    let axes = Axes { x_title: "segment".to_owned(), y_title: "erases".to_owned(), ..Axes::default() };
    Chart { caption: caption.to_owned(), svg: lines(caption, &axes, &series), data: by_x(&axes.x_title, &series) }
}

/// The shares of each segment that were left as filled and that were rewritten (Kawaguchi '95, figures 9 and 10).
pub fn cold_blocks(caption: &str, run: &Named<'_>) -> Chart {
    let mut counts = vec![vec![0_u32; BINS]; BINS];
    let bin = |pages: u32, all: u32| ((f64::from(pages) / f64::from(all.max(1)) * BINS as f64) as usize).min(BINS - 1);
    for segment in run.observation.segments.iter().filter(|segment| is_used(segment)) {
        let touched = segment.valid_pages.saturating_sub(segment.untouched_pages);
        counts[bin(touched, segment.pages)][bin(segment.untouched_pages, segment.pages)] += 1;
    }
    let from = |at: usize| format!("{:.2}", at as f64 / BINS as f64);
    let mut rows = Vec::new();
    for (column, all) in counts.iter().enumerate() {
        for (row, count) in all.iter().enumerate().filter(|(_, count)| **count > 0) {
            rows.push(vec![from(column), from(row), count.to_string()]);
        }
    }
    let head = ["rewritten, from", "never written again, from", "segments"].map(str::to_owned).to_vec();
    let titles = ("ratio of blocks rewritten", "ratio of blocks never written again");
    Chart {
        caption: caption.to_owned(),
        svg: cells::grid(caption, titles.0, titles.1, &counts),
        data: Data::Table(head, rows),
    }
}

/// Every segment as a cell, by how full it is.
pub fn map_of_use(caption: &str, run: &Named<'_>) -> Chart {
    let segments = &run.observation.segments;
    let parts: Vec<Option<f64>> =
        segments.iter().map(|segment| is_used(segment).then(|| utilization(segment))).collect();
    Chart { caption: caption.to_owned(), svg: cells::map(caption, &parts, "empty", "full"), data: by_segment(segments) }
}

/// Every segment as a cell, by how often it was erased. The shades go from the least to the most erased segment of
/// `all` runs, so that their maps can be compared.
pub fn map_of_wear(caption: &str, run: &Named<'_>, all: &[Named<'_>]) -> Chart {
    let segments = &run.observation.segments;
    let erases = || all.iter().flat_map(|run| &run.observation.segments).map(|segment| segment.erases);
    let (low, high) = (erases().min().unwrap_or(0), erases().max().unwrap_or(0));
    let part = |segment: &SegmentUse| Some(f64::from(segment.erases - low) / f64::from((high - low).max(1)));
    let parts: Vec<Option<f64>> = segments.iter().map(part).collect();
    let svg = cells::map(caption, &parts, &format!("{low} erases"), &high.to_string());
    Chart { caption: caption.to_owned(), svg, data: by_segment(segments) }
}

fn by_segment(segments: &[SegmentUse]) -> Data {
    let mut text = "segment,valid_pages,untouched_pages,pages,erases\n".to_owned();
    for (at, s) in segments.iter().enumerate() {
        text.push_str(&format!("{at},{},{},{},{}\n", s.valid_pages, s.untouched_pages, s.pages, s.erases));
    }
    Data::Text(text)
}

/// Lines as CSV, one after the other, because their points may have different x values.
fn by_x(x_title: &str, series: &[Series]) -> Data {
    let mut text = format!("series,{x_title},value\n");
    for one in series {
        for &(x, y) in &one.points {
            text.push_str(&format!("{},{},{}\n", one.name.replace(',', ";"), figure(x), figure(y)));
        }
    }
    Data::Text(text)
}

/// Lines or columns as a table: a row for each place, with the half-width of the interval where there is one.
pub fn by_place(axes: &Axes, series: &[Series]) -> Data {
    let mut head = vec![axes.x_title.clone()];
    for one in series {
        head.push(one.name.clone());
        if !one.spread.is_empty() {
            head.push(format!("{}, ±", one.name));
        }
        if !one.published.is_empty() {
            head.push(format!("{}, published", one.name));
        }
    }
    let at = |points: &[(f64, f64)], place: usize| {
        let found = points.iter().find(|(x, _)| *x as usize == place);
        found.map(|(_, y)| figure(*y)).unwrap_or_default()
    };
    let row = |(place, name): (usize, &String)| {
        let mut cells = vec![name.clone()];
        for one in series {
            cells.push(at(&one.points, place));
            if !one.spread.is_empty() {
                let of = one.points.iter().position(|(x, _)| *x as usize == place);
                cells.push(of.and_then(|of| one.spread.get(of)).map(|half| figure(*half)).unwrap_or_default());
            }
            if !one.published.is_empty() {
                cells.push(at(&one.published, place));
            }
        }
        cells
    };
    Data::Table(head, axes.places.iter().enumerate().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(mib: u64, copied_pages: u64) -> Sample {
        Sample {
            host_bytes: mib << 20,
            sim_ns: mib * 1_000_000_000,
            host_pages: mib * 256,
            programmed_pages: mib * 256 + copied_pages,
            copied_pages,
            erases: mib,
            free_segments: 3,
        }
    }

    fn segment(valid_pages: u32, untouched_pages: u32, erases: u32) -> SegmentUse {
        SegmentUse { state: SegmentState::Closed, pages: 10, valid_pages, untouched_pages, erases }
    }

    fn observation() -> Observation {
        Observation {
            samples: vec![sample(0, 0), sample(1, 256), sample(2, 256)],
            latency_us: vec![(0.0, 10.0), (0.999, 500.0), (1.0, 900.0)],
            segments: vec![segment(10, 10, 3), segment(5, 0, 4), segment(5, 1, 4)],
        }
    }

    #[test]
    fn what_is_over_time_is_from_sample_to_sample() {
        let between =
            |what: OverTime, at: usize| what.between(&observation().samples[at], &observation().samples[at + 1]);
        assert_eq!(between(OverTime::WriteAmplification, 0), Some(2.0));
        assert_eq!(between(OverTime::WriteAmplification, 1), Some(1.0));
        assert_eq!(between(OverTime::Throughput, 0), Some(1024.0));
        assert_eq!(between(OverTime::CleaningCost, 0), Some(256.0));
    }

    #[test]
    fn every_segment_is_in_the_distributions() {
        let observation = observation();
        let run = || Named { name: "r", observation: &observation };
        let Data::Table(_, rows) = utilizations("u", &[run()]).data else { panic!("a table") };
        assert_eq!((rows[10][1].as_str(), rows[19][1].as_str()), ("2", "1"));
        let Data::Table(_, rows) = erase_counts("e", &[run()]).data else { panic!("a table") };
        assert_eq!(rows, [["3", "1"], ["4", "2"]].map(|row| row.map(str::to_owned).to_vec()));
        let Data::Table(_, rows) = cold_blocks("c", &run()).data else { panic!("a table") };
        assert_eq!(rows[0], ["0.00", "0.95", "1"].map(str::to_owned));
        let Data::Table(_, rows) = latencies("l", &[run()]).data else { panic!("a table") };
        assert_eq!(rows[1], ["p99.9", "500"].map(str::to_owned));
    }

    #[test]
    fn maps_of_wear_have_one_scale() {
        let worn = Observation { segments: vec![segment(1, 0, 40)], ..Observation::default() };
        let (worn, fresh) = (Named { name: "w", observation: &worn }, observation());
        let fresh = Named { name: "f", observation: &fresh };
        let svg = map_of_wear("m", &fresh, &[worn, Named { ..fresh }]).svg;
        assert!(svg.contains("class=\"h0\"") && !svg.contains("class=\"h7\" d"), "{svg}");
        assert!(svg.contains("3 erases") && svg.contains(">40<"));
    }

    #[test]
    fn what_was_not_observed_is_not_drawn() {
        let nothing = Observation::default();
        let run = || Named { name: "r", observation: &nothing };
        let charts = [
            over_time("t", OverTime::Throughput, &[run()]),
            latencies("l", &[run()]),
            utilizations("u", &[run()]),
            erase_counts("e", &[run()]),
            erases_by_segment("e", &[run()]),
            cold_blocks("c", &run()),
            map_of_use("m", &run()),
            map_of_wear("m", &run(), &[run()]),
        ];
        assert!(charts.iter().all(|chart| chart.svg.is_empty()));
    }
}
