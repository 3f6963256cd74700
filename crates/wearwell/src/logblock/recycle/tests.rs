use super::*;

#[test]
fn equilibrium_is_half_a_block_whatever_the_times() {
    for costs in [Costs::LEE_TABLE_1, Costs { erase: 2000.0, copy: 225.0 }, Costs { erase: 1.0, copy: 900.0 }] {
        for pages in [32, 64, 128, 256] {
            let (half, merge) = (pages / 2, merge_cost(pages, costs));
            assert!((migration_cost(pages, half, costs) / merge - 1.0).abs() < 1e-12, "section 4: p = N_p / 2");
            let migrates = |live| Recycling::CostBased.migrates(full(pages, live, 0), costs);
            assert!(migrates(half - 1) && !migrates(half + 1));
        }
    }
}

#[test]
fn the_papers_example_migrates_49_times() {
    let costs = Costs::LEE_TABLE_1;
    assert_eq!(optimal_migrations(128, 0.1, costs), 49);
    let ratio = sequence_cost(128, 0.1, 49.0, costs) / merge_cost(128, costs);
    assert!((0.045..0.055).contains(&ratio), "section 6.1: W(49) is only 5 % of W_merge; here {ratio}");
}

#[test]
fn the_sequence_cost_is_the_sum_of_its_parts() {
    // Section 5: C_mig of the k-th migration, and d_k pages before it.
    let (pages, costs) = (128, Costs::LEE_TABLE_1);
    for growth in [0.05, 0.3, 1.0, 4.0] {
        for n in 0..12 {
            let spent: f64 = (1..=n).map(|k| growth * f64::from(k) * costs.copy + costs.erase).sum();
            let gained: f64 = (1..=n + 1).map(|k| f64::from(pages) - growth * f64::from(k - 1)).sum();
            let expected = (spent + merge_cost(pages, costs) * f64::from(pages)) / gained;
            let w = sequence_cost(pages, growth, f64::from(n), costs);
            assert!((w / expected - 1.0).abs() < 1e-12, "alpha {growth}, n {n}: {w}, not {expected}");
        }
    }
}

#[test]
fn the_closed_form_is_the_brute_force_minimum() {
    let chips =
        [(128, Costs::LEE_TABLE_1), (64, Costs { erase: 2000.0, copy: 288.0 }), (32, Costs { erase: 2.0, copy: 9.0 })];
    for (pages, costs) in chips {
        for step in 1..2000 {
            let growth = f64::from(step) * 0.05;
            let cost = |n: u32| sequence_cost(pages, growth, f64::from(n), costs);
            let best = (0..4000).map(cost).fold(f64::INFINITY, f64::min);
            let n0 = optimal_migrations(pages, growth, costs);
            assert!(
                cost(n0) <= best * (1.0 + 1e-12),
                "{pages} pages, alpha {growth}: W({n0}) = {}, not {best}",
                cost(n0)
            );
        }
    }
}

#[test]
fn without_a_positive_root_a_log_block_is_merged_at_once() {
    let optimal = Recycling::Optimal;
    // Section 6.2: a format has left half of the log block live.
    assert_eq!(optimal_migrations(128, 64.0, Costs::LEE_TABLE_1), 0);
    assert!(!optimal.migrates(full(128, 64, 0), Costs::LEE_TABLE_1));
    assert!(optimal.migrates(full(128, 0, 70_000), Costs::LEE_TABLE_1), "nothing to copy: no reason to merge");
}

#[test]
fn a_full_log_block_without_room_is_always_merged() {
    let periodic = [None, Some(20)].map(|limit| Recycling::Periodic { limit });
    for policy in [Recycling::MergeOnly, Recycling::CostBased, Recycling::Optimal].into_iter().chain(periodic) {
        assert!(!policy.migrates(full(64, 64, 0), Costs::LEE_TABLE_1), "{policy:?}");
    }
    let periodic = Recycling::Periodic { limit: None };
    assert!(periodic.migrates(full(128, 5, 63), Costs::LEE_TABLE_1));
    assert!(!periodic.migrates(full(128, 5, 64), Costs::LEE_TABLE_1), "N_p / 2 by default");
}

fn full(pages: u32, live: u32, migrations: u32) -> FullLog {
    FullLog { pages, live, migrations }
}
