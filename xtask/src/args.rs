//! The command line.

use crate::canaries::list;
use crate::soak::Soak;
use crate::steps;
use crate::torture::Torture;

/// The help text, which is also printed below an error.
pub(crate) const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [--guests]                format, lints, documentation, all tests with the book's, no_std proof, C library, fuzz
                                 smoke, commands; the Python package, where there is Python; other people's NBD clients,
                                 the Debian package, a short soak and torture; with --guests kernels' file systems, too
                                 (on Debian it installs what is missing, as root), and a browser where there is one
  test STEP…                     these steps, by their names in the summary
  soak [--kills N] [--seconds S] [--fillings N] [--seed N]
                                 a served disk under N kills (default 2000), then S seconds of faults (default 1200),
                                 then full file systems (default 500)
  torture [--seconds N] [--seed S] [MODE…]
                                 random devices on random chips, under cuts, failures and decay (default: 60 s of
                                 fresh seeds, all modes in turn); a history that fails is shortened and printed
  crash --seeds N                power cuts at N seeds on larger chips
  canaries [NAME…]               engines without one rule of a mount each (default: all), which the crash tests or the
                                 torture must catch, as a table; some minutes, most of them to build
  fuzz [--seconds N] [TARGET…]   each fuzz target (or those named) for N seconds (default 60)
  bench [ARG…]                   cargo bench --workspace ARG…
  speed                          a served image beside nbdkit, its space, its mount, and NVMe/TCP, as tables; a quarter
                                 of an hour with fio on an idle machine
  firmware                       the C example on an emulated Cortex-M4: sizes, stack, instructions a write
  papers                         the papers' experiments again; writes their tables into papers/*/README.md
  dist                           the Debian package of the command, with man pages and completions, in target/dist
  pictures                       the book's pictures of the live page and of reports, with Chromium
  help                           this text";

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Test { guests: bool },
    Steps { named: Vec<String> },
    Papers,
    Dist,
    Pictures,
    Speed,
    Firmware,
    Soak(Soak),
    Torture(Torture),
    Crash { seeds: u64 },
    Canaries { named: Vec<String> },
    Bench { rest: Vec<String> },
    Fuzz { seconds: u64, targets: Vec<String> },
}

/// Why a command line was not understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArgsError {
    #[error("no command given")]
    NoCommand,
    #[error("unknown command '{0}'")]
    UnknownCommand(String),
    #[error("'{command}' takes no '{arg}'")]
    Unexpected { command: &'static str, arg: String },
    #[error("{0} needs a number above 0")]
    NeedsNumber(&'static str),
    #[error("no step is called '{0}'; there are {all}", all = steps::names().collect::<Vec<_>>().join(", "))]
    UnknownStep(String),
    #[error("no canary is called '{0}'; there are {all}", all = canary_names().collect::<Vec<_>>().join(", "))]
    UnknownCanary(String),
    #[error("'crash' needs --seeds N")]
    NoSeeds,
}

fn canary_names() -> impl Iterator<Item = &'static str> {
    list::all().map(|canary| canary.name)
}

