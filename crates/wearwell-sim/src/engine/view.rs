//! A view of an engine that does not depend on its type.

use serde::Serialize;
use wearwell::logblock::{BlockFtl, BlockUse, Pages};
use wearwell::page::log::{Log, Payload};
use wearwell::page::{ConfigError, PageFtl, Policies, SegState};
use wearwell::{BlockDevice, Class, Inspect, Lookup, Lpn, Probe, Seg};
use wearwell_aware::Aware;
use wearwell_flash::Nand;

use super::own::OwnPolicies;
use crate::inplace::InPlaceFtl;

/// What a segment is used for, in any engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SegmentState {
    /// Erased, or to be erased before use.
    Free,
    /// Taking writes.
    Open,
    /// Full, or closed; holds data.
    Closed,
    /// Its valid pages are being moved.
    Victim,
    /// Being erased in the background.
    Erasing,
    /// Block mapping: holds a logical block in order.
    Data,
    /// Block mapping: a log block.
    Log,
    /// Retired.
    Bad,
}

/// One segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SegmentRow {
    /// Its number.
    pub segment: u32,
    /// What it is used for.
    pub state: SegmentState,
    /// Pages that the map points to.
    pub valid_pages: u32,
    /// Data pages that it can hold.
    pub pages: u32,
    /// Times erased.
    pub erases: u32,
    /// The class of pages that it was opened for, as the placement policy numbers classes. None if there are no
    /// classes, or if it is not in use.
    pub class: Option<u8>,
    /// The bank that it lies on, or the first one of a stripe.
    pub bank: u32,
}

/// What was inferred from file systems, since the device was formatted or mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Inferred {
    /// Clusters at the end that are free and not yet dead.
    pub pending_clusters: u64,
    /// Dead clusters at the end.
    pub dead_clusters: u64,
    /// Times a cluster became dead.
    pub committed_clusters: u64,
    /// Times a cluster that was free turned out live before it was dead.
    pub cancelled_clusters: u64,
    /// Times a dead cluster was used again.
    pub revived_clusters: u64,
    /// Sectors read while dead.
    pub dead_sector_reads: u64,
    /// Times everything was read again.
    pub rebuilds: u64,
    /// Bytes of memory.
    pub table_bytes: u64,
}

/// The engine has no policies that could be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Only page mapping has them.
    #[error("this engine's policies cannot be changed: only page mapping's can")]
    OfThisEngine,
    /// They do not fit.
    #[error(transparent)]
    DoNotFit(#[from] ConfigError),
}

/// An engine of any type, to inspect and to control; usable as `dyn AnyEngine`.
pub trait AnyEngine: BlockDevice + Lookup + Send + 'static {
    /// Every segment, in order. The bank is left 0: the caller knows the chip's banks.
    fn segment_rows(&self) -> Vec<SegmentRow>;

    /// The streams that write to segments of a class, in ascending order. Empty if streams are not kept apart. Streams
    /// that have not written since a mount are not listed.
    fn streams_of(&self, class: u8) -> Vec<u16> {
        let _ = class;
        Vec::new()
    }

    /// Free pages in the open segment of a class; none if it has none.
    fn room_of(&self, class: u8) -> Option<u32> {
        let _ = class;
        None
    }

    /// Ends the open segment of a class, if there is one.
    fn end_segment_of(&mut self, class: u8) {
        let _ = class;
    }

    /// The policies in force; none for engines without a choice.
    fn policies(&self) -> Option<Policies> {
        None
    }

    /// Puts other policies in force.
    ///
    /// # Errors
    /// If the engine has none, or these do not fit; nothing has changed then.
    fn set_policies(&mut self, policies: Policies) -> Result<(), PolicyError> {
        let _ = policies;
        Err(PolicyError::OfThisEngine)
    }

    /// Puts policies from outside in force.
    ///
    /// # Errors
    /// If the engine has no policies, or these do not fit; nothing has changed then.
    fn set_own_policies(&mut self, own: OwnPolicies) -> Result<(), PolicyError> {
        if own.is_empty() { Ok(()) } else { Err(PolicyError::OfThisEngine) }
    }

    /// The state of the inference in front of the engine, if there is one.
    fn inferred(&self) -> Option<Inferred> {
        None
    }

    /// Announces pages that a replay will write soon, so that their map entries can be fetched together. The engine
    /// behaves the same.
    fn expect_writes(&mut self, pages: &[Lpn]) {
        let _ = pages;
    }
}

