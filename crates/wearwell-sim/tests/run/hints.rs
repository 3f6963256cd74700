//! `--hints read-only`: a host that says what it never writes again.

use wearwell::{Placement, VictimPolicy};
use wearwell_sim::engine::Layout;
use wearwell_sim::run::{RunConfig, RunError};

use crate::{assert_data_changes_nothing, config, refusal, report, with_engine};

#[test]
fn read_only_data_apart_saves_copies() {
    let base = with_engine(config("geometry:512:32:128", "scattered:100/40"), |engine| {
        engine.which = VictimPolicy::Cat;
        engine.place = Placement::HotColdReadonly;
        engine.logical_bytes = Some(1536 << 10);
    });
    let (silent, told) = (report(&base), report(&RunConfig { gives_hints: true, ..base.clone() }));
    assert!(!silent.config.hints && told.config.hints);
    assert_eq!(silent.host_pages, told.host_pages);
    assert!(told.copied_pages < silent.copied_pages, "{} of {}", told.copied_pages, silent.copied_pages);
    let on_nand = with_engine(base.clone(), |engine| engine.layout = Some(Layout::Nand));
    assert_data_changes_nothing(&RunConfig { gives_hints: true, write_bytes: Some(4 << 20), ..on_nand });
    let unlike = with_engine(base, |engine| engine.place = Placement::SeparateGc);
    let told = report(&RunConfig { gives_hints: true, ..unlike.clone() });
    assert_eq!(told.map_digest, report(&unlike).map_digest, "no other placement cares");
}

#[test]
fn a_program_gives_no_hints() {
    let phone = config("geometry:2048:64:192", "cell-phone");
    assert!(matches!(refusal(&RunConfig { gives_hints: true, ..phone }), RunError::HintsOfProgram));
}
