//! Runs of a journaling file system: its two streams, hints, wrong hints, and the inferred journal.

use wearwell::Placement;
use wearwell_sim::engine::{AwareMode, DataMode, Engine, Layout, StreamSource};
use wearwell_sim::run::{Report, RunConfig, RunError, run};
use wearwell_sim::workload::WorkloadError;

use crate::{assert_data_changes_nothing, config, refusal, report, with_engine};

/// 48 MiB of flash, 42 MiB for the host: a volume with a journal of 4 MiB and three files.
fn journal(parameters: &str) -> RunConfig {
    let fill = Some("90%".parse().expect("a percentage"));
    let base = config("geometry:2048:64:384", &format!("journal:journal=4MiB,files=3,{parameters}"));
    with_engine(RunConfig { fill, write_bytes: Some(60 << 20), ..base }, |e| {
        e.place = Placement::ByStream;
    })
}

#[test]
fn a_journaling_file_system_writes_to_two_streams() {
    let report = report(&journal("op=random-write,request=8KiB"));
    assert_eq!((report.config.unit, report.config.wrong_streams.as_str()), (None, "0%"));
    assert!((60 << 20..61 << 20).contains(&report.host_bytes), "{report:?}");
    assert_eq!(report.live_pages, report.config.fill_pages, "all of it lies in what was filled");
    let [home, journal] = report.streams[..] else { panic!("{:?}", report.streams) };
    assert_eq!((home.id, journal.id), (0, 1));
    assert_eq!(home.host_pages + journal.host_pages, report.host_pages);
    // For 8 KiB home, 12 KiB in the journal: descriptor, inode, commit block.
    let ratio = journal.host_pages as f64 / home.host_pages as f64;
    assert!((1.45..1.51).contains(&ratio), "{ratio}");
}

#[test]
fn without_hints_there_is_one_stream_and_placement_by_stream_is_single() {
    let bare = report(&journal("op=write,request=16KiB,hints=off"));
    let single = report(&with_engine(journal("op=write,request=16KiB"), |e| {
        e.place = Placement::Single;
    }));
    assert_eq!(bare.map_digest, single.map_digest);
    assert_eq!((bare.streams.len(), single.streams.len()), (1, 2));
    let tagged = report(&journal("op=write,request=16KiB"));
    assert_eq!(tagged.host_pages, single.host_pages);
    assert!(tagged.copied_pages < single.copied_pages, "{} {}", tagged.copied_pages, single.copied_pages);
}

#[test]
fn wrong_streams_change_streams_and_no_request() {
    let base = journal("op=random-write,request=8KiB");
    let right = report(&base);
    let wrong = report(&RunConfig { wrong_streams: "20%".parse().expect("a percentage"), ..base.clone() });
    assert_eq!((wrong.config.wrong_streams.as_str(), wrong.host_pages), ("20%", right.host_pages));
    assert_ne!(wrong.streams, right.streams);
    assert!(wrong.copied_pages > right.copied_pages, "{} {}", wrong.copied_pages, right.copied_pages);
    let bare = RunConfig { write_bytes: Some(1 << 20), ..config("geometry:2048:64:384", "random") };
    let wrong = report(&RunConfig { wrong_streams: "50%".parse().expect("a percentage"), ..bare.clone() });
    assert_eq!((wrong.map_digest, wrong.streams), (report(&bare).map_digest, report(&bare).streams));
}

#[test]
fn stored_data_changes_no_number_of_a_journaling_file_system() {
    for parameters in ["mode=data,op=random-write,request=64KiB,sync=2", "op=write,request=4KiB"] {
        let base = with_engine(journal(parameters), |e| {
            e.layout = Some(Layout::Nand);
        });
        assert_data_changes_nothing(&base);
    }
}

#[test]
fn log_blocks_of_their_own_are_for_streams_and_by_name() {
    let on = |ftl, hints| {
        let base = journal(&format!("op=random-write,request=8KiB,age=0%,{hints}"));
        report(&with_engine(RunConfig { write_bytes: Some(8 << 20), ..base }, |e| e.ftl = ftl))
    };
    let bare = on(Engine::Fast, "hints=off");
    assert_eq!(on(Engine::Fast, "hints=on").map_digest, bare.map_digest, "fast does not look at streams");
    assert_eq!(on(Engine::FastByStream, "hints=off").map_digest, bare.map_digest, "one stream shares as all do");
    let own = on(Engine::FastByStream, "hints=on");
    assert_eq!(own.host_pages, bare.host_pages);
    assert_ne!(own.map_digest, bare.map_digest, "streams have log blocks of their own");
}

#[test]
fn a_journal_is_found_without_a_word_of_the_host() {
    let timed = |parameters: &str| {
        let base = with_engine(journal(&format!("op=write,request=16KiB,{parameters}")), |e| {
            e.layout = Some(Layout::Plain);
        });
        RunConfig { data: DataMode::Stored, host_us_per_page: 100.0, ..base }
    };
    let blind = report(&timed("hints=off"));
    let told = report(&timed("hints=on"));
    let inferred = with_engine(timed("hints=off"), |e| {
        e.aware = AwareMode::Strict;
        e.streams = StreamSource::Inferred;
    });
    let found = report(&inferred);
    assert_eq!((found.host_pages, found.streams.len()), (told.host_pages, 1), "the host names none");
    let gain = |report: &Report| blind.copied_pages as f64 - report.copied_pages as f64;
    assert!(gain(&told) > 0.0 && gain(&found) > 0.8 * gain(&told), "{} of {}", gain(&found), gain(&told));
    let refused =
        run(&with_engine(inferred, |e| e.streams = StreamSource::Host), None, &mut ()).expect_err("nothing dies");
    assert!(matches!(refused, RunError::NothingToInfer { .. }), "{refused}");
}

#[test]
fn a_volume_without_room_for_its_journal_is_refused() {
    let base = RunConfig { fill: Some("5%".parse().expect("a percentage")), ..journal("op=write") };
    assert!(matches!(refusal(&base), RunError::Workload(WorkloadError::Volume { .. })));
}
