//! What a run reports: the JSON contract.

use serde::Serialize;
use wearwell::{BlockDevice, Inspect, Limits, Lookup, Lpn, Stats};
use xxhash_rust::xxh3::Xxh3Default;

pub use super::clock::LatencyUs;
use super::config::Pace;
use super::meter::Window;
use super::streams::StreamPages;
pub use crate::engine::Inferred;
use crate::engine::{AnyEngine, AwareMode, DataMode, Engine, EnginePlan};

/// Every choice of a run, and the shape that follows from them. Texts are as on the command line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportConfig {
    /// Name of the chip.
    pub chip: String,
    /// Whether bytes were stored.
    pub data: String,
    /// The engine.
    pub ftl: String,
    /// The layout.
    pub layout: String,
    /// When cleaning runs; null, as the next two, for engines that do not choose what they clean.
    pub when: Option<String>,
    /// Which segment it takes.
    pub which: Option<String>,
    /// Where pages go.
    pub r#where: Option<String>,
    /// Wear leveling.
    pub wear: String,
    /// How full log blocks are recycled; null for engines without a choice.
    pub recycle: Option<String>,
    /// Log blocks at most; null for engines without a limit.
    pub log_blocks: Option<u32>,
    /// When dead blocks are erased; null for engines without a choice.
    pub reclaim: Option<String>,
    /// Capacity for the host, in bytes.
    pub logical: u64,
    /// Part of it that was filled first, as in `90%`.
    pub fill: String,
    /// The byte that the workload's FAT volume begins at; null for workloads without one.
    pub volume_at: Option<u64>,
    /// The workload.
    pub workload: String,
    /// Bytes to write; null for a whole trace.
    pub write: Option<u64>,
    /// Bytes of a request; null for a trace.
    pub unit: Option<u64>,
    /// When the requests of a trace arrived: `trace` at the recorded times, `chip` as soon as the previous one was
    /// complete.
    pub pace: String,
    /// The factor of the recorded speed; null unless the pace is `trace`.
    pub speedup: Option<f64>,
    /// The seed.
    pub seed: u64,
    /// The host's own time for a page, in microseconds.
    pub host_us_per_page: f64,
    /// How much is inferred from file systems.
    pub aware: String,
    /// Least duration of an epoch of the inference, in seconds; null for modes without epochs.
    pub hold_s: Option<f64>,
    /// Least number of flushes in an epoch; null for modes without epochs.
    pub hold_flushes: Option<u32>,
    /// Where streams come from.
    pub streams: String,
    /// Part of the write requests that carried a wrong stream, as in `5%`.
    pub wrong_streams: String,
    /// True if the host said what is read-only.
    pub hints: bool,
    /// Bytes that the host writes in a window; null without windows.
    pub window: Option<u64>,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Data pages of a segment.
    pub pages_per_segment: u32,
    /// Segments.
    pub segments: u32,
    /// Pages that the host can address.
    pub logical_pages: u64,
    /// Pages of flash that hold data.
    pub physical_pages: u64,
    /// Pages that were filled first.
    pub fill_pages: u64,
    /// The bound on flash operations for a host page (promise 6).
    pub max_ops_per_host_page: u64,
    /// Rated erases of a block.
    pub endurance_cycles: u32,
    /// Bytes of the engine's tables.
    pub table_bytes: u64,
    /// The same for each logical page.
    pub table_bytes_per_logical_page: f64,
    /// The same for each physical page.
    pub table_bytes_per_physical_page: f64,
}

/// The distribution of erase counts over good segments, since the device was formatted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EraseCount {
    /// The least.
    pub min: u32,
    /// The greatest.
    pub max: u32,
    /// The mean.
    pub mean: f64,
    /// The population's standard deviation.
    pub stddev: f64,
}

