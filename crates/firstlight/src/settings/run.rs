//! Settings of `firstlight run`.

use std::path::PathBuf;

use firstlight_report::terminal::Report;
use firstlight_schema::suite::Regime;

use super::Destination;
use crate::args::{self, Format, RunArgs};

#[derive(Debug)]
pub(crate) struct RunSettings {
    pub(crate) suite: String,
    pub(crate) processes: Option<u32>,
    /// Empty means all.
    pub(crate) cases: Vec<String>,
    pub(crate) arms: Vec<String>,
    pub(crate) regimes: Vec<Regime>,
    pub(crate) report: Report,
    pub(crate) python: Option<PathBuf>,
    pub(crate) seed: Option<u64>,
    pub(crate) destination: Destination,
}

impl RunSettings {
    pub(crate) fn resolve(args: RunArgs, format: Format) -> Self {
        Self {
            suite: args.suite,
            processes: args.processes,
            cases: args.cases,
            arms: args.arms,
            regimes: args.regimes,
            report: report(args.report),
            python: args.python,
            seed: args.seed,
            destination: Destination::new(format, args.export_json, args.output),
        }
    }
}

pub(super) fn report(asked: args::Report) -> Report {
    match asked {
        args::Report::Minimum => Report::Minimum,
        args::Report::Usual => Report::Usual,
        args::Report::Full => Report::Full,
    }
}
