//! The page and the metrics, beside a disk that is served.

use std::io::{Read, Write};
use std::net::TcpStream;

use wearwell::Placement;
use wearwell_serve::disk::Disk;
use wearwell_serve::server::{Endpoint, Server, ServerConfig};

use crate::client::Client;
use crate::running::small;

/// The state of the disk, with the history after a time.
fn state_after(page: &Endpoint, after_us: u64) -> serde_json::Value {
    let answer = get(page, &format!("GET /state.json?after={after_us} HTTP/1.1\r\n\r\n"));
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn get(endpoint: &Endpoint, request: &str) -> String {
    let Endpoint::Tcp(address) = endpoint else { panic!("{endpoint}") };
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

#[test]
fn a_browser_sees_which_streams_have_written_where() {
    let folder = tempfile::tempdir().unwrap();
    let (path, socket) = (folder.path().join("disk.ww"), folder.path().join("sock"));
    let mut config = small();
    config.engine.place = Placement::parse("by-stream").unwrap();
    let mut disk = Disk::create(&path, &config).unwrap();
    disk.write(0, &[1; 2048], 40).unwrap();
    disk.shutdown().unwrap();
    drop(disk);
    let (disk, _) = Disk::open(&path).unwrap();
    let mut server = Server::new(disk, ServerConfig::default()).unwrap();
    server.listen(&Endpoint::Unix(socket.clone())).unwrap();
    let page = server.listen_http("127.0.0.1:0".parse().unwrap()).unwrap();
    let (engine, stopper) = (server.engine(), server.stopper());
    let engine_bytes = engine.access().unwrap().disk().bytes();
    let thread = std::thread::spawn(move || server.serve(&|_| ()));
    for (alias, at) in [("@stream=3", 2048), ("@stream=9", 4096), ("@stream=700", 8192)] {
        Client::connect(&socket, alias).write(at, &[7; 2048]).unwrap();
    }
    let state = get(&page, "GET /state.json HTTP/1.1\r\n\r\n");
    let state: serde_json::Value = serde_json::from_str(state.split_once("\r\n\r\n").unwrap().1).unwrap();
    let classes = serde_json::json!({"0": [null, []], "1": [null, [3]], "2": [null, [9]], "3": [null, [700]]});
    assert_eq!(state["classes"], classes, "what wrote before the mount is not known");
    assert_eq!((&state["name"], &state["capacity_bytes"]), (&"disk.ww".into(), &engine_bytes.into()));
    let rows = engine.access().unwrap().disk().segments();
    for (stream, class) in [(3, 1), (9, 2), (700, 3)] {
        assert!(rows.iter().any(|row| row.class == Some(class) && row.valid_pages == 1), "{stream}: {rows:?}");
    }
    stopper.stop();
    thread.join().unwrap().unwrap();
    drop(engine);
    let (mut disk, _) = Disk::open_private(&path).unwrap();
    assert!(disk.inspect().classes.iter().all(|class| class.streams.is_empty()));
    disk.write(0, &[7; 2048], 12).unwrap();
    disk.flush().unwrap();
    assert!(disk.inspect().classes.iter().any(|class| class.streams == [12]));
}

#[test]
fn what_the_disk_did_is_still_there_after_a_reload() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("sock");
    let mut server = Server::new(Disk::memory(&small()).unwrap(), ServerConfig::default()).unwrap();
    server.listen(&Endpoint::Unix(socket.clone())).unwrap();
    let page = server.listen_http("127.0.0.1:0".parse().unwrap()).unwrap();
    let stopper = server.stopper();
    let thread = std::thread::spawn(move || server.serve(&|_| ()));
    let mut client = Client::connect(&socket, "");
    client.write(0, &[7; 8192]).unwrap();
    assert_eq!(client.read(0, 100), Ok(vec![7; 100]));
    let sum = |state: &serde_json::Value, name: &str| -> u64 {
        state["history"].as_array().unwrap().iter().map(|row| row[name].as_u64().unwrap()).sum()
    };
    let first = loop {
        let state = state_after(&page, 0);
        if sum(&state, "requests") == 2 {
            break state;
        }
        std::thread::yield_now();
    };
    assert_eq!((sum(&first, "written_bytes"), sum(&first, "read_bytes"), &first["clients"]), (8192, 100, &1.into()));
    let again = state_after(&page, 0);
    assert_eq!(again["history"][0], first["history"][0], "another browser sees the same");
    let last_us = first["history"].as_array().unwrap().last().unwrap()["at_us"].as_u64().unwrap();
    assert_eq!(sum(&state_after(&page, last_us), "requests"), 0, "only what came since");
    stopper.stop();
    thread.join().unwrap().unwrap();
}

#[test]
fn a_browser_sees_the_disk_and_garbage_sees_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("sock");
    let mut server = Server::new(Disk::memory(&small()).unwrap(), ServerConfig::default()).unwrap();
    server.listen(&Endpoint::Unix(socket.clone())).unwrap();
    assert!(server.listen_http("0.0.0.0:0".parse().unwrap()).is_err(), "only this machine");
    let page = server.listen_http("127.0.0.1:0".parse().unwrap()).unwrap();
    let stopper = server.stopper();
    let thread = std::thread::spawn(move || server.serve(&|_| ()));
    let mut client = Client::connect(&socket, "@stream=5");
    client.write(0, &[7; 8192]).unwrap();

    let shown = get(&page, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(shown.starts_with("HTTP/1.1 200 OK\r\n") && shown.contains("<title>wearwell</title>"));
    assert!(!shown.contains("http://") && !shown.contains("https://"), "nothing from elsewhere");
    let metrics = get(&page, "GET /metrics HTTP/1.1\r\n\r\n");
    for line in [
        "wearwell_host_written_bytes_total 8192",
        "wearwell_stream_host_pages_total{stream=\"5\"} 4",
        "wearwell_segment_erases{percentile=\"99\"} ",
        "wearwell_available_spare_percent 100",
        "wearwell_write_amplification 1",
        "# TYPE wearwell_free_segments gauge",
        "# TYPE wearwell_request_seconds histogram",
        "wearwell_request_seconds_bucket{command=\"write\",le=\"0.00001\"} ",
        "wearwell_request_seconds_bucket{command=\"write\",le=\"+Inf\"} 1",
        "wearwell_request_seconds_count{command=\"write\"} 1",
        "wearwell_request_seconds_sum{command=\"write\"} 0.",
        "wearwell_percentage_used 0",
    ] {
        assert!(metrics.contains(&format!("\n{line}")), "{line} in {metrics}");
    }
    let state = get(&page, "GET /state.json HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n");
    let (_, body) = state.split_once("\r\n\r\n").unwrap();
    let state: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!((&state["host_pages"], state["segments"].as_array().unwrap().len()), (&4.into(), 64));
    assert!(state["events"].as_array().unwrap().iter().all(|row| row["event"] == "erased"), "a format erases");
    assert!(state["segments"].as_array().unwrap().iter().any(|row| row[0] == "open" && row[1] == 4));

    for (request, status) in [
        ("GET /metrics?x=1 HTTP/1.1\r\n\r\n", "200"),
        ("GET /?/metrics HTTP/1.1\r\n\r\n", "200"),
        ("GET /elsewhere HTTP/1.1\r\n\r\n", "404"),
        ("POST / HTTP/1.1\r\n\r\n", "405"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"),
        ("\u{1}\u{2}garbage\r\n\r\n", "400"),
        (&format!("GET /{} HTTP/1.1\r\n", "x".repeat(9000)), "431"),
    ] {
        let answer = get(&page, request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:.40}: {answer}");
    }
    assert_eq!(client.read(0, 3), Ok(vec![7; 3]));
    stopper.stop();
    thread.join().unwrap().unwrap();
}
