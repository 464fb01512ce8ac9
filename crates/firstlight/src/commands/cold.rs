//! `firstlight cold`: the ledger of any command.

use firstlight_analysis::control::price;
use firstlight_analysis::diagnosis::diagnose;
use firstlight_analysis::examine::{Conditions, Job, ended, examine};
use firstlight_analysis::notices::notices;
use firstlight_analysis::stopping::GiveUp;
use firstlight_analysis::summary::{summarise, summarise_invalid};
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::machine;
use firstlight_engine::process::{Launch, adopt_orphans};
use firstlight_engine::python::{Hooks, Interpreter, resolve};
use firstlight_engine::sampling::{CommandPlan, CommandReadings, Session, Target, sample_command};
use firstlight_engine::store::{RunFolder, now_utc};
use firstlight_report::terminal::Terminal;
use firstlight_schema::cache::Policy;
use firstlight_schema::cold::ColdDocument;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::reading::{Outcome, RawSample};

use super::build;
use crate::error::Error;
use crate::output;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::ColdSettings;

pub(crate) fn cold(settings: &ColdSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let resolved = resolve(&settings.command[0])?;
    output::open_export(&settings.destination)?;
    let interrupt = Interrupt::install()?;
    adopt_orphans()?;
    let hooks = Hooks::lay_out(&settings.destination.cache)?;
    hooks.compile_for(&resolved.program);
    let folders = match settings.policy.page_cache {
        Policy::AsFound => Vec::new(),
        _ => Interpreter::ask(&resolved.program)?.folders,
    };
    let launch = Launch {
        program: resolved.program.clone(),
        arguments: settings.command[1..].iter().map(Into::into).collect(),
        directory: None,
        variables: Vec::new(),
        requests: Vec::new(),
        timeout: settings.timeout,
        show: settings.show,
        interpreter: None,
    };
    let mut target = Target::new(launch, true, settings.policy, &folders)?;
    let store = RunFolder::create(
        &settings.destination.runs,
        "cold",
        settings.destination.output.as_deref(),
    )?;
    let mut session = Session::new(store, hooks, &interrupt)?;

    let mut progress = Progress::new(processes(settings), printer.shows_progress());
    let plan = CommandPlan {
        runs: settings.runs,
        policy: settings.policy,
        control: settings.control,
        any_exit_code: settings.any_exit_code,
        seed: settings.seed,
    };
    let mut give_up = GiveUp::default();
    // A failure that is no contradiction is the sampler's own affair.
    let mut is_hopeless = |sample: &RawSample| {
        let why = give_up.after(sample, None, settings.policy);
        why.is_some_and(|why| !why.finding.is_failure())
    };
    let readings =
        sample_command(&mut session, &mut target, plan, &mut progress, &mut is_hopeless)?;
    progress.finish();

    let complete = readings.complete;
    let words = failure(&readings);
    let document = document(settings, resolved.program.display().to_string(), readings);
    let json = output::save(&document, &session.store, &settings.destination)?;
    let text = |width| Terminal::new(width).cold(&document);
    output::show(&json, text, session.store.path(), &settings.destination, printer);
    if let Some(words) = words {
        printer.talk(&words);
    }
    Ok(exit(&document, complete, interrupt.is_set()))
}

fn processes(settings: &ColdSettings) -> u64 {
    let per_run = if settings.control { 2 } else { 1 };
    u64::from(settings.runs) * per_run + u64::from(settings.policy.needs_priming())
}

fn document(settings: &ColdSettings, program: String, readings: CommandReadings) -> ColdDocument {
    let conditions = Conditions {
        policy: settings.policy,
        any_exit_code: settings.any_exit_code,
        job: Job::Command,
    };
    let samples: Vec<_> =
        readings.measured.into_iter().map(|raw| examine(raw, conditions)).collect();
    ColdDocument {
        schema: ColdDocument::schema_id(),
        firstlight: build(),
        created: now_utc(),
        command: settings.command.clone(),
        program,
        machine: machine::describe(),
        policy: settings.policy,
        timeout_ns: Nanos::from(settings.timeout),
        seed: settings.seed,
        complete: readings.complete,
        summary: summarise(&samples),
        invalid_summary: summarise_invalid(&samples).map(Box::new),
        diagnosis: diagnose(&samples),
        control: settings.control.then(|| price(&samples, readings.controls)),
        notices: notices(&samples),
        priming: readings.priming,
        samples,
    }
}

/// How a command failed, with the end of what it wrote.
fn failure(readings: &CommandReadings) -> Option<String> {
    const SHOWN_LINES: usize = 15;
    let all = readings.priming.iter().chain(&readings.measured).chain(&readings.controls);
    let failed: &RawSample = all.rev().find(|raw| raw.outcome != Outcome::Completed)?;
    if readings.complete || failed.outcome == Outcome::Interrupted {
        return None;
    }
    let lines: Vec<&str> = failed.streams.stderr_tail.trim_end().lines().collect();
    let tail = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
    let what = format!("the command {}", ended(&failed.outcome));
    let hint = match &failed.outcome {
        Outcome::Exited { .. } => "\n\nhint: --ignore-exit-code treats any exit code as success",
        Outcome::TimedOut { .. } => "\n\nhint: --timeout gives it more time",
        _ => "",
    };
    let said =
        if tail.is_empty() { String::new() } else { format!("; last lines of stderr:\n\n{tail}") };
    Some(format!("\nerror: {what}, so it was not started again{said}{hint}"))
}

fn exit(document: &ColdDocument, complete: bool, interrupted: bool) -> Exit {
    let reasons = document.samples.iter().flat_map(|sample| &sample.reasons);
    let any_failed = reasons.into_iter().any(|reason| reason.finding.is_failure());
    match () {
        () if interrupted => Exit::Interrupted,
        () if !complete || any_failed || document.summary.is_none() => Exit::RunnerFailed,
        () => Exit::Ok,
    }
}