/// What a run reports. Counters start when the fill is done. `wearwell run --json` writes it as it is: fields are
/// added, never renamed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// What was run.
    pub config: ReportConfig,
    /// Pages that host writes touched; a page that is written in part counts once.
    pub host_pages: u64,
    /// Pages that cleaning moved.
    pub copied_pages: u64,
    /// All pages programmed.
    pub programmed_pages: u64,
    /// Segments erased.
    pub erases: u64,
    /// Host pages programmed and copied over host pages.
    pub wa_data: f64,
    /// All pages programmed over host pages.
    pub wa_total: f64,
    /// Distribution of erase counts.
    pub erase_count: EraseCount,
    /// Simulated seconds, from the start of the first command to the end of the last; null for a chip without times.
    pub sim_seconds: Option<f64>,
    /// KiB that the host read and wrote per simulated second.
    pub throughput_kib_s: Option<f64>,
    /// Latency of all commands; null for a chip without times, for a replayed recording, and for a served disk whose
    /// chip is not waited for.
    pub latency_us: Option<LatencyUs>,
    /// Simulated time of commands that write, over the pages that they touch; null as `latency_us` is.
    pub write_us_per_page: Option<f64>,
    /// Live pages ÷ physical pages at the end.
    pub utilization: f64,
    /// Over-provisioning, (T − U) / U of physical pages T and logical pages U.
    pub op: f64,
    /// Spare fraction, (T − U) / T.
    pub spare: f64,
    /// Bytes that the host could write until the first block reaches its rated endurance, at the rate of this run; null
    /// if nothing was erased.
    pub lifetime_host_bytes: Option<f64>,
    /// Seconds that the simulation of the workload took.
    pub wall_seconds: f64,
    /// Host pages per wall second.
    pub host_pages_per_wall_second: f64,
    /// XXH3-64, in hexadecimal, of the physical pages in the order of the host's logical pages, as little-endian u64.
    /// Unmapped pages are all ones.
    pub map_digest: String,
    /// Pages programmed per wall second.
    pub pages_programmed_per_wall_second: f64,
    /// Bytes that the host wrote.
    pub host_bytes: u64,
    /// Bytes that it read.
    pub host_read_bytes: u64,
    /// Bytes programmed: those of all pages programmed.
    pub flash_bytes: u64,
    /// Bytes programmed over bytes that the host wrote: more than `wa_total` where it wrote parts of pages.
    pub wa_bytes: f64,
    /// The engine's other counters, as fields beside these.
    #[serde(flatten)]
    pub counters: Counters,
    /// Mapped pages at the end.
    pub live_pages: u64,
    /// Pages of flash discarded and not erased at the end.
    pub dead_pages: u64,
    /// Segments, bad ones included.
    pub segments: u32,
    /// Bad segments at the end.
    pub bad: u32,
    /// Sectors read back and compared at the end; null if no data was stored.
    pub verified_sectors: Option<u64>,
    /// Files of a volume read back and compared at the end; null where none were stored.
    pub verified_files: Option<u64>,
    /// The result of the inference; null without inference.
    pub inferred: Option<Inferred>,
    /// Pages that the host wrote to each stream, as it named them. Their `host_pages` add up to those of the run.
    pub streams: Vec<StreamPages>,
    /// What became of the host's requests; null for a served disk.
    pub requests: Option<Requests>,
    /// The second half of the run, by bytes that the host wrote, or by transactions if nobody knew how many bytes it
    /// would be; null if nothing was written in it.
    pub second_half: Option<Window>,
    /// The run in windows; empty unless they were asked for.
    pub windows: Vec<Window>,
    /// How much of the gap between `single` and a bound this run closes; null unless the bound was searched.
    pub gap: Option<Gap>,
    /// What makes these results mean less than they seem to, a sentence each.
    pub warnings: Vec<String>,
}

/// How much of what a bound says could be saved a run does save.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gap {
    /// Write amplification of `single` with greedy.
    pub single: f64,
    /// The bound's name.
    pub name: String,
    /// Its write amplification.
    pub bound: f64,
    /// Write amplification of the run, in its second half.
    pub run: f64,
    /// The part that the run closes: 1 at the bound, below 0 where the run is worse than `single`.
    pub closed: f64,
}

