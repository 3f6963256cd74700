//! Histories as text, and changes of those that are kept.

use fastrand::Rng;
use wearwell_torture::history::Step;
use wearwell_torture::mode::{MODES, NEAR};
use wearwell_torture::near::{SOURCES, draw, kept};
use wearwell_torture::setup::{Driver, Setup};
use wearwell_torture::text::{COLUMNS, as_test, history, read_history};
use wearwell_torture::torture;

#[test]
fn what_is_written_is_read_again() {
    for mode in MODES {
        for seed in 0..3 {
            let (rig, record) = torture(mode, seed);
            for driver in Driver::ALL {
                let setup = Setup { driver, ..rig.setup };
                assert_eq!(setup.to_string().parse(), Ok(setup));
            }
            assert_eq!(read_history(&history(&record.history)).as_ref(), Ok(&record.history));
            let test = as_test("name", &rig.setup, &record.history);
            assert!(test.lines().all(|line| line.len() <= COLUMNS), "{test}");
            let literals: Vec<&str> = test.split('"').collect();
            assert_eq!(literals[1].parse(), Ok(rig.setup));
            assert_eq!(read_history(literals[3]), Ok(record.history));
        }
    }
}

#[test]
fn a_step_is_short() {
    let write = |page, count, stream, read_only| Step::Write { page, count, stream, read_only };
    let steps = [write(55, 1, 0, false), write(208, 3, 2, true), Step::Mount, Step::Mount, Step::Decay { draw: 4 }];
    assert_eq!(history(&steps), "write 55 208+3@2!, mount, mount, decay 4");
}

#[test]
fn what_cannot_be_read_is_named() {
    let unknown = |text: &str| read_history(text).map_err(|error| (error.number, error.text));
    assert_eq!(unknown("mount, write 5 6x"), Err((3, "write 6x".to_owned())));
    assert_eq!(unknown("mount 5"), Err((1, "mount 5".to_owned())));
    assert_eq!(unknown("flush,"), Err((2, String::new())));
    assert_eq!(unknown("discard 5@1"), Err((1, "discard 5@1".to_owned())));
    let setup = |text: &str| text.parse::<Setup>().map_err(|error| error.to_string());
    let chip = "nor block-bytes=4096 blocks=8 banks=1 logical-pages=5 endurance=5 seed=5 paged cache-entries=2";
    assert_eq!(setup(chip), Err("the setup does not say blocks-per-segment".to_owned()));
    let rest = |word: &str| setup(&format!("{chip} {word}"));
    assert_eq!(
        rest("blocks-per-segment=x"),
        Err("the setup has blocks-per-segment=x, which cannot be read".to_owned())
    );
    assert_eq!(rest("blocks-per-segment=1 dies=2"), Err("the setup has a word too many: \"dies\"".to_owned()));
    assert_eq!(rest("paged"), Err("the setup has a word too many: \"paged\"".to_owned()));
}

#[test]
fn every_kept_history_can_be_read() {
    // `main.rs` is a source itself, and `open.rs` is none.
    assert_eq!(SOURCES.len(), SOURCES[0].matches("\nmod ").count(), "each file of `tests/regressions`");
    let told: usize = SOURCES.iter().map(|source| source.matches("() {\n    assert_holds(\n").count()).sum();
    assert_eq!(kept().len(), told);
    assert!(told > 250, "{told} histories");
}

#[test]
fn a_seed_is_one_history_and_most_differ_from_what_is_kept() {
    for mode in NEAR {
        let draw = |seed| draw(&mut Rng::with_seed(seed), mode);
        let texts = |(setup, steps): (Setup, Vec<Step>)| (setup.to_string(), history(&steps));
        assert_eq!(texts(draw(7)), texts(draw(7)), "{}", mode.name);
        let is_kept = |steps: &Vec<Step>| kept().iter().any(|kept| steps.starts_with(&kept.steps));
        let same = (0..100).filter(|&seed| is_kept(&draw(seed).1)).count();
        assert!(same < 30, "{}: {same} of 100 are as they were", mode.name);
    }
}
