//! The common part of `run`, `cold` and `gate`: from a suite and a folder to a sealed result.

use std::path::{Path, PathBuf};
use std::time::Duration;

use firstlight_analysis::rebuild::{begin, case_result, conclude, end};
use firstlight_engine::EngineError;
use firstlight_engine::cache::PrivateFolder;
use firstlight_engine::doctor;
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::machine;
use firstlight_engine::privacy::{self, Identity};
use firstlight_engine::process::Show;
use firstlight_engine::python::Hooks;
use firstlight_engine::sampling::{Session, SuitePlan, deadline, sample_case};
use firstlight_engine::snapshot;
use firstlight_engine::store::{RunFolder, now_utc, write_whole};
use firstlight_engine::suites::Suite;
use firstlight_report::terminal::{Report, Terminal};
use firstlight_schema::exit_code::Exit;
use firstlight_schema::reading::{Outcome, RawRecord, RawSample};
use firstlight_schema::run::{ArmResult, EnvironmentRecord, RunDocument};
use firstlight_schema::snapshot::{Origin, TRACE};
use firstlight_schema::suite::{Choice, DEFAULTS};
use firstlight_schema::suite_trace::SuiteTraceDocument;
use firstlight_trace::Limits;

use crate::args::Format;
use crate::error::Error;
use crate::guide::CaseGuide;
use crate::harness::harness;
use crate::output;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::recorder::Recorder;
use crate::sealing::{self, finish};
use crate::settings::Destination;

/// A measurement and its output.
pub(crate) struct Job<'a> {
    pub(crate) suite: &'a Suite,
    pub(crate) python: Option<&'a Path>,
    pub(crate) show: Show,
    /// No round begins after this time.
    pub(crate) limit: Option<Duration>,
    pub(crate) report: Report,
    pub(crate) destination: &'a Destination,
}

/// The start of a run, or its continuation.
pub(crate) struct Beginning {
    pub(crate) store: RunFolder,
    pub(crate) origin: Origin,
    /// The earlier processes of a resumed run.
    pub(crate) earlier: Vec<RawRecord>,
}

/// A sealed run.
pub(crate) struct Measured {
    pub(crate) document: RunDocument,
    pub(crate) folder: PathBuf,
    /// Whether the snapshot passes every rule.
    pub(crate) is_sound: bool,
    recording: Recording,
    interrupted: bool,
}

impl Measured {
    pub(crate) fn exit(&self) -> Exit {
        match (exit(&self.document, self.interrupted), &self.recording) {
            (Exit::Ok | Exit::RunnerFailed, _) if !self.is_sound => Exit::VerificationFailed,
            (Exit::Ok, Recording::Failed) => Exit::RunnerFailed,
            (exit, _) => exit,
        }
    }
}

/// Measures the suite, seals the folder and shows the result.
pub(super) fn measure(
    job: &Job<'_>,
    beginning: Beginning,
    hooks: Hooks,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let measured = take(job, beginning, hooks, interrupt, printer)?;
    show(job, &measured, printer)?;
    Ok(measured.exit())
}

