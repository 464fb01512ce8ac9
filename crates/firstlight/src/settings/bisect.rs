//! Settings of `firstlight bisect`.

use std::path::PathBuf;

use super::TrialSettings;
use crate::args::{BisectArgs, Format};
use crate::error::Error;

#[derive(Debug)]
pub(crate) struct BisectSettings {
    pub(crate) good: String,
    pub(crate) bad: String,
    pub(crate) trial: TrialSettings,
    pub(crate) most_processes: Option<u32>,
    pub(crate) log: Option<PathBuf>,
}

impl BisectSettings {
    pub(crate) fn resolve(
        args: BisectArgs,
        format: Format,
        typed: &[String],
    ) -> Result<Self, Error> {
        Ok(Self {
            good: args.good,
            bad: args.bad,
            trial: TrialSettings::resolve(args.trial, None, format, typed)?,
            most_processes: args.most_processes,
            log: args.log,
        })
    }
}
