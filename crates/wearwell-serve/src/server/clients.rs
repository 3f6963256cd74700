//! The connections: how many there may be, and how long a handshake may take.

use std::net::Shutdown;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Role;
use super::end::ConnectionEnd;
use super::peer::Peer;

/// The longest time for a handshake from the first byte to the last, TLS included, and for a browser to send a request
/// and take the answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest time in which an NVMe host may connect its queue, authentication included. Before that ends it may hold
/// a controller or a queue, so it gets less than others.
const HOST_PATIENCE: Duration = Duration::from_secs(10);

/// The kind of a connection. Each kind has a limit of its own. So connections without a complete handshake cannot take
/// the places of clients, and neither can take those of control connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// In the handshake; perhaps not allowed to use the disk.
    Handshake,
    /// A client of the disk.
    Disk,
    Control,
    Http,
}

impl Stage {
    /// The most connections at a time.
    fn max(self) -> usize {
        match self {
            Self::Disk => 256,
            Self::Handshake | Self::Control | Self::Http => 32,
        }
    }

    /// True if a well-behaved peer is done soon. Then there is a deadline, and one connection too many replaces the
    /// oldest, which is the least likely to be a client.
    fn is_brief(self) -> bool {
        matches!(self, Self::Handshake | Self::Http)
    }
}

/// Why the server closed a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Late,
    Displaced { max: usize },
}

#[derive(Debug)]
struct Client {
    peer: Arc<Peer>,
    stage: Stage,
    /// The end of the server's patience, if its stage is brief.
    deadline: Instant,
    /// Set once the server has closed it; it then no longer counts.
    cut: Option<Cut>,
}

impl Client {
    fn counts_as(&self, stage: Stage) -> bool {
        self.stage == stage && self.cut.is_none()
    }

    fn cut(&mut self, why: Cut) {
        self.cut = Some(why);
        self.peer.shut(Shutdown::Both);
    }

    /// The time left until its deadline; none if it has none.
    fn left(&self, now: Instant) -> Option<Duration> {
        let is_awaited = self.stage.is_brief() && self.cut.is_none();
        is_awaited.then(|| self.deadline.saturating_duration_since(now))
    }
}

/// All connections, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Clients {
    open: Mutex<Vec<Client>>,
    /// Notified when a connection ends.
    left: Condvar,
    /// All that have ever come.
    came: AtomicU64,
}

