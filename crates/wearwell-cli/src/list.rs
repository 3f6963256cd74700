//! `wearwell chips` and `wearwell policies`: what there is.

use std::io::IsTerminal;

use clap::Args;
use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};
use serde::Serialize;
use wearwell::logblock::RecycleSpec;
use wearwell::{PlaceSpec, ReclaimSpec, WearSpec, WhenSpec, WhichSpec};
use wearwell_emu::ChipProfile;
use wearwell_sim::engine::{Engine, Layout};
use wearwell_sim::workload::WORKLOADS;

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
    if !std::io::stdout().is_terminal() {
        let lines = chips.iter().map(|chip| format!("{}  {}\n", chip.name, chip.description));
        return Target::Stdout.write(lines.collect::<String>().as_bytes());
    }
    let mut table = table(&["chip", "kind", "capacity", "description"]);
    for chip in &chips {
        table.add_row([
            chip.name.clone(),
            chip.kind.to_string(),
            bytes(chip.physical_bytes() as f64),
            chip.description.clone(),
        ]);
    }
    Target::Stdout.write(format!("{}\n", narrow(table)).as_bytes())
}

/// Something that can be chosen.
#[derive(Serialize)]
struct Choice {
    flag: &'static str,
    name: &'static str,
    description: &'static str,
}

fn choices() -> Vec<Choice> {
    let lists: [(&str, &[(&str, &str)]); 9] = [
        ("--ftl", Engine::LIST),
        ("--layout", Layout::LIST),
        ("--when", WhenSpec::LIST),
        ("--which", WhichSpec::LIST),
        ("--where", PlaceSpec::LIST),
        ("--wear", WearSpec::LIST),
        ("--recycle", RecycleSpec::LIST),
        ("--reclaim", ReclaimSpec::LIST),
        ("--workload", &WORKLOADS),
    ];
    let of_list = |(flag, list): (&'static str, &'static [(&'static str, &'static str)])| {
        list.iter().map(move |&(name, description)| Choice { flag, name, description })
    };
    lists.into_iter().flat_map(of_list).collect()
}

/// Lists everything that a flag chooses by name.
pub(crate) fn policies(args: &ListArgs) -> Result<(), Failure> {
    let choices = choices();
    if args.json {
        return Target::Stdout.write(&output::json(&choices)?);
    }
    if !std::io::stdout().is_terminal() {
        let lines = choices.iter().map(|c| format!("{}  {} {}\n", c.name, c.flag, c.description));
        return Target::Stdout.write(lines.collect::<String>().as_bytes());
    }
    let mut table = table(&["flag", "name", "description"]);
    for choice in &choices {
        table.add_row([choice.flag, choice.name, choice.description]);
    }
    Target::Stdout.write(format!("{}\n", narrow(table)).as_bytes())
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

/// On a narrow terminal, breaks the lines of the last column only.
fn narrow(mut table: Table) -> Table {
    table.set_content_arrangement(ContentArrangement::Dynamic);
    let columns = table.column_count();
    for column in table.column_iter_mut().take(columns - 1) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    table
}
