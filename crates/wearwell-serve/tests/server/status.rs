//! What is allocated, holes, streams, read-only exports.

use wearwell::Placement;
use wearwell_serve::disk::Disk;
use wearwell_serve::server::ServerConfig;

use crate::client::{BLOCK_STATUS, CACHE, Chunk, Client, FAST_ZERO, READ, TRIM, WRITE_ZEROES};
use crate::running::{Running, small};

const PAGE: u32 = 2048;
const REQ_ONE: u16 = 8;
const DF: u16 = 4;

#[test]
fn extents_follow_what_was_written_and_trimmed() {
    let server = Running::memory(&small());
    let mut client = Client::connect_structured(&server.socket, "");
    client.write(u64::from(PAGE) * 4, &vec![1; 6 * PAGE as usize]).unwrap();
    client.command(0, TRIM, u64::from(PAGE) * 6 - 10, PAGE * 2 + 20).unwrap();
    let cookie = client.send(0, BLOCK_STATUS, 100, PAGE * 12 - 100, b"");
    let extents = vec![(PAGE * 4 - 100, 3), (PAGE * 2, 0), (PAGE * 2, 3), (PAGE * 2, 0), (PAGE * 2, 3)];
    assert_eq!(client.chunks(cookie), [Chunk::Status(extents)]);
    let cookie = client.send(REQ_ONE, BLOCK_STATUS, u64::from(PAGE) * 4, PAGE * 8, b"");
    assert_eq!(client.chunks(cookie), [Chunk::Status(vec![(PAGE * 2, 0)])]);
    let cookie = client.send(0, BLOCK_STATUS, server.bytes - 1, 2, b"");
    assert_eq!(client.chunks(cookie), [Chunk::Error(22)]);
}

#[test]
fn long_holes_are_chunks_unless_a_read_must_be_whole() {
    let server = Running::memory(&small());
    let mut client = Client::connect_structured(&server.socket, "");
    client.write(65_536, &[7; PAGE as usize]).unwrap();
    let cookie = client.send(0, READ, 0, 65_536 + PAGE + 100, b"");
    let [hole, data] = &client.chunks(cookie)[..] else { panic!("two chunks") };
    assert_eq!(*hole, Chunk::Hole(0, 65_536));
    assert_eq!(*data, Chunk::Data(65_536, [vec![7; PAGE as usize], vec![0; 100]].concat()));
    let cookie = client.send(DF, READ, 0, 65_536 + PAGE, b"");
    let whole = Chunk::Data(0, [vec![0; 65_536], vec![7; PAGE as usize]].concat());
    assert_eq!(client.chunks(cookie), [whole]);
    let cookie = client.send(DF, READ, 3, 10_000, b"");
    assert_eq!(client.chunks(cookie), [Chunk::Hole(3, 10_000)]);
    let cookie = client.send(0, READ, 3, 0, b"");
    assert_eq!(client.chunks(cookie), []);
}

#[test]
fn zeroes_are_fast_where_a_page_is_discarded() {
    let server = Running::memory(&small());
    let mut client = Client::connect(&server.socket, "");
    assert_eq!(client.command(FAST_ZERO, WRITE_ZEROES, 10, PAGE * 2), Ok(()));
    assert_eq!(client.command(FAST_ZERO, WRITE_ZEROES, 10, PAGE), Err(95));
}

#[test]
fn requests_for_nothing_do_nothing() {
    let server = Running::memory(&small());
    let mut client = Client::connect(&server.socket, "");
    for offset in [0, 100, u64::from(PAGE), server.bytes] {
        assert_eq!(client.write(offset, b""), Ok(()));
        assert_eq!(client.read(offset, 0), Ok(vec![]));
        for kind in [TRIM, CACHE, WRITE_ZEROES] {
            assert_eq!(client.command(0, kind, offset, 0), Ok(()), "{kind} at {offset}");
        }
    }
}

#[test]
fn aliases_reach_the_engine_as_streams() {
    let mut config = small();
    config.engine.place = Placement::parse("by-stream").unwrap();
    let server = Running::memory(&config);
    for (alias, page) in [("", 0), ("@stream=1", 1), ("@stream=2", 2)] {
        let mut client = Client::connect(&server.socket, alias);
        client.write(u64::from(PAGE) * page, &[1; PAGE as usize]).unwrap();
    }
    let rows = server.engine.access().unwrap().disk().segments();
    let mut classes: Vec<_> = rows.iter().filter(|row| row.valid_pages > 0).filter_map(|row| row.class).collect();
    classes.sort_unstable();
    classes.dedup();
    assert_eq!(classes.len(), 3, "each stream writes to a segment of its own: {rows:?}");
}

#[test]
fn a_read_only_export_reads() {
    let config = ServerConfig { is_read_only: true, export: "disk".to_owned(), ..ServerConfig::default() };
    let server = Running::start(Disk::memory(&small()).unwrap(), config);
    let mut client = Client::connect(&server.socket, "disk");
    assert_eq!(client.write(0, &[1; 512]), Err(1));
    assert_eq!(client.command(0, TRIM, 0, 512), Err(1));
    assert_eq!(client.command(0, WRITE_ZEROES, 0, 512), Err(1));
    assert_eq!(client.read(0, 512), Ok(vec![0; 512]));
}