/// Measures the suite and seals the folder.
pub(crate) fn take(
    job: &Job<'_>,
    beginning: Beginning,
    hooks: Hooks,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> Result<Measured, Error> {
    let Beginning { store, mut origin, earlier } = beginning;
    let suite = &job.suite.file;
    let plan = SuitePlan {
        suite: job.suite,
        python: job.python,
        show: job.show,
        deadline: job.limit.map(deadline),
    };
    let mut progress = Progress::new(u64::from(plan.processes_in_all()), printer.shows_progress());
    let mut document = begin(&origin, suite);
    let mut session = Session::new(store, hooks, interrupt, earlier)?;
    if job.destination.redact {
        session.redact(Identity::here());
    }
    output::save(&document, &session.store, job.destination, output::Progress::Begun)?;
    for case in &suite.cases {
        let mut guide = CaseGuide::new(suite, case);
        let readings = sample_case(&mut session, &plan, case, &mut progress, &mut guide)?;
        document.cases.extend(case_result(suite, case, readings.into_records(case)));
        conclude(&mut document, suite);
        // A reason that prevents every arm of this case from starting also affects the other cases.
        let hopeless = stopped(&document).next().is_some() && !has_numbers(&document);
        if interrupt.is_set() || plan.is_over() || hopeless {
            break;
        }
        // The last case is written with the end of the run, which a recording may delay.
        if document.cases.len() < suite.cases.len() || suite.trace {
            output::save(&document, &session.store, job.destination, output::Progress::Begun)?;
        }
    }
    progress.finish();
    let recording = traced(&plan, &session, interrupt, printer)?;
    end(&mut document, Some(doctor::examine()));
    output::save(&document, &session.store, job.destination, output::Progress::Whole)?;
    let folder = session.store.path().to_owned();
    origin.suite_changes = job.suite.changes();
    if !origin.suite_changes.is_empty() {
        snapshot::write_origin(&folder, &origin)?;
        let names = origin.suite_changes.join(", ");
        printer.talk(&format!("error: the suite changed while it was measured: {names}"));
    }
    let checked = finish(&folder, document.after.clone())?;
    if !checked.passed {
        printer.talk(&format!(
            "warning: this snapshot fails `firstlight verify {}`",
            folder.display()
        ));
    }
    let is_sound = checked.passed;
    Ok(Measured { document, folder, is_sound, recording, interrupted: interrupt.is_set() })
}

fn show(job: &Job<'_>, measured: &Measured, printer: &mut Printer) -> Result<(), Error> {
    let Measured { document, folder, recording, .. } = measured;
    if has_numbers(document) || job.destination.format == Format::Json {
        let text = |width| Terminal::new(width).run(document, job.report);
        output::show(text, folder, job.destination, printer)?;
    }
    if let Some(privacy) = sealing::privacy(folder)? {
        printer.aside(&privacy::describe(&privacy));
    }
    for line in failures(document, job.python) {
        printer.talk(&format!("\n{line}"));
    }
    if !document.complete && stopped(document).next().is_none() {
        printer.talk(&format!(
            "\nthe run stopped early; to continue: firstlight run --resume {}",
            folder.display()
        ));
    }
    if let (Recording::Made(traced), Format::Text) = (recording, job.destination.format) {
        printer.data("\n");
        printer.data(&Terminal::new(printer.width()).suite_trace(traced, 0));
    }
    Ok(())
}

/// The outcome of the recording that a suite requests.
enum Recording {
    NotAsked,
    Made(Box<SuiteTraceDocument>),
    Failed,
}

/// The facts known before the first process.
pub(crate) fn origin(
    suite: &Suite,
    argv: &[String],
    choice: &Choice,
    environment: EnvironmentRecord,
) -> Origin {
    Origin {
        created: now_utc(),
        suite: suite.file.name.clone(),
        suite_digest: suite.digest.clone(),
        firstlight: harness(),
        argv: argv.to_vec(),
        choice: choice.clone(),
        defaults: DEFAULTS,
        variables: snapshot::variables(),
        machine: machine::describe(),
        before: doctor::examine(),
        environment,
        boot: machine::boot_id(),
        node: None,
        suite_changes: Vec::new(),
        segments: Vec::new(),
        shards: Vec::new(),
    }
}

fn arms(document: &RunDocument) -> impl Iterator<Item = &ArmResult> {
    document.cases.iter().flat_map(|case| &case.arms)
}

fn stopped(document: &RunDocument) -> impl Iterator<Item = &ArmResult> {
    arms(document).filter(|arm| arm.stopped.is_some())
}

fn has_numbers(document: &RunDocument) -> bool {
    let mut regimes = arms(document).flat_map(|arm| &arm.regimes);
    regimes.any(|regime| regime.summary.is_some() || regime.invalid_summary.is_some())
}

/// The reasons why arms were abandoned, each once, with a hint.
pub(crate) fn failures(document: &RunDocument, python: Option<&Path>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for arm in stopped(document) {
        let why = arm.stopped.as_ref().map_or("", |reason| reason.text.as_str());
        let line = match arm.command {
            Some(_) => command_failure(arm, why),
            None => format!("error: arm {}: {why}", arm.name),
        };
        if !found.contains(&line) {
            found.push(line);
        }
    }
    if found.is_empty() {
        return found;
    }
    if let Some(python) = python {
        found.push(format!("interpreter: {}", python.display()));
        if found.iter().any(|line| line.contains("ModuleNotFoundError")) {
            found.push(
                "hint: add the module to the suite's requirements, or install it for the \
                        interpreter given with --python"
                    .to_owned(),
            );
        }
    }
    found
}

/// The failure of a command, with the end of its output.
fn command_failure(arm: &ArmResult, why: &str) -> String {
    const SHOWN_LINES: usize = 15;
    let samples = arm.regimes.iter().flat_map(|regime| &regime.samples);
    let hooks = arm.regimes.iter().filter_map(|regime| regime.hooks.as_ref());
    let unhooked = hooks.flat_map(|hooks| &hooks.samples);
    let mut all = samples.map(|sample| &sample.raw).chain(&arm.priming).chain(unhooked);
    let failed: Option<&RawSample> = all.find(|raw| raw.outcome != Outcome::Completed);
    let Some(failed) = failed else { return format!("error: {}: {why}", arm.name) };
    let lines: Vec<&str> = failed.streams.stderr_tail.trim_end().lines().collect();
    let tail = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
    let hint = match &failed.outcome {
        Outcome::Exited { .. } => "\n\nhint: --ignore-exit-code treats any exit code as success",
        Outcome::TimedOut { .. } => "\n\nhint: --timeout gives it more time",
        _ => "",
    };
    let tail =
        if tail.is_empty() { String::new() } else { format!("; last lines of stderr:\n\n{tail}") };
    let what = &failed.outcome;
    format!("error: the command {what}, so it was not started again{tail}{hint}")
}

/// Records the arms of the first case if the suite requests it; the document goes into the snapshot.
fn traced(
    plan: &SuitePlan<'_>,
    session: &Session<'_>,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> Result<Recording, Error> {
    let Some(case) = plan.suite.file.cases.first().filter(|_| plan.suite.file.trace) else {
        return Ok(Recording::NotAsked);
    };
    if interrupt.is_set() {
        return Ok(Recording::NotAsked);
    }
    let folder = PrivateFolder::new()?;
    let limits = Limits::default();
    let recorder =
        Recorder { plan, hooks: &session.hooks, folder: folder.path(), limits: &limits, interrupt };
    let traced = match recorder.case(case, printer) {
        Ok(traced) => published(traced, session),
        Err(Error::Engine(EngineError::Interrupted)) => return Ok(Recording::NotAsked),
        // The measurement is valid without the recording.
        Err(error) => {
            printer.error(&error);
            return Ok(Recording::Failed);
        }
    };
    write_whole(&session.store.path().join(TRACE), &(serde_json::to_string(&traced)? + "\n"))?;
    Ok(Recording::Made(Box::new(traced)))
}

/// The recording in its published form. The names of cases and arms belong to the suite, even if a user has
/// the same name.
fn published(traced: SuiteTraceDocument, session: &Session<'_>) -> SuiteTraceDocument {
    let mut shown = session.published(traced.clone());
    for (shown, arm) in shown.arms.iter_mut().zip(traced.arms) {
        shown.arm = arm.arm;
    }
    (shown.suite, shown.case, shown.reference) = (traced.suite, traced.case, traced.reference);
    shown
}

fn exit(document: &RunDocument, interrupted: bool) -> Exit {
    let samples = || arms(document).flat_map(|arm| &arm.regimes).flat_map(|regime| &regime.samples);
    let failed =
        samples().flat_map(|sample| &sample.reasons).any(|reason| reason.finding.is_failure());
    let honest = document.cases.iter().filter(|case| case.planted.is_none());
    let nothing = honest
        .flat_map(|case| &case.arms)
        .flat_map(|arm| &arm.regimes)
        .any(|of| of.summary.is_none());
    // A planted mistake is expected to be rejected.
    let missed =
        document.cases.iter().filter_map(|case| case.planted.as_ref()).any(|found| !found.refused);
    if interrupted {
        Exit::Interrupted
    } else if stopped(document).next().is_some() || failed || nothing || missed {
        Exit::RunnerFailed
    } else {
        Exit::Ok
    }
}
