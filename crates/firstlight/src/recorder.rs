//! Records the arms of a suite's case, each run without recording, with recording, and with Python frames:
//! for `firstlight trace --suite`, and for `firstlight run` of a suite with `trace = true`.

use std::path::Path;

use firstlight_engine::EngineError;
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::python::Hooks;
use firstlight_engine::recording::{COMPILERS, Recorded, Work, can_be_recorded, record};
use firstlight_engine::sampling::SuitePlan;
use firstlight_engine::store::folder_name;
use firstlight_schema::suite::CaseFile;
use firstlight_schema::suite_trace::{ArmTrace, SuiteTraceDocument};
use firstlight_schema::trace::TraceDocument;
use firstlight_trace::{Limits, Logs, Run, check_cache, combined, open, tell_overheads};

use crate::error::Error;
use crate::harness::build;
use crate::printer::Printer;

/// Common settings of all recordings of a suite.
pub(crate) struct Recorder<'a> {
    pub(crate) plan: &'a SuitePlan<'a>,
    pub(crate) hooks: &'a Hooks,
    /// The folder for recordings, with a folder for each arm.
    pub(crate) folder: &'a Path,
    pub(crate) limits: &'a Limits,
    pub(crate) interrupt: &'a Interrupt,
}

impl Recorder<'_> {
    /// Records every arm that supports it; a failure does not stop the others.
    pub(crate) fn case(
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
                printer.aside(&format!("{own} is not a Python workload: not recorded"));
                continue;
            }
            let work = Work::Arm { plan: self.plan, case, arm, hooks: self.hooks };
            let folder = self.folder.join(folder_name(own));
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
            let words = format!("no arm of `{name}` is a Python workload: nothing to record");
            return Err(Error::Usage(words));
        }
        if traced.arms.iter().all(|arm| arm.trace.is_none()) {
            let reason = |arm: ArmTrace| Some(format!("{}: {}", arm.arm, arm.failed?));
            let reasons = traced.arms.into_iter().filter_map(reason).collect();
            return Err(Error::NotRecorded { case: name.clone(), reasons });
        }
        tell_overheads(&mut traced);
        Ok(traced)
    }
}

/// One document of the three runs.
pub(crate) fn combine(runs: Vec<Recorded>, limits: &Limits) -> Result<TraceDocument, Error> {
    let read = |profile: &Path| -> Result<TraceDocument, Error> {
        let mut opened = open(profile, limits)?;
        let name = opened.path.display().to_string();
        Ok(opened.document(&name, Some(&Logs::beside(profile)), build())?)
    };
    let mut documents = Vec::new();
    for run in runs {
        documents.push(Run {
            tracing: run.tracing,
            steps: lengths(&run.steps),
            baselines: lengths(&run.baselines),
            wall: run.wall,
            document: run.profile.as_deref().map(read).transpose()?,
        });
    }
    combined(&documents).ok_or_else(|| Error::Usage("nothing was recorded".to_owned()))
}

#[expect(clippy::cast_precision_loss, reason = "a step is shorter than 2^53 nanoseconds")]
fn lengths(spans: &[(u64, u64)]) -> Vec<f64> {
    spans.iter().map(|(start, end)| end.saturating_sub(*start) as f64).collect()
}
