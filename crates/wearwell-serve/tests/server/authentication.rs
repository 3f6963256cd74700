//! NVMe hosts that have to show who they are.

use std::io;
use std::net::SocketAddr;

use ring::hmac;
use wearwell_serve::disk::Disk;
use wearwell_serve::nvme::Hosts;
use wearwell_serve::server::{ListenError, Server, ServerConfig};
use wearwell_soak::nvme::{Command, Completion, DISCOVERY_NQN, HOST_NQN, Options, Queue};

use crate::running::{NQN, Running, small};

/// A key of 32 bytes of 0x11, as a secret.
const SECRET: &str = "DHHC-1:00:ERERERERERERERERERERERERERERERERERERERERERHYIEm8:";
const KEY: [u8; 32] = [0x11; 32];
/// What a controller has in the result of connect if it wants authentication.
const WANTED: u64 = 1 << 17;

fn hosts() -> Hosts {
    Hosts::parse(&format!("{HOST_NQN} {SECRET}")).unwrap()
}

fn send(queue: &mut Queue, message: &[u8]) -> io::Result<Completion> {
    let words = [0xe901_0100, message.len() as u32, 0, 0, 0, 0];
    queue.run(Command { opcode: 0x7f, namespace: 5, words }, message, 0)
}

fn fetch(queue: &mut Queue, bytes: u32) -> io::Result<Completion> {
    queue.run(Command { opcode: 0x7f, namespace: 6, words: [0xe901_0100, bytes, 0, 0, 0, 0] }, &[], bytes)
}

/// Authenticates a queue by SHA-256, without a group. Returns the type and the reason of the last message.
fn authenticate(queue: &mut Queue, key: &[u8], subsystem: &str) -> (u8, u8) {
    let mut negotiate = vec![0, 0, 0, 0, 9, 0, 0, 1, 1, 0, 1, 1, 1];
    negotiate.resize(72, 0);
    assert_eq!(send(queue, &negotiate).unwrap().status, 0);
    let challenge = fetch(queue, 4096).unwrap().data;
    assert_eq!(challenge[..10], [1, 1, 0, 0, 9, 0, 32, 0, 1, 0]);
    let mut said = [&challenge[16..48], &challenge[12..16], &[9, 0, 0], b"HostHost", HOST_NQN.as_bytes()].concat();
    said.push(0);
    said.extend(subsystem.as_bytes());
    let answer = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), &said);
    let head = [1, 2, 0, 0, 9, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(send(queue, &[&head[..], answer.as_ref(), &[0; 32]].concat()).unwrap().status, 0);
    let last = fetch(queue, 4096).unwrap().data;
    (last[1], last[7])
}

fn connected(running: &Running, nqn: &str, queue: u16, controller: u16) -> (Queue, Completion) {
    let mut fresh = Queue::greeted(running.nvme, Options::default()).unwrap();
    let completion = fresh.try_connect(nqn, HOST_NQN, queue, controller).unwrap();
    (fresh, completion)
}

#[test]
fn every_queue_of_a_known_host_is_authenticated() {
    let running = Running::only_for(hosts());
    let (mut admin, completion) = connected(&running, NQN, 0, 0xffff);
    assert_eq!((completion.status, completion.result >> 16), (0, WANTED >> 16));
    assert_eq!(admin.enable().unwrap().status, 0x191, "not before it is authenticated");
    assert_eq!(fetch(&mut admin, 100).unwrap().status, 0x002, "no room for a challenge");
    assert_eq!(authenticate(&mut admin, &KEY, NQN).0, 3);
    assert_eq!(admin.enable().unwrap().status, 0);
    let (mut io, completion) = connected(&running, NQN, 1, completion.result as u16);
    assert_eq!((completion.status, completion.result >> 16), (0, WANTED >> 16));
    let read = Command { opcode: 2, namespace: 1, words: [0; 6] };
    assert_eq!(io.run(read, &[], 512).unwrap().status, 0x191);
    assert_eq!(authenticate(&mut io, &KEY, NQN).0, 3);
    assert_eq!(io.run(read, &[], 512).unwrap().data, [0; 512]);
    assert_eq!(authenticate(&mut io, &KEY, NQN).0, 3, "once more");
    let (mut discovery, _) = connected(&running, DISCOVERY_NQN, 0, 0xffff);
    assert_eq!(authenticate(&mut discovery, &KEY, DISCOVERY_NQN).0, 3);
    assert_eq!(discovery.enable().unwrap().status, 0);
}

#[test]
fn whoever_does_not_know_the_secret_is_sent_away() {
    let running = Running::only_for(hosts());
    let (mut admin, _) = connected(&running, NQN, 0, 0xffff);
    assert_eq!(authenticate(&mut admin, &[0x12; 32], NQN), (0xf1, 1));
    assert!(admin.enable().is_err(), "the connection has ended");
    assert_eq!(running.ends(1), ["the host failed to authenticate itself"]);
    let mut stranger = Queue::greeted(running.nvme, Options::default()).unwrap();
    assert_eq!(stranger.try_connect(NQN, "nqn.2026-11.example:stranger", 0, 0xffff).unwrap().status, 0x184);
}

#[test]
fn only_known_hosts_may_come_from_other_machines() {
    let anywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let mut server = Server::new(Disk::memory(&small()).unwrap(), ServerConfig::default()).unwrap();
    let refused = server.listen_nvme(anywhere, None, 1);
    assert!(matches!(refused, Err(ListenError::NeedsAuthentication(_))));
    server.admit(hosts());
    assert!(server.listen_nvme(anywhere, None, 1).is_ok());
}

#[test]
fn without_a_list_of_hosts_there_is_nothing_to_authenticate() {
    let running = Running::memory(&small());
    let (mut admin, completion) = connected(&running, NQN, 0, 0xffff);
    assert_eq!((completion.status, completion.result >> 16), (0, 0));
    assert_eq!(fetch(&mut admin, 4096).unwrap().status, 0x001);
}

#[test]
fn hosts_that_never_authenticate_do_not_keep_one_away_that_does() {
    let running = Running::only_for(hosts());
    // More than there are controllers. They name a host of the list, and hold what connect gives them.
    let silent: Vec<(Queue, Completion)> = (0..70).map(|_| connected(&running, NQN, 0, 0xffff)).collect();
    let mut held = silent.iter().filter(|(_, completion)| completion.status == 0);
    assert!(held.next().is_some());
    let (mut admin, completion) = connected(&running, NQN, 0, 0xffff);
    assert_eq!(completion.status, 0);
    assert_eq!(authenticate(&mut admin, &KEY, NQN).0, 3);
    assert_eq!(admin.enable().unwrap().status, 0);
}