/// What became of the requests of a workload or a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Requests {
    /// Requests that there were. A trace that `--write` ended has more than were served and refused.
    pub read: u64,
    /// Requests that were carried out.
    pub served: u64,
    /// Discards that covered no whole page, of which the engine takes nothing.
    pub refused: u64,
}

/// Counters of the engine that are reported unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Pages programmed with host data.
    pub host_programs: u64,
    /// Pages that wear leveling and rescues moved.
    pub wear_copies: u64,
    /// Pages programmed for the engine itself.
    pub meta_programs: u64,
    /// Segments that became empty without a copy.
    pub free_erases: u64,
    /// Victims emptied by copying.
    pub cleanings: u64,
    /// Dead blocks erased early or when the host was idle, by proactive reclamation.
    pub reclaimed_blocks: u64,
    /// Times that the host found fewer free segments than the reserve.
    pub urgent_pages: u64,
    /// Victims among `cleanings` that were taken because of that, whatever the policies.
    pub urgent_cleanings: u64,
    /// Times a write waited for an erase.
    pub erase_waits: u64,
    /// Mapped pages that the host discarded.
    pub discarded_pages: u64,
    /// Pages that the host read.
    pub host_reads: u64,
    /// Pages read for read-modify-write.
    pub merge_reads: u64,
    /// Flushes.
    pub flushes: u64,
    /// Segments retired.
    pub retired_segments: u64,
    /// Pages whose content could not be read when they were moved.
    pub lost_pages: u64,
    /// Log blocks merged with their data block (block mapping, as all below).
    pub merges: u64,
    /// Sequential log blocks that became the data block.
    pub switch_merges: u64,
    /// Sequential log blocks that were completed with copies.
    pub partial_merges: u64,
    /// Log blocks whose live pages moved to a fresh one.
    pub migrations: u64,
    /// Replacement blocks folded with their primary block.
    pub folds: u64,
}

impl From<&Stats> for Counters {
    fn from(stats: &Stats) -> Self {
        Self {
            host_programs: stats.host_programs,
            wear_copies: stats.wear_copies,
            meta_programs: stats.meta_programs,
            free_erases: stats.free_erases,
            cleanings: stats.cleanings,
            reclaimed_blocks: stats.reclaimed_blocks,
            urgent_pages: stats.urgent_pages,
            urgent_cleanings: stats.urgent_cleanings,
            erase_waits: stats.erase_waits,
            discarded_pages: stats.discarded_pages,
            host_reads: stats.host_reads,
            merge_reads: stats.merge_reads,
            flushes: stats.flushes,
            retired_segments: stats.retired_segments,
            lost_pages: stats.lost_pages,
            merges: stats.merges,
            switch_merges: stats.switch_merges,
            partial_merges: stats.partial_merges,
            migrations: stats.migrations,
            folds: stats.folds,
        }
    }
}

/// The host's part of the configuration.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// Whether bytes are stored.
    pub data: DataMode,
    /// Part of the capacity that was filled first, as in `90%`.
    pub fill: String,
    /// The same in pages.
    pub fill_pages: u64,
    /// The byte that the workload's volume begins at; none for workloads without one.
    pub volume_at: Option<u64>,
    /// The workload.
    pub workload: String,
    /// Bytes to write; none where that was not limited.
    pub write: Option<u64>,
    /// Bytes of a request; none where they differ.
    pub unit: Option<u64>,
    /// When the requests of a trace came.
    pub pace: Pace,
    /// The host's own time for a page, in microseconds.
    pub host_us_per_page: f64,
    /// Part of the write requests that carried a wrong stream, as in `5%`.
    pub wrong_streams: String,
    /// True if it says what is read-only.
    pub gives_hints: bool,
    /// Bytes that the host writes in a window; none without windows.
    pub window: Option<u64>,
}

