//! Settings of `firstlight gate` and `firstlight bisect`.

use std::path::PathBuf;

use firstlight_analysis::results::Margins;
use firstlight_schema::suite::Choice;

use super::Destination;
use super::run::written_down;
use crate::args::{Annotations, Format, GateArgs, TrialArgs};
use crate::cold_suite::regimes;
use crate::error::Error;
use crate::gate::{Amounts, Command};

#[derive(Debug)]
pub(crate) struct GateSettings {
    pub(crate) base: String,
    /// None for the working tree.
    pub(crate) head: Option<String>,
    pub(crate) merge_base: bool,
    pub(crate) trial: TrialSettings,
    pub(crate) json: Option<PathBuf>,
    pub(crate) markdown: Option<PathBuf>,
    pub(crate) summary: Option<PathBuf>,
    pub(crate) annotations: Option<Annotations>,
    pub(crate) report_url: Option<String>,
}

/// The subject of a gate or a search, and the number of processes.
#[derive(Debug)]
pub(crate) struct TrialSettings {
    pub(crate) what: Typed,
    pub(crate) amounts: Amounts,
    pub(crate) python: Option<PathBuf>,
    pub(crate) prepare: Option<String>,
    pub(crate) argv: Vec<String>,
    pub(crate) destination: Destination,
}

/// The subject as it was typed.
#[derive(Debug)]
pub(crate) enum Typed {
    /// A folder, relative to the current one.
    Suite(PathBuf),
    Command(Command),
}

impl GateSettings {
    pub(crate) fn resolve(args: GateArgs, format: Format, typed: &[String]) -> Result<Self, Error> {
        Ok(Self {
            base: args.base,
            head: args.head,
            merge_base: args.merge_base,
            trial: TrialSettings::resolve(args.trial, args.output, format, typed)?,
            json: args.json,
            markdown: args.markdown,
            summary: args.summary,
            annotations: args.annotations,
            report_url: args.report_url,
        })
    }
}

impl TrialSettings {
    pub(super) fn resolve(
        args: TrialArgs,
        output: Option<PathBuf>,
        format: Format,
        typed: &[String],
    ) -> Result<Self, Error> {
        if args.timeout.is_zero() {
            return Err(Error::Usage("--timeout must be greater than zero".to_owned()));
        }
        let what = if let Some(suite) = args.suite {
            Typed::Suite(PathBuf::from(suite))
        } else {
            let (regimes, compilers) = regimes(&args.cache).map_err(Error::Usage)?;
            Typed::Command(Command {
                words: args.command,
                regimes,
                compilers,
                timeout: args.timeout,
                any_exit_code: args.ignore_exit_code,
            })
        };
        let choice = Choice {
            processes: args.processes,
            seed: args.seed,
            cases: args.cases,
            arms: args.arms,
            regimes: args.regimes,
            profile: args.profile,
            set: args.set.into_iter().collect(),
            extras: args.extras,
        };
        Ok(Self {
            what,
            amounts: Amounts { choice, margins: margins(args.margins) },
            python: args.python,
            prepare: args.prepare,
            argv: written_down(typed, false),
            destination: Destination::new(format, None, output),
        })
    }
}

/// Margins as they were typed; the last one of a kind counts.
pub(super) fn margins(typed: Vec<(Option<String>, f64)>) -> Margins {
    let mut margins = Margins::default();
    for (case, margin) in typed {
        match case {
            Some(case) => {
                margins.cases.insert(case, margin);
            }
            None => margins.all = Some(margin),
        }
    }
    margins
}
