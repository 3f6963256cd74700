//! `wearwell chips` and `wearwell policies`: lists of names.

use std::io::IsTerminal;

use clap::Args;
use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};
use wearwell_emu::ChipProfile;
use wearwell_sim::arguments::{Choice, choices};

use crate::failure::Failure;
use crate::output::{self, Target};
use crate::text::bytes;

/// Arguments of the listings.
#[derive(Args)]
pub(crate) struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Lists the embedded chip profiles.
pub(crate) fn chips(args: &ListArgs) -> Result<(), Failure> {
    let chips = ChipProfile::all();
    if args.json {
        return Target::Stdout.write(&output::json(&chips)?);
    }
    let lines = chips.iter().map(|chip| format!("{}  {}\n", chip.name, chip.description));
    let mut table = table(&["chip", "kind", "capacity", "description"]);
    for chip in &chips {
        table.add_row([
            chip.name.clone(),
            chip.kind.to_string(),
            bytes(chip.physical_bytes() as f64),
            chip.description.clone(),
        ]);
    }
    // Programs that read this get lines, which are easier to split than a table.
    show(std::io::stdout().is_terminal().then_some(table), lines)
}

/// Lists all choices of flags by name.
pub(crate) fn policies(args: &ListArgs) -> Result<(), Failure> {
    let choices = choices();
    if args.json {
        return Target::Stdout.write(&output::json(&choices)?);
    }
    let about = |choice: &Choice| match choice.parameters.as_slice() {
        [] => choice.description.to_owned(),
        names => format!("{}; by name: {}=", choice.description, names.join("=, ")),
    };
    let lines = choices.iter().map(|c| format!("{}  {} {}\n", c.name, c.flag, about(c)));
    let mut table = table(&["flag", "name", "description"]);
    for choice in &choices {
        table.add_row([choice.flag, choice.name, &about(choice)]);
    }
    show(std::io::stdout().is_terminal().then_some(table), lines)
}

/// Lines above, below the head, and below.
const STYLE: TableStyle = {
    let line = LineStyle::none().fill('─').junction('─');
    TableStyle::new().top_border(line).header_separator(line).bottom_border(line)
};

/// An empty table with a head. Its lines are never broken.
pub(crate) fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head);
    table
}

/// Least width of the last column of a listing.
const LEAST_WIDTH: u16 = 24;

/// The table for a terminal. On a narrow terminal the lines of the last column are wrapped. None if the terminal is too
/// narrow for that.
fn narrow(mut table: Table) -> Option<Table> {
    table.set_content_arrangement(ContentArrangement::Dynamic);
    let columns = table.column_count();
    for column in table.column_iter_mut().take(columns - 1) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    // A blank on each side of a column.
    let widths = table.column_max_content_widths();
    let others: u16 = widths.iter().take(columns - 1).map(|width| width + 2).sum();
    table.width().is_none_or(|width| width >= others + LEAST_WIDTH).then_some(table)
}

/// Shows a table on a terminal that is wide enough, otherwise plain lines.
fn show(table: Option<Table>, lines: impl Iterator<Item = String>) -> Result<(), Failure> {
    let text = match table.and_then(narrow) {
        Some(table) => format!("{table}\n"),
        None => lines.collect(),
    };
    Target::Stdout.write(text.as_bytes())
}
