//! The figures that papers publish, and their source in a run's report.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Where a figure comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Origin {
    /// A field of the report, a JSON pointer.
    Report(&'static str),
    /// One field over another, or over one if that is zero.
    Ratio(&'static str, &'static str),
    /// One field over the sum of itself and another, in percent.
    Share(&'static str, &'static str),
    /// A field in bytes, shown in KiB.
    Kib(&'static str),
    /// A field that is in percent already.
    Percent(&'static str),
    /// The change of another figure against that of the row named by `against`, in percent.
    ChangeOf(&'static str),
}

/// The names of the figures that a run counts only if they are wanted.
pub(crate) const COLD_BLOCKS: &str = "cold_blocks";
pub(crate) const THRESHOLD_BLOCKS: &str = "threshold_blocks";

/// A figure with a name.
#[derive(Debug, PartialEq)]
pub(crate) struct Column {
    /// As rows and `columns` name it.
    pub(crate) name: &'static str,
    /// The title for readers.
    pub(crate) title: &'static str,
    /// Digits behind the point.
    digits: usize,
    origin: Origin,
}

const fn column(name: &'static str, title: &'static str, digits: usize, origin: Origin) -> Column {
    Column { name, title, digits, origin }
}

/// Every figure that the papers publish, and those that the matrix shows.
pub(crate) const COLUMNS: [Column; 41] = [
    column("erases", "erases", 0, Origin::Report("/erases")),
    column("copied_pages", "copied pages", 0, Origin::Report("/copied_pages")),
    column("throughput_kib_s", "throughput, KiB/s", 1, Origin::Report("/throughput_kib_s")),
    column("stddev", "erase count, standard deviation", 2, Origin::Report("/erase_count/stddev")),
    column("merges", "merges", 0, Origin::Report("/merges")),
    column("migrations", "migrations", 0, Origin::Report("/migrations")),
    column("cleanings", "cleanings", 0, Origin::Report("/cleanings")),
    column("folds", "folds", 0, Origin::Report("/folds")),
    column("copies_per_cleaning", "copies per cleaning", 1, Origin::Ratio("/copied_pages", "/cleanings")),
    column("copies_per_erase", "copies per erase", 1, Origin::Ratio("/copied_pages", "/erases")),
    column("copied_share_percent", "copies among writes, %", 1, Origin::Share("/copied_pages", "/host_pages")),
    column("host_pages", "written pages", 0, Origin::Report("/host_pages")),
    column("wa", "WA", 2, Origin::Report("/wa_data")),
    column("time_s", "time, s", 1, Origin::Report("/sim_seconds")),
    column("erases_max", "most erases of a segment", 0, Origin::Report("/erase_count/max")),
    column("latency_p999_us", "latency, p99.9, µs", 0, Origin::Report("/latency_us/p999")),
    column("write_us", "write time of a page, µs", 0, Origin::Report("/write_us_per_page")),
    column("reclaimed_blocks", "blocks reclaimed early", 0, Origin::Report("/reclaimed_blocks")),
    column("time_change_percent", "change of time, %", 1, Origin::ChangeOf("time_s")),
    column("erases_change_percent", "change of erases, %", 1, Origin::ChangeOf("erases")),
    column("copied_change_percent", "change of copied pages, %", 1, Origin::ChangeOf("copied_pages")),
    column("throughput_change_percent", "change of throughput, %", 1, Origin::ChangeOf("throughput_kib_s")),
    column("wa_change_percent", "change of WA, %", 1, Origin::ChangeOf("wa")),
    column("folds_change_percent", "change of folds, %", 1, Origin::ChangeOf("folds")),
    column("write_change_percent", "change of write time, %", 1, Origin::ChangeOf("write_us")),
    column("cleanings_change_percent", "change of cleanings, %", 1, Origin::ChangeOf("cleanings")),
    column("make_s", "make folders, s", 2, Origin::Report("/andrew/phases_s/0")),
    column("copy_s", "copy, s", 2, Origin::Report("/andrew/phases_s/1")),
    column("stat_s", "stat, s", 2, Origin::Report("/andrew/phases_s/2")),
    column("read_s", "read, s", 2, Origin::Report("/andrew/phases_s/3")),
    column("compile_s", "compile, s", 2, Origin::Report("/andrew/phases_s/4")),
    column("run_s", "all phases, s", 2, Origin::Report("/andrew/run_s")),
    column("flash_s", "of it for flash, s", 2, Origin::Report("/andrew/flash_s")),
    column("used_percent", "file system used, %", 1, Origin::Percent("/andrew/used_percent")),
    column("sequence_ratio", "cost against merges alone", 3, Origin::Ratio("/sequence_ms", "/merge_ms")),
    column("growth", "copied pages per migration, α", 3, Origin::Ratio("/copied_pages", "/migration")),
    column("lowest_at", "lowest at", 0, Origin::Report("/lowest_at")),
    column(COLD_BLOCKS, "cold blocks", 0, Origin::Report("/cold_blocks")),
    column(THRESHOLD_BLOCKS, "threshold, invalid blocks", 0, Origin::Report("/threshold_blocks")),
    column("memory_kib", "memory, KiB", 0, Origin::Kib("/config/table_bytes")),
    column("life_days", "life at this load, days", 0, Origin::Report("/andrew/life_days")),
];

impl Column {
    /// The figure of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        COLUMNS.iter().find(|column| column.name == name)
    }

    /// True if the figure is a share or a change in percent, whose deviations are in points.
    pub(crate) fn is_share(&self) -> bool {
        matches!(self.origin, Origin::Share(..) | Origin::Percent(_) | Origin::ChangeOf(_))
    }

    /// True if the figure is a change against another row.
    pub(crate) fn is_change(&self) -> bool {
        matches!(self.origin, Origin::ChangeOf(_))
    }

    /// The deviation of a measured figure: in points if it is a share, otherwise in percent of the published figure.
    pub(crate) fn deviation(&self, published: f64, measured: f64) -> f64 {
        match () {
            () if self.is_share() => measured - published,
            // Nothing happened, and nothing should have.
            () if published == measured => 0.0,
            () => (measured / published - 1.0) * 100.0,
        }
    }

    /// The difference between two figures. It is in points for shares and changes, whose sign a percentage could
    /// reverse, otherwise in percent.
    pub(crate) fn difference(&self, figure: f64, than: f64) -> f64 {
        if self.is_share() { figure - than } else { change_percent(figure, than) }
    }

    /// The unit of deviations and differences.
    pub(crate) fn unit(&self) -> &'static str {
        if self.is_share() { "points" } else { "%" }
    }

    /// A measured figure as text.
    pub(crate) fn shown(&self, value: f64) -> String {
        let digits = self.digits;
        if self.is_change() { format!("{value:+.digits$}") } else { format!("{value:.digits$}") }
    }
}

/// Figures by the names of their columns.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
pub(crate) struct Figures(pub(crate) BTreeMap<String, f64>);

impl Figures {
    pub(crate) fn get(&self, column: &Column) -> Option<f64> {
        self.0.get(column.name).copied()
    }

    /// Reads a report of `wearwell run`.
    pub(crate) fn of_report(report: &Value) -> Self {
        let field = |pointer| report.pointer(pointer).and_then(Value::as_f64);
        let figure = |column: &Column| {
            let figure = match column.origin {
                Origin::Report(pointer) | Origin::Percent(pointer) => field(pointer)?,
                Origin::Kib(pointer) => field(pointer)? / 1024.0,
                Origin::Ratio(part, whole) => field(part)? / field(whole)?.max(1.0),
                Origin::Share(part, rest) => 100.0 * field(part)? / (field(part)? + field(rest)?).max(1.0),
                Origin::ChangeOf(_) => return None,
            };
            Some((column.name.to_owned(), figure))
        };
        Self(COLUMNS.iter().filter_map(figure).collect())
    }

    /// The same, with the changes against another run's figures.
    pub(crate) fn against(mut self, base: &Self) -> Self {
        for column in &COLUMNS {
            if let Origin::ChangeOf(of) = column.origin
                && let (Some(figure), Some(base)) = (self.0.get(of), base.0.get(of))
            {
                let change = change_percent(*figure, *base);
                self.0.insert(column.name.to_owned(), change);
            }
        }
        self
    }

    /// The mean figures of several rows, for the figures that all of them have.
    pub(crate) fn mean_of(all: &[&Self]) -> Self {
        let mean = |column: &Column| {
            let sum: Option<f64> = all.iter().map(|figures| figures.get(column)).sum();
            Some((column.name.to_owned(), sum? / all.len() as f64))
        };
        Self(COLUMNS.iter().filter_map(mean).collect())
    }
}

/// The difference of a figure from `base`, in percent of `base`.
pub(crate) fn change_percent(figure: f64, base: f64) -> f64 {
    if figure == base { 0.0 } else { (figure / base - 1.0) * 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(figures: &Figures, name: &str) -> Option<f64> {
        figures.get(Column::named(name).unwrap())
    }

    #[test]
    fn figures_come_from_the_report() {
        let report = serde_json::json!({
            "erases": 10, "copied_pages": 30, "host_pages": 10, "cleanings": 0, "throughput_kib_s": null,
            "erase_count": { "stddev": 1.5 }, "sim_seconds": 8.0
        });
        let figures = Figures::of_report(&report);
        let found = ["erases", "copies_per_erase", "copies_per_cleaning", "copied_share_percent", "stddev"];
        assert_eq!(found.map(|name| get(&figures, name).unwrap()), [10.0, 3.0, 30.0, 75.0, 1.5]);
        assert_eq!(get(&figures, "throughput_kib_s"), None);
    }

    #[test]
    fn changes_are_against_a_row_and_means_over_rows() {
        let of = |erases: u32| Figures::of_report(&serde_json::json!({ "erases": erases }));
        let half = of(50).against(&of(100));
        assert_eq!(get(&half, "erases_change_percent"), Some(-50.0));
        assert_eq!(get(&of(0).against(&of(0)), "erases_change_percent"), Some(0.0));
        let mean = Figures::mean_of(&[&half, &of(100).against(&of(100))]);
        assert_eq!((get(&mean, "erases"), get(&mean, "erases_change_percent")), (Some(75.0), Some(-25.0)));
    }

    #[test]
    fn deviations_are_in_percent_or_in_points() {
        let off = |name: &str, published, measured| Column::named(name).unwrap().deviation(published, measured);
        assert!((off("erases", 100.0, 90.0) + 10.0).abs() < 1e-9);
        assert_eq!(off("erases", 0.0, 0.0), 0.0);
        assert_eq!(off("copied_share_percent", 70.0, 65.0), -5.0);
        let more = |name: &str, figure, than| Column::named(name).unwrap().difference(figure, than);
        assert_eq!(more("erases", 150.0, 100.0), 50.0);
        assert_eq!(more("time_change_percent", -8.0, -12.0), 4.0, "less of a gain is more time");
    }
}