/// Reads the arguments behind `cargo xtask`.
pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Command, ArgsError> {
    let mut args = args;
    let name = args.next().ok_or(ArgsError::NoCommand)?;
    match name.as_str() {
        "help" | "-h" | "--help" => nothing_more("help", args).map(|()| Command::Help),
        "test" => {
            let mut args = args.peekable();
            let guests = args.next_if(|arg| arg == "--guests").is_some();
            if guests || args.peek().is_none() {
                return nothing_more("test", args).map(|()| Command::Test { guests });
            }
            let named = only_names("test", args.collect())?;
            match named.iter().find(|name| !steps::names().any(|step| step == *name)) {
                Some(unknown) => Err(ArgsError::UnknownStep(unknown.clone())),
                None => Ok(Command::Steps { named }),
            }
        }
        "papers" => nothing_more("papers", args).map(|()| Command::Papers),
        "dist" => nothing_more("dist", args).map(|()| Command::Dist),
        "pictures" => nothing_more("pictures", args).map(|()| Command::Pictures),
        "speed" => nothing_more("speed", args).map(|()| Command::Speed),
        "firmware" => nothing_more("firmware", args).map(|()| Command::Firmware),
        "bench" => Ok(Command::Bench { rest: args.collect() }),
        "soak" => {
            // Each takes its option out, so that the order on the command line does not matter.
            let (kills, rest) = split_option("--kills", args)?;
            let (seconds, rest) = split_option("--seconds", rest.into_iter())?;
            let (fillings, rest) = split_option("--fillings", rest.into_iter())?;
            let (seed, rest) = split_option("--seed", rest.into_iter())?;
            nothing_more("soak", rest.into_iter())?;
            let whole = Soak::WHOLE;
            Ok(Command::Soak(Soak {
                kills: kills.unwrap_or(whole.kills),
                seconds: seconds.unwrap_or(whole.seconds),
                fillings: fillings.unwrap_or(whole.fillings),
                seed: seed.unwrap_or(whole.seed),
            }))
        }
        "torture" => {
            let (seconds, rest) = split_option("--seconds", args)?;
            let (seed, modes) = split_option("--seed", rest.into_iter())?;
            let modes = only_names("torture", modes)?;
            Ok(Command::Torture(Torture { seconds: seconds.unwrap_or(Torture::SECONDS), seed, modes }))
        }
        "crash" => {
            let (seeds, rest) = split_option("--seeds", args)?;
            nothing_more("crash", rest.into_iter())?;
            seeds.map(|seeds| Command::Crash { seeds }).ok_or(ArgsError::NoSeeds)
        }
        "canaries" => {
            let named = only_names("canaries", args.collect())?;
            match named.iter().find(|name| !canary_names().any(|canary| canary == *name)) {
                Some(unknown) => Err(ArgsError::UnknownCanary(unknown.clone())),
                None => Ok(Command::Canaries { named }),
            }
        }
        "fuzz" => {
            let (seconds, targets) = split_option("--seconds", args)?;
            let targets = only_names("fuzz", targets)?;
            Ok(Command::Fuzz { seconds: seconds.unwrap_or(60), targets })
        }
        _ => Err(ArgsError::UnknownCommand(name)),
    }
}

fn nothing_more(command: &'static str, mut args: impl Iterator<Item = String>) -> Result<(), ArgsError> {
    args.next().map_or(Ok(()), |arg| Err(ArgsError::Unexpected { command, arg }))
}

/// The remaining arguments, if none is an option.
fn only_names(command: &'static str, names: Vec<String>) -> Result<Vec<String>, ArgsError> {
    match names.iter().find(|name| name.starts_with('-')) {
        Some(arg) => Err(ArgsError::Unexpected { command, arg: arg.clone() }),
        None => Ok(names),
    }
}

