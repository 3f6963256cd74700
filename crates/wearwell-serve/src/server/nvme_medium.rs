//! The disk behind its lock, with the interface that an NVMe controller uses.

use std::io;

use wearwell::FtlError;

use crate::disk::{self, Condition, Disk, DiskError, HandleEvent, Watched};
use crate::nvme::{Health, Medium, Status};

use super::batch::Batch;
use super::engine::Engine;
use super::errors::CommandError;
use super::latency;

/// A batch of commands on the disk.
pub(super) struct BatchMedium<'e> {
    batch: Batch<'e>,
    /// The kind of the first command since the last call of `take_kind`.
    kind: Option<usize>,
}

impl<'e> BatchMedium<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        Self { batch: Batch::new(engine), kind: None }
    }

    /// For work that the host did not ask for. Idle cleaning continues.
    pub(super) fn silent(engine: &'e Engine) -> Self {
        Self { batch: Batch::silent(engine), kind: None }
    }

    /// See [`Batch::complete_us`].
    pub(super) fn complete_us(&mut self) -> Option<u64> {
        self.batch.complete_us()
    }

    /// The kind of the request that was executed.
    pub(super) fn take_kind(&mut self) -> Option<usize> {
        self.kind.take()
    }

    fn counts_as(&mut self, kind: usize) {
        // A write with forced unit access is counted as a write, and not as the flush that it ends with.
        self.kind.get_or_insert(kind);
    }
}

impl Medium for BatchMedium<'_> {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> Result<(), Status> {
        let engine = self.batch.engine();
        self.counts_as(latency::READ);
        let access = self.batch.powered().map_err(|error| status(engine, &error, Status::READ_ERROR))?;
        access.command().read(offset, data).map_err(|error| status(engine, &error.into(), Status::READ_ERROR))
    }

    fn write(&mut self, offset: u64, data: &[u8], stream: u16) -> Result<(), Status> {
        let engine = self.batch.engine();
        self.counts_as(latency::WRITE);
        self.batch.write(offset, data, stream).map_err(|error| status(engine, &error, Status::WRITE_FAULT))
    }

    fn write_zeroes(&mut self, offset: u64, bytes: u64, stream: u16, keeps_allocated: bool) -> Result<(), Status> {
        let engine = self.batch.engine();
        self.counts_as(latency::WRITE_ZEROES);
        let zeroed = self.batch.write_zeroes(offset, bytes, stream, keeps_allocated);
        zeroed.map_err(|error| status(engine, &error, Status::WRITE_FAULT))
    }

    fn discard(&mut self, offset: u64, bytes: u64) -> Result<(), Status> {
        let engine = self.batch.engine();
        self.counts_as(latency::TRIM);
        self.batch.discard(offset, bytes).map_err(|error| status(engine, &error, Status::WRITE_FAULT))
    }

    fn flush(&mut self) -> Result<(), Status> {
        let engine = self.batch.engine();
        self.counts_as(latency::FLUSH);
        self.batch.flush().map_err(|error| status(engine, &error, Status::WRITE_FAULT))
    }

    fn handle_room(&mut self, handle: u16) -> Result<Option<u64>, Status> {
        let engine = self.batch.engine();
        let access = self.batch.powered().map_err(|error| status(engine, &error, Status::INTERNAL))?;
        Ok(access.disk_mut().handle_room(handle))
    }

    fn renew_handle(&mut self, handle: u16) -> Result<(), Status> {
        let engine = self.batch.engine();
        let access = self.batch.powered().map_err(|error| status(engine, &error, Status::INTERNAL))?;
        access.command().renew_handle(handle).map_err(|error| status(engine, &error.into(), Status::WRITE_FAULT))
    }

    fn note_unknown_handle(&mut self, handle: u16, identifier: u16) -> Result<(), Status> {
        let engine = self.batch.engine();
        let access = self.batch.powered().map_err(|error| status(engine, &error, Status::INTERNAL))?;
        access.command().note_unknown_handle(handle, identifier);
        Ok(())
    }

    fn watched(&mut self, handle: u16) -> Result<Watched, Status> {
        let engine = self.batch.engine();
        let access = self.batch.powered().map_err(|error| status(engine, &error, Status::INTERNAL))?;
        Ok(access.disk().watched(handle))
    }

    fn watch_handle(&mut self, handle: u16, watched: Watched) -> Result<(), Status> {
        let engine = self.batch.engine();
        let access = self.batch.powered().map_err(|error| status(engine, &error, Status::INTERNAL))?;
        access.disk_mut().watch_handle(handle, watched);
        Ok(())
    }

    fn handle_events(&mut self, of_host: bool) -> Result<Vec<HandleEvent>, Status> {
        let engine = self.batch.engine();
        let access = self.batch.powered().map_err(|error| status(engine, &error, Status::INTERNAL))?;
        Ok(access.disk().handle_events(of_host))
    }

    fn health(&mut self) -> Result<Health, Status> {
        let engine = self.batch.engine();
        let access = self.batch.powered().map_err(|error| status(engine, &error, Status::INTERNAL))?;
        Ok(health(access.disk_mut()))
    }
}

/// What a host hears of an error, which is counted; `failed` if the chip could not do what it was told.
fn status(engine: &Engine, error: &CommandError, failed: Status) -> Status {
    engine.errors().add(error);
    match error {
        // Neither says anything about the blocks that the command named.
        CommandError::Poisoned(_) | CommandError::Disk(DiskError::PowerOff) => Status::INTERNAL,
        CommandError::Disk(error) => match error {
            DiskError::Ftl(FtlError::WornOut { .. }) | DiskError::NoRoom => Status::CAPACITY_EXCEEDED,
            DiskError::Sync(error) if error.kind() == io::ErrorKind::StorageFull => Status::CAPACITY_EXCEEDED,
            DiskError::OutOfRange { .. } | DiskError::Ftl(FtlError::OutOfRange { .. }) => Status::LBA_OUT_OF_RANGE,
            _ => failed,
        },
    }
}

fn health(disk: &mut Disk) -> Health {
    let disk::Health { state, spare_percent, lost_pages, .. } = disk.health();
    let (totals, life) = (disk.totals(), disk.life());
    Health {
        available_spare_percent: spare_percent,
        // Rounded to the nearest integer, at most 255.
        percentage_used: totals.wear().percent_used.round() as u8,
        opens: life.opens,
        read_bytes: life.read_bytes,
        written_bytes: life.written_bytes,
        programmed_bytes: life.programmed_bytes,
        erased_bytes: life.erased_bytes,
        live_bytes: totals.limits.live_pages * u64::from(totals.page_bytes),
        media_errors: lost_pages,
        is_read_only: state == Condition::ReadOnly,
    }
}