impl From<SegState> for SegmentState {
    fn from(state: SegState) -> Self {
        match state {
            SegState::Free | SegState::Suspect => Self::Free,
            SegState::Open(_) => Self::Open,
            SegState::Closed(_) => Self::Closed,
            SegState::Victim(_) => Self::Victim,
            SegState::Erasing => Self::Erasing,
            SegState::Bad => Self::Bad,
        }
    }
}

impl<L: Log + Send + 'static, P: Probe + Send + 'static> AnyEngine for PageFtl<L, P> {
    fn segment_rows(&self) -> Vec<SegmentRow> {
        let table = self.segments();
        let row = |seg: Seg| {
            let state = table.state(seg);
            SegmentRow {
                segment: seg.0,
                state: state.into(),
                valid_pages: table.valid(seg),
                pages: table.slots(),
                erases: table.erases(seg),
                class: state.is_in_use().then_some(table.class(seg).0),
                bank: 0,
            }
        };
        table.all().map(row).collect()
    }

    fn streams_of(&self, class: u8) -> Vec<u16> {
        Self::streams_of(self, Class(class))
    }

    fn room_of(&self, class: u8) -> Option<u32> {
        Self::room_of(self, Class(class))
    }

    fn end_segment_of(&mut self, class: u8) {
        Self::end_segment_of(self, Class(class));
    }

    fn policies(&self) -> Option<Policies> {
        Some(Self::policies(self))
    }

    fn set_policies(&mut self, policies: Policies) -> Result<(), PolicyError> {
        Ok(Self::set_policies(self, policies)?)
    }

    fn set_own_policies(&mut self, own: OwnPolicies) -> Result<(), PolicyError> {
        // The placement first: it alone can be refused, and nothing has changed then.
        if let Some(placement) = own.placement {
            self.set_own_placement(placement.policy, placement.classes)?;
        }
        if let Some(victims) = own.victims {
            self.set_own_victims(victims.policy);
        }
        Ok(())
    }

    fn expect_writes(&mut self, pages: &[Lpn]) {
        Self::expect_writes(self, pages);
    }
}

impl<M: Pages + Send + 'static, P: Probe + Send + 'static> AnyEngine for BlockFtl<M, P> {
    fn segment_rows(&self) -> Vec<SegmentRow> {
        let pages = self.limits().pages_per_segment;
        let rows = self.segments().into_iter().enumerate();
        let row = |(at, segment): (usize, wearwell::logblock::BlockSegment)| SegmentRow {
            segment: at as u32,
            state: match segment.used {
                BlockUse::Free => SegmentState::Free,
                BlockUse::Taken => SegmentState::Open,
                BlockUse::Data => SegmentState::Data,
                BlockUse::Log => SegmentState::Log,
                BlockUse::Bad => SegmentState::Bad,
            },
            valid_pages: segment.valid_pages,
            pages,
            erases: segment.erases,
            class: None,
            bank: 0,
        };
        rows.map(row).collect()
    }
}

impl<N: Nand + Send + 'static, B: Payload + Send + 'static> AnyEngine for InPlaceFtl<N, B> {
    /// The in-place engine has no segments beside the chip's blocks, and keeps no state of them.
    fn segment_rows(&self) -> Vec<SegmentRow> {
        Vec::new()
    }
}

impl<F: AnyEngine> AnyEngine for Aware<F> {
    fn segment_rows(&self) -> Vec<SegmentRow> {
        self.inner().segment_rows()
    }

    fn streams_of(&self, class: u8) -> Vec<u16> {
        self.inner().streams_of(class)
    }

    fn room_of(&self, class: u8) -> Option<u32> {
        self.inner().room_of(class)
    }

    fn end_segment_of(&mut self, class: u8) {
        self.inner_mut().end_segment_of(class);
    }

    fn policies(&self) -> Option<Policies> {
        self.inner().policies()
    }

    fn set_policies(&mut self, policies: Policies) -> Result<(), PolicyError> {
        self.inner_mut().set_policies(policies)
    }

    fn set_own_policies(&mut self, own: OwnPolicies) -> Result<(), PolicyError> {
        self.inner_mut().set_own_policies(own)
    }

    fn expect_writes(&mut self, pages: &[Lpn]) {
        self.inner_mut().expect_writes(pages);
    }

    fn inferred(&self) -> Option<Inferred> {
        let counters = self.counters();
        Some(Inferred {
            pending_clusters: counters.pending_clusters,
            dead_clusters: counters.dead_clusters,
            committed_clusters: counters.committed_clusters,
            cancelled_clusters: counters.cancelled_clusters,
            revived_clusters: counters.revived_clusters,
            dead_sector_reads: counters.dead_sector_reads,
            rebuilds: counters.rebuilds,
            table_bytes: Self::table_bytes(self),
        })
    }
}
