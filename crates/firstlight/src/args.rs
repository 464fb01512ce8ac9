//! What can be typed.

mod exchange;
mod trace;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ColorChoice, Parser, Subcommand, ValueEnum};
use firstlight_schema::cache::Policy;
use firstlight_schema::suite::{Regime, Scalar};

pub(crate) use exchange::{ExportArgs, ExportFormat, ImportArgs, ImportFormat};
pub(crate) use trace::{TraceArgs, TraceExport};

/// Measures code that is compiled while it runs (JAX, torch.compile, Numba): how long until the
/// first result, how fast after that, and from how many calls on it pays.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Args {
    /// Text for people or JSON for programs
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// When to use colours; `NO_COLOR` is respected too
    #[arg(long, global = true, default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
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
  firstlight report runs/today
  firstlight snapshot runs/today --archive
  firstlight verify runs/today.tar.zst
  firstlight export runs/today --to csv --output today.csv
  firstlight import hyperfine.json
  firstlight publish snapshots
  firstlight trace profile/

Exit codes: 0 ok, 1 unexpected, 2 usage or set-up, 3 gate failed, 4 inconclusive,
5 a measured process failed, 6 verification failed, 130 interrupted.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// How much of a run is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Report {
    /// Mean ± standard deviation, range, n, hardware, versions
    Minimum,
    /// The answers on one screen
    Usual,
    /// Every ledger, process, verdict and finding
    Full,
    /// The same with every program and package
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
    Compare(CompareArgs),
    Cold(ColdArgs),
    Doctor(DoctorArgs),
    Publish(PublishArgs),
    Report(ReportArgs),
    Export(ExportArgs),
    Import(ImportArgs),
    List(ListArgs),
    New(NewArgs),
    Run(RunArgs),
    Show(ShowArgs),
    Snapshot(SnapshotArgs),
    Trace(TraceArgs),
    Verify(VerifyArgs),
    Warm(WarmArgs),
}

/// List the built-in suites and the runs on this machine
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {}

/// Make a folder with a small suite that runs at once
#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    /// The folder to make; its name is the suite's
    pub(crate) folder: PathBuf,
}

/// Measure calls of a function in the warm regime, without a suite
///
/// Several functions are compared. The function runs where firstlight was started, and its module is
/// found there. Results of JAX and of PyTorch on a GPU are waited for.
#[derive(Debug, clap::Args)]
#[command(after_help = WARM_EXAMPLES)]
pub(crate) struct WarmArgs {
    /// module:function, or file.py:function
    #[arg(required = true, num_args = 1.., value_name = "FUNCTION")]
    pub(crate) functions: Vec<String>,
    /// Its arguments, as Python has them; names of its module may be used
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// How many processes to measure
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) processes: u32,
    /// Calls in one process, at most
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=100_000_000))]
    pub(crate) calls: u32,
    /// How long the calls of one process may take
    #[arg(long, default_value = "1s", value_parser = humantime::parse_duration, value_name = "TIME")]
    pub(crate) within: Duration,
    /// How long one process may take
    #[arg(long, default_value = "5m", value_parser = humantime::parse_duration, value_name = "TIME")]
    pub(crate) timeout: Duration,
    /// Decides the order of the processes
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) length: LengthArgs,
    /// The interpreter; `python3` by default
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
    /// Also write the JSON document to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Option<PathBuf>,
    /// Leave the names of the machine and its user, paths below the home folder and the output of failed
    /// processes out of the snapshot
    #[arg(long)]
    pub(crate) redact: bool,
    /// Keep raw readings and result in this new folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

const WARM_EXAMPLES: &str = "\
Examples:
  firstlight warm train.py:step
  firstlight warm json:dumps --args '{\"a\": [1, 2, 3]}'
  firstlight warm fast.py:step slow.py:step";

