//! Computes results from raw records. Runs and verifications both use this code, so published results follow
//! from the raw readings alone.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

use firstlight_schema::cache::{CachePolicy, Layer, Policy};
use firstlight_schema::comparison::PlantedResult;
use firstlight_schema::finding::Reason;
use firstlight_schema::machine_state::MachineState;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::reading::{Outcome, RawRecord, RawSample, SampleRole, Subject};
use firstlight_schema::run::{
    Agreed, ArmResult, CaseResult, RunDocument, RunOptions, SweepPlace, Work,
};
use firstlight_schema::sample::Sample;
use firstlight_schema::snapshot::Origin;
use firstlight_schema::suite::{ArmFile, CaseFile, Program, Regime, SuiteFile};

use crate::control::price;
use crate::diagnosis::compare_regimes;
use crate::examine::{Conditions, Job, examine};
use crate::health::changes;
use crate::judge::judge;
use crate::regime::regime_result;
use crate::stopping::{GiveUp, Terms};

/// Increases whenever the same raw readings give other numbers or verdicts. A stored result names the
/// revision that computed it.
pub const REVISION: u32 = 2;

/// The whole document of a run: from its start, its suite as selected, and its records.
pub fn rebuild(
    origin: &Origin,
    suite: &SuiteFile,
    after: Option<MachineState>,
    records: Vec<RawRecord>,
) -> RunDocument {
    let mut document = begin(origin, suite);
    add_cases(&mut document, suite, records, &[]);
    conclude(&mut document, suite);
    end(&mut document, after);
    document
}

/// Every case from its records. `shards` are the numbers of their first processes: an arm that fails in one
/// shard starts afresh in the next.
pub(crate) fn add_cases(
    document: &mut RunDocument,
    suite: &SuiteFile,
    records: Vec<RawRecord>,
    shards: &[u32],
) {
    let mut left = records;
    for case in &suite.cases {
        let (of_case, others) = left.into_iter().partition(|record| is_of(record, case));
        left = others;
        document.cases.extend(case_of_shards(suite, case, of_case, shards));
    }
}

/// The document of a run that has not measured anything yet.
pub fn begin(origin: &Origin, suite: &SuiteFile) -> RunDocument {
    RunDocument {
        schema: RunDocument::schema_id(),
        firstlight: origin.firstlight.build.clone(),
        analysis: REVISION,
        created: origin.created.clone(),
        suite: origin.suite.clone(),
        suite_digest: origin.suite_digest.clone(),
        machine: origin.machine.clone(),
        before: origin.before.clone(),
        after: None,
        machine_notices: Vec::new(),
        environment: origin.environment.clone(),
        timeout_ns: Nanos::from(suite.sampling.timeout),
        seed: suite.sampling.seed,
        options: options(suite),
        segments: origin.segments.iter().map(|segment| segment.first).collect(),
        nodes: Vec::new(),
        complete: false,
        cases: Vec::new(),
        control: None,
        sweeps: Vec::new(),
        imported: None,
    }
}

/// Draws all conclusions from the present cases.
pub fn conclude(document: &mut RunDocument, suite: &SuiteFile) {
    judge(document);
    document.complete = is_complete(document, suite);
}

/// Adds the machine's state after the last process.
pub fn end(document: &mut RunDocument, after: Option<MachineState>) {
    document.machine_notices =
        after.as_ref().map(|after| changes(&document.before, after)).unwrap_or_default();
    document.after = after;
}

/// The planned amount of measurement.
fn options(suite: &SuiteFile) -> RunOptions {
    let (warm, comparison) = (&suite.warm, &suite.comparison);
    RunOptions {
        processes: suite.sampling.processes,
        warm_up_calls: warm.warm_up,
        calls: warm.iterations,
        within_ns: Nanos::from(warm.within),
        warm_processes: warm.processes,
        most_warm_processes: warm.most_processes,
        target: warm.target,
        budget_ns: Nanos::from(warm.budget),
        verdicts: comparison.verdicts,
        outputs: comparison.outputs,
        tolerance: comparison.tolerance,
        precision: comparison.precision.clone(),
        quantiles: comparison.quantiles.clone(),
    }
}

