//! Settings of `firstlight export` and `firstlight import`.

use std::path::PathBuf;

use firstlight_analysis::import::Source;
use firstlight_engine::store::runs_folder;

use crate::args::{ExportArgs, ExportFormat, Format, ImportArgs, ImportFormat};

#[derive(Debug)]
pub(crate) struct ExportSettings {
    pub(crate) result: PathBuf,
    pub(crate) to: ExportFormat,
    pub(crate) output: Output,
}

/// The destination of an export.
#[derive(Debug)]
pub(crate) enum Output {
    Standard,
    File(PathBuf),
}

impl ExportSettings {
    pub(crate) fn resolve(args: ExportArgs) -> Self {
        let output = match args.output {
            path if path.as_os_str() == "-" => Output::Standard,
            path => Output::File(path),
        };
        Self { result: args.result, to: args.to, output }
    }
}

#[derive(Debug)]
pub(crate) struct ImportSettings {
    pub(crate) file: PathBuf,
    pub(crate) from: Option<Source>,
    /// The folder of the result, if given.
    pub(crate) output: Option<PathBuf>,
    /// The default parent folder of the result.
    pub(crate) runs: PathBuf,
    pub(crate) format: Format,
}

impl ImportSettings {
    pub(crate) fn resolve(args: ImportArgs, format: Format) -> Self {
        let from = args.from.map(|from| match from {
            ImportFormat::Pyperf => Source::Pyperf,
            ImportFormat::PytestBenchmark => Source::PytestBenchmark,
            ImportFormat::Hyperfine => Source::Hyperfine,
            ImportFormat::GoogleBenchmark => Source::GoogleBenchmark,
        });
        Self { file: args.file, from, output: args.output, runs: runs_folder(), format }
    }
}
