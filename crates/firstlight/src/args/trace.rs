//! What can be typed behind `firstlight trace`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

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
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["record", "export", "html"])]
    pub(crate) against: Option<PathBuf>,
    /// Names in the tables of frames and of events
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(crate) rows: usize,
    /// PyTorch's structured log (of `TORCH_TRACE`), which says why something was compiled again
    #[arg(long, value_name = "LOG")]
    pub(crate) torch_trace: Option<PathBuf>,
    /// Memory that the events may take, in megabytes
    #[arg(long, default_value_t = 4096, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) memory: u64,
    /// Also make an HTML page with the timelines of the steps
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also write the recording for another viewer
    #[arg(long, value_enum, requires = "output", value_name = "FORMAT")]
    pub(crate) export: Option<TraceExport>,
    /// The file of --export
    #[arg(long, short, value_name = "FILE", requires = "export")]
    pub(crate) output: Option<PathBuf>,
    /// Run a JAX program untraced, recorded, and recorded with Python frames, and print what
    /// recording costs beside what was recorded
    #[arg(long, conflicts_with = "trace")]
    pub(crate) record: bool,
    /// Keep the recordings of --record in this folder
    #[arg(long, value_name = "FOLDER", requires = "record")]
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
  firstlight trace trace.json --torch-trace dedicated_log_torch_trace.log
  firstlight trace host.xplane.pb --export speedscope --output steps.speedscope.json
  firstlight trace --record --keep recordings -- python train.py";
