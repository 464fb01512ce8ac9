//! Arguments of `firstlight conformance`.

use std::path::PathBuf;
use std::time::Duration;

use firstlight_schema::suite::Scalar;

use super::parameter;

/// Check a runner in any language against the protocol, request by request
///
/// Starts the runner once for each conversation: a cold start, a warm process, two windows, a window with
/// a time limit, and a request that it cannot fulfil. The runner needs a workload whose calls are short.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConformanceArgs {
    /// The workload in the request `prepare`; without a command, firstlight's own Python runner loads it
    #[arg(long, value_name = "FILE")]
    pub(crate) workload: Option<PathBuf>,
    /// A parameter of the case in the request `prepare`; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) set: Vec<(String, Scalar)>,
    /// Time limit for one process
    #[arg(long, default_value = "30s", value_parser = super::duration, value_name = "TIME")]
    pub(crate) timeout: Duration,
    /// The runner and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "workload")]
    pub(crate) command: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  firstlight conformance -- ./runner --fast
  firstlight conformance --set count=1000 -- ./runner
  firstlight conformance --workload step.py

Exit codes: 0 conforms, 6 does not conform.";
