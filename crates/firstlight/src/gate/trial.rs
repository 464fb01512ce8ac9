//! Measures two checkouts in one run and decides.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use firstlight_analysis::gate::{decision, rows};
use firstlight_analysis::results::Margins;
use firstlight_engine::git::Commit;
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::packing::Packed;
use firstlight_engine::process::Show;
use firstlight_engine::python::{Hooks, resolve};
use firstlight_engine::secrets::without_secrets;
use firstlight_engine::snapshot;
use firstlight_engine::store::RunFolder;
use firstlight_engine::suites::{self, Suite};
use firstlight_report::terminal::Report;
use firstlight_report::words::machine::gpus;
use firstlight_schema::cache::{CachePolicy, Policy};
use firstlight_schema::exit_code::Exit;
use firstlight_schema::gate::{GateDocument, Revision};
use firstlight_schema::run::{EnvironmentKind, EnvironmentRecord, RunDocument};
use firstlight_schema::suite::{Choice, Regime};

use super::joint::{Half, Joint, joint};
use super::reproduce::reproduce;
use crate::cold_suite::{ColdSuite, named};
use crate::commands::{Beginning, Job, failures, origin, take};
use crate::environment::{Wanted, environment, record};
use crate::error::Error;
use crate::harness::build;
use crate::printer::Printer;
use crate::settings::Destination;

/// The suite or command that is measured at both commits.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// A suite, by its path below the root of the repository.
    Suite(PathBuf),
    Command(Command),
}

/// An unchanged command and the conditions of its start.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) words: Vec<String>,
    pub(crate) regimes: Vec<Regime>,
    pub(crate) compilers: Policy,
    pub(crate) timeout: Duration,
    pub(crate) any_exit_code: bool,
}

impl Subject {
    /// As a person would type it, without secrets.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Suite(path) => path.display().to_string(),
            Self::Command(command) => {
                let words = without_secrets(&command.words);
                shlex::try_join(words.iter().map(String::as_str))
                    .unwrap_or_else(|_| words.join(" "))
            }
        }
    }
}

/// How much is measured.
#[derive(Clone, Debug)]
pub(crate) struct Amounts {
    pub(crate) choice: Choice,
    pub(crate) margins: Margins,
}

/// Cases and arms, by their names in the suite.
pub(crate) type Selection = Vec<(String, String)>;

/// One of the two commits, checked out.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) revision: Revision,
    /// The root of its checkout.
    pub(crate) root: PathBuf,
    /// Where commands run: the folder that corresponds to the current one.
    pub(crate) folder: PathBuf,
}

impl Side {
    pub(crate) fn new(name: &str, commit: &Commit, root: &Path, below: &Path) -> Self {
        Self {
            revision: Revision {
                name: name.to_owned(),
                commit: commit.id.clone(),
                subject: commit.subject.clone(),
                uncommitted: commit.uncommitted,
            },
            root: root.to_owned(),
            folder: root.join(below),
        }
    }

    #[cfg(test)]
    pub(crate) fn for_test(name: &str, root: PathBuf) -> Self {
        let (commit, subject) = ("0".repeat(40), String::new());
        let revision = Revision { name: name.to_owned(), commit, subject, uncommitted: false };
        Self { revision, folder: root.clone(), root }
    }
}

/// The inputs that all measurements of a gate or a search share.
pub(crate) struct Trial<'a> {
    pub(crate) subject: Subject,
    pub(crate) python: Option<&'a Path>,
    /// A command line that builds a checkout before it is measured.
    pub(crate) prepare: Option<&'a str>,
    pub(crate) argv: &'a [String],
    pub(crate) destination: &'a Destination,
    pub(crate) interrupt: &'a Interrupt,
}

/// A decision, and how the processes ended.
pub(crate) struct Outcome {
    pub(crate) document: GateDocument,
    pub(crate) exit: Exit,
    /// Why arms were abandoned, with the end of their output.
    pub(crate) failures: Vec<String>,
}

