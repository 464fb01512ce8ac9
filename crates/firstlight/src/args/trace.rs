//! The arguments of `trace`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use firstlight_schema::cache::Policy;
use firstlight_schema::suite::Scalar;

/// Show where the time of each step went in a profiler trace, and why functions recompiled
///
/// Reads xplane.pb, Kineto JSON and Chrome JSON (also .gz or .zst), or a JAX profile folder. Every
/// instant of a step counts as compile, execute, transfer, dispatch, wait or host; they sum to the step.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TraceArgs {
    /// A trace file or a JAX profile folder
    #[arg(value_name = "TRACE")]
    pub(crate) trace: Option<PathBuf>,
    /// Compare a steady step of TRACE with one of this trace
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["record", "suite", "export"])]
    pub(crate) against: Option<PathBuf>,
    /// Rows in the tables of frames and events
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(crate) rows: usize,
    /// PyTorch's structured log (`TORCH_TRACE`), which gives the reasons for recompilations
    #[arg(long, value_name = "LOG")]
    pub(crate) torch_trace: Option<PathBuf>,
    /// Memory limit for events, in megabytes; larger traces are read in pieces
    #[arg(long, default_value_t = 4096, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) memory: u64,
    /// Declared state of the compilers' disk caches: clean, primed, disabled or as-found
    ///
    /// With clean and disabled, no program may come from a cache. With primed, every program must. A
    /// contradiction is a finding and sets the exit code.
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["against", "suite"])]
    pub(crate) cache: Option<Policy>,
    /// Also write an HTML page: timelines of the steps, or the waterfall of --against
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also convert the trace for another viewer
    #[arg(long, value_enum, requires = "output", value_name = "FORMAT")]
    pub(crate) export: Option<TraceExport>,
    /// The file that --export writes
    #[arg(long, short, value_name = "FILE", requires = "export")]
    pub(crate) output: Option<PathBuf>,
    /// Record a JAX or PyTorch command, and print the cost of recording next to the result
    ///
    /// Runs the command without a profiler, with one, and with one that records Python frames.
    #[arg(long, conflicts_with = "trace")]
    pub(crate) record: bool,
    /// Record the arms of this suite: a folder with a suite.toml, or a built-in suite
    #[arg(long, value_name = "SUITE", conflicts_with_all = ["trace", "record"])]
    pub(crate) suite: Option<String>,
    /// The case of the suite [default: the first]
    #[arg(long, value_name = "NAME", requires = "suite")]
    pub(crate) case: Option<String>,
    /// Record only this arm of the suite; repeatable
    #[arg(long = "arm", value_name = "NAME", requires = "suite")]
    pub(crate) arms: Vec<String>,
    /// A profile of the suite
    #[arg(long, value_name = "NAME", requires = "suite")]
    pub(crate) profile: Option<String>,
    /// Set a parameter of the suite; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = super::parameter, requires = "suite")]
    pub(crate) set: Vec<(String, Scalar)>,
    /// Install this extra of the suite and record the arms that need it; repeatable
    #[arg(long = "extra", value_name = "NAME", requires = "suite")]
    pub(crate) extras: Vec<String>,
    /// Use this Python interpreter for the suite; install nothing
    #[arg(long, value_name = "PATH", requires = "suite")]
    pub(crate) python: Option<PathBuf>,
    /// Keep the traces of --record or --suite in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) keep: Option<PathBuf>,
    /// Time limit for one run of --record
    #[arg(long, default_value = "10m", value_parser = super::duration, value_name = "TIME", requires = "record")]
    pub(crate) timeout: Duration,
    /// The command to record and its arguments, after `--`
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
