//! What `wearwell run` does not print of Lee '07: the series of figures 4 and 8, as in the files of those names in
//! `papers/lee07`.
//!
//! ```text
//! lee07 figure4
//! lee07 figure8
//! ```

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;

use wearwell::logblock::recycle::{merge_cost, optimal_migrations, sequence_cost};
use wearwell::logblock::{BlockConfig, Costs, LOG_BLOCKS, Recycling, Scheme};
use wearwell::page::log::Counted;
use wearwell::{BlockDevice, BlockFtl, Probe, Reclamation, Sectors, WearLeveling, WriteHint};
use wearwell_emu::{ChipProfile, CountChip};
use wearwell_sim::engine::OnChip;
use wearwell_sim::plain::PlainPages;
use wearwell_sim::workload::{FileWorkload, FilesSpec, WorkloadSpec};
use wearwell_sim::{Op, Request};

const SECTOR_BYTES: u64 = wearwell::SECTOR_BYTES as u64;
const SEED: u64 = 1;
/// α in figure 8.
const GROWTH: f64 = 0.1;

type Answer<T> = Result<T, Box<dyn Error>>;

/// A migration: logical block, copied pages, which one since the last merge of the block.
type Migration = (u32, u32, u32);

/// Keeps all migrations.
#[derive(Clone, Default)]
struct Listener(Rc<RefCell<Vec<Migration>>>);

impl Probe for Listener {
    fn migrated(&mut self, logical_block: u32, copied_pages: u32, migrations: u32) {
        self.0.borrow_mut().push((logical_block, copied_pages, migrations));
    }
}

/// The paper's chip under the block-mapped engine.
struct Device {
    ftl: BlockFtl<PlainPages<CountChip, Counted>, Listener>,
    migrations: Listener,
    now_ns: u64,
}

impl Device {
    fn new(policy: &str, sectors: u64) -> Answer<Self> {
        let chip = ChipProfile::resolve("lee-k9l8g08u0m")?;
        let policy = Recycling::parse(policy).ok_or("no such policy")?;
        let config = BlockConfig {
            logical_pages: u32::try_from(sectors * SECTOR_BYTES / u64::from(chip.page_bytes))?,
            scheme: Scheme::LogBlock(policy),
            log_blocks: LOG_BLOCKS,
            reclaim: Reclamation::AtOnce,
            wear: WearLeveling::parse("none").ok_or("no such wear leveling")?,
            costs: Costs::LEE_TABLE_1,
            endurance: chip.endurance_cycles,
        };
        let migrations = Listener::default();
        let pages = PlainPages::with_payload(CountChip::new(&chip), chip.stripe);
        let ftl = BlockFtl::format(pages, migrations.clone(), config)?;
        Ok(Self { ftl, migrations, now_ns: 0 })
    }

    fn issue(&mut self, requests: &[Request]) -> Answer<()> {
        for request in requests {
            self.ftl.timeline().begin_command(self.now_ns);
            let start = request.offset_bytes / SECTOR_BYTES;
            let at = Sectors { start, count: request.length_bytes / SECTOR_BYTES };
            match request.op {
                Op::Read => self.ftl.read(at, &mut [])?,
                Op::Write => self.ftl.write(at, &[], WriteHint::NONE)?,
                Op::Flush => self.ftl.flush()?,
                Op::Discard | Op::WriteZeroes | Op::Clean | Op::EndSegment | Op::Mount => {}
            }
            self.now_ns = self.ftl.timeline().completion_ns();
        }
        Ok(())
    }

    /// Formats a volume, makes the program's first files, and then runs it.
    fn run(&mut self, spec: &FilesSpec, sectors: u64) -> Answer<()> {
        let mut files = FileWorkload::new(spec, sectors, false, SEED)?;
        self.issue(&files.take_requests())?;
        for _ in 0..spec.transactions() {
            files.transact()?;
            self.issue(&files.take_requests())?;
        }
        Ok(())
    }
}

fn program(text: &str) -> Answer<FilesSpec> {
    match text.parse()? {
        WorkloadSpec::Files(spec) => Ok(spec),
        _ => Err(format!("{text} is no program on a volume").into()),
    }
}

/// Figure 4: how many pages each migration copies, of the log block of the tables and the root directory, from its
/// first merge under the program on. On a volume of 440 MiB they share the first block.
fn figure4() -> Answer<()> {
    let sectors = (440 << 20) / SECTOR_BYTES;
    let mut device = Device::new("cost-based", sectors)?;
    let spec = program("postmark:small")?;
    device.run(&spec, sectors)?;
    let migrations = device.migrations.0.borrow();
    println!("migration,copied_pages");
    let of_tables = migrations.iter().filter(|(block, ..)| *block == 0);
    let since_merge = of_tables.skip_while(|(.., number)| *number == 1).skip_while(|(.., number)| *number > 1);
    for (place, (_, copied, number)) in (1..).zip(since_merge) {
        if *number != place {
            break;
        }
        println!("{number},{copied}");
    }
    Ok(())
}

/// Figure 8: what a page gained costs, in ms, if n migrations come before a merge.
fn figure8() {
    let (pages, costs) = (128, Costs::LEE_TABLE_1);
    let merge = merge_cost(pages, costs);
    println!("# n0 = {}", optimal_migrations(pages, GROWTH, costs));
    println!("migrations,sequence_ms,merge_ms");
    // At n = N_p / (2 α) the log block is half live, and the cost-based choice merges.
    for n in 0..=(f64::from(pages) / (2.0 * GROWTH)) as u32 {
        println!("{n},{:.6},{merge:.6}", sequence_cost(pages, GROWTH, f64::from(n), costs));
    }
}

fn main() -> Answer<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("figure4") => figure4(),
        Some("figure8") => {
            figure8();
            Ok(())
        }
        _ => Err("lee07 figure4 or figure8".into()),
    }
}
