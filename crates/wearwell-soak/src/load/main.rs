//! `wearwell-load`: the same load over NBD and NVMe/TCP on one served image, as a table in Markdown.
//!
//! Each protocol has one connection, and the same closed loop drives all of them in turn.
#![forbid(unsafe_code)]

mod dialect;
mod measure;

use std::io::{self, BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Parser;
use wearwell_soak::client;
use wearwell_soak::nvme::{Options, Queue};

use dialect::{Dialect, Kind};
use measure::{Line, REQUEST_BYTES, Until, random, sequential};

/// What is measured.
#[derive(Debug, Parser)]
struct Args {
    /// The `wearwell` program to measure
    program: PathBuf,
    /// Milliseconds of a measurement
    #[arg(long, default_value_t = 2000)]
    millis: u64,
    /// The size of the disk in MiB; a quarter more of flash is behind it
    #[arg(long, default_value_t = 256)]
    mib: u64,
}

/// How often everything is measured; the table has the medians.
const TURNS: u64 = 3;
const DEPTHS: [u16; 3] = [1, 16, 64];
/// Entries of the NVMe queue.
const ENTRIES: u16 = 128;

/// What a measurement found.
#[derive(Debug, Clone, Copy)]
struct Found {
    per_second: f64,
    /// Processor time of the server for one request.
    cpu_us: f64,
}

/// A server that is killed when dropped.
struct Serving {
    child: Child,
    lines: [Line; 3],
    _admin: Queue,
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> io::Result<()> {
    let folder = tempfile::Builder::new().prefix("wearwell-load-").tempdir()?;
    let mut serving = serve(args, folder.path())?;
    let pages = (args.mib << 20) / REQUEST_BYTES as u64;
    // Full, and then written at random, so that cleaning is at work from the beginning.
    let [line, ..] = &mut serving.lines;
    line.run(Kind::Write, 64, Until::Requests(pages), sequential())?;
    line.run(Kind::Write, 64, Until::Requests(pages), random(pages, 0))?;
    println!(
        "| 4 KiB, random | depth | NBD, Unix socket | NBD, TCP | NVMe/TCP | of NBD over TCP | of NBD at a Unix socket \
         | CPU µs a request: NBD, Unix | NBD, TCP | NVMe/TCP |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for (name, kind) in [("read", Kind::Read), ("write", Kind::Write)] {
        for depth in DEPTHS {
            let [unix, tcp, nvme] = compare(&mut serving, kind, depth, pages, Duration::from_millis(args.millis))?;
            println!(
                "| {name} | {depth} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} | {:.1} | {:.1} | {:.1} |",
                unix.per_second,
                tcp.per_second,
                nvme.per_second,
                nvme.per_second / tcp.per_second,
                nvme.per_second / unix.per_second,
                unix.cpu_us,
                tcp.cpu_us,
                nvme.cpu_us
            );
        }
    }
    Ok(())
}

/// Measures all connections in turn, and takes the medians.
fn compare(serving: &mut Serving, kind: Kind, depth: u16, pages: u64, time: Duration) -> io::Result<[Found; 3]> {
    let mut found: [Vec<Found>; 3] = Default::default();
    for seed in 1..=TURNS {
        for (found, line) in found.iter_mut().zip(&mut serving.lines) {
            let before_us = cpu_us(&serving.child)?;
            let (requests, took) = line.run(kind, depth, Until::Time(time), random(pages, seed))?;
            let used_us = cpu_us(&serving.child)? - before_us;
            let requests = requests as f64;
            found.push(Found { per_second: requests / took.as_secs_f64(), cpu_us: used_us / requests });
        }
    }
    Ok(found.map(|mut turns| {
        turns.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
        turns[turns.len() / 2]
    }))
}

/// Processor time that a process has used.
fn cpu_us(child: &Child) -> io::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
    // The name, in parentheses, may have spaces.
    let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ');
    // The time in user mode and in the kernel: fields 14 and 15 of the line, whose third field is the first here.
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks * 1e6 / rustix::param::clock_ticks_per_second() as f64)
}

/// Creates a disk, serves it over everything, and connects.
fn serve(args: &Args, folder: &Path) -> io::Result<Serving> {
    let (image, socket) = (folder.join("disk.ww"), folder.join("sock"));
    // Blocks of 64 pages of 4 KiB, a quarter more than the disk has.
    let chip = format!("geometry:4096:64:{}", args.mib * 5);
    let mut create = Command::new(&args.program);
    create.arg("create").arg(&image).args(["--chip", &chip, "--logical", &format!("{}MiB", args.mib)]);
    if !create.stdout(Stdio::null()).status()?.success() {
        return Err(io::Error::other("the disk cannot be created"));
    }
    let mut command = Command::new(&args.program);
    command.arg("serve").arg(&image).arg("--socket").arg(&socket);
    command.args(["--tcp", "127.0.0.1:0", "--nvme", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut announced = String::new();
    if let Some(stdout) = child.stdout.as_mut() {
        // The line comes when the server can be reached.
        BufReader::new(stdout).read_line(&mut announced)?;
    }
    match connect(&announced, &socket) {
        Ok((lines, admin)) => Ok(Serving { child, lines, _admin: admin }),
        Err(error) => {
            child.kill()?;
            Err(error)
        }
    }
}

fn connect(announced: &str, socket: &Path) -> io::Result<([Line; 3], Queue)> {
    let place = |scheme| announced.split_whitespace().find_map(|word| word.strip_prefix(scheme));
    let missing = || io::Error::other(format!("the server did not say where it is: {announced}"));
    let address = |text: &str| text.parse::<SocketAddr>().map_err(io::Error::other);
    let mut unix = UnixStream::connect(socket)?;
    client::greet(&mut unix)?;
    client::choose(&mut unix, "")?;
    let mut tcp = TcpStream::connect(address(place("nbd://").ok_or_else(missing)?)?)?;
    tcp.set_nodelay(true)?;
    client::greet(&mut tcp)?;
    client::choose(&mut tcp, "")?;
    let (at, nqn) = place("nvme+tcp://").and_then(|place| place.split_once('/')).ok_or_else(missing)?;
    let at = address(at)?;
    // As Linux connects.
    let options = Options { entries: ENTRIES, without_flow_control: true, ..Options::default() };
    let mut admin = Queue::admin(at, nqn, options)?;
    admin.enable()?;
    let io = Queue::io(at, nqn, admin.controller, 1, options)?;
    let lines = [
        Line { dialect: Dialect::Nbd, stream: Box::new(unix) },
        Line { dialect: Dialect::Nbd, stream: Box::new(tcp) },
        Line { dialect: Dialect::Nvme, stream: Box::new(io.stream) },
    ];
    Ok((lines, admin))
}