/// Measures two sides in turn.
pub(crate) fn measure_sides(
    trial: &Trial<'_>,
    sides: &[Side; 2],
    amounts: &Amounts,
    only: Option<&Selection>,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let destination = trial.destination;
    let [base, head] = [&sides[0], &sides[1]].map(|side| open(trial, side, amounts));
    let suites = [base?, head?];
    let mut environments = Vec::new();
    for suite in &suites {
        environments.push(provide(trial, suite, amounts, printer)?);
    }
    let halves = [0, 1].map(|place| Half {
        suite: &suites[place],
        side: &sides[place],
        python: environments[place].0.as_deref(),
    });
    let question = format!(
        "Is {} slower than {}?",
        described(&sides[1].revision),
        described(&sides[0].revision)
    );
    let joint = joint(&halves, &question, &amounts.margins, only.map(Vec::as_slice));
    if joint.pairs.is_empty() {
        return Err(Error::NothingCommon { notes: joint.notes });
    }
    let hooks = Hooks::lay_out(&destination.cache)?;
    for program in programs(&trial.subject, sides)? {
        hooks.compile_for(&program);
    }
    for python in environments.iter().filter_map(|(python, _)| python.as_deref()) {
        hooks.compile_for(python);
    }
    let differences = packages(&environments[0].1, &environments[1].1);
    let (python, environment) = environments.pop().expect("there are two sides");
    let store = RunFolder::create(&destination.runs, "gate", destination.output.as_deref())?;
    let suite = suite(&store, &joint)?;
    let origin = origin(&suite, trial.argv, &Choice::default(), environment);
    snapshot::begin(store.path(), &origin, &suite)?;
    let job = Job {
        suite: &suite,
        python: python.as_deref(),
        show: Show::Tail,
        limit: None,
        report: Report::Usual,
        destination,
    };
    let beginning = Beginning { store, origin, earlier: Vec::new() };
    let measured = take(&job, beginning, hooks, trial.interrupt, printer)?;
    let mut document = document(trial, amounts, sides, &joint, &measured.document);
    document.notes.extend(differences);
    document.run = measured.folder.display().to_string();
    Ok(Outcome {
        failures: failures(&measured.document, python.as_deref()),
        exit: measured.exit(),
        document,
    })
}

/// The suite of one side, as far as it was chosen.
fn open(trial: &Trial<'_>, side: &Side, amounts: &Amounts) -> Result<Suite, Error> {
    match &trial.subject {
        Subject::Suite(path) => {
            let folder = side.root.join(path);
            if !folder.join("suite.toml").is_file() {
                return Err(Error::NoSuiteAtCommit {
                    suite: path.clone(),
                    commit: described(&side.revision),
                });
            }
            let mut suite = suites::open(&folder.to_string_lossy(), &trial.destination.cache)?;
            amounts
                .choice
                .apply(&mut suite.file)
                .map_err(|error| Error::Usage(format!("{}: {error}", described(&side.revision))))?;
            Ok(suite)
        }
        Subject::Command(command) => of_command(command, side, amounts),
    }
}

/// A command as a suite with one arm.
fn of_command(command: &Command, side: &Side, amounts: &Amounts) -> Result<Suite, Error> {
    /// Enough for a margin of 5 % where a start varies by a tenth.
    const PROCESSES: u32 = 20;
    let cold = ColdSuite {
        arms: named(vec![command.words.clone()]),
        regimes: command.regimes.clone(),
        policy: CachePolicy {
            compilers: command.compilers,
            // A fresh checkout has no byte code, which only the first process would notice.
            bytecode: Policy::Primed,
            page_cache: Policy::AsFound,
        },
        runs: amounts.choice.processes.unwrap_or(PROCESSES),
        timeout: command.timeout,
        seed: amounts.choice.seed.unwrap_or(1),
        any_exit_code: command.any_exit_code,
        unhooked: false,
        stdin: None,
    };
    let mut file = suites::parse(&cold.published(None).text())?;
    // Of a whole program, a smaller difference is rarely worth a look.
    file.comparison.margin = 0.05;
    Ok(Suite {
        folder: side.folder.clone(),
        file,
        files: Packed::new(),
        digest: String::new(),
        started: Some(suites::parse(&cold.text())?),
        places: BTreeMap::new(),
    })
}

