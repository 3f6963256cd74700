//! The host's programs: files on a FAT volume, and files on a journaling file system.

use std::io;

use wearwell::{BlockDevice, SECTOR_BYTES, Sectors};

use super::error::RunError;
use super::host::Host;
use crate::engine::{AnyEngine, OnChip};
use crate::fat::Device;
use crate::request::{Op, Request};
use crate::workload::{FileWorkload, JournalWorkload, Metadata};

impl<F: AnyEngine + OnChip> Host<'_, F> {
    /// Issues the requests of formatting a volume and making a program's first files.
    pub(super) fn set_up(&mut self, files: &mut FileWorkload) -> Result<(), RunError> {
        let (requests, written) = (files.take_requests(), files.take_written());
        self.begin_phase("set-up", requests.len() as u64);
        self.issue(&requests, &written, |host, done| host.tick(done, 1))
    }

    /// Issues requests in order, with their bytes. `each` is called with the number done.
    fn issue(
        &mut self,
        requests: &[Request],
        written: &[u8],
        each: impl Fn(&mut Self, u64) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut rest = written;
        for (request, done) in requests.iter().zip(1..) {
            // Where no bytes are kept, none are left to take.
            let bytes = if request.op == Op::Write { rest.len().min(request.length_bytes as usize) } else { 0 };
            let (data, behind) = rest.split_at(bytes);
            self.request(request, data)?;
            rest = behind;
            each(self, done)?;
        }
        Ok(())
    }

    /// Does a program's transactions, and issues the requests of each when it is done. With `write_bytes` it does as
    /// many transactions as write that much. It stops if as many transactions as the program has pass without a write.
    pub(super) fn transact(&mut self, files: &mut FileWorkload, write_bytes: Option<u64>) -> Result<(), RunError> {
        let transactions = files.transactions();
        self.begin_phase("transactions", write_bytes.unwrap_or(transactions));
        let (mut done, mut last_write) = (0, 0);
        loop {
            let is_done = match write_bytes {
                Some(limit) => self.written_bytes >= limit || done - last_write >= transactions,
                None => done >= transactions,
            };
            if is_done {
                return Ok(());
            }
            done += 1;
            files.transact().map_err(|error| RunError::Files { transaction: done, error })?;
            let written_before = self.written_bytes;
            self.issue(&files.take_requests(), &files.take_written(), |_, _| Ok(()))?;
            let written = self.written_bytes - written_before;
            if written > 0 {
                last_write = done;
            }
            // With --write the meter knows where the half is. Otherwise it is half of the transactions, whatever they
            // write.
            if write_bytes.is_none() && done >= transactions / 2 {
                self.halve();
            }
            // Progress counts what ends the phase: bytes or transactions.
            match write_bytes {
                Some(_) => self.tick(self.written_bytes, written)?,
                None => self.tick(done, 1)?,
            }
        }
    }

    /// Formats a journaling file system, makes its files, and ages it.
    pub(super) fn create_files(&mut self, journal: &mut JournalWorkload) -> Result<(), RunError> {
        self.begin_phase("set-up", journal.files());
        let metadata = journal.metadata();
        self.issue_blocks(journal.format(), &metadata)?;
        for file in 0..journal.files() {
            self.issue_blocks(journal.create(file), &metadata)?;
            self.tick(file + 1, 1)?;
        }
        self.begin_phase("aging", journal.aging_steps());
        for step in 0..journal.aging_steps() {
            self.issue_blocks(journal.age(), &metadata)?;
            self.tick(step + 1, 1)?;
        }
        Ok(())
    }

    /// Does transactions until `write_bytes` are written.
    pub(super) fn write_files(&mut self, journal: &mut JournalWorkload, write_bytes: u64) -> Result<(), RunError> {
        self.begin_phase("workload", write_bytes);
        let metadata = journal.metadata();
        while self.written_bytes < write_bytes {
            let written_before = self.written_bytes;
            self.issue_blocks(journal.transact(), &metadata)?;
            self.tick(self.written_bytes, self.written_bytes - written_before)?;
        }
        Ok(())
    }

    /// Issues requests of a journaling file system.
    fn issue_blocks(&mut self, requests: &[Request], metadata: &Metadata) -> Result<(), RunError> {
        for request in requests {
            // Blocks whose bytes do not matter get generated content.
            let is_kept = self.keeps_bytes() && request.op == Op::Write;
            let bytes = if is_kept { metadata.bytes_of(request) } else { None };
            self.request(request, bytes.as_deref().unwrap_or(&[]))?;
        }
        Ok(())
    }

    /// Reads and compares every file of a program's volume. Returns their number; none if the chip stores nothing.
    pub(super) fn verify_files(&mut self, files: &mut FileWorkload) -> Result<Option<u64>, RunError> {
        if !self.keeps_bytes() {
            return Ok(None);
        }
        self.begin_phase("verify files", 1);
        files.check(ReadOnly(self.ftl())).map(Some).map_err(RunError::FilesDiffer)
    }
}

/// An engine as a device for checking a volume. Writes of the file system, as when it is closed, are dropped.
struct ReadOnly<'a>(&'a mut dyn BlockDevice);

impl Device for ReadOnly<'_> {
    fn sectors(&self) -> u64 {
        self.0.sectors()
    }

    fn read(&mut self, sector: u64, data: &mut [u8]) -> io::Result<()> {
        let at = Sectors { start: sector, count: data.len() as u64 / u64::from(SECTOR_BYTES) };
        self.0.read(at, data).map_err(io::Error::other)
    }

    fn write(&mut self, _sector: u64, _data: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
