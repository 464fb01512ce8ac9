//! Settings of `firstlight merge`.

use std::path::PathBuf;

use firstlight_engine::store::runs_folder;
use firstlight_report::terminal::Report;

use super::run::{report, written_down};
use crate::args::{Format, MergeArgs};

#[derive(Debug)]
pub(crate) struct MergeSettings {
    pub(crate) shards: Vec<PathBuf>,
    pub(crate) output: Option<PathBuf>,
    /// The default parent folder of the snapshot.
    pub(crate) runs: PathBuf,
    pub(crate) report: Report,
    pub(crate) argv: Vec<String>,
    pub(crate) format: Format,
}

impl MergeSettings {
    pub(crate) fn resolve(args: MergeArgs, format: Format, typed: &[String]) -> Self {
        // The shards are named by their identifiers; a thousand paths would add nothing.
        let program = written_down(typed, false).into_iter().take(2).collect();
        Self {
            report: report(&args.length),
            shards: args.shards,
            output: args.output,
            runs: runs_folder(),
            argv: program,
            format,
        }
    }
}
