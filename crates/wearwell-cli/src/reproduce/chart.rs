//! The charts of an experiment: those that its file describes as the paper drew them, and bars of every column.

use super::evaluate::{ExperimentResult, RowResult, Verdict};
use super::experiment::{ChartKind, ChartSpec, Column, Place};
use crate::report::bars::{Bar, Group, bars};
use crate::report::observed::{self, Named, OverTime, by_place};
use crate::report::plot::{Axes, Series, columns, lines};
use crate::report::{Chart, Data, figure};

/// A chart as the paper has it.
pub(crate) fn drawn(result: &ExperimentResult, spec: &ChartSpec) -> Chart {
    let rows: Vec<&RowResult> = result.rows.iter().filter(|row| spec.takes(&row.name, row.series.as_deref())).collect();
    match spec.kind {
        ChartKind::Lines | ChartKind::Columns => of_figures(&rows, spec),
        ChartKind::File => of_file(spec),
        _ => observed(&rows, spec),
    }
}

/// Runs with what to call them in a chart.
fn named<'a>(rows: &[&'a RowResult]) -> Vec<Named<'a>> {
    let of = |row: &&'a RowResult| {
        Some(Named { name: row.series.as_deref().unwrap_or(&row.name), observation: row.observation.as_ref()? })
    };
    rows.iter().filter_map(of).collect()
}

/// A chart of how runs went.
fn observed(rows: &[&RowResult], spec: &ChartSpec) -> Chart {
    let (runs, caption) = (named(rows), &*spec.title);
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
    let axes = Axes { x_title: spec.x_title.clone(), y_title: title.to_owned(), places, is_log: false, has_zero: true };
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        let (Some(name), Some(item)) =
            (&row.series, row.figures.iter().find(|item| Some(item.figure) == spec.figure.as_deref()))
        else {
            continue;
        };
        let at = series.iter().position(|one| one.name == *name).unwrap_or_else(|| {
            series.push(Series { name: name.clone(), ..Series::default() });
            series.len() - 1
        });
        let Some(x) = x_of(row, &axes) else { continue };
        series[at].points.extend(item.measured.map(|measured| (x, measured)));
        series[at].published.extend(item.published.map(|published| (x, published)));
    }
    let svg = match spec.kind {
        ChartKind::Columns => columns(&spec.title, &axes, &series),
        _ => lines(&spec.title, &axes, &series),
    };
    let data = if axes.places.is_empty() { by_number(&axes, &series) } else { by_place(&axes, &series) };
    Chart { caption: spec.title.clone(), svg, data }
}

/// The names of the rows' places, in their order; nothing if these are numbers.
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
    let placed =
        |one: &Series| Series { name: one.name.clone(), points: at(&one.points), published: at(&one.published) };
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
            // What does not change is one line, however long it is.
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

/// Bars of a column, published beside measured; empty if none of the rows has a figure.
pub(crate) fn column(result: &ExperimentResult, column: &Column, data: String) -> Chart {
    let groups: Vec<Group> = result.rows.iter().filter_map(|row| group(row, column)).collect();
    let svg = bars(&format!("{}: {}", result.title, column.title), &groups);
    Chart { caption: column.title.to_owned(), svg, data: Data::Rows(data) }
}

fn group(row: &RowResult, column: &Column) -> Option<Group> {
    let item = row.figures.iter().find(|item| item.figure == column.name)?;
    let mut bars = Vec::new();
    if let Some(value) = item.published.filter(|value| value.is_finite()) {
        bars.push(Bar { class: "published", value, text: item.published_text() });
    }
    if let Some(value) = item.measured.filter(|value| value.is_finite()) {
        let class = if item.verdict == Some(Verdict::Unexplained) { "off" } else { "measured" };
        bars.push(Bar { class, value, text: column.shown(Some(value)) });
    }
    let mark = if row.sensitivity { "↳ " } else { "" };
    (!bars.is_empty()).then(|| Group { label: format!("{mark}{}", row.name), bars })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::evaluate::tests::result;

    #[test]
    fn a_row_has_a_bar_for_what_was_published_and_one_for_what_was_measured() {
        let rows = "[[row]]\nname = 'a'\nargs = ''\nseeds = [1]\npublished = { erases = 100 }\n\
                    [[row]]\nname = 'b'\nargs = ''\nseeds = [1]\n[[row]]\nname = 'c'\nargs = ''\nseeds = [1]";
        let result = result(rows, &[&[("erases", 150.0)], &[("erases", 50.0)], &[]]);
        let svg = column(&result, result.columns[0], String::new()).svg;
        let count = |what: &str| svg.matches(what).count();
        assert_eq!((count("class=\"published\""), count("class=\"off\""), count("class=\"measured\"")), (1, 1, 1));
        assert_eq!(count("class=\"label\""), 2, "what was not measured has no bars");
        assert_eq!(column(&result, result.columns[1], String::new()).svg, "");
    }

    #[test]
    fn rows_with_a_place_make_lines() {
        let row = |name: &str, more: &str| format!("[[row]]\nname = '{name}'\nargs = ''\nseeds = [1]\n{more}\n");
        let rows = row("low", "series = 's'\nx = 10\npublished = { erases = 5 }")
            + &row("high", "series = 's'\nx = 90")
            + &row("other", "");
        let chart = "[[chart]]\ntitle = 'Figure 1'\nkind = 'lines'\nfigure = 'erases'\nx_title = 'filled, %'\n";
        let result = result(&(rows + chart), &[&[("erases", 4.0)], &[("erases", 40.0)], &[("erases", 400.0)]]);
        let chart = drawn(&result, &result.charts[0]);
        assert_eq!(chart.svg.matches("class=\"c0\"").count(), 3, "two points and the legend's");
        let Data::Table(head, rows) = chart.data else { panic!("a table") };
        assert_eq!(head, ["filled, %", "s", "s, published"]);
        assert_eq!(rows, [["10", "4", "5"], ["90", "40", ""]]);
    }

    #[test]
    fn a_file_of_numbers_is_a_line_for_each_column() {
        let spec = ChartSpec { text: "# made\nn,a_b\n0,1\n1,1\n2,1\n3,4\n".to_owned(), ..ChartSpec::default() };
        let svg = of_file(&spec).svg;
        assert_eq!(svg.matches("class=\"l0\"").count(), 1);
        assert_eq!(svg.matches("class=\"c0\"").count(), 3, "what does not change has two ends");
    }
}
