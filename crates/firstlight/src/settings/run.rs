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
            argv: without_folders(typed),
            report: report(args.report),
            python: args.python,
            destination: Destination::new(format, args.export_json, args.output),
        }
    }
}

/// What was typed, without the folders of the machine it was typed on: the program and whatever else is
/// a path from the root by its name. Which program and interpreter it was is told by digest and version.
fn without_folders(typed: Vec<String>) -> Vec<String> {
    let mut typed = typed.into_iter();
    let program = typed.next().map(|program| name_of(&program).unwrap_or(program));
    program.into_iter().chain(typed.map(|argument| without_folder(&argument))).collect()
}

fn without_folder(argument: &str) -> String {
    let (option, value) = match argument.split_once('=') {
        Some((option, value)) if option.starts_with("--") => (Some(option), value),
        _ => (None, argument),
    };
    match name_of(value).filter(|_| Path::new(value).is_absolute()) {
        Some(name) => option.map_or(name.clone(), |option| format!("{option}={name}")),
        None => argument.to_owned(),
    }
}

fn name_of(path: &str) -> Option<String> {
    Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned())
}

pub(super) fn report(asked: args::Report) -> Report {
    match asked {
        args::Report::Minimum => Report::Minimum,
        args::Report::Usual => Report::Usual,
        args::Report::Full => Report::Full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_keeps_names_and_loses_folders() {
        let typed =
            ["./target/release/firstlight", "run", "suites/mine", "--python", "/opt/a/python3"];
        let more = ["--output=/srv/runs/one", "--set", "rate=0.1", "--set=weights=/srv/w", "/"];
        let typed = typed.into_iter().chain(more).map(str::to_owned).collect();
        let kept = ["firstlight", "run", "suites/mine", "--python", "python3"];
        let more = ["--output=one", "--set", "rate=0.1", "--set=weights=/srv/w", "/"];
        let kept: Vec<_> = kept.into_iter().chain(more).map(str::to_owned).collect();
        assert_eq!(without_folders(typed), kept);
    }
}