/// The interpreter of one side.
fn provide(
    trial: &Trial<'_>,
    suite: &Suite,
    amounts: &Amounts,
    printer: &mut Printer,
) -> Result<(Option<PathBuf>, EnvironmentRecord), Error> {
    if matches!(trial.subject, Subject::Command(_)) {
        return Ok((None, record(EnvironmentKind::AsFound)));
    }
    let extras = &amounts.choice.extras;
    let wanted = Wanted { python: trial.python, extras, cache: &trial.destination.cache };
    environment(suite, wanted, trial.interrupt, printer)
}

/// The programs that the command starts, which must be there before anything is measured.
fn programs(subject: &Subject, sides: &[Side; 2]) -> Result<Vec<PathBuf>, Error> {
    let Subject::Command(Command { words, .. }) = subject else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for side in sides {
        let typed = if words[0].contains('/') {
            side.folder.join(&words[0]).to_string_lossy().into_owned()
        } else {
            words[0].clone()
        };
        let resolved = resolve(&typed).map_err(|_| Error::NoProgramAtCommit {
            program: words[0].clone(),
            commit: described(&side.revision),
        })?;
        found.push(resolved.program);
    }
    Ok(found)
}

/// The joint suite in the folder of the run.
fn suite(store: &RunFolder, joint: &Joint) -> Result<Suite, Error> {
    let mut suite = suites::write_all(&store.path().join("suite"), &joint.stored, &joint.files)?;
    suite.started = Some(suites::parse(&joint.started)?);
    suite.places.clone_from(&joint.places);
    Ok(suite)
}

fn document(
    trial: &Trial<'_>,
    amounts: &Amounts,
    sides: &[Side; 2],
    joint: &Joint,
    run: &RunDocument,
) -> GateDocument {
    let rows = rows(run, &joint.pairs);
    let [base, head] = [&sides[0].revision, &sides[1].revision];
    let mut notes = joint.notes.clone();
    if base.commit == head.commit {
        notes.push("base and head are the same commit: this is an A/A check".to_owned());
    }
    notes.extend(run.machine_notices.iter().map(|notice| notice.text.clone()));
    GateDocument {
        schema: GateDocument::schema_id(),
        firstlight: build(),
        created: run.created.clone(),
        subject: trial.subject.words(),
        base: base.clone(),
        head: head.clone(),
        decision: decision(&rows),
        rows,
        notes,
        control: run.control.as_ref().and_then(|control| control.passed),
        machine: run.machine.clone(),
        gpus: gpus(run),
        processes: run.options.processes,
        seed: run.seed,
        complete: run.complete,
        run: String::new(),
        reproduce: reproduce(trial, amounts, base, head),
    }
}

/// `main (1a2b3c4d5e)`.
pub(super) fn described(of: &Revision) -> String {
    let changes = if of.uncommitted { " with uncommitted changes" } else { "" };
    if of.commit.starts_with(&of.name) {
        return format!("{}{changes}", of.short());
    }
    format!("{} ({}){changes}", of.name, of.short())
}

/// Packages that differ between the two environments.
fn packages(base: &EnvironmentRecord, head: &EnvironmentRecord) -> Vec<String> {
    let mut names: Vec<&String> = base.packages.keys().chain(head.packages.keys()).collect();
    names.sort();
    names.dedup();
    let version = |of: &EnvironmentRecord, name: &str| {
        of.packages.get(name).map_or_else(|| "absent".to_owned(), Clone::clone)
    };
    let differs = |name: &&String| base.packages.get(*name) != head.packages.get(*name);
    let line = |name: &String| {
        format!("package {name}: {} in base, {} in head", version(base, name), version(head, name))
    };
    names.into_iter().filter(differs).map(line).collect()
}
