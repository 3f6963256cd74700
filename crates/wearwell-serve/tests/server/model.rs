//! Random commands over several connections, beside an array of bytes.

use wearwell::Rng;
use wearwell_serve::disk::Disk;
use wearwell_serve::server::{ServerConfig, Timing};

use crate::client::{CACHE, Chunk, Client, DISC, FAST_ZERO, FLUSH, FUA, NO_HOLE, READ, TRIM, WRITE, WRITE_ZEROES};
use crate::running::{Running, small};

/// What a request that was sent is answered with.
enum Expected {
    Done,
    Data(u64, Vec<u8>),
    Error(u32),
}

struct Model {
    bytes: Vec<u8>,
    page_bytes: u64,
    rng: Rng,
}

impl Model {
    fn range(&mut self) -> (u64, u32) {
        let most = if self.rng.below(8) == 0 { 200_000 } else { 9000 };
        let length = 1 + self.rng.below(most);
        let aligned = self.rng.below(2) == 0;
        let step = if aligned { 512 } else { 1 };
        let length = length.div_ceil(step) * step;
        let starts = (self.bytes.len() as u64 - u64::from(length)) / u64::from(step);
        (u64::from(self.rng.below(starts as u32 + 1) * step), length)
    }

    /// The place of a range in the array.
    fn place(offset: u64, length: u32) -> std::ops::Range<usize> {
        offset as usize..offset as usize + length as usize
    }

    /// Sends one random request.
    fn send(&mut self, client: &mut Client) -> (u64, Expected) {
        let (offset, length) = self.range();
        let place = Self::place(offset, length);
        let durable = if self.rng.below(10) == 0 { FUA } else { 0 };
        match self.rng.below(14) {
            0..5 => {
                let data: Vec<u8> = (0..length).map(|_| self.rng.below(256) as u8).collect();
                self.bytes[place].copy_from_slice(&data);
                (client.send(durable, WRITE, offset, length, &data), Expected::Done)
            }
            5..9 => (client.send(0, READ, offset, length, b""), Expected::Data(offset, self.bytes[place].to_vec())),
            9 => {
                // Whole pages read as zeros, the others keep what they have.
                let first = offset.div_ceil(self.page_bytes) * self.page_bytes;
                let end = (offset + u64::from(length)) / self.page_bytes * self.page_bytes;
                if first < end {
                    self.bytes[first as usize..end as usize].fill(0);
                }
                (client.send(durable, TRIM, offset, length, b""), Expected::Done)
            }
            10 => {
                self.bytes[place].fill(0);
                let flags = if self.rng.below(2) == 0 { NO_HOLE } else { 0 };
                (client.send(flags | durable, WRITE_ZEROES, offset, length, b""), Expected::Done)
            }
            11 => (client.send(NO_HOLE | FAST_ZERO, WRITE_ZEROES, offset, length, b""), Expected::Error(95)),
            12 => {
                let data = vec![1; 600];
                (client.send(0, WRITE, self.bytes.len() as u64 - 599, 600, &data), Expected::Error(28))
            }
            _ if self.rng.below(2) == 0 => (client.send(0, CACHE, offset, length, b""), Expected::Done),
            _ => (client.send(0, FLUSH, 0, 0, b""), Expected::Done),
        }
    }
}

/// The data of a structured reply, holes filled.
fn assembled(chunks: Vec<Chunk>, start: u64, length: usize) -> Vec<u8> {
    let mut data = vec![0xee; length];
    let mut covered = 0;
    for chunk in chunks {
        match chunk {
            Chunk::Data(offset, bytes) => {
                covered += bytes.len();
                data[(offset - start) as usize..][..bytes.len()].copy_from_slice(&bytes);
            }
            Chunk::Hole(offset, bytes) => {
                covered += bytes as usize;
                data[(offset - start) as usize..][..bytes as usize].fill(0);
            }
            other => panic!("{other:?} in a read"),
        }
    }
    assert_eq!(covered, length, "each byte once");
    data
}

fn runs_like_the_model(config: ServerConfig, rounds: u32, seed: u64) {
    let disk = Disk::memory(&small()).unwrap();
    let page_bytes = u64::from(disk.page_bytes());
    let server = Running::start(disk, config);
    let mut model = Model { bytes: vec![0; server.bytes as usize], page_bytes, rng: Rng::new(seed) };
    let mut simple = Client::connect(&server.socket, "");
    let mut alias = Client::connect(&server.socket, "@stream=3");
    let mut structured = Client::connect_structured(&server.socket, "");
    for _ in 0..rounds {
        let which = model.rng.below(3);
        let client = [&mut simple, &mut alias, &mut structured].into_iter().nth(which as usize).unwrap();
        // All are sent before the first is answered, so that they come as a batch.
        let sent: Vec<_> = (0..1 + model.rng.below(8)).map(|_| model.send(client)).collect();
        for (cookie, expected) in sent {
            match expected {
                Expected::Done => assert_eq!(client.reply(cookie, 0), Ok(vec![])),
                Expected::Error(error) => assert_eq!(client.reply(cookie, 0), Err(error)),
                Expected::Data(offset, data) if which == 2 => {
                    assert!(assembled(client.chunks(cookie), offset, data.len()) == data, "at {offset}");
                }
                Expected::Data(offset, data) => {
                    assert!(client.reply(cookie, data.len() as u32).unwrap() == data, "at {offset}");
                }
            }
        }
    }
    let all = simple.read(0, server.bytes as u32).unwrap();
    assert!(all == model.bytes);
    for mut client in [simple, alias, structured] {
        client.send(0, DISC, 0, 0, b"");
        assert!(client.rest().is_empty());
    }
    let (served, ends) = server.stop();
    served.unwrap();
    assert_eq!(ends, ["the client has gone"; 3]);
}

#[test]
fn three_connections_see_one_disk() {
    runs_like_the_model(ServerConfig::default(), 1500, 1);
}

#[test]
fn also_without_idle_cleaning_and_on_the_chips_timeline() {
    let config = ServerConfig { cleans_when_idle: false, timing: Timing::Real, ..ServerConfig::default() };
    runs_like_the_model(config, 300, 2);
}
