//! Settings of `firstlight show`.

use std::path::PathBuf;

use firstlight_report::terminal::Report;

use super::run::report;
use crate::args::{Format, ShowArgs};

#[derive(Debug)]
pub(crate) struct ShowSettings {
    pub(crate) result: PathBuf,
    pub(crate) report: Report,
    pub(crate) format: Format,
}

impl ShowSettings {
    pub(crate) fn resolve(args: ShowArgs, format: Format) -> Self {
        Self { result: args.result, report: report(&args.length), format }
    }
}