fn is_of(record: &RawRecord, case: &CaseFile) -> bool {
    record.subject.as_ref().is_some_and(|subject| subject.case == *case.name.get_ref())
}

/// The result of a case from its records, in order; `None` without records. Comparisons are added by
/// [`conclude`].
pub fn case_result(
    suite: &SuiteFile,
    case: &CaseFile,
    records: Vec<RawRecord>,
) -> Option<CaseResult> {
    case_of_shards(suite, case, records, &[])
}

fn case_of_shards(
    suite: &SuiteFile,
    case: &CaseFile,
    records: Vec<RawRecord>,
    shards: &[u32],
) -> Option<CaseResult> {
    if records.is_empty() {
        return None;
    }
    let work = case.work.as_ref().zip(case.work_per_call());
    let work = work.map(|(work, per_call)| Work { unit: work.unit.clone(), per_call });
    let control = suite.control_of(case);
    let wanted: Vec<(&str, bool)> = suite
        .arms_of(case)
        .map(|arm| (arm.name.get_ref().as_str(), false))
        .chain(control.map(|arm| (arm, true)))
        .collect();
    let mut left = records;
    let mut arms = Vec::new();
    for (name, again) in wanted {
        let mine = |subject: &Subject| subject.arm == name && subject.again == again;
        let (of_arm, others) = left
            .into_iter()
            .partition(|record: &RawRecord| record.subject.as_ref().is_some_and(mine));
        left = others;
        let stopped = stopped(suite, name, &of_arm, shards);
        arms.push(arm_result(suite, case, name, (of_arm, stopped), work.as_ref()));
    }
    let again = control.and_then(|_| arms.pop());
    Some(CaseResult {
        name: case.name.get_ref().clone(),
        parameters: case.parameters.clone(),
        sweep: case.point.as_ref().map(|point| SweepPlace {
            case: point.case.clone(),
            parameter: point.parameter.clone(),
        }),
        margin: suite.margin_of(case),
        reference: suite.reference_of(case).unwrap_or_default().to_owned(),
        arms,
        again,
        work,
        comparisons: Vec::new(),
        break_evens: Vec::new(),
        planted: case.planted.as_ref().map(|planted| PlantedResult {
            of: planted.of.get_ref().clone(),
            takes: planted.takes,
            refused: false,
            rows: Vec::new(),
        }),
    })
}

/// The reason why the arm was abandoned, if it was, in the first shard that abandoned it.
fn stopped(suite: &SuiteFile, arm: &str, records: &[RawRecord], shards: &[u32]) -> Option<Reason> {
    let mut give_up = GiveUp::default();
    let mut shard = 0;
    records.iter().find_map(|record| {
        let now = shards.partition_point(|&first| first <= record.sample.number);
        if std::mem::replace(&mut shard, now) != now {
            give_up = GiveUp::default();
        }
        let regime = record.subject.as_ref().and_then(|subject| subject.regime);
        give_up.after(&record.sample, regime, Terms::new(suite, arm, regime))
    })
}

fn arm_result(
    suite: &SuiteFile,
    case: &CaseFile,
    name: &str,
    (records, stopped): (Vec<RawRecord>, Option<Reason>),
    work: Option<&Work>,
) -> ArmResult {
    let (priming, mut left): (Vec<_>, Vec<_>) =
        records.into_iter().partition(|record| record.sample.role == SampleRole::Priming);
    let mut regimes = Vec::new();
    for regime in suite.regimes_of(case) {
        let select = |record: &RawRecord| {
            record.subject.as_ref().and_then(|subject| subject.regime) == Some(regime)
        };
        let (mine, others): (Vec<_>, Vec<_>) = left.into_iter().partition(select);
        left = others;
        let policy = recorded(&mine, suite.policy(name, regime));
        let (unhooked, mine): (Vec<_>, Vec<_>) =
            mine.into_iter().partition(|record| record.sample.role == SampleRole::Control);
        let unhooked: Vec<(u32, RawSample)> =
            unhooked.into_iter().map(|record| (round(&record), record.sample)).collect();
        let samples = samples(mine, regime, suite);
        let seed = suite.sampling.seed;
        let mut result = regime_result(regime, policy, samples, work, &options(suite), seed);
        result.hooks = (!unhooked.is_empty()).then(|| price(&result.samples, unhooked));
        regimes.push(result);
    }
    let process = suite.arm(name).and_then(|arm| match arm.program() {
        Program::Process(words) => Some(words.to_vec()),
        Program::Workload(_) | Program::Command(_) => None,
    });
    let mut arm = ArmResult {
        name: name.to_owned(),
        command: process,
        regimes,
        priming: priming.into_iter().map(|record| record.sample).collect(),
        stopped,
        agreement: Agreed::NotCompared { why: "not all arms are measured yet".to_owned() },
        findings: Vec::new(),
    };
    compare_regimes(&mut arm);
    arm
}

