//! Connect, the first command of every connection (Base 2.1, section 6.3).

use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::answer::Failed;
use super::auth::Exchange;
use super::command::Sqe;
use super::controller::Admin;
use super::status::Status;
use super::target::{DISCOVERY_NQN, Host, Purpose, QUEUE_ENTRIES, Refusal};
use super::turn::{IoQueue, Queue, Turn};

/// Bytes of the command's data.
pub(super) const CONNECT_DATA_BYTES: u32 = size_of::<ConnectData>() as u32;
/// Any controller. Only this dynamic model is supported.
const DYNAMIC: u16 = 0xffff;
/// An attribute: the host does not wait for free entries of its queue.
const WITHOUT_FLOW_CONTROL: u32 = 1 << 2;

/// The data of connect: who connects to what.
#[derive(Debug, Clone, Copy, FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ConnectData {
    host_id: [u8; 16],
    controller: U16,
    reserved: [u8; 238],
    subsystem_nqn: [u8; 256],
    host_nqn: [u8; 256],
    reserved_too: [u8; 256],
}

/// The result of a connect.
pub(super) struct Connected {
    pub(super) controller: u16,
    pub(super) queue: Queue,
    pub(super) joined: Joined,
    /// The authentication that has to come first, if the target wants one.
    pub(super) lock: Option<Exchange>,
}

/// The kind of queue.
pub(super) enum Joined {
    Admin(Admin),
    Io(IoQueue),
}

/// The place of a wrong parameter: in the command, or in its data.
enum Wrong {
    Command(u16),
    Data(u16),
}

impl From<Wrong> for Failed {
    fn from(wrong: Wrong) -> Self {
        let result = match wrong {
            Wrong::Command(at) => u64::from(at),
            Wrong::Data(at) => u64::from(at) | 1 << 16,
        };
        Self { status: Status::CONNECT_PARAMETERS, result }
    }
}

/// Connects an admin queue to a new controller, or an I/O queue to one that is enabled.
pub(super) fn connect<M>(entry: &Sqe, data: &[u8], turn: &Turn<'_, M>) -> Result<Connected, Failed> {
    let (format, queue_id) = (entry.word(10) as u16, (entry.word(10) >> 16) as u16);
    let (last_entry, attributes) = (entry.word(11) as u16, entry.word(11) >> 16);
    if format != 0 {
        return Err(Status::CONNECT_FORMAT.into());
    }
    let data = ConnectData::read_from_bytes(data).map_err(|_| Status::SGL_LENGTH_INVALID)?;
    let subsystem = &turn.target.subsystem;
    // The numbers are the offsets of the fields, in the data or in the command: the host is told which one is wrong.
    let wanted = text(&data.subsystem_nqn).ok_or(Wrong::Data(256))?;
    let purpose = match wanted {
        DISCOVERY_NQN => Purpose::Discovery,
        nqn if nqn == subsystem.nqn => Purpose::Disk,
        _ => return Err(Wrong::Data(256).into()),
    };
    let host_nqn = text(&data.host_nqn).filter(|nqn| !nqn.is_empty()).ok_or(Wrong::Data(512))?;
    let lock = turn.target.admission().map(|admission| {
        let host = admission.hosts.find(host_nqn).ok_or(Status::CONNECT_HOST)?;
        Ok::<_, Status>(Exchange::new(host.clone(), wanted, admission.entropy))
    });
    // A host that nobody knows is refused here. One that is known shows who it is on each queue.
    let lock = lock.transpose()?;
    let host = Host { id: data.host_id, nqn: host_nqn.to_owned() };
    // The size is 0's based, and a queue of one entry could hold nothing.
    if !(1..QUEUE_ENTRIES).contains(&last_entry) {
        return Err(Wrong::Command(44).into());
    }
    let has_flow_control = attributes & WITHOUT_FLOW_CONTROL == 0;
    // Connect itself is the first command of the queue.
    let queue = Queue { entries: last_entry + 1, head: 1 % (last_entry + 1), has_flow_control };
    if queue_id == 0 {
        // In the dynamic model the controller's number is our choice.
        if data.controller.get() != DYNAMIC {
            return Err(Wrong::Data(16).into());
        }
        let controller = turn.target.join(purpose, host.clone())?;
        // Dword 12 is the timeout of the keep-alive, in milliseconds.
        let admin = Admin::new(controller, purpose, host, entry.word(12), turn.now_ms);
        return Ok(Connected { controller, queue, joined: Joined::Admin(admin), lock });
    }
    let controller = data.controller.get();
    let is_up = turn.target.connect_queue(controller, queue_id, &host, purpose).map_err(|refusal| match refusal {
        Refusal::Sequence => Status::COMMAND_SEQUENCE.into(),
        Refusal::Controller => Failed::from(Wrong::Data(16)),
        Refusal::Host => Wrong::Data(512).into(),
        Refusal::Queue => Wrong::Command(42).into(),
    })?;
    let io = IoQueue { controller, queue: queue_id, host: host.id, is_up };
    Ok(Connected { controller, queue, joined: Joined::Io(io), lock })
}

/// The text of a zero-padded field.
fn text(field: &[u8]) -> Option<&str> {
    // Names have 223 bytes at most, so that a field without a zero is none.
    let end = field.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(&field[..end]).ok()
}
