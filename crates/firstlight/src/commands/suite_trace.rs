//! The arms of a suite's case, each run untraced, recorded, and recorded with Python frames: for
//! `firstlight trace --suite`, and for `firstlight run` of a suite that says `trace = true`.

use std::path::Path;

use firstlight_engine::EngineError;
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::process::adopt_orphans;
use firstlight_engine::python::Hooks;
use firstlight_engine::recording::{COMPILERS, Recorded, Work, can_be_recorded, record};
use firstlight_engine::sampling::SuitePlan;
use firstlight_engine::store::write_whole;
use firstlight_engine::suites;
use firstlight_report::html::trace_page;
use firstlight_report::terminal::Terminal;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::suite::CaseFile;
use firstlight_schema::suite_trace::{ArmTrace, SuiteTraceDocument};
use firstlight_schema::trace::TraceDocument;
use firstlight_trace::{Limits, Logs, Run, check_cache, combined, open, tell_overheads};

use super::build;
use super::run::environment;
use crate::args::Format;
use crate::error::Error;
use crate::printer::Printer;
use crate::settings::{Made, RunSettings, TraceSettings};

/// `firstlight trace --suite`.
pub(super) fn trace_suite(
    run: &RunSettings,
    folder: &Path,
    settings: &TraceSettings,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let mut suite = suites::open(&run.suite, &run.destination.cache)?;
    run.choice.apply(&mut suite.file).map_err(Error::Usage)?;
    let interrupt = Interrupt::install()?;
    let (python, _) = environment(&suite, run, &interrupt, printer)?;
    adopt_orphans()?;
    let recorder = Recorder {
        plan: &SuitePlan { suite: &suite, python: python.as_deref() },
        hooks: &Hooks::lay_out(&run.destination.cache)?,
        folder,
        limits: &settings.limits,
        interrupt: &interrupt,
    };
    let case = suite.file.cases.first().expect("a suite has a case");
    let traced = recorder.case(case, printer)?;
    let text = match settings.format {
        Format::Text => Terminal::new(printer.width()).suite_trace(&traced, settings.rows),
        Format::Json => serde_json::to_string(&traced)? + "\n",
    };
    printer.data(&text);
    for made in &settings.made {
        make(made, &traced, printer)?;
    }
    let failed = traced.arms.iter().any(|arm| arm.failed.is_some());
    Ok(if failed { Exit::RunnerFailed } else { Exit::Ok })
}

fn make(made: &Made, traced: &SuiteTraceDocument, printer: &mut Printer) -> Result<(), Error> {
    match (made, traced.arms.as_slice()) {
        (Made::Page(path), [ArmTrace { trace: Some(only), .. }]) => {
            write_whole(path, &trace_page(only))?;
            printer.aside(&format!("wrote {}", path.display()));
            Ok(())
        }
        (Made::Page(_), _) => {
            Err(Error::Usage("--html is for one arm: choose it with --arm".to_owned()))
        }
        (Made::Speedscope(_), _) => {
            Err(Error::Usage("--export takes a trace: give one that --keep has kept".to_owned()))
        }
    }
}

/// What all recordings of a suite share.
pub(super) struct Recorder<'a> {
    pub(super) plan: &'a SuitePlan<'a>,
    pub(super) hooks: &'a Hooks,
    /// Where recordings go, a folder for each arm.
    pub(super) folder: &'a Path,
    pub(super) limits: &'a Limits,
    pub(super) interrupt: &'a Interrupt,
}

impl Recorder<'_> {
    /// Records every arm that can be; one that fails does not stop the others.
    pub(super) fn case(
        &self,
        case: &CaseFile,
        printer: &mut Printer,
    ) -> Result<SuiteTraceDocument, Error> {
        let file = &self.plan.suite.file;
        let reference = file.reference_of(case).map(str::to_owned);
        let name = case.name.get_ref();
        let mut traced =
            SuiteTraceDocument::new(build(), file.name.clone(), name.clone(), reference);
        for arm in file.arms_of(case) {
            let own = arm.name.get_ref();
            if !can_be_recorded(arm) {
                printer.aside(&format!("{own} is a program of its own: not recorded"));
                continue;
            }
            let work = Work::Arm { plan: self.plan, case, arm, hooks: self.hooks };
            let folder = self.folder.join(own);
            let runs = record(&work, &folder, self.interrupt, |tracing| {
                printer.aside(&format!("recording {name}, {own}: {}", tracing.name()));
            });
            let (trace, failed) = match runs {
                Ok(runs) => {
                    let mut trace = combine(runs, self.limits)?;
                    check_cache(&mut trace, COMPILERS);
                    (Some(trace), None)
                }
                Err(EngineError::Interrupted) => return Err(EngineError::Interrupted.into()),
                Err(error @ (EngineError::Recording { .. } | EngineError::NoSteps)) => {
                    (None, Some(error.to_string()))
                }
                Err(error) => return Err(error.into()),
            };
            traced.arms.push(ArmTrace { arm: own.clone(), trace, failed, overheads: Vec::new() });
        }
        if traced.arms.is_empty() {
            let words = format!("no arm of `{name}` is a workload in Python: nothing to record");
            return Err(Error::Usage(words));
        }
        tell_overheads(&mut traced);
        Ok(traced)
    }
}

/// One document of the three runs.
pub(super) fn combine(runs: Vec<Recorded>, limits: &Limits) -> Result<TraceDocument, Error> {
    let read = |profile: &Path| -> Result<TraceDocument, Error> {
        let mut opened = open(profile, limits)?;
        let name = opened.path.display().to_string();
        Ok(opened.document(&name, Some(&Logs::beside(profile)), build())?)
    };
    let mut told = Vec::new();
    for run in runs {
        told.push(Run {
            tracing: run.tracing,
            steps: lengths(&run.steps),
            baselines: lengths(&run.baselines),
            wall: run.wall,
            document: run.profile.as_deref().map(read).transpose()?,
        });
    }
    combined(&told).ok_or_else(|| Error::Usage("nothing was recorded".to_owned()))
}

#[expect(clippy::cast_precision_loss, reason = "a step is shorter than 2^53 nanoseconds")]
fn lengths(spans: &[(u64, u64)]) -> Vec<f64> {
    spans.iter().map(|(start, end)| end.saturating_sub(*start) as f64).collect()
}
