//! Resolved arguments, environment and defaults. Code below this layer does not see them.

mod bisect;
mod cold;
mod compare;
mod conformance;
mod doctor;
mod exchange;
mod gate;
mod list;
mod merge;
mod publish;
mod report;
mod run;
mod show;
mod snapshot;
mod status;
mod trace;
mod warm;

pub(crate) use bisect::BisectSettings;
pub(crate) use cold::ColdSettings;
pub(crate) use compare::{CompareSettings, Sides};
pub(crate) use conformance::ConformanceSettings;
pub(crate) use doctor::DoctorSettings;
pub(crate) use exchange::{ExportSettings, ImportSettings, Output};
pub(crate) use gate::{GateSettings, TrialSettings, Typed};
pub(crate) use list::{ListSettings, NewSettings};
pub(crate) use merge::MergeSettings;
pub(crate) use publish::PublishSettings;
pub(crate) use report::{ReportSettings, Wanted};
pub(crate) use run::{Resume, RunSettings, Start};
pub(crate) use show::ShowSettings;
pub(crate) use snapshot::{SnapshotSettings, VerifySettings};
pub(crate) use status::StatusSettings;
pub(crate) use trace::{Made, TraceSettings, TraceSource};
pub(crate) use warm::WarmSettings;

use std::path::PathBuf;

use firstlight_engine::store::{cache_folder, runs_folder};

use crate::args::Format;

/// The destination of results.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) format: Format,
    pub(crate) export_json: Option<PathBuf>,
    /// The folder of this run, if given.
    pub(crate) output: Option<PathBuf>,
    /// The default parent folder of runs.
    pub(crate) runs: PathBuf,
    /// The folder for files that can be recreated.
    pub(crate) cache: PathBuf,
    /// Whether data that identify the machine and its user are left out.
    pub(crate) redact: bool,
}

impl Destination {
    fn redacted(mut self, redact: bool) -> Self {
        self.redact = redact;
        self
    }

    fn new(format: Format, export_json: Option<PathBuf>, output: Option<PathBuf>) -> Self {
        Self {
            format,
            export_json,
            output,
            runs: runs_folder(),
            cache: cache_folder(),
            redact: false,
        }
    }
}