/// The policy under which processes ran: earlier versions switched the caches of a cold start on.
fn recorded(records: &[RawRecord], declared: CachePolicy) -> CachePolicy {
    let caches = records.iter().flat_map(|record| &record.sample.caches);
    let earlier = caches
        .filter(|reading| Layer::COMPILERS.contains(&reading.layer))
        .any(|reading| reading.policy == Policy::Clean);
    let compilers = match declared.compilers {
        Policy::AsConfigured if earlier => Policy::Clean,
        policy => policy,
    };
    CachePolicy { compilers, ..declared }
}

/// The samples of a regime. Merged results have thousands, and each is examined independently, so all cores
/// share the work.
fn samples(records: Vec<RawRecord>, regime: Regime, suite: &SuiteFile) -> Vec<Sample> {
    const FEW: usize = 200;
    let examined = |records: Vec<RawRecord>| -> Vec<Sample> {
        records.into_iter().map(|record| sample(record, regime, suite)).collect()
    };
    if records.len() < FEW {
        return examined(records);
    }
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let share = records.len().div_ceil(cores);
    let mut left = records.into_iter();
    let shares: Vec<Vec<RawRecord>> =
        (0..cores).map(|_| left.by_ref().take(share).collect()).collect();
    thread::scope(|scope| {
        let threads: Vec<_> =
            shares.into_iter().map(|share| scope.spawn(|| examined(share))).collect();
        let joined = threads.into_iter().map(ScopedJoinHandle::join);
        joined.flat_map(|found| found.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

fn round(record: &RawRecord) -> u32 {
    let round = record.subject.as_ref().and_then(|subject| subject.round);
    round.unwrap_or(record.sample.number)
}

/// One sample of a regime, evaluated under its declared conditions.
pub fn sample(record: RawRecord, regime: Regime, suite: &SuiteFile) -> Sample {
    let arm = record.subject.as_ref().map_or("", |subject| subject.arm.as_str());
    let job = match (suite.arm(arm).is_some_and(ArmFile::is_process), regime.is_cold()) {
        (true, _) => Job::Command,
        (false, true) => Job::FirstCall,
        (false, false) => Job::Window,
    };
    let policy = recorded(std::slice::from_ref(&record), suite.policy(arm, regime));
    let conditions = Conditions { policy, any_exit_code: suite.sampling.any_exit_code, job };
    let round = record.subject.and_then(|subject| subject.round);
    Sample { round, ..examine(record.sample, conditions) }
}

/// Whether every arm has all requested samples or was abandoned.
fn is_complete(document: &RunDocument, suite: &SuiteFile) -> bool {
    let arms = || document.cases.iter().flat_map(|case| case.arms.iter().chain(&case.again));
    let parts = document.nodes.iter().flat_map(|node| &node.parts);
    let shards = parts.map(|part| &part.shard).collect::<BTreeSet<_>>().len().max(1);
    let enough = |arm: &ArmResult| {
        let select = |regime: &firstlight_schema::run::RegimeResult| {
            let least = usize::try_from(suite.least(regime.regime)).unwrap_or(0);
            regime.samples.len() >= least * shards
        };
        arm.stopped.is_some() || arm.regimes.iter().all(select)
    };
    let samples = arms().flat_map(|arm| &arm.regimes).flat_map(|regime| &regime.samples);
    let mut processes =
        samples.map(|sample| &sample.raw).chain(arms().flat_map(|arm| &arm.priming));
    document.cases.len() == suite.cases.len()
        && arms().all(enough)
        && !processes.any(|raw| raw.outcome == Outcome::Interrupted)
}