/// Show where a command's time goes, from its start to its end, over several fresh processes
///
/// The command runs unchanged. In a Python command imports, tracing, lowering, compiling, caches
/// and device start-up of JAX, torch.compile and Numba are seen; of any other command only what can
/// be seen from outside. Several commands are compared.
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
    /// as-configured: on or off as in your own environment; those that are on start private and empty.
    /// clean: all on, private and empty. primed: all on, filled by one unmeasured process, and every
    /// program must then be served from it. disabled: all off. as-found: left alone. `clean,primed`
    /// measures both, interleaved.
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
    /// State of the kernel's cache of the interpreter's files: as-found or clean
    #[arg(long, default_value_t = Policy::AsFound, value_name = "POLICY")]
    pub(crate) page_cache: Policy,
    /// How long one process may take
    #[arg(long, default_value = "10m", value_parser = humantime::parse_duration, value_name = "TIME")]
    pub(crate) timeout: Duration,
    /// Interleave runs without hooks, and print what the hooks cost
    #[arg(long)]
    pub(crate) control: bool,
    /// Treat any exit code as success
    #[arg(long)]
    pub(crate) ignore_exit_code: bool,
    /// Let the command's output through
    #[arg(long)]
    pub(crate) show_output: bool,
    /// A file that every process reads as its standard input, which is otherwise empty
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,
    /// Decides the order of the processes
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Begin no round after this time; `firstlight run --resume` goes on
    #[arg(long = "for", value_parser = humantime::parse_duration, value_name = "TIME")]
    pub(crate) limit: Option<Duration>,
    #[command(flatten)]
    pub(crate) length: LengthArgs,
    /// Also write the JSON document to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Option<PathBuf>,
    /// Leave the names of the machine and its user, paths below the home folder and the output of failed
    /// processes out of the snapshot
    #[arg(long)]
    pub(crate) redact: bool,
    /// Keep raw readings and result in this new folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// A further command with a name of its own; may be repeated
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

To end the time to first result inside a script:
  import firstlight; firstlight.mark(\"first-result\")";

/// Check whether this machine is fit for measuring, before a run
///
/// Reads the load, the clock's settings, heat, quotas, memory, hypervisor and NVIDIA devices, and
/// changes nothing. What could disturb a measurement is named with the reason and a remedy. Warnings
/// are no failure: the exit code is 0 whatever was found.
#[derive(Debug, clap::Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArgs {}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  firstlight doctor
  firstlight doctor --format json > doctor.json";

/// Measure a suite: every case, arm and regime that its suite.toml names
#[derive(Debug, clap::Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// A folder with a suite.toml, or the name of a built-in suite
    #[arg(required_unless_present = "resume")]
    pub(crate) suite: Option<String>,
    /// Go on with a run that ended early, in its folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "suite")]
    pub(crate) resume: Option<PathBuf>,
    /// With --resume: allow another firstlight, machine or environment, and record it
    #[arg(long, requires = "resume")]
    pub(crate) new_segment: bool,
    /// Begin no round after this time; --resume goes on
    #[arg(long = "for", value_parser = humantime::parse_duration, value_name = "TIME")]
    pub(crate) limit: Option<Duration>,
    /// One of the suite's own sizes, such as tiny or full
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Another value for a parameter, in every case that has it; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) set: Vec<(String, Scalar)>,
    /// Also measure the arms that need this extra, and install it; may be repeated
    #[arg(long = "extra", value_name = "NAME")]
    pub(crate) extras: Vec<String>,
    /// Processes per arm and regime, instead of the suite's own number
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) processes: Option<u32>,
    /// Only this case; may be repeated
    #[arg(long = "case", value_name = "NAME")]
    pub(crate) cases: Vec<String>,
    /// Only this arm; may be repeated
    #[arg(long = "arm", value_name = "NAME")]
    pub(crate) arms: Vec<String>,
    /// Only this regime (cold-clean, cold-primed, warm); may be repeated
    #[arg(long = "regime", value_name = "REGIME", value_parser = regime)]
    pub(crate) regimes: Vec<Regime>,
    #[command(flatten)]
    pub(crate) length: LengthArgs,
    /// Use this interpreter as it stands, and install nothing
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
    /// Decides the order of the processes, instead of the suite's own seed
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Also write the JSON document to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Option<PathBuf>,
    /// Leave the names of the machine and its user, paths below the home folder and the output of failed
    /// processes out of the snapshot
    #[arg(long)]
    pub(crate) redact: bool,
    /// Keep raw readings and result in this new folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

fn regime(text: &str) -> Result<Regime, String> {
    text.parse()
}

/// `name=value`, the value as suite.toml would have it, or else a text.
fn parameter(text: &str) -> Result<(String, Scalar), String> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| format!("`{text}` is not NAME=VALUE"))?;
    Ok((name.to_owned(), Scalar::typed(value)))
}

const RUN_EXAMPLES: &str = "\
Examples:
  firstlight run quickstart
  firstlight run generate --profile tiny
  firstlight run generate --set layers=6 --set width=512
  firstlight run short-runs --extra torch
  firstlight run ./my-suite --processes 20
  firstlight run ./my-suite --case small --python .venv/bin/python";

