//! Arguments of `firstlight gate` and `firstlight bisect`.

use std::path::PathBuf;
use std::time::Duration;

use firstlight_schema::cache::Policy;
use firstlight_schema::suite::{Regime, Scalar};

use super::{duration, margin, parameter, regime};

/// Measure two commits side by side and fail if the newer one is slower
///
/// firstlight checks both commits out into temporary worktrees and measures every arm of the suite, or
/// the command, in both. Base and head take turns in one run, so a slow machine slows both. The gate
/// fails if head is slower than the margin allows, or if its results differ. The worktrees are removed
/// at the end.
#[derive(Debug, clap::Args)]
#[command(after_help = GATE_EXAMPLES, override_usage = GATE_USAGE)]
pub(crate) struct GateArgs {
    /// The commit to compare with: a branch, a tag or an id
    #[arg(long, value_name = "REF")]
    pub(crate) base: String,
    /// The commit to judge [default: the working tree with its uncommitted changes]
    #[arg(long, value_name = "REF")]
    pub(crate) head: Option<String>,
    /// Compare with the last commit that base and head have in common
    #[arg(long)]
    pub(crate) merge_base: bool,
    #[command(flatten)]
    pub(crate) trial: TrialArgs,
    /// Also write the JSON document to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the comment of a pull request to this file, as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Append the whole table to this file, such as `$GITHUB_STEP_SUMMARY`
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,
    /// Print annotations for this CI as well
    #[arg(long, value_enum, value_name = "CI")]
    pub(crate) annotations: Option<Annotations>,
    /// Link to the report in the comment and the summary
    #[arg(long, value_name = "URL", value_parser = web_address)]
    pub(crate) report_url: Option<String>,
    /// Write the run to this new folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

/// A comment only links to web addresses.
fn web_address(text: &str) -> Result<String, String> {
    if ["https://", "http://"].iter().any(|start| text.starts_with(start)) {
        return Ok(text.to_owned());
    }
    Err("expected an address that begins with https:// or http://".to_owned())
}

/// Whose log is annotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Annotations {
    Github,
}

/// The subject of a gate or a search, and the number of processes.
#[derive(Debug, clap::Args)]
pub(crate) struct TrialArgs {
    /// The folder of a suite in the repository
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    pub(crate) suite: Option<String>,
    /// Largest slowdown that does not matter, such as 2% or 0.02; CASE=2% for one case [default: the
    /// suite's margins, 5% for a command]
    #[arg(long = "margin", value_name = "MARGIN", value_parser = margin)]
    pub(crate) margins: Vec<(Option<String>, f64)>,
    /// Processes of each side, per arm and regime [default: from the suite, 20 for a command]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) processes: Option<u32>,
    /// Build each worktree with this command line before it is measured
    #[arg(long, value_name = "COMMAND")]
    pub(crate) prepare: Option<String>,
    /// A profile of the suite, such as tiny or full
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Set a parameter in every case that has it; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) set: Vec<(String, Scalar)>,
    /// Install this extra and measure the arms that need it; repeatable
    #[arg(long = "extra", value_name = "NAME")]
    pub(crate) extras: Vec<String>,
    /// Measure only this case; repeatable
    #[arg(long = "case", value_name = "NAME")]
    pub(crate) cases: Vec<String>,
    /// Measure only this arm; repeatable
    #[arg(long = "arm", value_name = "NAME")]
    pub(crate) arms: Vec<String>,
    /// Measure only this regime (cold-clean, cold-primed, warm); repeatable
    #[arg(long = "regime", value_name = "REGIME", value_parser = regime)]
    pub(crate) regimes: Vec<Regime>,
    /// Use this Python interpreter and its packages for the suite; install nothing
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
    /// State of the compilers' caches for a command: as-configured, clean, primed, disabled or as-found
    #[arg(
        long,
        default_value = "as-configured",
        value_name = "POLICY",
        value_delimiter = ',',
        num_args = 1
    )]
    pub(crate) cache: Vec<Policy>,
    /// Time limit for one process of a command
    #[arg(long, default_value = "10m", value_parser = duration, value_name = "TIME")]
    pub(crate) timeout: Duration,
    /// Treat any exit code of a command as success
    #[arg(long)]
    pub(crate) ignore_exit_code: bool,
    /// Seed for the order of the processes [default: from the suite, 1 for a command]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// A command to measure from its start to its exit, instead of a suite
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

const GATE_USAGE: &str = "firstlight gate --base <REF> [OPTIONS] <SUITE>
       firstlight gate --base <REF> [OPTIONS] -- <COMMAND>...";

const GATE_EXAMPLES: &str = "\
Examples:
  firstlight gate --base main benchmarks/mlp
  firstlight gate --base v1.2 --head v1.3 benchmarks/mlp --margin 5%
  firstlight gate --base main -- python train.py --epochs 1
  firstlight gate --base main --prepare 'cargo build --release' -- ./target/release/app
  firstlight gate --base origin/main benchmarks/mlp --markdown comment.md --json gate.json

Exit codes: 0 head is not slower, 3 head is slower or its results differ, 4 inconclusive,
5 a process of one side failed.";

/// Find the commit since which a suite or a command is slower
///
/// Searches the first-parent commits between a good and a bad one. Each candidate is measured beside
/// good, as `firstlight gate` does. An inconclusive candidate is measured again with twice the processes,
/// and skipped in the end. A candidate that fails to run is skipped. The search also finds the commit
/// since which results differ, or since which the program is faster, if that is how bad differs.
#[derive(Debug, clap::Args)]
#[command(after_help = BISECT_EXAMPLES, override_usage = BISECT_USAGE)]
pub(crate) struct BisectArgs {
    /// A commit before the change
    #[arg(long, value_name = "REF")]
    pub(crate) good: String,
    /// A later commit with the change
    #[arg(long, value_name = "REF", default_value = "HEAD")]
    pub(crate) bad: String,
    #[command(flatten)]
    pub(crate) trial: TrialArgs,
    /// Most processes of each side for one candidate [default: four times --processes]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) most_processes: Option<u32>,
    /// Write the steps to this file, and continue the search that it holds
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}

const BISECT_USAGE: &str = "firstlight bisect --good <REF> [OPTIONS] <SUITE>
       firstlight bisect --good <REF> [OPTIONS] -- <COMMAND>...";

const BISECT_EXAMPLES: &str = "\
Examples:
  firstlight bisect --good v1.2 benchmarks/mlp
  firstlight bisect --good v1.2 --bad main --margin 5% benchmarks/mlp --arm jax
  firstlight bisect --good HEAD~20 --log search.json -- python train.py --epochs 1

Exit codes: 0 the commit was found, 4 several commits remain, or bad has no verdict,
5 good or bad fails to run.";
