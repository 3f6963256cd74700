//! The seed corpus, and blind mutations of it, for machines that cannot build libFuzzer.

use std::fs;
use std::path::Path;

use wearwell::Rng;
use wearwell_fuzz::TARGETS;

const MUTATIONS: u64 = 500;

/// Changes, removes, repeats or inserts bytes in a few places.
fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() as u32 + 1) as usize;
        let end = (at + 1 + rng.below(16) as usize).min(bytes.len());
        match rng.below(4) {
            0 if at < bytes.len() => bytes[at] = rng.below(256) as u8,
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => bytes.insert(at, rng.below(256) as u8),
        }
    }
}

#[test]
fn every_target_survives_its_corpus_and_mutations_of_it() {
    for (name, target) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        let mut files: Vec<_> = fs::read_dir(&folder).expect(name).map(|entry| entry.expect(name).path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has no seed");
        for file in files {
            let seed = fs::read(&file).expect(name);
            target(&seed);
            for number in 0..MUTATIONS {
                let mut bytes = seed.clone();
                mutate(&mut bytes, &mut Rng::new(number));
                target(&bytes);
            }
        }
    }
}
