//! Power cuts at every operation, with everything the flash contract says they may leave.
//!
//! On small chips exhaustively: every operation of a run is cut with every outcome, and every operation of the
//! recovery after it is cut again with every outcome. On larger ones by seed, in long runs of cut after cut.
//! `canary` shows that the proof sees: broken engines are caught.

mod block;
mod block_canary;
mod block_decay;
mod block_faults;
mod block_others;
mod block_regressions;
mod block_storms;
mod canary;
mod checkpoint;
mod damage;
mod destroyed;
mod exhaustive;
mod failed_blocks;
mod failing;
mod faults;
mod liveness;
mod lost_parts;
mod marked_since;
mod model;
mod mount_storms;
mod nor_faults;
mod paged;
mod retold;
mod rig;
mod sessions;
mod storm;
mod tag_pages;
mod timeouts;
