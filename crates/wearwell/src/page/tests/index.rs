//! The index and the pool alone: what they know of a segment follows from the map.

use alloc::vec;
use alloc::vec::Vec;

use super::{Below, LOGICAL_PAGES, SEGMENTS, SLOTS, cleaner, put};
use crate::addr::{Lpn, Seg};
use crate::clean::which::{VictimChoice, VictimPolicy};
use crate::random::Rng;
use crate::segments::SegState;

/// Invariant 1, and what the pool keeps of the segments.
fn check(below: &Below) {
    let index = below.alloc().index();
    let mut valid = vec![0; SEGMENTS as usize];
    for at in (0..LOGICAL_PAGES).map(|lpn| index.place_of(Lpn(lpn))).filter(|at| at.is_some()) {
        valid[index.slots().segment_of(at).0 as usize] += 1;
    }
    let table = index.pool().table();
    for (seg, valid) in table.all().zip(valid) {
        assert_eq!(table.valid(seg), valid, "{seg:?}");
        let is_empty = matches!(table.state(seg), SegState::Closed(_)) && valid == 0;
        assert_eq!(index.pool().empties().any(|empty| empty == seg), is_empty, "{seg:?}");
        let is_candidate = matches!(table.state(seg), SegState::Closed(_)) && (1..SLOTS).contains(&valid);
        assert_eq!(table.is_candidate(seg), is_candidate, "{seg:?}");
    }
}

#[test]
fn valid_pages_are_those_that_the_map_points_to() {
    let mut below = cleaner();
    let mut rng = Rng::new(1);
    for _ in 0..40 {
        let lpn = Lpn(rng.below(LOGICAL_PAGES));
        let alloc = below.alloc_mut();
        let at = alloc.index().place_of(lpn);
        if at.is_some() && rng.below(4) == 0 {
            alloc.discard(lpn, at).expect("a map in memory does not fail");
            assert!(!alloc.index().place_of(lpn).is_some());
        } else {
            assert!(put(&mut below, lpn.0), "segments are free");
        }
        check(&below);
    }
    assert!(below.alloc().index().dead().total() > 0, "something was discarded");
}

#[test]
fn empty_segments_are_taken_in_their_order_but_for_those_kept() {
    let mut below = cleaner();
    for _ in 0..4 * SLOTS {
        assert!(put(&mut below, 0), "segments are free");
    }
    let empties: Vec<Seg> = below.alloc().pool().empties().collect();
    assert_eq!(empties.len(), 3, "all but the last one");
    let pool = below.alloc_mut().pool_mut();
    assert_eq!(pool.take_empty_but(&empties[..1]), Some(empties[1]));
    assert_eq!(pool.take_empty_but(&[]), Some(empties[0]));
    pool.take_this_empty(empties[2]);
    assert!(!pool.has_empties());
}

#[test]
fn a_victim_policy_is_told_of_what_was_closed_before_it() {
    let mut below = cleaner();
    for page in (0..SLOTS).chain([0, 1]) {
        assert!(put(&mut below, page), "segments are free");
    }
    let (clock, mut rng) = (below.alloc().index().clock().for_ages(), Rng::new(1));
    let pool = below.alloc_mut().pool_mut();
    let victim = pool.best_victim(clock, &mut rng).expect("the first segment lost two pages");
    assert_eq!(pool.table().valid(victim), SLOTS - 2);
    pool.set_victims(VictimPolicy::Fifo.build(SEGMENTS, SLOTS));
    assert_eq!(pool.best_victim(clock, &mut rng), Some(victim));
    pool.choose(victim);
    assert_eq!(pool.best_victim(clock, &mut rng), None, "it is the victim already");
    pool.spare(victim);
    assert_eq!(pool.best_victim(clock, &mut rng), Some(victim));
}