/// Measurements apart from the engine's own counters.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Seconds that it took.
    pub wall_seconds: f64,
    /// Seconds on the chip's timeline; none for a chip without times.
    pub sim_seconds: Option<f64>,
    /// Latency of the host's commands on it.
    pub latency_us: Option<LatencyUs>,
    /// Time that a page took to be written.
    pub write_us_per_page: Option<f64>,
    /// Bytes that the host wrote.
    pub host_written_bytes: u64,
    /// Bytes that it read.
    pub host_read_bytes: u64,
    /// Pages that it wrote to each stream.
    pub streams: Vec<StreamPages>,
    /// Erases of every good segment when the counters started.
    pub erases_before: Vec<u32>,
    /// What became of its requests; none where nobody counted.
    pub requests: Option<Requests>,
    /// The second half.
    pub second_half: Option<Window>,
    /// The windows.
    pub windows: Vec<Window>,
}

impl ReportConfig {
    /// The configuration of an engine and its host.
    pub fn new<F: BlockDevice + Inspect + ?Sized>(ftl: &F, plan: &EnginePlan, host: &HostConfig) -> Self {
        let (spec, limits) = (&plan.spec, ftl.limits());
        let chooses = spec.ftl.chooses_victims();
        Self {
            chip: spec.chip.name.clone(),
            data: host.data.to_string(),
            ftl: spec.ftl.to_string(),
            layout: plan.layout.to_string(),
            when: chooses.then(|| plan.when.to_string()),
            which: chooses.then(|| spec.which.to_string()),
            r#where: chooses.then(|| spec.place.to_string()),
            wear: plan.wear.to_string(),
            recycle: (spec.ftl == Engine::LogBlock).then(|| spec.recycle.to_string()),
            log_blocks: spec.ftl.has_log_blocks().then_some(spec.log_blocks),
            reclaim: spec.ftl.reclaims().then(|| spec.reclaim.to_string()),
            logical: plan.logical_bytes,
            fill: host.fill.clone(),
            volume_at: host.volume_at,
            workload: host.workload.clone(),
            write: host.write,
            unit: host.unit,
            pace: if matches!(host.pace, Pace::Chip) { "chip" } else { "trace" }.to_owned(),
            speedup: if let Pace::Trace { speedup } = host.pace { Some(speedup) } else { None },
            seed: spec.seed,
            host_us_per_page: host.host_us_per_page,
            aware: spec.aware.to_string(),
            hold_s: (spec.aware == AwareMode::Strict).then_some(spec.hold_s),
            hold_flushes: (spec.aware == AwareMode::Strict).then_some(spec.hold_flushes),
            streams: spec.streams.to_string(),
            wrong_streams: host.wrong_streams.clone(),
            hints: host.gives_hints,
            window: host.window,
            page_bytes: ftl.page_bytes(),
            pages_per_segment: limits.pages_per_segment,
            segments: limits.segments,
            logical_pages: limits.logical_pages,
            physical_pages: limits.physical_pages,
            fill_pages: host.fill_pages,
            max_ops_per_host_page: limits.max_ops_per_host_page,
            endurance_cycles: spec.chip.endurance_cycles,
            table_bytes: limits.table_bytes,
            table_bytes_per_logical_page: limits.table_bytes as f64 / limits.logical_pages as f64,
            table_bytes_per_physical_page: limits.table_bytes as f64 / limits.physical_pages as f64,
        }
    }
}

