//! Checks of a profile.

use super::{ChipKind, ChipProfile, ProfileError};

impl ChipProfile {
    /// Checks every field, alone and against the others. Constructors of profiles and of chips call it.
    ///
    /// # Errors
    /// [`ProfileError::Invalid`] with the first thing found.
    pub fn validate(&self) -> Result<(), ProfileError> {
        // The shape comes first: once it is in its bounds, the products of the other checks are, too.
        match self
            .shape_fault()
            .or_else(|| self.kind_fault())
            .or_else(|| self.capacity_fault())
            .or_else(|| self.times_fault())
        {
            None => Ok(()),
            Some(reason) => Err(ProfileError::Invalid { name: self.name.clone(), reason }),
        }
    }

    /// What is wrong with blocks, banks and channels.
    fn shape_fault(&self) -> Option<String> {
        if !self.page_bytes.is_power_of_two() || !(512..=65_536).contains(&self.page_bytes) {
            return Some(format!("page_bytes is {}: it must be a power of two from 512 to 65536", self.page_bytes));
        }
        for (what, value) in [
            ("pages_per_block", self.pages_per_block),
            ("blocks", self.blocks),
            ("banks", self.banks),
            ("stripe", self.stripe),
            ("channels", self.channels),
            ("endurance_cycles", self.endurance_cycles),
        ] {
            if value == 0 {
                return Some(format!("{what} is 0"));
            }
        }
        if !self.blocks.is_multiple_of(self.banks) {
            return Some(format!("{} blocks do not divide evenly over {} banks", self.blocks, self.banks));
        }
        if !self.banks.is_multiple_of(self.stripe) {
            return Some(format!("a stripe of {} blocks does not divide {} banks", self.stripe, self.banks));
        }
        if !self.banks.is_multiple_of(self.channels) {
            return Some(format!("{} banks do not divide evenly over {} channels", self.banks, self.channels));
        }
        if !(1..=4).contains(&self.paired_pages) {
            return Some(format!("paired_pages is {}: it must be 1 to 4", self.paired_pages));
        }
        // The greatest 32-bit number stands for no page.
        if self.pages() >= u64::from(u32::MAX) {
            return Some(format!("{} pages: a chip has less than 2^32 - 1", self.pages()));
        }
        None
    }

    /// What is wrong with the fields whose meaning depends on the kind.
    fn kind_fault(&self) -> Option<String> {
        let data_bytes = u64::from(self.page_bytes) * u64::from(self.pages_per_block);
        match self.kind {
            ChipKind::Nand if u64::from(self.block_bytes) != data_bytes => Some(format!(
                "block_bytes is {}, but {} pages of {} bytes are {data_bytes}",
                self.block_bytes, self.pages_per_block, self.page_bytes
            )),
            ChipKind::Nand if self.spare_bytes > self.page_bytes => {
                Some(format!("spare_bytes is {}, more than a page", self.spare_bytes))
            }
            ChipKind::Nor if data_bytes > u64::from(self.block_bytes) => {
                Some(format!("{data_bytes} bytes of pages do not fit a block of {} bytes", self.block_bytes))
            }
            ChipKind::Nor if self.spare_bytes != 0 => Some("NOR has no spare bytes".to_owned()),
            ChipKind::Nor if self.paired_pages != 1 => Some("NOR has no paired pages".to_owned()),
            _ => None,
        }
    }

    /// What is wrong with capacity and life.
    fn capacity_fault(&self) -> Option<String> {
        if self.logical_bytes == 0 || !self.logical_bytes.is_multiple_of(u64::from(self.page_bytes)) {
            return Some(format!("logical_bytes is {}: it must be whole pages, at least one", self.logical_bytes));
        }
        if self.logical_bytes > self.physical_bytes() {
            return Some(format!(
                "logical_bytes is {}, more than the {} physical bytes",
                self.logical_bytes,
                self.physical_bytes()
            ));
        }
        if self.max_bad_blocks >= self.blocks {
            return Some(format!("max_bad_blocks is {}, of {} blocks", self.max_bad_blocks, self.blocks));
        }
        if !(0.0..=1.0).contains(&self.endurance_spread) {
            return Some(format!("endurance_spread is {}: it must be from 0 to 1", self.endurance_spread));
        }
        None
    }

    /// What is wrong with the times. Each time, and their sum for a page, is at most an hour, so that the time of an
    /// operation stays far from overflow. The clock saturates.
    fn times_fault(&self) -> Option<String> {
        const HOUR_US: f64 = 3.6e9;
        let t = self.times.as_ref()?;
        for (what, value) in [
            ("read_us", t.read_us),
            ("read_us_per_byte", t.read_us_per_byte),
            ("program_us", t.program_us),
            ("program_us_per_byte", t.program_us_per_byte),
            ("erase_us", t.erase_us),
            ("suspend_us", t.suspend_us.unwrap_or(0.0)),
        ] {
            // NaN lies in no range, so it is refused here as well.
            if !(0.0..=HOUR_US).contains(&value) {
                return Some(format!("times.{what} is {value}: it must be from 0 to {HOUR_US}"));
            }
        }
        let page_bytes = f64::from(self.page_bytes + self.spare_bytes);
        for (what, value) in [
            ("read", t.read_us + t.read_us_per_byte * page_bytes),
            ("program", t.program_us + t.program_us_per_byte * page_bytes),
        ] {
            if value > HOUR_US {
                return Some(format!("times: to {what} a page takes {value} us: it must be at most {HOUR_US}"));
            }
        }
        match t.bus_bytes_per_us {
            Some(rate) if !(1e-3..=1e9).contains(&rate) => {
                Some(format!("times.bus_bytes_per_us is {rate}: it must be from 0.001 to 1e9"))
            }
            _ => None,
        }
    }
}
