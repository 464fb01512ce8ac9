//! Converts an imported file to a document `run`: its values use the same statistics as our own readings, and
//! missing facts are listed as unknown.

use std::collections::BTreeMap;

use firstlight_schema::cache::{CachePolicy, Policy};
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::machine_state::MachineState;
use firstlight_schema::message::{Iterations, Message, Part};
use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::reading::{Outcome, RawSample, SampleRole, Streams, Usage};
use firstlight_schema::run::{
    Agreed, ArmResult, CaseResult, EnvironmentKind, EnvironmentRecord, Imported, RegimeResult,
    RunDocument, RunOptions,
};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::{Agreement, Regime};
use firstlight_schema::version::Build;
use firstlight_schema::window::SteadyState;

use super::foreign::{Foreign, ForeignArm, ForeignCase, Process, Timed};
use crate::examine::{Conditions, Job, examine};
use crate::judge::judge;
use crate::regime::regime_result;
use crate::stats::MIN_SEGMENT;
use crate::window::steady_part;

/// The defaults of suites.
const MARGIN: f64 = 0.02;
const SEED: u64 = 1;
const UNKNOWN: &str = "unknown";
const POLICY: CachePolicy = CachePolicy {
    compilers: Policy::AsFound,
    bytecode: Policy::AsFound,
    page_cache: Policy::AsFound,
};

/// The origin of a file.
#[derive(Clone, Debug)]
pub struct Origin {
    pub firstlight: Build,
    pub file: String,
    /// SHA-256 of its content.
    pub digest: String,
}

pub fn document(foreign: &Foreign, origin: Origin) -> RunDocument {
    let mut document = RunDocument {
        schema: RunDocument::schema_id(),
        analysis: crate::rebuild::REVISION,
        firstlight: origin.firstlight,
        created: foreign.created.clone().unwrap_or_else(|| UNKNOWN.to_owned()),
        suite: origin.file.clone(),
        suite_digest: origin.digest.clone(),
        machine: foreign.machine.clone(),
        before: MachineState { taken: UNKNOWN.to_owned(), ..MachineState::default() },
        after: None,
        machine_notices: Vec::new(),
        environment: EnvironmentRecord {
            kind: EnvironmentKind::AsFound,
            python: foreign.python.clone(),
            lock_digest: None,
            installer: None,
            packages: BTreeMap::new(),
        },
        timeout_ns: Nanos::ZERO,
        seed: SEED,
        options: options(),
        segments: Vec::new(),
        nodes: Vec::new(),
        complete: true,
        cases: foreign.cases.iter().map(|case| case_result(case, foreign)).collect(),
        control: None,
        sweeps: Vec::new(),
        imported: Some(Imported {
            from: foreign.source.name().to_owned(),
            version: foreign.version.clone(),
            file: origin.file,
            digest: origin.digest,
            unknown: unknown(foreign),
        }),
    };
    judge(&mut document);
    document
}

fn unknown(foreign: &Foreign) -> Vec<String> {
    let always = [
        "whether anything was compiled or loaded meanwhile",
        "what the caches held",
        "whether the results are right",
        "the machine's state, before and after",
        "how many processes and calls were requested, and the order of the measurement",
    ];
    let never = always.iter().chain(&foreign.unknown).map(|&text| text.to_owned());
    let failed = foreign.failed.iter().map(|name| format!("how long `{name}` takes: it failed"));
    never.chain(failed).collect()
}

fn options() -> RunOptions {
    RunOptions {
        processes: 0,
        warm_up_calls: 0,
        calls: 0,
        within_ns: Nanos::ZERO,
        warm_processes: 0,
        most_warm_processes: 0,
        target: None,
        budget_ns: Nanos::ZERO,
        verdicts: true,
        outputs: Agreement::Unchecked,
        tolerance: 0.0,
        precision: None,
        quantiles: Vec::new(),
    }
}

fn case_result(case: &ForeignCase, foreign: &Foreign) -> CaseResult {
    CaseResult {
        name: case.name.clone(),
        parameters: BTreeMap::new(),
        sweep: None,
        work: None,
        margin: MARGIN,
        reference: case.arms.first().map(|arm| arm.name.clone()).unwrap_or_default(),
        arms: case.arms.iter().map(|arm| arm_result(arm, foreign)).collect(),
        again: None,
        comparisons: Vec::new(),
        break_evens: Vec::new(),
        planted: None,
    }
}

