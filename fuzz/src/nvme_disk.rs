//! A disk in memory for NVMe/TCP hosts, which checks what it is asked for.

use std::net::SocketAddr;
use std::ops::Range;

use wearwell_serve::disk::{HandleDeed, HandleEvent, Watched};
use wearwell_serve::fdp::{FdpSpec, Isolation};
use wearwell_serve::nvme::{Admission, Health, Hosts, Medium, Status, Subsystem, Target};

pub(crate) const SIZE_BYTES: u64 = 1 << 20;
pub(crate) const HANDLES: u16 = 4;
pub(crate) const NQN: &str = "nqn.2026-11.example:fuzzed";
/// A host, and a secret of 32 bytes of 0x11.
const HOSTS: &str = "nqn.host DHHC-1:00:ERERERERERERERERERERERERERERERERERERERERERERHYIEm8:";

/// A disk in memory. Accesses outside it, and handles that it does not have, are bugs.
pub(crate) struct Ram {
    pub(crate) bytes: Vec<u8>,
    pub(crate) has_handles: bool,
}

impl Ram {
    pub(crate) fn new(has_handles: bool) -> Self {
        Self { bytes: vec![0; SIZE_BYTES as usize], has_handles }
    }

    fn range(&self, offset: u64, bytes: u64) -> Range<usize> {
        assert!(offset <= SIZE_BYTES && bytes <= SIZE_BYTES - offset, "{bytes} bytes at {offset}");
        offset as usize..(offset + bytes) as usize
    }
}

impl Medium for Ram {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> Result<(), Status> {
        data.copy_from_slice(&self.bytes[self.range(offset, data.len() as u64)]);
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8], stream: u16) -> Result<(), Status> {
        assert!(stream < HANDLES || !self.has_handles);
        let range = self.range(offset, data.len() as u64);
        self.bytes[range].copy_from_slice(data);
        Ok(())
    }

    fn write_zeroes(&mut self, offset: u64, bytes: u64, _: u16, _: bool) -> Result<(), Status> {
        let range = self.range(offset, bytes);
        self.bytes[range].fill(0);
        Ok(())
    }

    fn discard(&mut self, offset: u64, bytes: u64) -> Result<(), Status> {
        self.write_zeroes(offset, bytes, 0, false)
    }

    fn flush(&mut self) -> Result<(), Status> {
        Ok(())
    }

    fn handle_room(&mut self, handle: u16) -> Result<Option<u64>, Status> {
        assert!(handle < HANDLES);
        Ok(Some(4096))
    }

    fn renew_handle(&mut self, handle: u16) -> Result<(), Status> {
        assert!(handle < HANDLES);
        Ok(())
    }

    fn note_unknown_handle(&mut self, handle: u16, identifier: u16) -> Result<(), Status> {
        assert!(handle < HANDLES && identifier >= HANDLES);
        Ok(())
    }

    fn watched(&mut self, handle: u16) -> Result<Watched, Status> {
        assert!(handle < HANDLES);
        Ok(Watched::MOVED)
    }

    fn watch_handle(&mut self, handle: u16, _: Watched) -> Result<(), Status> {
        assert!(handle < HANDLES);
        Ok(())
    }

    fn handle_events(&mut self, of_host: bool) -> Result<Vec<HandleEvent>, Status> {
        let deed = if of_host { HandleDeed::Restarted } else { HandleDeed::Moved { pages: 3, page: 9 } };
        Ok(vec![HandleEvent { handle: 1, time_us: 7, deed }])
    }

    fn health(&mut self) -> Result<Health, Status> {
        Ok(Health::default())
    }
}

/// The disk as hosts see it, perhaps with handles, and perhaps only after authentication.
pub(crate) fn target(has_handles: bool, is_locked: bool) -> Target {
    let subsystem = Subsystem {
        nqn: NQN.to_owned(),
        unique: 1,
        address: SocketAddr::from(([127, 0, 0, 1], 4420)),
        size_bytes: SIZE_BYTES,
        page_bytes: 4096,
        segment_bytes: 1 << 16,
        is_read_only: false,
        keeps_events: true,
        fdp: has_handles.then_some(FdpSpec { handles: HANDLES, isolation: Isolation::Initially }),
    };
    let hosts = Hosts::parse(HOSTS).ok().filter(|_| is_locked);
    let entropy = |bytes: &mut [u8]| {
        bytes.fill(7);
        true
    };
    Target::new(subsystem, hosts.map(|hosts| Admission { hosts, entropy }))
}
