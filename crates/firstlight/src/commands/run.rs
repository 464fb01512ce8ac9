//! `firstlight run`: a suite, all its cases, arms and regimes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use firstlight_analysis::rebuild::{begin, case_result, conclude, end};
use firstlight_analysis::stats::limits::FEWEST_FOR_VERDICT;
use firstlight_engine::EngineError;
use firstlight_engine::doctor;
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::machine;
use firstlight_engine::process::adopt_orphans;
use firstlight_engine::provision::provision;
use firstlight_engine::python::{Hooks, Interpreter};
use firstlight_engine::sampling::{Session, SuitePlan, sample_case};
use firstlight_engine::snapshot;
use firstlight_engine::store::{RunFolder, now_utc, write_whole};
use firstlight_engine::suites::{self, Suite};
use firstlight_report::terminal::Terminal;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::run::{EnvironmentKind, EnvironmentRecord, RunDocument};
use firstlight_schema::snapshot::{Origin, TRACE};
use firstlight_schema::suite::{
    ArmFile, DEFAULTS, EnvironmentFile, ExtraFile, Program, Regime, SuiteFile,
};
use firstlight_schema::suite_trace::SuiteTraceDocument;
use firstlight_trace::Limits;

use super::harness;
use super::results::CaseGuide;
use super::snapshot::finish;
use super::suite_trace::Recorder;
use crate::args::Format;
use crate::error::Error;
use crate::output;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::RunSettings;

pub(crate) fn run(settings: &RunSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let mut suite = suites::open(&settings.suite, &settings.destination.cache)?;
    let left_out = left_out(&suite.file, settings);
    settings.choice.apply(&mut suite.file).map_err(Error::Usage)?;
    for line in left_out {
        printer.aside(&line);
    }
    check_limits(&suite.file, settings, printer)?;
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
    let plan = SuitePlan { suite: &suite, python: python.as_deref() };
    let mut progress = Progress::new(u64::from(plan.processes_in_all()), printer.shows_progress());
    printer.aside(&format!(
        "{}: {} processes; environment {}",
        suite.file.name,
        plan.processes_in_all(),
        environment.python.as_deref().unwrap_or("not needed"),
    ));
    let origin = origin(&suite, settings, environment);
    snapshot::begin(store.path(), &origin, &suite)?;
    let mut document = begin(&origin, &suite.file);
    let mut session = Session::new(store, hooks, &interrupt)?;
    output::save(&document, &session.store, &settings.destination)?;
    for case in &suite.file.cases {
        let mut guide = CaseGuide::new(&suite.file, case);
        let readings = sample_case(&mut session, &plan, case, &mut progress, &mut guide)?;
        document.cases.extend(case_result(&suite.file, case, readings.into_records(case)));
        conclude(&mut document, &suite.file);
        output::save(&document, &session.store, &settings.destination)?;
        // What kept every arm of this case from starting would keep those of the others from it.
        if interrupt.is_set() || !failures(&document).is_empty() && !has_numbers(&document) {
            break;
        }
    }
    progress.finish();
    let traced = traced(&plan, &session, &interrupt, printer)?;
    end(&mut document, Some(doctor::examine()));
    let json = output::save(&document, &session.store, &settings.destination)?;
    let checked = finish(session.store.path(), document.after.clone())?;
    if !checked.passed {
        let folder = session.store.path().display();
        printer.talk(&format!("warning: this snapshot fails `firstlight verify {folder}`"));
    }
    let failures = failures(&document);
    if has_numbers(&document) || settings.destination.format == Format::Json {
        let text = |width| Terminal::new(width).run(&document, settings.report);
        output::show(&json, text, session.store.path(), &settings.destination, printer);
    }
    if !failures.is_empty() {
        printer.talk(&told(&failures, python.as_deref(), settings));
    }
    if let (Some(traced), Format::Text) = (&traced, settings.destination.format) {
        printer.data("\n");
        printer.data(&Terminal::new(printer.width()).suite_trace(traced, 0));
    }
    Ok(exit(&document, interrupt.is_set()))
}

/// Refuses a suite whose own limits allow no verdict. Whoever asks for fewer processes is told so.
fn check_limits(
    suite: &SuiteFile,
    settings: &RunSettings,
    printer: &mut Printer,
) -> Result<(), Error> {
    let compares = suite.cases.iter().any(|case| suite.arms_of(case).count() > 1);
    if !compares || !suite.comparison.verdicts {
        return Ok(());
    }
    let most = |regime: Regime| match regime {
        Regime::Warm => ("warm.most-processes", suite.warm.most_processes),
        Regime::ColdClean | Regime::ColdPrimed | Regime::Fresh => {
            ("sampling.processes", suite.sampling.processes)
        }
    };
    let few = |&(_, most): &(&str, u32)| {
        usize::try_from(most).is_ok_and(|most| most < FEWEST_FOR_VERDICT)
    };
    let Some((name, most)) = suite.regimes.iter().map(|&regime| most(regime)).find(few) else {
        return Ok(());
    };
    if settings.choice.processes.is_some() || settings.choice.profile.is_some() {
        let needed = FEWEST_FOR_VERDICT;
        printer.aside(&format!("no verdicts: {most} processes of each arm, {needed} are needed"));
        return Ok(());
    }
    Err(Error::Limits { name, most, needed: FEWEST_FOR_VERDICT })
}

