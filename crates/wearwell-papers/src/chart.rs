//! The charts of a table: those that its file describes, as the paper drew them.

use wearwell_sim::charts::observed::{self, Named, OverTime, by_place};
use wearwell_sim::charts::plot::{Axes, Series, columns, lines};
use wearwell_sim::charts::{Chart, Data, figure};

use crate::experiment::{ChartKind, ChartSpec, Place};
use crate::report::{RowResult, TableResult};

/// A chart as the paper has it.
pub(crate) fn drawn(result: &TableResult, spec: &ChartSpec) -> Chart {
    let rows: Vec<&RowResult> =
        result.rows.iter().filter(|row| row.series.is_some() && row.name.starts_with(&spec.rows)).collect();
    match spec.kind {
        ChartKind::Lines | ChartKind::Columns => of_figures(&rows, spec),
        ChartKind::File => of_file(spec),
        _ => observed(&rows, spec),
    }
}

/// Runs with their names in a chart.
fn named<'a>(rows: &[&'a RowResult]) -> Vec<Named<'a>> {
    let of = |row: &&'a RowResult| {
        Some(Named { name: row.series.as_deref().unwrap_or(&row.name), observation: row.observation.as_ref()? })
    };
    rows.iter().filter_map(of).collect()
}

/// A chart of observed runs.
fn observed(rows: &[&RowResult], spec: &ChartSpec) -> Chart {
    let caption = &format!("{} (the run with the first seed)", spec.title);
    let runs = named(rows);
    match (spec.kind, runs.first()) {
        (ChartKind::Throughput, _) => observed::over_time(caption, OverTime::Throughput, &runs),
        (ChartKind::Utilization, _) => observed::utilizations(caption, &runs),
        (ChartKind::Erases, _) => observed::erases_by_segment(caption, &runs),
        (ChartKind::Cold, Some(run)) => observed::cold_blocks(caption, run),
        (ChartKind::Map, Some(run)) => observed::map_of_use(caption, run),
        _ => Chart { caption: caption.to_owned(), svg: String::new(), data: Data::Text(String::new()) },
    }
}

/// A figure of rows over their places.
fn of_figures(rows: &[&RowResult], spec: &ChartSpec) -> Chart {
    let title = spec.column().map_or("", |column| column.title);
    let places = places(rows);
    let axes = Axes {
        x_title: spec.x_title.clone(),
        y_title: title.to_owned(),
        places,
        is_time: false,
        has_zero: spec.kind == ChartKind::Columns,
    };
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        let (Some(name), Some(item)) = (&row.series, row.items.iter().find(|item| Some(item.column) == spec.column()))
        else {
            continue;
        };
        let at = series.iter().position(|one| one.name == *name).unwrap_or_else(|| {
            series.push(Series { name: name.clone(), ..Series::default() });
            series.len() - 1
        });
        let Some(x) = x_of(row, &axes) else { continue };
        if let Some(measured) = item.finding.measured {
            series[at].points.push((x, measured.mean));
            series[at].spread.push(measured.half);
        }
        series[at].published.extend(item.finding.published.map(|published| (x, published)));
    }
    let caption = format!("{}{}", spec.title, of_seeds(rows));
    let svg = match spec.kind {
        ChartKind::Columns => columns(&caption, &axes, &series),
        _ => lines(&caption, &axes, &series),
    };
    let data = if axes.places.is_empty() { by_number(&axes, &series) } else { by_place(&axes, &series) };
    Chart { caption, svg, data }
}

/// How many seeds the figures of a chart are of; nothing for one. A row without random draws has the same with two.
fn of_seeds(rows: &[&RowResult]) -> String {
    let measured = rows.iter().flat_map(|row| &row.items).filter_map(|item| item.finding.measured);
    match measured.map(|measured| measured.runs).max() {
        Some(seeds @ 3..) => format!(" (means over {seeds} seeds, with 95 % confidence intervals)"),
        _ => String::new(),
    }
}

/// The names of the rows' places, in order; empty if the places are numbers.
fn places(rows: &[&RowResult]) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for row in rows {
        if let Some(Place::Name(name)) = &row.x
            && !places.contains(name)
        {
            places.push(name.clone());
        }
    }
    places
}

fn x_of(row: &RowResult, axes: &Axes) -> Option<f64> {
    match row.x.as_ref()? {
        Place::Number(number) => Some(*number),
        Place::Name(name) => axes.places.iter().position(|place| place == name).map(|at| at as f64),
    }
}

/// Lines as a table: a row for each number on the axis.
fn by_number(axes: &Axes, series: &[Series]) -> Data {
    let mut numbers: Vec<f64> = series.iter().flat_map(|one| &one.points).map(|point| point.0).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let places = numbers.iter().map(|&number| figure(number)).collect();
    let at = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        let place = |&(x, y): &(f64, f64)| Some((numbers.iter().position(|number| *number == x)? as f64, y));
        points.iter().filter_map(place).collect()
    };
    let placed = |one: &Series| Series { points: at(&one.points), published: at(&one.published), ..one.clone() };
    let series: Vec<Series> = series.iter().map(placed).collect();
    by_place(&Axes { places, ..axes.clone() }, &series)
}

/// Series from a file of comma-separated values, whose first column is the axis.
fn of_file(spec: &ChartSpec) -> Chart {
    let mut records = spec.text.lines().filter(|line| !line.starts_with('#'));
    let titles: Vec<&str> = records.next().unwrap_or_default().split(',').collect();
    let mut series: Vec<Series> =
        titles.iter().skip(1).map(|name| Series { name: name.replace('_', " "), ..Series::default() }).collect();
    for record in records {
        let numbers: Vec<f64> = record.split(',').map_while(|field| field.trim().parse().ok()).collect();
        let Some((&x, rest)) = numbers.split_first() else { continue };
        for (one, &y) in series.iter_mut().zip(rest) {
            // A value that does not change is one segment of a line, however long it is.
            if let [.., before, last] = &mut one.points[..]
                && before.1 == y
                && last.1 == y
            {
                last.0 = x;
            } else {
                one.points.push((x, y));
            }
        }
    }
    if let Some(first) = series.first_mut() {
        first.published = spec.points.iter().map(|&[x, y]| (x, y)).collect();
    }
    let y_title = spec.y_title.clone();
    let axes = Axes { x_title: spec.x_title.clone(), y_title, ..Axes::default() };
    Chart { caption: spec.title.clone(), svg: lines(&spec.title, &axes, &series), data: Data::Text(spec.text.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_numbers_is_a_line_for_each_column() {
        let spec = ChartSpec { text: "# made\nn,a_b\n0,1\n1,1\n2,1\n3,4\n".to_owned(), ..ChartSpec::default() };
        let svg = of_file(&spec).svg;
        assert_eq!(svg.matches("class=\"l0\"").count(), 1);
        assert_eq!(svg.matches("class=\"c0\"").count(), 3, "what does not change has two ends");
    }
}
