//! Settings of `firstlight run`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use firstlight_engine::privacy::{Identity, pseudonym};
use firstlight_engine::secrets::without_secrets;
use firstlight_report::terminal::Report;
use firstlight_schema::suite::Choice;

use super::Destination;
use crate::args::{self, Cluster, Format, RunArgs};
use crate::environment::Wanted;

#[derive(Debug)]
pub(crate) struct RunSettings {
    pub(crate) start: Start,
    pub(crate) choice: Choice,
    /// No round begins after this time.
    pub(crate) limit: Option<Duration>,
    /// As typed, except for the private folder of the program.
    pub(crate) argv: Vec<String>,
    pub(crate) report: Report,
    pub(crate) python: Option<PathBuf>,
    /// The recorded name of this machine.
    pub(crate) node: Option<String>,
    pub(crate) destination: Destination,
}

/// The source of the measurement.
#[derive(Debug)]
pub(crate) enum Start {
    /// A folder, or the name of a built-in suite.
    Suite(String),
    /// The same on a Slurm cluster.
    Launched(String),
    /// A run on a cluster that was submitted before.
    Attached(PathBuf),
    /// The rest of an interrupted run.
    Resumed(Resume),
}

/// A run to continue.
#[derive(Debug)]
pub(crate) struct Resume {
    pub(crate) folder: PathBuf,
    /// Whether it may continue with another program, machine or environment.
    pub(crate) new_segment: bool,
}

impl RunSettings {
    /// The requested environment.
    pub(crate) fn environment(&self) -> Wanted<'_> {
        Wanted {
            python: self.python.as_deref(),
            extras: &self.choice.extras,
            cache: &self.destination.cache,
        }
    }

    pub(crate) fn resolve(args: RunArgs, format: Format, typed: &[String]) -> Self {
        Self {
            start: match (args.resume, args.attach, args.on) {
                (Some(folder), ..) => {
                    Start::Resumed(Resume { folder, new_segment: args.new_segment })
                }
                (None, Some(folder), _) => Start::Attached(folder),
                (None, None, Some(Cluster::Slurm)) => {
                    Start::Launched(args.suite.unwrap_or_default())
                }
                (None, None, None) => Start::Suite(args.suite.unwrap_or_default()),
            },
            limit: args.limit,
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
            argv: written_down(typed, args.redact),
            report: report(&args.length),
            python: args.python,
            node: if args.redact { args.node.as_deref().map(pseudonym) } else { args.node },
            destination: Destination::new(format, args.export_json, args.output)
                .redacted(args.redact),
        }
    }
}

/// The command line in its recorded form.
pub(super) fn written_down(typed: &[String], redact: bool) -> Vec<String> {
    let words = without_folders(typed);
    if !redact {
        return words;
    }
    let identity = Identity::here();
    words.iter().map(|word| identity.redact_word(word)).collect()
}

/// The command line without the folders of its machine: the program and every other absolute path are reduced
/// to their names. Digest and version identify the program and the interpreter. Values of options such as
/// `--token` are left out.
fn without_folders(typed: &[String]) -> Vec<String> {
    let mut typed = without_secrets(typed).into_iter();
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

pub(super) fn report(length: &args::LengthArgs) -> Report {
    match length.report() {
        args::Report::Minimum => Report::Minimum,
        args::Report::Usual => Report::Usual,
        args::Report::Full => Report::Full,
        args::Report::All => Report::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_keeps_names_and_drops_folders() {
        let typed =
            ["./target/release/firstlight", "run", "suites/mine", "--python", "/opt/a/python3"];
        let more = ["--output=/srv/runs/one", "--set", "rate=0.1", "--set=weights=/srv/w", "/"];
        let typed: Vec<_> = typed.into_iter().chain(more).map(str::to_owned).collect();
        let kept = ["firstlight", "run", "suites/mine", "--python", "python3"];
        let more = ["--output=one", "--set", "rate=0.1", "--set=weights=/srv/w", "/"];
        let kept: Vec<_> = kept.into_iter().chain(more).map(str::to_owned).collect();
        assert_eq!(without_folders(&typed), kept);
    }
}