/// Why arms were given up, each reason once: `case/arm: why`.
fn failures(document: &RunDocument) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for case in &document.cases {
        for arm in &case.arms {
            let Some(why) = &arm.stopped else { continue };
            let line = format!("{}: {}", arm.name, why.text);
            if !found.contains(&line) {
                found.push(line);
            }
        }
    }
    found
}

fn has_numbers(document: &RunDocument) -> bool {
    let regimes = document.cases.iter().flat_map(|case| &case.arms).flat_map(|arm| &arm.regimes);
    regimes.into_iter().any(|regime| regime.summary.is_some() || regime.invalid_summary.is_some())
}

fn told(failures: &[String], python: Option<&Path>, settings: &RunSettings) -> String {
    let mut text = String::new();
    for line in failures {
        writeln!(text, "\nerror: arm {line}").expect("writing to a string");
    }
    if let Some(python) = python {
        writeln!(text, "interpreter: {}", python.display()).expect("writing to a string");
    }
    let missing = failures.iter().any(|line| line.contains("ModuleNotFoundError"));
    if missing && settings.python.is_some() {
        text.push_str("\nhint: install the module for that interpreter, or leave out --python");
    } else if missing {
        text.push_str("\nhint: add the module to the suite's requirements");
    }
    text.trim_end().to_owned()
}

/// Records the arms of the first case, where the suite asks for it; the document goes into the snapshot.
fn traced(
    plan: &SuitePlan<'_>,
    session: &Session<'_>,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> Result<Option<SuiteTraceDocument>, Error> {
    let Some(case) = plan.suite.file.cases.first().filter(|_| plan.suite.file.trace) else {
        return Ok(None);
    };
    if interrupt.is_set() {
        return Ok(None);
    }
    let cannot = |error| Error::Usage(format!("cannot make a folder for recordings: {error}"));
    let folder = tempfile::tempdir().map_err(cannot)?;
    let limits = Limits::default();
    let recorder =
        Recorder { plan, hooks: &session.hooks, folder: folder.path(), limits: &limits, interrupt };
    let traced = match recorder.case(case, printer) {
        Ok(traced) => traced,
        Err(Error::Engine(EngineError::Interrupted)) => return Ok(None),
        // What was measured stands without it.
        Err(error) => {
            printer.talk(&format!("warning: no arm was recorded: {error}"));
            return Ok(None);
        }
    };
    write_whole(&session.store.path().join(TRACE), &(serde_json::to_string(&traced)? + "\n"))?;
    Ok(Some(traced))
}

/// The interpreter that the suite's workloads run with, and what is known of it.
pub(super) fn environment(
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
            let extras = suite.file.extras().filter(|(name, _)| chosen(name, settings));
            let further = extras.filter_map(|(_, extra)| extra.requirements.as_ref());
            let locks: Vec<PathBuf> = [&wanted.requirements]
                .into_iter()
                .chain(further)
                .map(|name| suite.folder.join(name))
                .collect();
            let cache = &settings.destination.cache;
            let ready =
                provision(&locks, &base, cache, interrupt, &mut |what| printer.aside(what))?;
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

fn chosen(extra: &str, settings: &RunSettings) -> bool {
    settings.choice.extras.iter().any(|asked| asked == extra)
}

/// A line for each extra whose arms are not measured because nobody asked for it.
fn left_out(suite: &SuiteFile, settings: &RunSettings) -> Vec<String> {
    let extras = suite.extras().filter(|(name, _)| !chosen(name, settings));
    let line = |(name, extra): (&str, &ExtraFile)| {
        let needs = |arm: &&ArmFile| arm.extra.as_ref().is_some_and(|own| own.get_ref() == name);
        let arms: Vec<&str> =
            suite.arms.iter().filter(needs).map(|arm| arm.name.get_ref().as_str()).collect();
        let (them, about) = (if arms.len() == 1 { "it" } else { "them" }, &extra.about);
        let arms = Some(arms.join(", ")).filter(|arms| !arms.is_empty())?;
        Some(format!("left out: {arms}; `--extra {name}` measures {them} ({about})"))
    };
    extras.filter_map(line).collect()
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

/// What is known before the first process.
fn origin(suite: &Suite, settings: &RunSettings, environment: EnvironmentRecord) -> Origin {
    Origin {
        created: now_utc(),
        suite: suite.file.name.clone(),
        suite_digest: suite.digest.clone(),
        firstlight: harness(),
        argv: settings.argv.clone(),
        choice: settings.choice.clone(),
        defaults: DEFAULTS,
        variables: snapshot::variables(),
        machine: machine::describe(),
        before: doctor::examine(),
        environment,
    }
}

fn exit(document: &RunDocument, interrupted: bool) -> Exit {
    let arms = || document.cases.iter().flat_map(|case| &case.arms);
    let stopped = arms().any(|arm| arm.stopped.is_some());
    let samples = || arms().flat_map(|arm| &arm.regimes).flat_map(|regime| &regime.samples);
    let failed =
        samples().flat_map(|sample| &sample.reasons).any(|reason| reason.finding.is_failure());
    let honest = document.cases.iter().filter(|case| case.planted.is_none());
    let nothing = honest
        .flat_map(|case| &case.arms)
        .flat_map(|arm| &arm.regimes)
        .any(|of| of.summary.is_none());
    // A planted mistake is meant to be refused.
    let missed =
        document.cases.iter().filter_map(|case| case.planted.as_ref()).any(|found| !found.refused);
    match () {
        () if interrupted => Exit::Interrupted,
        () if stopped || failed || nothing || missed => Exit::RunnerFailed,
        () => Exit::Ok,
    }
}
