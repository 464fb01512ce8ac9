//! What can be typed behind `firstlight trace`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use firstlight_schema::cache::Policy;
use firstlight_schema::suite::Scalar;

/// Show where each step's time went in a profiler's recording, and why something compiled again
///
/// Reads an xplane.pb, a Kineto JSON or a Chrome JSON (also .gz or .zst), or a JAX profile folder.
/// Every instant of a step is booked to one of compile, execute, transfer, dispatch, wait and host,
/// and they sum to the step.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TraceArgs {
    /// A trace file or a JAX profile folder
    #[arg(value_name = "TRACE")]
    pub(crate) trace: Option<PathBuf>,
    /// Compare with this one: what a steady step costs here and not there
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["record", "suite", "export"])]
    pub(crate) against: Option<PathBuf>,
    /// Names in the tables of frames and of events
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(crate) rows: usize,
    /// PyTorch's structured log (of `TORCH_TRACE`), which says why something was compiled again
    #[arg(long, value_name = "LOG")]
    pub(crate) torch_trace: Option<PathBuf>,
    /// Memory that events may take, in megabytes; what takes more is read in pieces
    #[arg(long, default_value_t = 4096, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) memory: u64,
    /// What was declared of the compilers' disk caches: clean, primed, disabled or as-found
    ///
    /// clean and disabled: no program may have been served by one. primed: every program must have
    /// been. What contradicts it is a finding, and the exit code says so.
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["against", "suite"])]
    pub(crate) cache: Option<Policy>,
    /// Also make an HTML page with the timelines of the steps, or with the waterfall of --against
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also write the recording for another viewer
    #[arg(long, value_enum, requires = "output", value_name = "FORMAT")]
    pub(crate) export: Option<TraceExport>,
    /// The file of --export
    #[arg(long, short, value_name = "FILE", requires = "export")]
    pub(crate) output: Option<PathBuf>,
    /// Run a JAX or PyTorch program untraced, recorded, and recorded with Python frames, and print
    /// what recording costs beside what was recorded
    #[arg(long, conflicts_with = "trace")]
    pub(crate) record: bool,
    /// Do the same with arms of this suite: a folder with a suite.toml, or a built-in one
    #[arg(long, value_name = "SUITE", conflicts_with_all = ["trace", "record"])]
    pub(crate) suite: Option<String>,
    /// The suite's case, instead of its first
    #[arg(long, value_name = "NAME", requires = "suite")]
    pub(crate) case: Option<String>,
    /// Only this arm of the suite; may be repeated
    #[arg(long = "arm", value_name = "NAME", requires = "suite")]
    pub(crate) arms: Vec<String>,
    /// One of the suite's own sizes
    #[arg(long, value_name = "NAME", requires = "suite")]
    pub(crate) profile: Option<String>,
    /// Another value for a parameter of the suite; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = super::parameter, requires = "suite")]
    pub(crate) set: Vec<(String, Scalar)>,
    /// Also record the arms that need this extra of the suite; may be repeated
    #[arg(long = "extra", value_name = "NAME", requires = "suite")]
    pub(crate) extras: Vec<String>,
    /// Use this interpreter for the suite as it stands, and install nothing
    #[arg(long, value_name = "PATH", requires = "suite")]
    pub(crate) python: Option<PathBuf>,
    /// Keep the recordings of --record or --suite in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) keep: Option<PathBuf>,
    /// How long one run of --record may take
    #[arg(long, default_value = "10m", value_parser = humantime::parse_duration, value_name = "TIME", requires = "record")]
    pub(crate) timeout: Duration,
    /// The command of --record and its arguments, after `--`
    #[arg(last = true, requires = "record", value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceExport {
    /// For speedscope.app
    Speedscope,
}

const EXAMPLES: &str = "\
Examples:
  firstlight trace profile/
  firstlight trace filter/ --against manual/
  firstlight trace host.xplane.pb --html steps.html
  firstlight trace worker.pt.trace.json.gz --rows 30
  firstlight trace host.xplane.pb --cache primed
  firstlight trace trace.json --torch-trace dedicated_log_torch_trace.log
  firstlight trace host.xplane.pb --export speedscope --output steps.speedscope.json
  firstlight trace filter/ --against manual/ --html difference.html
  firstlight trace --record --keep recordings -- python train.py
  firstlight trace --suite jit-overhead --arm filter-jit --arm pytrees";
