//! The command line: every command, flag and help text.

mod cluster;
mod conformance;
mod exchange;
mod gate;
mod merge;
mod trace;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ColorChoice, Parser, Subcommand, ValueEnum};
use firstlight_schema::cache::Policy;
use firstlight_schema::suite::{Regime, Scalar};

pub(crate) use cluster::{Cluster, StatusArgs};
pub(crate) use conformance::ConformanceArgs;
pub(crate) use exchange::{ExportArgs, ExportFormat, ImportArgs, ImportFormat};
pub(crate) use gate::{Annotations, BisectArgs, GateArgs, TrialArgs};
pub(crate) use merge::MergeArgs;
pub(crate) use trace::{TraceArgs, TraceExport};

/// Measures code that is compiled while it runs (JAX, torch.compile, Numba): how long until the
/// first result, how fast each call is after that, and after how many calls compiling pays off.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Args {
    /// Text for people or JSON for programs
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// When to use colours; `NO_COLOR` switches them off as well
    #[arg(long, global = true, default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
    /// Read no configuration file
    #[arg(long, global = true)]
    pub(crate) no_config: bool,
    /// Show no progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  firstlight doctor
  firstlight run quickstart
  firstlight cold -- python train.py --epochs 1
  firstlight cold --cache primed --runs 20 -- python train.py
  firstlight compare runs/before runs/after --gate
  firstlight gate --base main benchmarks/mlp
  firstlight report runs/today
  firstlight snapshot runs/today --archive
  firstlight verify runs/today.tar.zst
  firstlight export runs/today --to csv --output today.csv
  firstlight import hyperfine.json
  firstlight merge shards/*
  firstlight publish snapshots
  firstlight trace profile/

Exit codes: 0 ok, 1 unexpected, 2 usage or set-up, 3 gate failed, 4 inconclusive,
5 a measured process failed, 6 verification failed, 130 interrupted.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// The length of a printed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Report {
    /// Mean ± standard deviation, range, n, hardware, versions
    Minimum,
    /// The answers on one screen
    Usual,
    /// Every ledger, process, verdict and finding
    Full,
    /// As `full`, with every program and package
    All,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LengthArgs {
    /// How much to print
    #[arg(long, value_enum, default_value_t = Report::Usual, value_name = "LENGTH")]
    report: Report,
    /// Print every ledger, process, verdict and finding: --report full
    #[arg(long, conflicts_with = "report")]
    full: bool,
    /// Print every program and package as well: --report all
    #[arg(long, conflicts_with_all = ["report", "full"])]
    all: bool,
}

impl LengthArgs {
    pub(crate) fn report(&self) -> Report {
        match (self.all, self.full) {
            (true, _) => Report::All,
            (false, true) => Report::Full,
            (false, false) => self.report,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Bisect(BisectArgs),
    Compare(CompareArgs),
    Cold(ColdArgs),
    Conformance(ConformanceArgs),
    Doctor(DoctorArgs),
    Gate(GateArgs),
    Publish(PublishArgs),
    Report(ReportArgs),
    Export(ExportArgs),
    Import(ImportArgs),
    List(ListArgs),
    Merge(MergeArgs),
    New(NewArgs),
    Run(RunArgs),
    Show(ShowArgs),
    Snapshot(SnapshotArgs),
    Status(StatusArgs),
    Trace(TraceArgs),
    Verify(VerifyArgs),
    Warm(WarmArgs),
}

/// List the built-in suites and the runs on this machine
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {}

/// Create a folder with a small suite that is ready to run
#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    /// The folder to create; the suite is named after it
    pub(crate) folder: PathBuf,
}

/// Measure calls of a function in the warm regime, without a suite
///
/// Compares several functions if you name more than one. Each runs in the current folder, and its
/// module is looked up there. Every call waits for its JAX or CUDA results.
#[derive(Debug, clap::Args)]
#[command(after_help = WARM_EXAMPLES)]
pub(crate) struct WarmArgs {
    /// module:function, or file.py:function
    #[arg(required = true, num_args = 1.., value_name = "FUNCTION")]
    pub(crate) functions: Vec<String>,
    /// Its arguments, as Python code; names from its module can be used
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// How many processes to measure
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) processes: u32,
    /// Maximum number of calls in one process
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=100_000_000))]
    pub(crate) calls: u32,
    /// Time limit for the calls of one process
    #[arg(long, default_value = "1s", value_parser = duration, value_name = "TIME")]
    pub(crate) within: Duration,
    /// Time limit for one process
    #[arg(long, default_value = "5m", value_parser = duration, value_name = "TIME")]
    pub(crate) timeout: Duration,
    /// Seed for the order of the processes
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) length: LengthArgs,
    /// The Python interpreter [default: python3]
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
    /// Also write the JSON document to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Option<PathBuf>,
    /// Remove host and user names, paths below the home folder and the output of failed processes from
    /// the snapshot
    #[arg(long)]
    pub(crate) redact: bool,
    /// Write raw readings and the result to this new folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

const WARM_EXAMPLES: &str = "\
Examples:
  firstlight warm train.py:step
  firstlight warm json:dumps --args '{\"a\": [1, 2, 3]}'
  firstlight warm fast.py:step slow.py:step";

/// Show where a command's time goes, from start to exit, over several fresh processes
///
/// The command runs unchanged. For Python, firstlight sees imports and the tracing, lowering,
/// compiling, caches and device start-up of JAX, torch.compile and Numba. It sees other programs only
/// from outside. Compares several commands if you give more than one.
#[derive(Debug, clap::Args)]
#[command(after_help = COLD_EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ColdArgs {
    /// How many fresh processes to measure
    #[arg(
        long,
        short,
        default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    pub(crate) runs: u32,
    /// State of the compilers' caches: as-configured, clean, primed, disabled or as-found
    ///
    /// as-configured: on or off as in your environment; enabled caches start private and empty.
    /// clean: all on, private and empty. primed: all on and filled by one unmeasured process; every
    /// program must then come from the cache. disabled: all off. as-found: left alone.
    /// `clean,primed` measures both, interleaved.
    #[arg(
        long,
        default_value = "as-configured",
        value_name = "POLICY",
        value_delimiter = ',',
        num_args = 1
    )]
    pub(crate) cache: Vec<Policy>,
    /// State of Python's .pyc files: as-found, clean, primed or disabled
    #[arg(long, default_value_t = Policy::AsFound, value_name = "POLICY")]
    pub(crate) bytecode: Policy,
    /// State of the page cache for the interpreter's files: as-found or clean
    #[arg(long, default_value_t = Policy::AsFound, value_name = "POLICY")]
    pub(crate) page_cache: Policy,
    /// Time limit for one process
    #[arg(long, default_value = "10m", value_parser = duration, value_name = "TIME")]
    pub(crate) timeout: Duration,
    /// Interleave runs without hooks, and print the overhead of the hooks
    #[arg(long)]
    pub(crate) control: bool,
    /// Treat any exit code as success
    #[arg(long)]
    pub(crate) ignore_exit_code: bool,
    /// Show the command's output
    #[arg(long)]
    pub(crate) show_output: bool,
    /// Standard input of every process [default: empty]
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,
    /// Seed for the order of the processes
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Start no new round after this time; continue with `firstlight run --resume`
    #[arg(long = "for", value_parser = duration, value_name = "TIME")]
    pub(crate) limit: Option<Duration>,
    #[command(flatten)]
    pub(crate) length: LengthArgs,
    /// Also write the JSON document to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Option<PathBuf>,
    /// Remove host and user names, paths below the home folder and the output of failed processes from
    /// the snapshot
    #[arg(long)]
    pub(crate) redact: bool,
    /// Write raw readings and the result to this new folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Add a command under a name of your choice; repeatable
    #[arg(long = "arm", value_name = "NAME=COMMAND", value_parser = named_command)]
    pub(crate) arms: Vec<(String, String)>,
    /// The command and its arguments, or several commands, each in quotes
    #[arg(trailing_var_arg = true, num_args = 0.., value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// `b='python b.py'`
fn named_command(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, command)) if !name.is_empty() && !command.trim().is_empty() => {
            Ok((name.to_owned(), command.to_owned()))
        }
        _ => Err("expected NAME=COMMAND, such as new='python train.py'".to_owned()),
    }
}

const COLD_EXAMPLES: &str = "\
Examples:
  firstlight cold -- python train.py --epochs 1
  firstlight cold --cache clean,primed -- python train.py
  firstlight cold 'python a.py' 'python b.py'
  firstlight cold --control --runs 30 -- python -c 'import jax'
  firstlight cold --format json -- python train.py > cold.json

To mark the first result inside a script:
  import firstlight; firstlight.mark(\"first-result\")";

/// Check the machine for anything that would disturb a measurement
///
/// Reads load, clock settings, throttling, quotas, memory, hypervisor and NVIDIA devices, and changes
/// nothing. Each warning comes with its reason and a remedy. The exit code is 0 even with warnings.
#[derive(Debug, clap::Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArgs {}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  firstlight doctor
  firstlight doctor --format json > doctor.json";

/// Measure a suite: every case, arm and regime in its suite.toml
#[derive(Debug, clap::Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// A folder with a suite.toml, or the name of a built-in suite
    #[arg(required_unless_present_any = ["resume", "attach"])]
    pub(crate) suite: Option<String>,
    /// Continue a run that stopped early, in its folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "suite")]
    pub(crate) resume: Option<PathBuf>,
    /// With --resume: allow a different firstlight, machine or environment, and record the change
    #[arg(long, requires = "resume")]
    pub(crate) new_segment: bool,
    /// Run the suite on a cluster, as its table `[launch.slurm]` says, and merge the shards
    ///
    /// Each task of the array measures whole rounds with all arms on one node. The folder must be on
    /// storage that all nodes share. Ctrl-C detaches from the tasks or cancels them.
    #[arg(long, value_enum, value_name = "CLUSTER", conflicts_with_all = ["resume", "attach", "limit"])]
    pub(crate) on: Option<Cluster>,
    /// Follow a run on a cluster again: submit what is missing, and merge at the end
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["suite", "resume"])]
    pub(crate) attach: Option<PathBuf>,
    /// Start no new round after this time; continue with --resume
    #[arg(long = "for", value_parser = duration, value_name = "TIME")]
    pub(crate) limit: Option<Duration>,
    /// A profile of the suite, such as tiny or full
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Set a parameter in every case that has it; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) set: Vec<(String, Scalar)>,
    /// Install this extra and measure the arms that need it; repeatable
    #[arg(long = "extra", value_name = "NAME")]
    pub(crate) extras: Vec<String>,
    /// Processes per arm and regime [default: from the suite]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) processes: Option<u32>,
    /// Measure only this case; repeatable
    #[arg(long = "case", value_name = "NAME")]
    pub(crate) cases: Vec<String>,
    /// Measure only this arm; repeatable
    #[arg(long = "arm", value_name = "NAME")]
    pub(crate) arms: Vec<String>,
    /// Measure only this regime (cold-clean, cold-primed, warm); repeatable
    #[arg(long = "regime", value_name = "REGIME", value_parser = regime)]
    pub(crate) regimes: Vec<Regime>,
    #[command(flatten)]
    pub(crate) length: LengthArgs,
    /// Use this Python interpreter and its packages; install nothing
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
    /// Seed for the order of the processes [default: from the suite]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Record this name of the machine, by which `firstlight merge` distinguishes nodes
    #[arg(long, value_name = "NAME", value_parser = node)]
    pub(crate) node: Option<String>,
    /// Also write the JSON document to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Option<PathBuf>,
    /// Remove host and user names, paths below the home folder and the output of failed processes from
    /// the snapshot
    #[arg(long)]
    pub(crate) redact: bool,
    /// Write raw readings and the result to this new folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

/// A name on one line.
fn node(text: &str) -> Result<String, String> {
    const LONGEST: usize = 100;
    let plain = !text.trim().is_empty() && !text.chars().any(char::is_control);
    if plain && text.len() <= LONGEST {
        return Ok(text.to_owned());
    }
    Err(format!("expected a name of 1 to {LONGEST} bytes on one line"))
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "expected a duration such as 90s or 5m".to_owned())
}

fn regime(text: &str) -> Result<Regime, String> {
    text.parse()
}

/// `name=value`; the value is parsed as in suite.toml and falls back to a string.
fn parameter(text: &str) -> Result<(String, Scalar), String> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| format!("invalid parameter `{text}`: expected NAME=VALUE"))?;
    Ok((name.to_owned(), Scalar::typed(value)))
}

const RUN_EXAMPLES: &str = "\
Examples:
  firstlight run quickstart
  firstlight run generate --profile tiny
  firstlight run generate --set layers=6 --set width=512
  firstlight run short-runs --extra torch
  firstlight run ./my-suite --processes 20
  firstlight run ./my-suite --case small --python .venv/bin/python
  firstlight run ./my-suite --on slurm --output /shared/runs/mine";

/// Compare two arms of one result, or the same arms of two
///
/// With one result, compares the second arm with the first, process by process: they were
/// interleaved. With two results, compares each arm of the second with the same arm of the first. Two
/// results were not interleaved, and the output says so.
#[derive(Debug, clap::Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// A result's folder, its result.json, or a snapshot's archive
    pub(crate) first: PathBuf,
    /// A second result, measured later
    pub(crate) second: Option<PathBuf>,
    /// Two arms of one result; the second is compared with the first
    #[arg(long, num_args = 2, value_names = ["ARM", "ARM"], conflicts_with = "second")]
    pub(crate) arms: Vec<String>,
    /// Largest difference that does not matter, such as 2% or 0.02; CASE=2% for one case
    #[arg(long = "margin", value_name = "MARGIN", value_parser = margin)]
    pub(crate) margins: Vec<(Option<String>, f64)>,
    /// Compare only this regime (cold-clean, cold-primed, warm, fresh); repeatable
    #[arg(long = "regime", value_name = "REGIME", value_parser = regime)]
    pub(crate) regimes: Vec<Regime>,
    /// Exit with code 3 if anything is slower, with code 4 if the result is inconclusive
    #[arg(long)]
    pub(crate) gate: bool,
    /// Check whether the second result replicates the first, on any machine
    ///
    /// The ratios between arms must agree within the margin, and the outputs must be the same. Exits
    /// with code 3 if they do not, with code 4 if the result is inconclusive.
    #[arg(long, requires = "second", conflicts_with = "gate")]
    pub(crate) replication: bool,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  firstlight compare runs/today --arms numpy jax
  firstlight compare runs/before runs/after
  firstlight compare runs/main runs/branch --regime warm --margin 5% --gate
  firstlight compare theirs.tar.zst ours.tar.zst --replication --margin 10%

With --gate: 0 nothing is slower, 3 something is slower, 4 inconclusive.";

fn margin(text: &str) -> Result<(Option<String>, f64), String> {
    let (case, number) = match text.split_once('=') {
        Some((case, number)) => (Some(case.to_owned()), number),
        None => (None, text),
    };
    let wrong = || format!("invalid margin `{number}`: expected a fraction such as 2% or 0.02");
    let value = match number.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map_err(|_| wrong())? / 100.0,
        None => number.parse::<f64>().map_err(|_| wrong())?,
    };
    if (0.0..1.0).contains(&value) { Ok((case, value)) } else { Err(wrong()) }
}

/// Write a result as one self-contained HTML file with every chart and number
///
/// The page loads nothing from the network: open it from disk, mail or a CI artefact. It also works on
/// a phone and in print. An existing file is overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// A result's folder, its result.json, or a snapshot's archive
    pub(crate) result: PathBuf,
    /// The file to write, or `-` for standard output [default: report.html]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print a short Markdown table of verdicts, break-evens and findings instead
    #[arg(long, conflicts_with = "output")]
    pub(crate) markdown: bool,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  firstlight report runs/today
  firstlight report runs/today --output today.html
  firstlight report runs/today --markdown >> \"$GITHUB_STEP_SUMMARY\"";

/// Print a stored result at any length
#[derive(Debug, clap::Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct ShowArgs {
    /// A result's folder, its result.json, or a snapshot's archive
    pub(crate) result: PathBuf,
    #[command(flatten)]
    pub(crate) length: LengthArgs,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  firstlight show runs/today
  firstlight show runs/today --full
  firstlight show runs/today --report minimum";

/// Finish, sign, copy or pack a snapshot
///
/// A finished run is already a snapshot. This command turns a killed run into one, with every process
/// recorded so far.
#[derive(Debug, clap::Args)]
#[command(after_help = SNAPSHOT_EXAMPLES)]
pub(crate) struct SnapshotArgs {
    /// The folder of a run, or an archive with --recompute
    pub(crate) run: PathBuf,
    /// Write the snapshot to this new folder, or to this file with --archive
    #[arg(long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Pack the snapshot into one file [default: FOLDER.tar.zst]
    #[arg(long)]
    pub(crate) archive: bool,
    /// Sign the manifest with this minisign secret key
    #[arg(long, value_name = "KEY")]
    pub(crate) sign: Option<PathBuf>,
    /// Recompute the result of an older snapshot from its raw readings, and write it to --output
    ///
    /// The raw readings do not change. The new manifest names the older snapshot and the firstlight that
    /// recomputed it. A signature is not carried over.
    #[arg(long, requires = "output", conflicts_with = "sign")]
    pub(crate) recompute: bool,
}

const SNAPSHOT_EXAMPLES: &str = "\
Examples:
  firstlight snapshot runs/today --archive
  firstlight snapshot runs/today --sign ~/.minisign/minisign.key --archive --output today.tar.zst
  firstlight snapshot runs/killed";

/// Recompute every number of a snapshot from its raw readings, and check every rule
///
/// Exits with code 6 if any rule fails for any snapshot. Writes nothing and does not unpack archives to
/// disk. An unreadable snapshot does not stop the others.
#[derive(Debug, clap::Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// Snapshot folders or archives
    #[arg(required = true, value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<PathBuf>,
    /// Also check the signature against this minisign public key, or the file that holds it
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  firstlight verify runs/today
  firstlight verify snapshots/*.tar.zst
  firstlight verify today.tar.zst --key minisign.pub
  firstlight verify today.tar.zst --format json > validation.json";

/// Build a static site from many snapshots: regressions, history and every report
///
/// Verifies every snapshot first. A snapshot that fails is listed with the reason but without numbers,
/// and the exit code is 6. Unchanged pages are not rewritten.
#[derive(Debug, clap::Args)]
#[command(after_help = PUBLISH_EXAMPLES)]
pub(crate) struct PublishArgs {
    /// A folder of snapshots: folders or .tar.zst archives
    pub(crate) snapshots: PathBuf,
    /// The folder to write the site to
    #[arg(long, short, value_name = "SITE", default_value = "site")]
    pub(crate) output: PathBuf,
}

const PUBLISH_EXAMPLES: &str = "\
Examples:
  firstlight publish snapshots
  firstlight publish snapshots --output public";
