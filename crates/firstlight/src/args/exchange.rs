//! What can be typed after `export` and `import`.

use std::path::PathBuf;

use clap::ValueEnum;

/// Write a stored result in the format of another tool
///
/// csv and parquet have every raw reading; the others have what may be claimed of the valid ones.
/// What is invalid or failed is marked or left out, never written as a number.
#[derive(Debug, clap::Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct ExportArgs {
    /// A result's folder, its result.json, or a snapshot's archive
    pub(crate) result: PathBuf,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: ExportFormat,
    /// The file; - is the standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A row for each call of a warm process and for each fresh process
    Csv,
    /// The same table, with types
    Parquet,
    /// For pyperf itself: stats, hist and comparisons
    Pyperf,
    /// Bencher Metric Format, for bencher run --adapter json
    Bencher,
    /// The verdicts as tests
    Junit,
    /// Its tool customSmallerIsBetter
    GithubActionBenchmark,
    /// Flame graphs of ledger and imports, for speedscope.app
    Speedscope,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  firstlight export runs/today --to csv --output today.csv
  firstlight export runs/today --to pyperf --output today.json
  firstlight export runs/today --to speedscope --output today.speedscope.json
  firstlight export today.tar.zst --to junit > gate.xml";

/// Read another tool's result, to show it and compare it
///
/// The values go through the same statistics as firstlight's own. That nothing was compiled
/// meanwhile, what caches held and whether results are right stays unknown, and every verdict says
/// so.
#[derive(Debug, clap::Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct ImportArgs {
    /// A JSON file of pyperf, pytest-benchmark, hyperfine or google-benchmark
    pub(crate) file: PathBuf,
    /// The format, where it is not to be guessed
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) from: Option<ImportFormat>,
    /// Keep the file and the result in this new folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    Pyperf,
    PytestBenchmark,
    Hyperfine,
    GoogleBenchmark,
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  hyperfine --export-json times.json 'python a.py' 'python b.py'
  firstlight import times.json --output imported
  firstlight compare imported --arms 'python a.py' 'python b.py'";
