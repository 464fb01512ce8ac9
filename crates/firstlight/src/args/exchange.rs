//! The arguments of `export` and `import`.

use std::path::PathBuf;

use clap::ValueEnum;

/// Convert a result to the format of another tool
///
/// csv and parquet contain every raw reading, with invalid ones marked. The other formats contain only
/// results of valid samples.
#[derive(Debug, clap::Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct ExportArgs {
    /// A result's folder, its result.json, or a snapshot's archive
    pub(crate) result: PathBuf,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: ExportFormat,
    /// The file to write, or `-` for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One row per warm call and per fresh process
    Csv,
    /// The same rows as typed columns
    Parquet,
    /// For `pyperf stats`, `hist` and `compare_to`
    Pyperf,
    /// Bencher Metric Format, for `bencher run --adapter json`
    Bencher,
    /// The verdicts as tests
    Junit,
    /// For github-action-benchmark, with the tool customSmallerIsBetter
    GithubActionBenchmark,
    /// Flame graphs of the ledger and the imports, for speedscope.app
    Speedscope,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  firstlight export runs/today --to csv --output today.csv
  firstlight export runs/today --to pyperf --output today.json
  firstlight export runs/today --to speedscope --output today.speedscope.json
  firstlight export today.tar.zst --to junit > gate.xml";

/// Read the result of another tool, to show or compare it
///
/// Imported values get the same statistics as firstlight's own. Compilation during the measurement,
/// the state of caches and the correctness of outputs stay unknown, and every verdict says so.
#[derive(Debug, clap::Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct ImportArgs {
    /// A JSON file of pyperf, pytest-benchmark, hyperfine or google-benchmark
    pub(crate) file: PathBuf,
    /// The format [default: detected from the file]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) from: Option<ImportFormat>,
    /// Write the file and the result to this new folder
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