impl Report {
    /// The report of an engine.
    pub fn new<F: AnyEngine + ?Sized>(ftl: &F, config: ReportConfig, measured: &Measured) -> Self {
        let (stats, limits) = (*ftl.stats(), ftl.limits());
        let erases = ftl.erase_counts();
        let (digest, live_pages) = map_digest(ftl, &limits);
        let (logical, physical) = (limits.logical_pages as f64, limits.physical_pages as f64);
        let bytes = measured.host_written_bytes;
        let flash_bytes = stats.programmed_pages() * u64::from(config.page_bytes);
        let moved_kib = (bytes + measured.host_read_bytes) as f64 / 1024.0;
        // The first block to wear out is the one that wears fastest. The host writes on at the rate of this run until
        // then.
        let lifetime = worst_wear(&measured.erases_before, &erases)
            .map(|worst| bytes as f64 * f64::from(config.endurance_cycles) / f64::from(worst));
        Self {
            host_pages: stats.host_pages,
            copied_pages: stats.copied_pages,
            programmed_pages: stats.programmed_pages(),
            erases: stats.erases,
            wa_data: stats.wa_data(),
            wa_total: stats.wa_total(),
            erase_count: EraseCount::of(&erases),
            sim_seconds: measured.sim_seconds,
            throughput_kib_s: measured.sim_seconds.filter(|&s| s > 0.0).map(|s| moved_kib / s),
            latency_us: measured.latency_us,
            write_us_per_page: measured.write_us_per_page,
            utilization: live_pages as f64 / physical,
            op: (physical - logical) / logical,
            spare: (physical - logical) / physical,
            lifetime_host_bytes: lifetime,
            wall_seconds: measured.wall_seconds,
            host_pages_per_wall_second: per_second(stats.host_pages, measured.wall_seconds),
            map_digest: format!("{digest:016x}"),
            pages_programmed_per_wall_second: per_second(stats.programmed_pages(), measured.wall_seconds),
            host_bytes: bytes,
            host_read_bytes: measured.host_read_bytes,
            flash_bytes,
            wa_bytes: if bytes == 0 { 0.0 } else { flash_bytes as f64 / bytes as f64 },
            live_pages,
            dead_pages: limits.dead_pages,
            segments: limits.segments,
            // The counts leave bad segments out.
            bad: limits.segments - erases.len() as u32,
            verified_sectors: None,
            verified_files: None,
            inferred: ftl.inferred(),
            streams: measured.streams.clone(),
            requests: measured.requests,
            second_half: measured.second_half,
            windows: measured.windows.clone(),
            gap: None,
            warnings: Vec::new(),
            counters: Counters::from(&stats),
            config,
        }
    }
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

impl EraseCount {
    /// The distribution of these counts.
    pub fn of(counts: &[u32]) -> Self {
        // Without a good segment the mean is 0, and not 0 ÷ 0.
        let n = counts.len().max(1) as f64;
        let mean = counts.iter().map(|&c| f64::from(c)).sum::<f64>() / n;
        let variance = counts.iter().map(|&c| (f64::from(c) - mean) * (f64::from(c) - mean)).sum::<f64>() / n;
        Self {
            min: counts.iter().copied().min().unwrap_or(0),
            max: counts.iter().copied().max().unwrap_or(0),
            mean,
            stddev: variance.sqrt(),
        }
    }
}

/// Erases of the segment that was erased most between two moments; none if nothing was erased. If segments have gone
/// bad in between, the counts no longer pair up, and the greatest possible difference is taken.
fn worst_wear(before: &[u32], after: &[u32]) -> Option<u32> {
    let worst = if before.len() == after.len() {
        before.iter().zip(after).map(|(b, a)| a.saturating_sub(*b)).max()
    } else {
        Some(after.iter().max()?.saturating_sub(*before.iter().min()?))
    };
    worst.filter(|&erases| erases > 0)
}

/// The digest of the host's map, and how many of its pages are mapped.
fn map_digest<F: Lookup + ?Sized>(ftl: &F, limits: &Limits) -> (u64, u64) {
    let mut hash = Xxh3Default::new();
    let mut live_pages = 0;
    for lpn in 0..limits.logical_pages as u32 {
        let ppn = ftl.lookup(Lpn(lpn));
        live_pages += u64::from(ppn.is_some());
        let number = if ppn.is_some() { u64::from(ppn.0) } else { u64::MAX };
        hash.update(&number.to_le_bytes());
    }
    (hash.digest(), live_pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_the_populations() {
        let spread = EraseCount::of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((spread.min, spread.max, spread.mean, spread.stddev), (2, 9, 5.0, 2.0));
    }

    #[test]
    fn the_worst_segment_is_found() {
        assert_eq!(worst_wear(&[3, 3, 3], &[4, 9, 3]), Some(6));
        assert_eq!(worst_wear(&[3, 1, 3], &[4, 9]), Some(8), "with a segment gone, the greatest there can be");
        assert_eq!(worst_wear(&[1, 1], &[1, 1]), None);
    }
}
