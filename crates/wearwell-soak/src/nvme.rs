//! A simple NVMe/TCP host: one queue over one connection, and by default one command at a time.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::expect;

/// Types of messages.
const CAPSULE_CMD: u8 = 4;
const CAPSULE_RESP: u8 = 5;
const H2C_DATA: u8 = 6;
const C2H_DATA: u8 = 7;
const R2T: u8 = 9;
/// The type of a request to end the connection, from the controller.
pub const C2H_TERM: u8 = 3;

/// Descriptors of a command's data: in the capsule, or by the transport.
const IN_CAPSULE: u8 = 0x01;
const BY_TRANSPORT: u8 = 0x5a;
/// Bytes of a command's header.
const CAPSULE_BYTES: u8 = 72;
/// Most bytes of data in a capsule.
const IN_CAPSULE_BYTES: usize = 8192;
/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The name of every discovery controller.
pub const DISCOVERY_NQN: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// The name of this host.
pub const HOST_NQN: &str = "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-8000-8000-000000000001";

/// A command: opcode, namespace, and dwords 10 to 15.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Command {
    #[allow(missing_docs)]
    pub opcode: u8,
    #[allow(missing_docs)]
    pub namespace: u32,
    /// Dword 10 is the first.
    pub words: [u32; 6],
}

/// The completion of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The command's number.
    pub id: u16,
    /// Type and code: `type << 8 | code`; 0 is success.
    pub status: u16,
    /// Dwords 0 and 1.
    pub result: u64,
    /// What the controller sent.
    pub data: Vec<u8>,
}

/// Options of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether headers have digests.
    pub header_digests: bool,
    /// Whether data has digests.
    pub data_digests: bool,
    /// The alignment of data, in units of 4 bytes, minus one.
    pub alignment: u8,
    /// Entries of the queue.
    pub entries: u16,
    /// Whether the controller may send data without a separate completion.
    pub without_flow_control: bool,
    /// The keep-alive timeout; 0 for none.
    pub keep_alive_ms: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            header_digests: false,
            data_digests: false,
            alignment: 0,
            entries: 32,
            without_flow_control: false,
            keep_alive_ms: 0,
        }
    }
}

/// A queue of a controller.
#[derive(Debug)]
pub struct Queue {
    /// The connection.
    pub stream: TcpStream,
    options: Options,
    next_id: u16,
    /// The controller's ID.
    pub controller: u16,
    /// Received data of commands that are not complete yet.
    came: Vec<(u16, Vec<u8>)>,
    /// Data that the controller has not asked for yet.
    owed: Vec<(u16, Vec<u8>)>,
    /// Completions that came before anybody asked for them.
    done: VecDeque<Completion>,
}

impl Queue {
    /// The admin queue of a new controller.
    ///
    /// # Errors
    /// Errors of the system; `InvalidData` for anything that is not NVMe/TCP; `Other` with the status if connect is
    /// refused.
    pub fn admin(address: SocketAddr, nqn: &str, options: Options) -> io::Result<Self> {
        let mut queue = Self::greeted(address, options)?;
        queue.connect(nqn, 0, 0xffff)?;
        Ok(queue)
    }

    /// An I/O queue of a controller.
    ///
    /// # Errors
    /// As [`admin`](Self::admin).
    pub fn io(address: SocketAddr, nqn: &str, controller: u16, queue: u16, options: Options) -> io::Result<Self> {
        let mut io = Self::greeted(address, options)?;
        io.connect(nqn, queue, controller)?;
        Ok(io)
    }

