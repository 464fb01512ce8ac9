//! `firstlight run`: a suite, all its cases, arms and regimes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use firstlight_analysis::health::changes;
use firstlight_analysis::judge::judge;
use firstlight_engine::doctor;
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::machine;
use firstlight_engine::process::adopt_orphans;
use firstlight_engine::provision::provision;
use firstlight_engine::python::{Hooks, Interpreter};
use firstlight_engine::sampling::{ArmReadings, Session, SuitePlan, sample_case};
use firstlight_engine::store::{RunFolder, now_utc};
use firstlight_engine::suites::{self, Suite};
use firstlight_report::terminal::Terminal;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::run::{EnvironmentKind, EnvironmentRecord, RunDocument};
use firstlight_schema::suite::{EnvironmentFile, Program};

use super::build;
use super::results::{case_result, guidance, options};
use crate::error::Error;
use crate::output;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::RunSettings;

pub(crate) fn run(settings: &RunSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let mut suite = suites::open(&settings.suite, &settings.destination.cache)?;
    choose(&mut suite, settings)?;
    output::open_export(&settings.destination)?;
    let interrupt = Interrupt::install()?;
    let (python, environment) = environment(&suite, settings, &interrupt, printer)?;
    adopt_orphans()?;
    let hooks = Hooks::lay_out(&settings.destination.cache)?;
    if let Some(python) = &python {
        hooks.compile_for(python);
    }
    let store = RunFolder::create(
        &settings.destination.runs,
        &suite.file.name,
        settings.destination.output.as_deref(),
    )?;
    let plan = plan(&suite, python.as_deref(), settings);
    let mut progress = Progress::new(u64::from(plan.processes_in_all()), printer.shows_progress());
    printer.aside(&format!(
        "{}: {} processes; environment {}",
        suite.file.name,
        plan.processes_in_all(),
        environment.python.as_deref().unwrap_or("not needed"),
    ));
    let mut document = empty(&suite, &plan, environment);
    let mut session = Session::new(store, hooks, &interrupt)?;
    output::save(&document, &session.store, &settings.destination)?;
    for case in &suite.file.cases {
        let mut guide = |arms: &[&ArmReadings]| guidance(arms, &plan, case);
        let readings = sample_case(&mut session, &plan, case, &mut progress, &mut guide)?;
        document.cases.push(case_result(&plan, case, readings, &document.options));
        judge(&mut document);
        document.complete = document.cases.len() == suite.file.cases.len() && !interrupt.is_set();
        output::save(&document, &session.store, &settings.destination)?;
        if interrupt.is_set() {
            break;
        }
    }
    progress.finish();
    let after = doctor::examine();
    document.machine_notices = changes(&document.before, &after);
    document.after = Some(after);
    let json = output::save(&document, &session.store, &settings.destination)?;
    let text = |width| Terminal::new(width).run(&document, settings.report);
    output::show(&json, text, session.store.path(), &settings.destination, printer);
    Ok(exit(&document, interrupt.is_set()))
}

/// The suite's own numbers, and what was typed instead.
fn plan<'a>(suite: &'a Suite, python: Option<&'a Path>, settings: &RunSettings) -> SuitePlan<'a> {
    let mut warm = suite.file.warm.clone();
    if let Some(processes) = settings.processes {
        (warm.processes, warm.most_processes) = (processes, processes);
    }
    SuitePlan {
        suite,
        python,
        processes: settings.processes.unwrap_or(suite.file.sampling.processes),
        warm,
        seed: settings.seed.unwrap_or(suite.file.sampling.seed),
    }
}

