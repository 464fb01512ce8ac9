//! `--resume`: continues an unfinished run where its plan stopped.

use std::path::Path;
use std::time::Duration;

use firstlight_engine::doctor;
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::machine;
use firstlight_engine::privacy::is_redacted;
use firstlight_engine::process::{Show, adopt_orphans};
use firstlight_engine::python::Hooks;
use firstlight_engine::snapshot::{
    Files, is_sealed, read_manifest, read_result, unseal, write_origin,
};
use firstlight_engine::store::{RunFolder, now_utc};
use firstlight_engine::suites;
use firstlight_report::terminal::Report;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::run::EnvironmentRecord;
use firstlight_schema::snapshot::{Harness, Origin, Segment};
use firstlight_schema::suite::{Program, SuiteFile};

use super::measure::{Beginning, Job, measure};
use super::warm;
use crate::environment::{Wanted, environment};
use crate::error::Error;
use crate::harness::harness;
use crate::opening;
use crate::output;
use crate::printer::Printer;
use crate::settings::{Destination, Resume};

/// Settings for continuing a run; the others are those of the run itself.
pub(super) struct Further<'a> {
    pub(super) python: Option<&'a Path>,
    pub(super) limit: Option<Duration>,
    pub(super) report: Report,
    /// The name of this machine; that of the last segment if none is given.
    pub(super) node: Option<&'a str>,
    pub(super) destination: &'a Destination,
}

pub(super) fn resume(
    asked: &Resume,
    further: &Further<'_>,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let folder = &asked.folder;
    reopen(folder)?;
    let found = opening::unsealed(folder)?.without_interrupted();
    let mut origin = found.origin;
    let suite = suites::read_packed(&folder.join("suite"), found.suite)?;
    if !origin.shards.is_empty() {
        return Err(Error::Resume {
            folder: folder.clone(),
            differences: vec!["it was merged from shards".to_owned()],
            allowed: false,
        });
    }
    if suite.digest != origin.suite_digest {
        return Err(Error::Resume {
            folder: folder.clone(),
            differences: vec!["the suite's files changed".to_owned()],
            allowed: false,
        });
    }
    if let Some(what) = redacted(&suite.file) {
        return Err(Error::Resume {
            folder: folder.clone(),
            differences: vec![format!("{what} was stored without its secret")],
            allowed: false,
        });
    }
    output::open_export(further.destination)?;
    let interrupt = Interrupt::install()?;
    adopt_orphans()?;
    let extras = origin.choice.extras.clone();
    let wanted =
        Wanted { python: further.python, extras: &extras, cache: &further.destination.cache };
    let (python, environment) = environment(&suite, wanted, &interrupt, printer)?;
    let here = harness();
    let differences = differences(&origin, &here, python.is_some().then_some(&environment));
    if !differences.is_empty() && !asked.new_segment {
        return Err(Error::Resume { folder: folder.clone(), differences, allowed: true });
    }
    let hooks = Hooks::lay_out(&further.destination.cache)?;
    if let Some(python) = &python {
        hooks.compile_for(python);
    }
    printer.aside(&format!(
        "{}: {} processes already measured",
        suite.file.name,
        found.records.len()
    ));
    let last = origin.node_of(u32::MAX).map(str::to_owned);
    origin.segments.push(Segment {
        node: further.node.map(str::to_owned).or(last),
        first: u32::try_from(found.records.len()).unwrap_or(u32::MAX).saturating_add(1),
        started: now_utc(),
        boot: machine::boot_id(),
        firstlight: here,
        machine: machine::describe(),
        before: doctor::examine(),
    });
    write_origin(folder, &origin)?;
    let job = Job {
        suite: &suite,
        python: python.as_deref(),
        show: Show::Tail,
        limit: further.limit,
        report: further.report,
        destination: further.destination,
    };
    let store = RunFolder::reopen(folder, found.bytes)?;
    let beginning = Beginning { store, origin, earlier: found.records };
    measure(&job, beginning, hooks, &interrupt, printer)
}

/// A part of the suite that cannot be started, because a secret or a name was redacted.
fn redacted(suite: &SuiteFile) -> Option<String> {
    let arm = suite.arms.iter().find(|arm| match arm.program() {
        Program::Process(words) => words.iter().any(|word| is_redacted(word)),
        // The functions of `firstlight warm`; the options of other suites are unchanged.
        Program::Workload(_) if suite.name == warm::NAME => {
            arm.options.values().any(|value| is_redacted(&value.to_string()))
        }
        Program::Workload(_) | Program::Command(_) => false,
    });
    let stdin = suite.sampling.stdin.as_deref().filter(|path| is_redacted(path));
    arm.map(|arm| format!("the command of {}", arm.name.get_ref()))
        .or_else(|| stdin.map(|_| "the path of --stdin".to_owned()))
}

/// Reopens an incomplete snapshot as a run; a complete one stays as it is.
fn reopen(folder: &Path) -> Result<(), Error> {
    if !is_sealed(folder) {
        return Ok(());
    }
    let files = Files::read(folder)?;
    let result = read_result(&files, folder)?;
    opening::refuse_newer(folder, result.schema.version)?;
    if result.complete {
        return Err(Error::Complete { folder: folder.to_owned() });
    }
    let manifest = read_manifest(&files, folder)?;
    Ok(unseal(folder, &manifest.origin)?)
}

/// Differences from the start of the run.
fn differences(
    origin: &Origin,
    here: &Harness,
    environment: Option<&EnvironmentRecord>,
) -> Vec<String> {
    let last = origin.segments.last();
    let (harness, machine, boot) = match last {
        Some(last) => (&last.firstlight, &last.machine, &last.boot),
        None => (&origin.firstlight, &origin.machine, &origin.boot),
    };
    let mut found = Vec::new();
    if harness.binary_sha256 != here.binary_sha256 {
        found.push("firstlight is a different program".to_owned());
    }
    if *machine != machine::describe() {
        found.push("the machine is different".to_owned());
    } else if *boot != machine::boot_id() {
        found.push("the machine was restarted".to_owned());
    }
    if environment.is_some_and(|environment| *environment != origin.environment) {
        found.push("the Python environment is different".to_owned());
    }
    found
}