    /// A connection that has only agreed on digests.
    ///
    /// # Errors
    /// As [`admin`](Self::admin).
    pub fn greeted(address: SocketAddr, options: Options) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let digests = u8::from(options.header_digests) | u8::from(options.data_digests) << 1;
        let mut first = vec![0, 0, 128, 0, 128, 0, 0, 0, 0, 0, options.alignment, digests];
        first.resize(128, 0);
        stream.write_all(&first)?;
        let mut answer = [0; 128];
        stream.read_exact(&mut answer)?;
        expect(answer[..8] == [1, 0, 128, 0, 128, 0, 0, 0], "the answer to the first message")?;
        expect(answer[11] == digests, "the digests that were asked for")?;
        Ok(Self {
            stream,
            options,
            next_id: 0,
            controller: 0,
            came: Vec::new(),
            owed: Vec::new(),
            done: VecDeque::new(),
        })
    }

    /// Connects as a queue of a controller.
    ///
    /// # Errors
    /// As [`admin`](Self::admin).
    pub fn connect(&mut self, nqn: &str, queue: u16, controller: u16) -> io::Result<()> {
        let completion = self.try_connect(nqn, HOST_NQN, queue, controller)?;
        if completion.status != 0 {
            return Err(io::Error::other(format!("connect: status {:#x}", completion.status)));
        }
        self.controller = completion.result as u16;
        Ok(())
    }

    /// The same, whatever the answer.
    ///
    /// # Errors
    /// Errors of the system; `InvalidData` for anything that is not NVMe/TCP.
    pub fn try_connect(&mut self, nqn: &str, host: &str, queue: u16, controller: u16) -> io::Result<Completion> {
        // A host identifier; then the controller, and both names at their places.
        let mut data = vec![7; 16];
        data.extend(controller.to_le_bytes());
        for (at, text) in [(256, nqn), (512, host)] {
            data.resize(at, 0);
            data.extend(text.as_bytes());
        }
        data.resize(1024, 0);
        let attributes = u32::from(self.options.without_flow_control) << 2;
        // The number of entries counts from 0.
        let size = u32::from(self.options.entries - 1) | attributes << 16;
        let words = [u32::from(queue) << 16, size, self.options.keep_alive_ms, 0, 0, 0];
        // A Fabrics command has its type where others have the namespace.
        self.run(Command { opcode: 0x7f, namespace: 1, words }, &data, 0)
    }

    /// Sets the configuration so that the controller is enabled.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn enable(&mut self) -> io::Result<Completion> {
        // Enabled, with 2^6 bytes an entry for submissions and 2^4 for completions.
        self.set_property(0x14, 0x0046_0001)
    }

    /// Sets a property of four bytes.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn set_property(&mut self, at: u32, value: u32) -> io::Result<Completion> {
        self.run(Command { opcode: 0x7f, namespace: 0, words: [0, at, value, 0, 0, 0] }, &[], 0)
    }

    /// Reads a property of four bytes, or of eight.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn property(&mut self, at: u32, is_long: bool) -> io::Result<Completion> {
        self.run(Command { opcode: 0x7f, namespace: 4, words: [is_long.into(), at, 0, 0, 0, 0] }, &[], 0)
    }

    /// Sends a command with its data, and waits for the completion, with at most `wanted_bytes` of data.
    ///
    /// # Errors
    /// Errors of the system; `InvalidData` for anything that is not NVMe/TCP.
    pub fn run(&mut self, command: Command, data: &[u8], wanted_bytes: u32) -> io::Result<Completion> {
        let id = self.send(command, data, wanted_bytes)?;
        let completion = self.next()?;
        expect(completion.id == id, "the completion of the only command")?;
        Ok(completion)
    }

    /// Sends a command. Data that does not fit the capsule is sent when the controller asks for it.
    ///
    /// # Errors
    /// What the system says.
    pub fn send(&mut self, command: Command, data: &[u8], wanted_bytes: u32) -> io::Result<u16> {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        let is_inside = !data.is_empty() && data.len() <= IN_CAPSULE_BYTES;
        let kind = if is_inside { IN_CAPSULE } else { BY_TRANSPORT };
        let length = if data.is_empty() { wanted_bytes } else { data.len() as u32 };
        let entry = entry(command, id, kind, length);
        if !data.is_empty() && !is_inside {
            self.owed.push((id, data.to_vec()));
        }
        self.send_message(CAPSULE_CMD, 0, &entry, if is_inside { data } else { &[] })?;
        Ok(id)
    }

    /// Sends a message with the digests that were agreed on.
    ///
    /// # Errors
    /// What the system says.
    pub fn send_message(&mut self, kind: u8, flags: u8, header: &[u8], data: &[u8]) -> io::Result<()> {
        let header_bytes = 8 + header.len();
        let data_at = header_bytes + if self.options.header_digests { 4 } else { 0 };
        let has_data_digest = self.options.data_digests && !data.is_empty();
        let bytes = data_at + data.len() + if has_data_digest { 4 } else { 0 };
        let flags = flags | u8::from(self.options.header_digests) | u8::from(has_data_digest) << 1;
        let offset = if data.is_empty() { 0 } else { data_at as u8 };
        let mut message = vec![kind, flags, header_bytes as u8, offset];
        message.extend((bytes as u32).to_le_bytes());
        message.extend(header);
        if self.options.header_digests {
            message.extend(crc32c::crc32c(&message).to_le_bytes());
        }
        message.extend(data);
        if has_data_digest {
            message.extend(crc32c::crc32c(data).to_le_bytes());
        }
        self.stream.write_all(&message)
    }

    /// As [`send`](Self::send), and waits until its data is sent too. So no later command overtakes it.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn send_whole(&mut self, command: Command, data: &[u8], wanted_bytes: u32) -> io::Result<u16> {
        let id = self.send(command, data, wanted_bytes)?;
        while self.owed.iter().any(|(of, _)| *of == id) {
            self.take_message()?;
        }
        Ok(id)
    }

    /// The next completion of any command. Sends data that the controller asks for in the meantime.
    ///
    /// # Errors
    /// Errors of the system; `InvalidData` for anything that is not NVMe/TCP.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<Completion> {
        loop {
            if let Some(completion) = self.done.pop_front() {
                return Ok(completion);
            }
            self.take_message()?;
        }
    }

    fn take_message(&mut self) -> io::Result<()> {
        let (kind, flags, header, data) = self.message()?;
        match kind {
            C2H_DATA => {
                let id = half(&header, 0);
                expect(half(&header, 8) as usize == data.len() & 0xffff, "as much data as it says")?;
                self.came.push((id, data));
                // The data stands for the completion, which does not follow.
                if flags & 8 != 0 {
                    self.complete(id, 0, 0);
                }
                Ok(())
            }
            R2T => self.send_owed(&header),
            CAPSULE_RESP => {
                let result = u64::from_le_bytes(array(&header, 0));
                // The lowest bit is the phase tag, which has no meaning here.
                self.complete(half(&header, 12), half(&header, 14) >> 1 & 0x7ff, result);
                Ok(())
            }
            _ => expect(false, "a message of a known type"),
        }
    }

    fn complete(&mut self, id: u16, status: u16, result: u64) {
        let at = self.came.iter().position(|(of, _)| *of == id);
        let data = at.map(|at| self.came.remove(at).1).unwrap_or_default();
        // A command that is refused is not asked for its data.
        self.owed.retain(|(of, _)| *of != id);
        self.done.push_back(Completion { id, status, result, data });
    }

    /// Sends the requested data in two messages, or in more if they would be long.
    fn send_owed(&mut self, request: &[u8]) -> io::Result<()> {
        let (id, tag) = (half(request, 0), half(request, 2));
        let (offset, length) = (word(request, 4) as usize, word(request, 8) as usize);
        let at = self.owed.iter().position(|(of, _)| *of == id);
        let Some(at) = at else { return expect(false, "a request for data of a command that has some") };
        let (_, data) = self.owed.remove(at);
        let wanted = data.get(offset..offset + length);
        let Some(wanted) = wanted else { return expect(false, "a request for data that there is") };
        let mut sent = 0;
        for piece in wanted.chunks((length / 2 + 1).min(100_000)) {
            let is_last = sent + piece.len() == length;
            let mut header = [id.to_le_bytes(), tag.to_le_bytes()].concat();
            header.extend(((offset + sent) as u32).to_le_bytes());
            header.extend((piece.len() as u32).to_le_bytes());
            header.extend([0; 4]);
            self.send_message(H2C_DATA, u8::from(is_last) << 2, &header, piece)?;
            sent += piece.len();
        }
        Ok(())
    }

    /// The next message: type, flags, the header after its common part, data. Digests are checked.
    ///
    /// # Errors
    /// Errors of the system; `InvalidData` for anything that is not NVMe/TCP.
    pub fn message(&mut self) -> io::Result<(u8, u8, Vec<u8>, Vec<u8>)> {
        let mut common = [0; 8];
        self.stream.read_exact(&mut common)?;
        let [kind, flags, header_bytes, offset, ..] = common;
        let bytes = word(&common, 4) as usize;
        let least = common.len().max(header_bytes.into());
        expect((least..1 << 24).contains(&bytes), "a length that can be")?;
        let mut rest = vec![0; bytes - common.len()];
        self.stream.read_exact(&mut rest)?;
        let whole = [&common[..], &rest].concat();
        let header_end = usize::from(header_bytes);
        if flags & 1 != 0 && kind != C2H_TERM {
            let digest = crc32c::crc32c(&whole[..header_end]).to_le_bytes();
            expect(whole.get(header_end..header_end + 4) == Some(&digest), "a header that fits its digest")?;
        }
        let (start, trailer) = (usize::from(offset), if flags & 2 != 0 { 4 } else { 0 });
        if offset == 0 {
            let data = if kind == C2H_TERM { whole[header_end..].to_vec() } else { Vec::new() };
            return Ok((kind, flags, whole[8..header_end].to_vec(), data));
        }
        let aligned = (usize::from(self.options.alignment) + 1) * 4;
        expect(start.is_multiple_of(aligned) && start + trailer <= bytes, "data where it may be")?;
        let data = whole[start..bytes - trailer].to_vec();
        if trailer > 0 {
            expect(whole[bytes - 4..] == crc32c::crc32c(&data).to_le_bytes(), "data that fits its digest")?;
        }
        Ok((kind, flags, whole[8..header_end].to_vec(), data))
    }
}

/// A command with its data as one message without digests, for a caller that keeps its own numbers.
pub fn put_capsule(out: &mut Vec<u8>, command: Command, id: u16, data: &[u8], wanted_bytes: u32) {
    let has_data = !data.is_empty();
    let (kind, length) = if has_data { (IN_CAPSULE, data.len() as u32) } else { (BY_TRANSPORT, wanted_bytes) };
    out.extend([CAPSULE_CMD, 0, CAPSULE_BYTES, if has_data { CAPSULE_BYTES } else { 0 }]);
    out.extend((u32::from(CAPSULE_BYTES) + data.len() as u32).to_le_bytes());
    out.extend(entry(command, id, kind, length));
    out.extend(data);
}

/// A submission queue entry.
fn entry(command: Command, id: u16, kind: u8, length: u32) -> Vec<u8> {
    let mut entry = vec![command.opcode, 0x40];
    entry.extend(id.to_le_bytes());
    entry.extend(command.namespace.to_le_bytes());
    entry.resize(32, 0);
    entry.extend(length.to_le_bytes());
    entry.extend([0, 0, 0, kind]);
    command.words.iter().for_each(|word| entry.extend(word.to_le_bytes()));
    entry
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}
