//! How a server stops, and what the image holds then.

use wearwell_serve::disk::Disk;
use wearwell_serve::server::ServerConfig;

use crate::client::{Client, FLUSH, FUA, WRITE};
use crate::running::{Running, small};

#[test]
fn what_was_received_is_answered_and_the_image_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("disk.ww");
    drop(Disk::create(&image, &small()).unwrap());
    let server = Running::start(Disk::open(&image).unwrap().0, ServerConfig::default());
    let mut idle = Client::connect(&server.socket, "");
    let mut busy = Client::connect(&server.socket, "");
    let cookies: Vec<u64> = (0..50_u8).map(|i| busy.send(0, WRITE, u64::from(i) * 2048, 2048, &[i; 2048])).collect();
    server.tell_to_stop();
    for cookie in cookies {
        assert_eq!(busy.reply(cookie, 0), Ok(vec![]));
    }
    assert_eq!((busy.rest(), idle.rest()), (vec![], vec![]));
    let (served, ends) = server.stop();
    served.unwrap();
    assert_eq!(ends, ["the server stops"; 2]);
    let (mut disk, found) = Disk::open(&image).unwrap();
    assert!(found.clean, "{found:?}");
    for i in 0..50_u8 {
        let mut page = [0xff; 2048];
        disk.read(u64::from(i) * 2048, &mut page).unwrap();
        assert_eq!(page, [i; 2048]);
    }
}

#[test]
fn flushed_and_forced_writes_of_all_connections_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let (image, copy) = (folder.path().join("disk.ww"), folder.path().join("copy.ww"));
    drop(Disk::create(&image, &small()).unwrap());
    let server = Running::start(Disk::open(&image).unwrap().0, ServerConfig::default());
    let mut first = Client::connect(&server.socket, "");
    let mut second = Client::connect(&server.socket, "@stream=5");
    first.write(1000, b"by the first").unwrap();
    second.write(300_000, b"by the second").unwrap();
    second.command(0, FLUSH, 0, 0).unwrap();
    let cookie = first.send(FUA, WRITE, 500_000, 6, b"forced");
    first.reply(cookie, 0).unwrap();
    // What a kill at this moment would leave.
    std::fs::copy(&image, &copy).unwrap();
    drop(server);
    let (mut disk, found) = Disk::open(&copy).unwrap();
    assert!(!found.clean);
    for (offset, data) in [(1000, &b"by the first"[..]), (300_000, b"by the second"), (500_000, b"forced")] {
        let mut found = vec![0; data.len()];
        disk.read(offset, &mut found).unwrap();
        assert_eq!(found, data);
    }
}
