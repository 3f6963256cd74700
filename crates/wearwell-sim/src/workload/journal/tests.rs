use std::collections::BTreeSet;

use super::*;

const RANGE_BYTES: u64 = 64 << 20;

fn settings(text: &str) -> Journal {
    Journal::parse(text).expect(text)
}

fn workload(text: &str, seed: u64) -> JournalWorkload {
    JournalWorkload::new(settings(text), RANGE_BYTES, seed).expect(text)
}

/// The requests of `transactions` transactions.
fn requests(text: &str, seed: u64, transactions: usize) -> Vec<Request> {
    let mut workload = workload(text, seed);
    (0..transactions).flat_map(|_| workload.transact().to_vec()).collect()
}

fn blocks(request: &Request) -> std::ops::Range<u64> {
    request.offset_bytes / BLOCK_BYTES..request.end_bytes() / BLOCK_BYTES
}

#[test]
fn a_transaction_is_data_then_journal_then_commit() {
    let mut workload = workload("mode=ordered,op=random-write,request=16KiB,sync=2", 1);
    let journal = workload.layout.journal;
    let found: Vec<_> = workload.transact().iter().map(|r| (r.op, r.length_bytes / BLOCK_BYTES, r.stream)).collect();
    let (w, f) = (Op::Write, Op::Flush);
    assert_eq!(found, [(w, 4, 0), (w, 4, 0), (w, 2, 1), (f, 0, 0), (w, 1, 1), (f, 0, 0)]);
    let second = workload.transact().to_vec();
    assert_eq!(second[2].offset_bytes / BLOCK_BYTES, journal.start + 1 + 3, "behind the first transaction");
    assert!(second[..2].iter().all(|r| r.offset_bytes / BLOCK_BYTES >= journal.start + journal.blocks));
}

#[test]
fn data_through_the_journal_goes_home_later() {
    let found = requests("mode=data,op=random-write,request=64KiB,journal=4MiB", 1, 40);
    let journal = workload("journal=4MiB", 1).layout.journal;
    let is_home = |r: &&Request| r.op == Op::Write && r.stream == HOME_STREAM;
    assert!(found.iter().filter(|r| r.stream == JOURNAL_STREAM).all(|r| blocks(r).start >= journal.start));
    // 1,023 blocks hold 53 transactions of 19.
    assert_eq!(found.iter().filter(is_home).count(), 0);
    let found = requests("mode=data,op=random-write,request=64KiB,journal=4MiB", 1, 54);
    let homes: u64 = found.iter().filter(is_home).map(|r| r.length_bytes / BLOCK_BYTES).sum();
    // A quarter of the ring, 255 blocks, less the 16 free ones: 13 transactions. Their inode is in later ones, too.
    assert_eq!(homes, 13 * 16);
}

#[test]
fn the_ring_is_overwritten_in_order_from_end_to_end() {
    for mode in ["ordered", "data"] {
        let text = format!("mode={mode},op=write,request=64KiB,journal=4MiB");
        let journal = workload(&text, 1).layout.journal;
        let mut next = 0;
        for request in requests(&text, 3, 2000).iter().filter(|r| r.stream == JOURNAL_STREAM) {
            for block in blocks(request).filter(|&block| block != journal.start) {
                assert_eq!(block, journal.start + 1 + next);
                next = (next + 1) % (journal.blocks - 1);
            }
        }
    }
}

/// Every block that is logged goes home before the ring is written over it.
#[test]
fn nothing_in_the_ring_is_lost() {
    let mut ring = Ring::new(Run { start: 100, blocks: 41 });
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut not_home = BTreeSet::new();
    for _ in 0..1000 {
        let mut logged: Vec<u64> = (0..3).map(|_| u64::from(below(rng.next_u64(), 30))).collect();
        logged.dedup();
        for run in ring.make_room(logged.len() as u64) {
            assert!((run.start..run.start + run.blocks).all(|block| not_home.remove(&block)));
        }
        let _ = ring.append(&logged);
        not_home.extend(logged);
        assert!(ring.not_home().eq(not_home.iter().copied()));
    }
}

#[test]
fn hints_change_streams_only_and_the_seed_the_rest() {
    for text in ["op=write,request=4KiB", "mode=data,op=random-write,request=8KiB,sync=3,journal=4MiB"] {
        let on = requests(text, 1, 3000);
        let off = requests(&format!("{text},hints=off"), 1, 3000);
        assert!(on.iter().any(|r| r.stream == JOURNAL_STREAM) && off.iter().all(|r| r.stream == 0));
        let bare: Vec<_> = on.iter().map(|r| Request { stream: 0, ..*r }).collect();
        assert_eq!(bare, off);
        assert_ne!(on, requests(text, 2, 3000));
    }
}

#[test]
fn a_file_is_written_whole() {
    for op in ["write", "random-write"] {
        let mut workload = workload(&format!("op={op},request=64KiB,sync=5"), 7);
        let first_file = workload.layout.file(0);
        let mut written = Vec::new();
        // 128 requests of a file are 25 transactions of five and one of three.
        for _ in 0..26 {
            let data = workload.transact().iter().filter(|r| r.op == Op::Write && r.stream == HOME_STREAM);
            written.extend(data.flat_map(blocks).filter(|&block| block >= first_file));
        }
        let in_order = written.is_sorted();
        written.sort_unstable();
        written.dedup();
        assert_eq!((written.len() as u64, in_order), (FILE_BLOCKS, op == "write"));
        assert_eq!((written[0] - first_file) % FILE_BLOCKS, 0);
    }
}

#[test]
fn the_volume_holds_as_many_files_as_fit() {
    let all = workload("request=4KiB", 1);
    assert_eq!(all.files(), 5, "64 MiB less the journal of 16 and some metadata");
    assert_eq!(workload("files=3", 1).files(), 3);
    let refused = JournalWorkload::new(settings("files=6"), RANGE_BYTES, 1).err();
    assert!(matches!(refused, Some(WorkloadError::Volume { range_bytes: RANGE_BYTES, .. })), "{refused:?}");
    let refused = JournalWorkload::new(settings("files=1"), 16 << 20, 1).err();
    assert!(matches!(refused, Some(WorkloadError::Volume { .. })), "{refused:?}");
}

#[test]
fn aging_overwrites_the_data_and_nothing_else() {
    let mut workload = workload("age=50%,files=1", 1);
    let data = workload.layout.data();
    assert_eq!(data.start + data.blocks, RANGE_BYTES / BLOCK_BYTES);
    assert_eq!(workload.aging_steps(), data.blocks.div_ceil(2 * AGING_STEP));
    let aged: BTreeSet<u64> = workload.age().to_vec().iter().flat_map(blocks).collect();
    assert!(aged.iter().all(|block| (data.start..data.start + data.blocks).contains(block)));
    assert!(aged.len() > 900 && aged.last().is_some_and(|&last| last > data.start + data.blocks * 9 / 10));
}