/// Takes `option N` (or `option=N`) out of the arguments.
fn split_option(
    option: &'static str,
    mut args: impl Iterator<Item = String>,
) -> Result<(Option<u64>, Vec<String>), ArgsError> {
    let (mut number, mut rest) = (None, Vec::new());
    while let Some(arg) = args.next() {
        // An argument that only begins like the option, as --seeds does with --seed, is another one.
        let value = match arg.strip_prefix(option) {
            Some("") => args.next(),
            Some(value) if value.starts_with('=') => Some(value[1..].to_owned()),
            _ => {
                rest.push(arg);
                continue;
            }
        };
        let value = value.and_then(|value| value.parse().ok()).filter(|&value| value > 0);
        number = Some(value.ok_or(ArgsError::NeedsNumber(option))?);
    }
    Ok((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, ArgsError> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn commands_are_understood() {
        assert_eq!(parsed("test"), Ok(Command::Test { guests: false }));
        assert_eq!(parsed("test --guests"), Ok(Command::Test { guests: true }));
        let named = vec!["fuzz".to_owned(), "tests".to_owned()];
        assert_eq!(parsed("test fuzz tests"), Ok(Command::Steps { named }));
        assert_eq!(parsed("--help"), Ok(Command::Help));
        assert_eq!(parsed("papers"), Ok(Command::Papers));
        assert_eq!(parsed("dist"), Ok(Command::Dist));
        assert_eq!(parsed("pictures"), Ok(Command::Pictures));
        assert_eq!(parsed("speed"), Ok(Command::Speed));
        assert_eq!(parsed("firmware"), Ok(Command::Firmware));
        assert_eq!(parsed("crash --seeds 500"), Ok(Command::Crash { seeds: 500 }));
        assert_eq!(parsed("soak"), Ok(Command::Soak(Soak::WHOLE)));
        let soak = Soak { kills: 9, seconds: 8, fillings: Soak::WHOLE.fillings, seed: 7 };
        assert_eq!(parsed("soak --seed 7 --kills 9 --seconds=8"), Ok(Command::Soak(soak)));
        let all = Torture { seconds: Torture::SECONDS, seed: None, modes: Vec::new() };
        assert_eq!(parsed("torture"), Ok(Command::Torture(all)));
        let torture = Torture { seconds: 9, seed: Some(3), modes: vec!["page".to_owned(), "nor".to_owned()] };
        assert_eq!(parsed("torture --seconds 9 page --seed=3 nor"), Ok(Command::Torture(torture)));
        assert_eq!(parsed("canaries"), Ok(Command::Canaries { named: Vec::new() }));
        let named = vec!["half-erased".to_owned()];
        assert_eq!(parsed("canaries half-erased"), Ok(Command::Canaries { named }));
        assert_eq!(parsed("crash --seeds=7"), Ok(Command::Crash { seeds: 7 }));
        assert_eq!(parsed("fuzz"), Ok(Command::Fuzz { seconds: 60, targets: vec![] }));
        let targets = vec!["trace".to_owned(), "mount".to_owned()];
        assert_eq!(parsed("fuzz trace --seconds 9 mount"), Ok(Command::Fuzz { seconds: 9, targets }));
        assert_eq!(parsed("bench -- --quick"), Ok(Command::Bench { rest: vec!["--".into(), "--quick".into()] }));
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(parsed(""), Err(ArgsError::NoCommand));
        assert_eq!(parsed("tset"), Err(ArgsError::UnknownCommand("tset".into())));
        assert_eq!(parsed("test --fast"), Err(ArgsError::Unexpected { command: "test", arg: "--fast".into() }));
        assert_eq!(parsed("test fuz"), Err(ArgsError::UnknownStep("fuz".into())));
        let unexpected = ArgsError::Unexpected { command: "test", arg: "fuzz".into() };
        assert_eq!(parsed("test --guests fuzz"), Err(unexpected));
        assert_eq!(parsed("soak --kills 0"), Err(ArgsError::NeedsNumber("--kills")));
        assert_eq!(parsed("crash"), Err(ArgsError::NoSeeds));
        assert_eq!(parsed("crash --seeds"), Err(ArgsError::NeedsNumber("--seeds")));
        assert_eq!(parsed("crash --seeds 0"), Err(ArgsError::NeedsNumber("--seeds")));
        assert_eq!(parsed("crash --seeds 5 x"), Err(ArgsError::Unexpected { command: "crash", arg: "x".into() }));
        let unexpected = ArgsError::Unexpected { command: "torture", arg: "--sec".into() };
        assert_eq!(parsed("torture --sec 5"), Err(unexpected));
        assert_eq!(parsed("canaries parrot"), Err(ArgsError::UnknownCanary("parrot".into())));
        let unexpected = ArgsError::Unexpected { command: "canaries", arg: "--all".into() };
        assert_eq!(parsed("canaries --all"), Err(unexpected));
        assert_eq!(parsed("fuzz --secs 5"), Err(ArgsError::Unexpected { command: "fuzz", arg: "--secs".into() }));
    }
}