/// Leaves only the cases and arms that were asked for.
fn choose(suite: &mut Suite, settings: &RunSettings) -> Result<(), Error> {
    let file = &mut suite.file;
    let swept = file.cases.iter().filter_map(|case| Some(case.point.as_ref()?.case.as_str()));
    let mut cases: Vec<&str> =
        file.cases.iter().map(|case| case.name.get_ref().as_str()).chain(swept).collect();
    cases.dedup();
    let arms: Vec<&str> = file.arms.iter().map(|arm| arm.name.get_ref().as_str()).collect();
    for (what, asked, known) in [("case", &settings.cases, &cases), ("arm", &settings.arms, &arms)]
    {
        if let Some(name) = asked.iter().find(|name| !known.contains(&name.as_str())) {
            let known = known.join(", ");
            return Err(Error::Usage(format!("the suite has no {what} `{name}`, only {known}")));
        }
    }
    let wanted = |asked: &[String], name: &str| asked.is_empty() || asked.iter().any(|a| a == name);
    file.cases.retain(|case| {
        let swept = case.point.as_ref().is_some_and(|p| settings.cases.contains(&p.case));
        swept || wanted(&settings.cases, case.name.get_ref())
    });
    if !settings.regimes.is_empty() {
        file.regimes.retain(|regime| settings.regimes.contains(regime));
        if file.regimes.is_empty() {
            return Err(Error::Usage("the suite measures none of these regimes".to_owned()));
        }
    }
    file.arms.retain(|arm| wanted(&settings.arms, arm.name.get_ref()));
    Ok(())
}

/// The interpreter that the suite's workloads run with, and what is known of it.
fn environment(
    suite: &Suite,
    settings: &RunSettings,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> Result<(Option<PathBuf>, EnvironmentRecord), Error> {
    let in_python = |program| matches!(program, Program::Workload(_));
    if !suite.file.arms.iter().any(|arm| in_python(arm.program())) {
        return Ok((None, record(EnvironmentKind::NotNeeded)));
    }
    let found = Interpreter::find(settings.python.as_deref())?;
    match &suite.file.environment {
        EnvironmentFile::Provisioned(wanted) if settings.python.is_none() => {
            let base = found.at_least(wanted.python.as_deref())?;
            let lock = suite.folder.join(&wanted.requirements);
            let cache = &settings.destination.cache;
            let ready = provision(&lock, &base, cache, interrupt, &mut |what| printer.aside(what))?;
            let record = EnvironmentRecord {
                python: Some(ready.runtime),
                lock_digest: Some(ready.lock_digest),
                installer: Some(ready.installer),
                packages: ready.packages,
                ..record(EnvironmentKind::Provisioned)
            };
            Ok((Some(ready.python), record))
        }
        EnvironmentFile::Provisioned(_) | EnvironmentFile::AsFound => {
            let record = EnvironmentRecord {
                python: Some(found.runtime),
                packages: found.packages,
                ..record(EnvironmentKind::AsFound)
            };
            Ok((Some(found.executable), record))
        }
    }
}

fn record(kind: EnvironmentKind) -> EnvironmentRecord {
    EnvironmentRecord {
        kind,
        python: None,
        lock_digest: None,
        installer: None,
        packages: BTreeMap::new(),
    }
}

fn empty(suite: &Suite, plan: &SuitePlan<'_>, environment: EnvironmentRecord) -> RunDocument {
    RunDocument {
        schema: RunDocument::schema_id(),
        firstlight: build(),
        created: now_utc(),
        suite: suite.file.name.clone(),
        suite_digest: suite.digest.clone(),
        machine: machine::describe(),
        before: doctor::examine(),
        after: None,
        machine_notices: Vec::new(),
        environment,
        timeout_ns: Nanos::from(suite.file.sampling.timeout),
        seed: plan.seed,
        options: options(plan),
        complete: false,
        cases: Vec::new(),
        control: None,
        sweeps: Vec::new(),
    }
}

fn exit(document: &RunDocument, interrupted: bool) -> Exit {
    let arms = || document.cases.iter().flat_map(|case| &case.arms);
    let stopped = arms().any(|arm| arm.stopped.is_some());
    let samples = || arms().flat_map(|arm| &arm.regimes).flat_map(|regime| &regime.samples);
    let failed =
        samples().flat_map(|sample| &sample.reasons).any(|reason| reason.finding.is_failure());
    let nothing = arms().flat_map(|arm| &arm.regimes).any(|regime| regime.summary.is_none());
    match () {
        () if interrupted => Exit::Interrupted,
        () if stopped || failed || nothing => Exit::RunnerFailed,
        () => Exit::Ok,
    }
}
