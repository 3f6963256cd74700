//! An engine in a box is an engine, and a probe in a box is a probe: so what is generic over them can be compiled once
//! for all of them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::addr::{Lpn, Ppn, Sectors};
use crate::ftl::{BlockDevice, FtlError, Inspect, Limits, Lookup, Probe, WriteHint};
use crate::stats::Stats;

impl<F: BlockDevice + ?Sized> BlockDevice for Box<F> {
    fn sectors(&self) -> u64 {
        (**self).sectors()
    }

    fn page_bytes(&self) -> u32 {
        (**self).page_bytes()
    }

    fn read(&mut self, at: Sectors, data: &mut [u8]) -> Result<(), FtlError> {
        (**self).read(at, data)
    }

    fn read_page(&mut self, lpn: Lpn, data: &mut [u8]) -> Result<(), FtlError> {
        (**self).read_page(lpn, data)
    }

    fn write(&mut self, at: Sectors, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        (**self).write(at, data, hint)
    }

    fn write_page(&mut self, lpn: Lpn, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        (**self).write_page(lpn, data, hint)
    }

    fn discard(&mut self, at: Sectors) -> Result<(), FtlError> {
        (**self).discard(at)
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        (**self).flush()
    }

    fn clean(&mut self, budget_pages: u32) -> Result<bool, FtlError> {
        (**self).clean(budget_pages)
    }

    fn set_time_us(&mut self, now_us: u64) {
        (**self).set_time_us(now_us);
    }

    fn shutdown(&mut self) -> Result<(), FtlError> {
        (**self).shutdown()
    }
}

impl<F: Inspect + ?Sized> Inspect for Box<F> {
    fn stats(&self) -> &Stats {
        (**self).stats()
    }

    fn reset_stats(&mut self) {
        (**self).reset_stats();
    }

    fn erase_counts(&self) -> Vec<u32> {
        (**self).erase_counts()
    }

    fn limits(&self) -> Limits {
        (**self).limits()
    }
}

impl<F: Lookup + ?Sized> Lookup for Box<F> {
    fn lookup(&self, lpn: Lpn) -> Ppn {
        (**self).lookup(lpn)
    }

    fn holds(&self, lpn: Lpn) -> bool {
        (**self).holds(lpn)
    }
}

impl<P: Probe + ?Sized> Probe for Box<P> {
    fn erased(&mut self, segment: u32, erases: u32) {
        (**self).erased(segment, erases);
    }

    fn victim(&mut self, segment: u32, valid_pages: u32) {
        (**self).victim(segment, valid_pages);
    }

    fn wants_moves(&self) -> bool {
        (**self).wants_moves()
    }

    fn moved(&mut self, segment: u32, class: u8, pages: u32, page: u32) {
        (**self).moved(segment, class, pages, page);
    }

    fn turned(&mut self, class: u8) {
        (**self).turned(class);
    }

    fn migrated(&mut self, logical_block: u32, copied_pages: u32, migrations: u32) {
        (**self).migrated(logical_block, copied_pages, migrations);
    }
}
