//! Settings of `firstlight run`.

use std::path::{Path, PathBuf};

use firstlight_report::terminal::Report;
use firstlight_schema::suite::Choice;

use super::Destination;
use crate::args::{self, Format, RunArgs};

#[derive(Debug)]
pub(crate) struct RunSettings {
    pub(crate) suite: String,
    pub(crate) choice: Choice,
    /// As typed, but for the folder of the program, which is nobody's business.
    pub(crate) argv: Vec<String>,
    pub(crate) report: Report,
    pub(crate) python: Option<PathBuf>,
    pub(crate) destination: Destination,
}

impl RunSettings {
    pub(crate) fn resolve(args: RunArgs, format: Format, typed: Vec<String>) -> Self {
        Self {
            suite: args.suite,
            choice: Choice {
                processes: args.processes,
                seed: args.seed,
                cases: args.cases,
                arms: args.arms,
                regimes: args.regimes,
                profile: args.profile,
                set: args.set.into_iter().collect(),
                extras: args.extras,
            },
            argv: without_folder(typed),
            report: report(args.report),
            python: args.python,
            destination: Destination::new(format, args.export_json, args.output),
        }
    }
}

/// The program by its name; what it was is told by its digest.
fn without_folder(mut typed: Vec<String>) -> Vec<String> {
    if let Some(program) = typed.first_mut()
        && let Some(name) = Path::new(program.as_str()).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    typed
}

pub(super) fn report(asked: args::Report) -> Report {
    match asked {
        args::Report::Minimum => Report::Minimum,
        args::Report::Usual => Report::Usual,
        args::Report::Full => Report::Full,
    }
}