fn arm_result(arm: &ForeignArm, foreign: &Foreign) -> ArmResult {
    let samples = (1..).zip(&arm.processes).map(|(n, process)| sample(n, process, arm.regime));
    let mut result: RegimeResult =
        regime_result(arm.regime, POLICY, samples.collect(), None, &options(), SEED);
    if let Some(warm) = &mut result.warm {
        // The file does not contain the time of a process outside its calls.
        warm.best_calls = None;
    }
    let text = format!(
        "timed by {}: what was compiled meanwhile, what caches held and whether results are right \
         is unknown",
        foreign.source
    );
    result.notices.push(Reason::new(Finding::NotProved, text));
    ArmResult {
        name: arm.name.clone(),
        command: None,
        regimes: vec![result],
        priming: Vec::new(),
        stopped: None,
        agreement: Agreed::Reference,
        findings: Vec::new(),
    }
}

fn sample(number: u32, process: &Process, regime: Regime) -> Sample {
    let job = if regime == Regime::Warm { Job::Window } else { Job::Command };
    let conditions = Conditions { policy: POLICY, any_exit_code: false, job };
    let mut sample = examine(raw(number, process, regime), conditions);
    sample.notices.retain(|notice| notice.finding != Finding::NotHooked);
    trust(&mut sample);
    sample
}

/// A few values cannot show a steady state, so the tool's own claim is used.
fn trust(sample: &mut Sample) {
    let values: Vec<f64> = sample
        .raw
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Iterations(block) if block.part == Part::Window => Some(block.per_call()),
            _ => None,
        })
        .flatten()
        .collect();
    let Some(window) = sample.window.as_mut().filter(|_| values.len() < MIN_SEGMENT) else {
        return;
    };
    window.state = SteadyState::Unknown;
    window.steady_from = Some(0);
    window.steady = Some(steady_part(&values));
    sample.notices.retain(|notice| notice.finding != Finding::NoSteadyState);
}

/// The process's times placed end to end from zero, because the file does not contain their start times.
fn raw(number: u32, process: &Process, regime: Regime) -> RawSample {
    let mut end = Moment(0);
    let mut messages = Vec::new();
    match regime {
        Regime::Warm => {
            messages.extend(blocks(&process.warm_ups, Part::WarmUp, &mut end));
            messages.extend(blocks(&process.values, Part::Window, &mut end));
        }
        Regime::ColdClean | Regime::ColdPrimed | Regime::Fresh => {
            end = end + process.values.iter().map(|value| Nanos(value.ns)).sum();
        }
    }
    let usage =
        Usage { max_rss_bytes: process.peak_rss_bytes.unwrap_or_default(), ..Usage::default() };
    RawSample {
        number,
        role: SampleRole::Measured,
        started: process.started.clone().unwrap_or_else(|| UNKNOWN.to_owned()),
        spawn: Moment(0),
        exec: Moment(0),
        reaped: end,
        outcome: match process.exit_code {
            0 => Outcome::Completed,
            code => Outcome::Exited { code },
        },
        messages,
        usage,
        machine_busy_ns: None,
        caches: Vec::new(),
        streams: Streams::default(),
        survivors: 0,
        paused: None,
        exits: Vec::new(),
        opened: Vec::new(),
    }
}

/// Consecutive times with the same number of calls form a block.
fn blocks(times: &[Timed], part: Part, end: &mut Moment) -> Vec<Message> {
    let groups: Vec<&[Timed]> = times.chunk_by(|a, b| a.calls == b.calls).collect();
    let last = groups.len().saturating_sub(1);
    let mut messages = Vec::new();
    for (index, group) in groups.into_iter().enumerate() {
        let spans = group.iter().map(|time| {
            let begin = *end;
            *end = begin + Nanos(time.ns);
            (begin, *end)
        });
        messages.push(Message::Iterations(Iterations {
            part,
            last: index == last,
            calls_per_span: group[0].calls,
            spans: spans.collect(),
        }));
    }
    messages
}