/// How many connections there are and were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Connections {
    /// All that have come.
    pub(super) came: u64,
    /// Those that are open, by what they are at.
    pub(super) open: [(&'static str, usize); 4],
}

impl Connections {
    /// Those of the disk's clients.
    pub(super) fn of_disk(&self) -> usize {
        self.open.iter().find(|(at, _)| *at == "disk").map_or(0, |(_, count)| *count)
    }
}

impl Clients {
    fn open(&self) -> MutexGuard<'_, Vec<Client>> {
        // No panic can leave a list of sockets inconsistent.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a new connection.
    ///
    /// # Errors
    /// `TooMany`.
    pub(super) fn admit(&self, peer: &Arc<Peer>, role: Role, now: Instant) -> Result<(), ConnectionEnd> {
        self.came.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open();
        let stage = match role {
            Role::Disk | Role::Nvme => Stage::Handshake,
            Role::Control => Stage::Control,
            Role::Http => Stage::Http,
        };
        if stage == Stage::Handshake {
            // A client that could not stay is closed at once, and not after its handshake.
            has_room(&open, Stage::Disk)?;
        }
        if !stage.is_brief() {
            has_room(&open, stage)?;
        } else if has_room(&open, stage).is_err()
            && let Some(oldest) = open.iter_mut().find(|client| client.counts_as(stage))
        {
            oldest.cut(Cut::Displaced { max: stage.max() });
        }
        let patience = if role == Role::Nvme { HOST_PATIENCE } else { PATIENCE };
        open.push(Client { peer: Arc::clone(peer), stage, deadline: now + patience, cut: None });
        Ok(())
    }

    pub(super) fn connections(&self) -> Connections {
        let open = self.open();
        let at = |stage| open.iter().filter(|client| client.counts_as(stage)).count();
        Connections {
            came: self.came.load(Ordering::Relaxed),
            open: [
                ("handshake", at(Stage::Handshake)),
                ("disk", at(Stage::Disk)),
                ("control", at(Stage::Control)),
                ("page", at(Stage::Http)),
            ],
        }
    }

    /// Makes a client of a connection after its handshake.
    ///
    /// # Errors
    /// `TooMany`; `Vanished` if it came too late.
    pub(super) fn settle(&self, peer: &Peer) -> Result<(), ConnectionEnd> {
        let mut open = self.open();
        has_room(&open, Stage::Disk)?;
        let mut waiting = open.iter_mut().filter(|client| client.counts_as(Stage::Handshake));
        // A connection that was closed meanwhile does not count any more, and is not found.
        let client = waiting.find(|client| std::ptr::eq(&*client.peer, peer)).ok_or(ConnectionEnd::Vanished)?;
        client.stage = Stage::Disk;
        Ok(())
    }

    /// Closes connections after their deadlines. Returns the time until the next deadline; none if there is none.
    pub(super) fn expire(&self, now: Instant) -> Option<Duration> {
        let mut open = self.open();
        // They stay in the list until their threads end, and do not count.
        for client in open.iter_mut().filter(|client| client.left(now).is_some_and(|left| left.is_zero())) {
            client.cut(Cut::Late);
        }
        open.iter().filter_map(|client| client.left(now)).min()
    }

    /// Removes a connection that has ended. Returns the reason if the server closed it.
    pub(super) fn forget(&self, peer: &Arc<Peer>) -> Option<ConnectionEnd> {
        peer.shut(Shutdown::Both);
        let mut open = self.open();
        let at = open.iter().position(|client| Arc::ptr_eq(&client.peer, peer))?;
        let client = open.remove(at);
        self.left.notify_all();
        client.cut.map(|why| match why {
            Cut::Late => ConnectionEnd::TooSlow,
            Cut::Displaced { max } => ConnectionEnd::Displaced { max },
        })
    }

    /// Lets every connection answer the requests that it received, and closes those that remain after `patience`.
    pub(super) fn drain(&self, patience: Duration) {
        let mut open = self.open();
        // What has arrived can still be read, and behind it is the end. So each thread answers that, and returns.
        open.iter().for_each(|client| client.peer.shut(Shutdown::Read));
        let deadline = Instant::now() + patience;
        // A thread that ends takes itself out of the list. The lock is free while this one waits.
        while !open.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            open = self.left.wait_timeout(open, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        // These clients do not read their replies.
        open.iter().for_each(|client| client.peer.shut(Shutdown::Both));
    }
}

fn has_room(open: &[Client], stage: Stage) -> Result<(), ConnectionEnd> {
    let max = stage.max();
    let count = open.iter().filter(|client| client.counts_as(stage)).count();
    if count < max { Ok(()) } else { Err(ConnectionEnd::TooMany { max }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    fn connected() -> (Arc<Peer>, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        (Arc::new(Peer::Unix(ours)), theirs)
    }

    fn is_closed(mut theirs: &UnixStream) -> bool {
        theirs.read(&mut [0]).is_ok_and(|count| count == 0)
    }

    #[test]
    fn a_handshake_has_a_deadline_and_what_follows_has_none() {
        let (clients, start) = (Clients::default(), Instant::now());
        let (slow, slows) = connected();
        let (quick, quicks) = connected();
        let (keeper, keepers) = connected();
        assert_eq!(clients.expire(start), None);
        clients.admit(&slow, Role::Disk, start).unwrap();
        clients.admit(&quick, Role::Disk, start).unwrap();
        clients.admit(&keeper, Role::Control, start).unwrap();
        clients.settle(&quick).unwrap();
        let second = Duration::from_secs(1);
        assert_eq!(clients.expire(start + PATIENCE - second), Some(second));
        assert!(!is_closed(&slows));
        assert_eq!(clients.expire(start + PATIENCE), None);
        assert!(is_closed(&slows) && !is_closed(&quicks) && !is_closed(&keepers));
        assert!(matches!(clients.settle(&slow), Err(ConnectionEnd::Vanished)), "too late");
        assert!(matches!(clients.forget(&slow), Some(ConnectionEnd::TooSlow)));
        assert!(clients.forget(&quick).is_none() && clients.forget(&quick).is_none());
    }

    #[test]
    fn a_host_that_holds_a_queue_has_less_time_to_show_who_it_is() {
        let (clients, start) = (Clients::default(), Instant::now());
        let (host, hosts) = connected();
        let (other, others) = connected();
        clients.admit(&other, Role::Disk, start).unwrap();
        clients.admit(&host, Role::Nvme, start).unwrap();
        assert_eq!(clients.expire(start), Some(HOST_PATIENCE));
        assert_eq!(clients.expire(start + HOST_PATIENCE), Some(PATIENCE - HOST_PATIENCE));
        assert!(is_closed(&hosts) && !is_closed(&others));
    }

    #[test]
    fn a_newer_one_takes_the_place_of_the_oldest_that_still_shakes_hands() {
        let (clients, start) = (Clients::default(), Instant::now());
        let pairs: Vec<_> = (0..Stage::Handshake.max() + 2).map(|_| connected()).collect();
        for (at, (peer, _)) in pairs.iter().enumerate() {
            clients.admit(peer, Role::Disk, start).unwrap();
            if at == 0 {
                clients.settle(peer).unwrap();
            }
        }
        let closed: Vec<bool> = pairs.iter().map(|(_, theirs)| is_closed(theirs)).collect();
        assert_eq!(closed.iter().filter(|&&is| is).count(), 1);
        assert!(closed[1], "the first one is a client");
        assert!(matches!(clients.forget(&pairs[1].0), Some(ConnectionEnd::Displaced { max: 32 })));
    }
}
