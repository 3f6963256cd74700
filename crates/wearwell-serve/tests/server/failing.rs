//! Peers and chips that misbehave, and what it does to others: nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use wearwell_emu::{BitErrors, Faults};
use wearwell_serve::disk::{Disk, DiskConfig};
use wearwell_serve::server::{ControlCommand, Endpoint, Notice, Server, ServerConfig, ask};

use crate::client::{Client, FLUSH, READ, WRITE, greeted, option};
use crate::running::{Ends, Running, small};

#[test]
fn garbage_ends_its_own_connection() {
    let server = Running::memory(&small());
    let mut other = Client::connect(&server.socket, "");
    other.write(0, b"still here").unwrap();
    let tries: [(&dyn Fn() -> UnixStream, &str); 4] = [
        (
            &|| {
                let mut stream = UnixStream::connect(&server.socket).unwrap();
                stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
                stream
            },
            "the client set the handshake flags 0x47455420, of which only 0x3 are known",
        ),
        (
            &|| {
                let mut stream = greeted(&server.socket);
                stream.write_all(b"GET / HTTP/1.1").unwrap();
                stream
            },
            "an option begins with 0x474554202f204854",
        ),
        (
            &|| {
                let mut stream = greeted(&server.socket);
                stream.write_all(&option(1, b"no such disk")).unwrap();
                stream
            },
            "there is no such export",
        ),
        (
            &|| {
                let mut client = Client::connect(&server.socket, "");
                let cookie = client.send(0, FLUSH, 0, 0, b"");
                client.stream.write_all(b"garbage").unwrap();
                assert_eq!(client.reply(cookie, 0), Ok(vec![]), "what came before it is answered");
                client.stream
            },
            "a request begins with 0x67617262",
        ),
    ];
    for (ended, (connect, end)) in tries.into_iter().enumerate() {
        let _stream = connect();
        assert_eq!(server.ends(ended + 1).last().unwrap(), end);
        assert_eq!(other.read(0, 10).unwrap(), b"still here");
    }
}

#[test]
fn who_disappears_leaves_nothing_behind() {
    let server = Running::memory(&small());
    let mut other = Client::connect(&server.socket, "");
    let mut client = Client::connect(&server.socket, "");
    let done = client.send(0, WRITE, 0, 4, b"done");
    client.reply(done, 0).unwrap();
    client.send(0, WRITE, 0, 100_000, b"half a request");
    drop(client);
    assert_eq!(server.ends(1), ["the client disappeared in the middle of a message"]);
    drop(greeted(&server.socket));
    assert_eq!(server.ends(2)[1], "the client has gone");
    assert_eq!(other.read(0, 4).unwrap(), b"done");
}

#[test]
fn who_only_knocks_has_gone_as_others_do() {
    let server = Running::memory(&small());
    for knocks in 1..=20 {
        drop(UnixStream::connect(&server.socket).unwrap());
        assert_eq!(server.ends(knocks).last().unwrap(), "the client has gone");
    }
}

#[test]
fn one_client_too_many_is_closed_and_told_of() {
    let server = Running::memory(&small());
    let mut clients: Vec<Client> = (0..256).map(|_| Client::connect(&server.socket, "")).collect();
    let mut refused = UnixStream::connect(&server.socket).unwrap();
    let mut said = Vec::new();
    refused.read_to_end(&mut said).unwrap();
    assert!(said.is_empty());
    assert_eq!(server.ends(1), ["refused, since there are 256 already"]);
    clients[255].write(0, b"served").unwrap();
    drop(clients.pop());
    server.ends(2);
    assert_eq!(Client::connect(&server.socket, "").read(0, 6).unwrap(), b"served");
}

#[test]
fn silent_strangers_lock_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, control) = (folder.path().join("sock"), folder.path().join("ctl"));
    let mut server = Server::new(Disk::memory(&small()).unwrap(), ServerConfig::default()).unwrap();
    server.listen(&Endpoint::Unix(socket.clone())).unwrap();
    server.listen_control(&control).unwrap();
    let Endpoint::Tcp(page) = server.listen_http("127.0.0.1:0".parse().unwrap()).unwrap() else { panic!("no TCP") };
    let stopper = server.stopper();
    let ends = Ends::default();
    let heard = ends.clone();
    let thread = std::thread::spawn(move || server.serve(&|notice: &Notice<'_>| heard.hear(notice)));

    let mut first = Client::connect(&socket, "");
    let strangers: Vec<_> = (0..300).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let onlookers: Vec<_> = (0..40).map(|_| TcpStream::connect(page).unwrap()).collect();
    first.write(0, b"still here").unwrap();
    assert_eq!(Client::connect(&socket, "").read(0, 10).unwrap(), b"still here");
    ask(&control, &ControlCommand::Stats).unwrap();
    let mut browser = TcpStream::connect(page).unwrap();
    browser.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut told = String::new();
    browser.read_to_string(&mut told).unwrap();
    assert!(told.starts_with("HTTP/1.1 200"), "{told}");
    drop((strangers, onlookers));
    stopper.stop();
    thread.join().unwrap().unwrap();
    let displaced = ends.so_far().iter().filter(|end| end.starts_with("closed for a newer one")).count();
    assert!(displaced >= 300 - 32, "{displaced}");
}

#[test]
fn who_reads_nothing_holds_up_nobody() {
    let server = Running::memory(&DiskConfig::of_size(64 << 20).unwrap());
    let mut slow = Client::connect(&server.socket, "");
    for _ in 0..64 {
        slow.send(0, READ, 0, 32 << 20, b"");
    }
    let mut other = Client::connect(&server.socket, "");
    for _ in 0..100 {
        other.write(0, b"quick").unwrap();
        assert_eq!(other.read(0, 5).unwrap(), b"quick");
    }
    drop(slow);
    assert_eq!(server.ends(1), ["the client disappeared in the middle of a message"]);
}

#[test]
fn a_chip_that_loses_data_or_takes_no_more_is_an_error_of_that_request() {
    let lossy =
        BitErrors { base: 1000.0, per_cycle: 0.0, per_read: 0.0, per_hour: 0.0, correctable_bits: 1, refresh_bits: 1 };
    let server = Running::memory(&small());
    let mut client = Client::connect(&server.socket, "");
    client.write(0, &[1; 100_000]).unwrap();
    server.engine.access().unwrap().disk_mut().inject(Faults { bit_errors: Some(lossy), ..Faults::default() }).unwrap();
    assert_eq!(client.read(0, 2048), Err(5));
    assert_eq!(client.read(200_000, 5), Ok(vec![0; 5]), "the connection goes on");
    let mut structured = Client::connect_structured(&server.socket, "");
    let cookie = structured.send(0, READ, 0, 2048, b"");
    assert_eq!(structured.chunks(cookie), [crate::client::Chunk::Error(5)]);

    let worn = Running::start(Disk::memory(&small()).unwrap(), ServerConfig::default());
    let mut client = Client::connect(&worn.socket, "");
    client.write(0, b"before").unwrap();
    worn.engine.access().unwrap().disk_mut().inject(Faults { program_fail_rate: 1.0, ..Faults::default() }).unwrap();
    let error = (0..1000).find_map(|page| client.write(4096 + page * 2048, &[2; 2048]).err());
    assert_eq!(error, Some(28));
    assert_eq!(client.read(0, 6).unwrap(), b"before");
}
