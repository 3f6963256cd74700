//! The state that all connections share: the subsystem and its controllers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::answer::ErrorEntry;
use super::auth::Admission;
use super::fdp::Placement;
use super::status::Status;
use super::streams::Streams;
use super::subsystem::Subsystem;

/// The name of every discovery controller.
pub(super) const DISCOVERY_NQN: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// Most controllers at a time, one for each association of a host.
const CONTROLLERS: usize = 64;
/// I/O queues of a controller.
pub(super) const IO_QUEUES: u16 = 16;
/// Commands that a queue holds.
pub(super) const QUEUE_ENTRIES: u16 = 128;
/// Errors that a controller keeps.
pub(super) const KEPT_ERRORS: usize = 16;

/// What a controller is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Disk,
    Discovery,
}

/// A host, as it names itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) id: [u8; 16],
    pub(super) nqn: String,
}

/// A controller: the association of a host with the subsystem. The rest of its state belongs to the admin connection.
#[derive(Debug)]
struct Controller {
    id: u16,
    purpose: Purpose,
    host: Host,
    /// None while the host has it disabled. A reset clears the flag, and enabling makes a new one.
    is_up: Option<Arc<AtomicBool>>,
    /// Bit n: queue n is connected.
    queues: u32,
    errors: VecDeque<ErrorEntry>,
    error_count: u64,
}

/// A subsystem that connections share, its controllers included.
#[derive(Debug)]
pub struct Target {
    pub(super) subsystem: Subsystem,
    controllers: Mutex<Vec<Controller>>,
    pub(super) reads: AtomicU64,
    pub(super) writes: AtomicU64,
    placement: Option<Placement>,
    pub(super) streams: Streams,
    /// None if any host may connect without showing who it is.
    admission: Option<Admission>,
}

/// Why an I/O queue cannot be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The controller is not ready, or has the queue already.
    Sequence,
    /// No controller has that number.
    Controller,
    /// The controller belongs to another subsystem or another host.
    Host,
    /// There is no such queue.
    Queue,
}

impl Target {
    /// A subsystem without connections. With `admission` every queue has to be authenticated.
    pub fn new(subsystem: Subsystem, admission: Option<Admission>) -> Self {
        Self {
            placement: subsystem.fdp.map(|fdp| Placement::new(fdp, subsystem.keeps_events)),
            subsystem,
            controllers: Mutex::default(),
            reads: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            streams: Streams::default(),
            admission,
        }
    }

    /// The placement of the disk, if it has handles.
    pub(super) fn placement(&self) -> Result<&Placement, Status> {
        self.placement.as_ref().ok_or(Status::FDP_DISABLED)
    }

    pub(super) fn admission(&self) -> Option<&Admission> {
        self.admission.as_ref()
    }

    fn controllers(&self) -> MutexGuard<'_, Vec<Controller>> {
        // Each of its parts is whole whatever happened.
        self.controllers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a controller for a host; disabled, until the host enables it.
    pub(super) fn join(&self, purpose: Purpose, host: Host) -> Result<u16, Status> {
        let mut controllers = self.controllers();
        if controllers.len() == CONTROLLERS {
            return Err(Status::CONNECT_BUSY);
        }
        let is_free = |id: &u16| controllers.iter().all(|controller| controller.id != *id);
        // There is always one, since there are fewer controllers than numbers.
        let id = (1..=CONTROLLERS as u16).find(is_free).ok_or(Status::CONNECT_BUSY)?;
        let errors = VecDeque::new();
        controllers.push(Controller { id, purpose, host, is_up: None, queues: 0, errors, error_count: 0 });
        Ok(id)
    }

    fn with<T>(&self, id: u16, change: impl FnOnce(&mut Controller) -> T) -> Option<T> {
        self.controllers().iter_mut().find(|controller| controller.id == id).map(change)
    }

    /// Enables a controller.
    pub(super) fn enable(&self, id: u16) {
        self.with(id, |controller| controller.is_up = Some(Arc::new(AtomicBool::new(true))));
    }

    /// Disables a controller and ends its I/O queues. Streams stay enabled for its host while it has another one.
    pub(super) fn reset(&self, id: u16) {
        let host = self.with(id, |controller| {
            if let Some(is_up) = controller.is_up.take() {
                // Each of its queues has this flag, and looks at it before every message and at every tick.
                is_up.store(false, Ordering::Relaxed);
            }
            controller.queues = 0;
            controller.host.id
        });
        if let Some(host) = host
            && !self.controllers().iter().any(|other| other.is_up.is_some() && other.host.id == host)
        {
            self.streams.disable(&host);
        }
    }

    /// Removes a controller.
    pub(super) fn leave(&self, id: u16) {
        // First, so that its queues end: they look at the flag, and not at the list.
        self.reset(id);
        self.controllers().retain(|controller| controller.id != id);
    }

    /// Connects an I/O queue. Returns the flag that ends it.
    pub(super) fn connect_queue(
        &self,
        id: u16,
        queue: u16,
        host: &Host,
        purpose: Purpose,
    ) -> Result<Arc<AtomicBool>, Refusal> {
        let connected = self.with(id, |controller| {
            // Otherwise a host that guesses a number would get a queue of another host's controller.
            if controller.host != *host || controller.purpose != purpose {
                return Err(Refusal::Host);
            }
            if purpose == Purpose::Discovery || queue > IO_QUEUES {
                return Err(Refusal::Queue);
            }
            // The set has 32 bits, and queues have numbers up to 16. Queue 0 is the admin queue, which does not come
            // here.
            let bit = 1 << queue;
            match &controller.is_up {
                Some(is_up) if controller.queues & bit == 0 => {
                    controller.queues |= bit;
                    Ok(Arc::clone(is_up))
                }
                _ => Err(Refusal::Sequence),
            }
        });
        connected.unwrap_or(Err(Refusal::Controller))
    }

    /// Disconnects an I/O queue that was connected while the controller had the flag `is_up`.
    pub(super) fn disconnect_queue(&self, id: u16, queue: u16, is_up: &Arc<AtomicBool>) {
        self.with(id, |controller| {
            // After a reset the host may have connected a queue with this number again. That one stays.
            if controller.is_up.as_ref().is_some_and(|now| Arc::ptr_eq(now, is_up)) {
                controller.queues &= !(1 << queue);
            }
        });
    }

    /// Keeps the error of a failed command.
    pub(super) fn note_error(&self, id: u16, mut error: ErrorEntry) {
        self.with(id, |controller| {
            // Before it is used: in the log, an entry with number 0 is none.
            controller.error_count += 1;
            error.count = controller.error_count;
            controller.errors.push_front(error);
            controller.errors.truncate(KEPT_ERRORS);
        });
    }

    /// The last errors of a controller, newest first, and their total number.
    pub(super) fn errors(&self, id: u16) -> (Vec<ErrorEntry>, u64) {
        let found = self.with(id, |controller| (controller.errors.iter().copied().collect(), controller.error_count));
        found.unwrap_or_default()
    }

    /// The controllers of the disk, in ascending order.
    pub(super) fn ids(&self) -> Vec<u16> {
        let controllers = self.controllers();
        let of_disk = controllers.iter().filter(|controller| controller.purpose == Purpose::Disk);
        let mut ids: Vec<u16> = of_disk.map(|controller| controller.id).collect();
        ids.sort_unstable();
        ids
    }
}
