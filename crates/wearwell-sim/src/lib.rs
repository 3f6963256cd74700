//! Simulation of flash translation layers.
//!
//! * [`trace`]: recorded requests, in eight formats that are recognized by their content.
//! * [`workload`]: synthetic write patterns, named on the command line.
//! * [`fat`]: a real FAT file system, for workloads that are programs over files.
//! * [`engine`]: any engine on any chip, put together from a description, for runs and for served disks alike.
//! * [`inplace`] and [`plain`]: an engine and layouts to compare with, which no firmware would use.
//! * [`arguments`]: a run by the names, values and defaults of the command line.
//! * [`device`]: a disk in memory, to step by hand.
//! * [`run`](mod@run): a chip, an engine and a host, from the fill to the report.
//! * [`charts`]: charts of runs, and pages of charts.
//! * [`theory`]: closed forms of write amplification that a simulated run must meet.
//! * [`size`] and [`names`]: sizes, percentages and misspelt names as people type them.
#![forbid(unsafe_code)]

pub mod arguments;
pub mod charts;
pub mod device;
pub mod engine;
pub mod fat;
pub mod inplace;
pub mod names;
pub mod plain;
mod request;
pub mod run;
pub mod size;
pub mod theory;
pub mod trace;
pub mod workload;

pub use request::{Op, Request};
