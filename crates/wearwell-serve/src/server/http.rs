//! A page and metrics for browsers and scrapers on this machine: HTTP/1.1, GET only, one request for each connection.

use std::io::{Read, Write};
use std::net::IpAddr;

use super::clients::Clients;
use super::end::ConnectionEnd;
use super::engine::Engine;
use super::errors::Poisoned;
use super::peer::Peer;
use super::watch;

/// The greatest length of a request's head.
const HEAD_BYTES: usize = 8192;
/// The most headers in a request.
const HEADERS: usize = 64;

/// The page, complete in one file.
const PAGE: &str = include_str!("page.html");

const TEXT: &str = "text/plain; charset=utf-8";

struct Response {
    status: &'static str,
    kind: &'static str,
    body: String,
}

impl Response {
    fn error(status: &'static str) -> Self {
        Self { status, kind: TEXT, body: format!("{status}\n") }
    }
}

/// Answers one request.
pub(super) fn browse(engine: &Engine, clients: &Clients, mut peer: &Peer) -> Result<ConnectionEnd, ConnectionEnd> {
    let mut head = Vec::new();
    let mut end = ConnectionEnd::Left;
    // The head is parsed from its beginning each time. It has 8 KiB at most, so that this cannot cost much.
    let response = loop {
        let mut part = [0; 1024];
        let count = peer.read(&mut part)?;
        if count == 0 {
            return Ok(if head.is_empty() { ConnectionEnd::Left } else { ConnectionEnd::Vanished });
        }
        head.extend_from_slice(&part[..count]);
        match respond(engine, clients, &head) {
            Ok(Some(response)) => break response,
            Ok(None) if head.len() < HEAD_BYTES => {}
            Ok(None) => {
                end = ConnectionEnd::NotUnderstood("an HTTP request without an end".to_owned());
                break Response::error("431 Request Header Fields Too Large");
            }
            Err(error) => {
                end = ConnectionEnd::NotUnderstood(format!("no HTTP request: {error}"));
                break Response::error("400 Bad Request");
            }
        }
    };
    // The connection ends with the answer, so that a browser holds no thread. The policy lets the page load nothing
    // from elsewhere.
    let Response { status, kind, body } = response;
    write!(
        peer,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: \
         no-store\r\nX-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'; connect-src \
         'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'\r\n\r\n{body}",
        body.len()
    )?;
    Ok(end)
}

/// The response; none if the request is not complete yet.
fn respond(engine: &Engine, clients: &Clients, head: &[u8]) -> Result<Option<Response>, httparse::Error> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    if request.parse(head)?.is_partial() {
        return Ok(None);
    }
    let host = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case("host"));
    // A web page from another host, whose name was made to resolve to this machine, must not read the disk's state.
    if !host.is_none_or(|host| is_this_machine(host.value)) {
        return Ok(Some(Response::error("403 Forbidden")));
    }
    // Nothing here changes the disk. That is for the control socket, whose file says who may connect.
    if request.method != Some("GET") {
        return Ok(Some(Response::error("405 Method Not Allowed")));
    }
    let target = request.path.unwrap_or_default();
    // Only one query means something. Some clients send others to avoid caches.
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let response = match path {
        "/" => Ok(Response { status: "200 OK", kind: "text/html; charset=utf-8", body: PAGE.to_owned() }),
        "/state.json" => state(engine, clients, after_us(query)),
        "/metrics" => metrics(engine, clients),
        _ => Ok(Response::error("404 Not Found")),
    };
    Ok(Some(response.unwrap_or_else(|Poisoned| Response::error("503 Service Unavailable"))))
}

/// The time after which rows of the history are wanted, from a query; 0 for all.
fn after_us(query: &str) -> u64 {
    query.strip_prefix("after=").and_then(|after| after.parse().ok()).unwrap_or(0)
}

fn state(engine: &Engine, clients: &Clients, after_us: u64) -> Result<Response, Poisoned> {
    let state = watch::State::of(engine, clients, after_us)?;
    // Numbers and fixed names can always be written as JSON.
    let body = serde_json::to_string(&state).unwrap_or_default();
    Ok(Response { status: "200 OK", kind: "application/json", body })
}

fn metrics(engine: &Engine, clients: &Clients) -> Result<Response, Poisoned> {
    let mut access = engine.access()?;
    let (health, totals, latency_us) = (access.disk_mut().health(), access.disk().totals(), access.latency_us());
    // The rest does not need the disk.
    drop(access);
    let body = watch::metrics(&totals, &health, latency_us, engine, &clients.connections());
    Ok(Response { status: "200 OK", kind: "text/plain; version=0.0.4; charset=utf-8", body })
}

/// True for loopback addresses and `localhost`, with a port or without.
fn is_this_machine(host: &[u8]) -> bool {
    let host = std::str::from_utf8(host).unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_for_this_machine_are_refused() {
        assert!(
            ["localhost:80", "127.0.0.1:8080", "[::1]:8080", "127.0.0.1"].iter().all(|h| is_this_machine(h.as_bytes()))
        );
        assert!(
            !["evil.example:80", "localhost.example", "", "10.0.0.1", "[::2]"]
                .iter()
                .any(|h| is_this_machine(h.as_bytes()))
        );
    }
}