/// Compare two arms of one result, or the same arms of two
///
/// With one result, the second arm is compared with the first, process by process as they took
/// turns. With two, every arm of the second is compared with the same arm of the first; they were
/// not measured in turn, and the result says so.
#[derive(Debug, clap::Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// A result's folder, its result.json, or a snapshot's archive
    pub(crate) first: PathBuf,
    /// Another one, measured later
    pub(crate) second: Option<PathBuf>,
    /// Compare these two arms of one result, the second with the first
    #[arg(long, num_args = 2, value_names = ["ARM", "ARM"], conflicts_with = "second")]
    pub(crate) arms: Vec<String>,
    /// A difference that does not matter, such as 2% or 0.02; CASE=2% for a single case
    #[arg(long = "margin", value_name = "MARGIN", value_parser = margin)]
    pub(crate) margins: Vec<(Option<String>, f64)>,
    /// Only this regime (cold-clean, cold-primed, warm, fresh); may be repeated
    #[arg(long = "regime", value_name = "REGIME", value_parser = regime)]
    pub(crate) regimes: Vec<Regime>,
    /// Exit with 3 when something is slower, with 4 when that cannot be told
    #[arg(long)]
    pub(crate) gate: bool,
    /// Judge the second result as a rerun of the first, on whatever machine: the same ratios between
    /// arms within the margin, and the same results; exit with 3 when not, with 4 when it cannot be
    /// told
    #[arg(long, requires = "second", conflicts_with = "gate")]
    pub(crate) replication: bool,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  firstlight compare runs/today --arms numpy jax
  firstlight compare runs/before runs/after
  firstlight compare runs/main runs/branch --regime warm --margin 5% --gate
  firstlight compare theirs.tar.zst ours.tar.zst --replication --margin 10%

With --gate: 0 nothing is slower, 3 something is, 4 it cannot be told.";

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

/// Make one HTML file of a stored result: every chart, every number, nothing to fetch
///
/// The file holds its own style, script and pictures; it opens from a disk, a mail or a CI artefact,
/// also on a phone and on paper. An older file of that name is replaced.
#[derive(Debug, clap::Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// A result's folder, its result.json, or a snapshot's archive
    pub(crate) result: PathBuf,
    /// The file to write, `report.html` when none is given; `-` prints it
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print a short table with verdicts, break-evens and findings for a pull request instead
    #[arg(long, conflicts_with = "output")]
    pub(crate) markdown: bool,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  firstlight report runs/today
  firstlight report runs/today --output today.html
  firstlight report runs/today --markdown >> \"$GITHUB_STEP_SUMMARY\"";

/// Print a stored result again, as long or short as wanted
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
/// A run's folder is a snapshot when the run ends. A run that was killed becomes one here, with all
/// processes that had been written down.
#[derive(Debug, clap::Args)]
#[command(after_help = SNAPSHOT_EXAMPLES)]
pub(crate) struct SnapshotArgs {
    /// The folder of a run; with --recompute also an archive
    pub(crate) run: PathBuf,
    /// Put the snapshot into this new folder, or with --archive into this file
    #[arg(long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Pack it into one file, by default the folder's name with .tar.zst
    #[arg(long)]
    pub(crate) archive: bool,
    /// Sign the manifest with this secret key of minisign's
    #[arg(long, value_name = "KEY")]
    pub(crate) sign: Option<PathBuf>,
    /// Compute the result anew from the raw readings of an older snapshot, into --output
    ///
    /// The raw readings stay as they are. The new manifest names the older snapshot and the firstlight
    /// that computed the result; a signature is not carried over.
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
/// Exits with code 6 when any rule of any snapshot fails. Writes nothing, and reads archives without
/// unpacking them to disk. With several snapshots, one that cannot be read does not stop the others.
#[derive(Debug, clap::Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// Folders or archives of snapshots
    #[arg(required = true, value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<PathBuf>,
    /// Also check the signature, against this public key of minisign's or the file that holds it
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  firstlight verify runs/today
  firstlight verify snapshots/*.tar.zst
  firstlight verify today.tar.zst --key minisign.pub
  firstlight verify today.tar.zst --format json > validation.json";

/// Make a static site of many snapshots: what got slower, every case through time, every report
///
/// Every snapshot is verified first; one that fails is listed with the reason and without a number,
/// and the exit code is 6. What is already in the site is neither read nor written again.
#[derive(Debug, clap::Args)]
#[command(after_help = PUBLISH_EXAMPLES)]
pub(crate) struct PublishArgs {
    /// The folder that holds the snapshots, as folders or as .tar.zst
    pub(crate) snapshots: PathBuf,
    /// The folder of the site
    #[arg(long, short, value_name = "SITE", default_value = "site")]
    pub(crate) output: PathBuf,
}

const PUBLISH_EXAMPLES: &str = "\
Examples:
  firstlight publish snapshots
  firstlight publish snapshots --output public";
