//! From what the engine took to what the analysis makes of it.

use firstlight_analysis::examine::{Conditions, Job, examine};
use firstlight_analysis::guide::{calls, is_narrow_enough};
use firstlight_analysis::regime::regime_result;
use firstlight_engine::sampling::{ArmReadings, CaseReadings, Guidance, RegimeReadings, SuitePlan};
use firstlight_schema::nanos::Nanos;
use firstlight_schema::run::{Agreed, ArmResult, CaseResult, RunOptions, SweepPlace, Work};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::{CaseFile, Regime};

/// What the document says of how much was to be measured.
pub(super) fn options(plan: &SuitePlan<'_>) -> RunOptions {
    let (warm, comparison) = (&plan.warm, &plan.suite.file.comparison);
    RunOptions {
        processes: plan.processes,
        warm_up_calls: warm.warm_up,
        calls: warm.iterations,
        within_ns: Nanos::from(warm.within),
        warm_processes: warm.processes,
        most_warm_processes: warm.most_processes,
        target: warm.target,
        budget_ns: Nanos::from(warm.budget),
        outputs: comparison.outputs,
        tolerance: comparison.tolerance,
        precision: comparison.precision.clone(),
        quantiles: comparison.quantiles.clone(),
    }
}

/// What is made of a case's readings; comparisons come when all its arms are there.
pub(super) fn case_result(
    plan: &SuitePlan<'_>,
    case: &CaseFile,
    readings: CaseReadings,
    options: &RunOptions,
) -> CaseResult {
    let file = &plan.suite.file;
    let work = case.work.as_ref().zip(case.work_per_call());
    let work = work.map(|(work, per_call)| Work { unit: work.unit.clone(), per_call });
    let arm = |readings| arm_result(readings, work.as_ref(), options, plan.seed);
    CaseResult {
        name: case.name.get_ref().clone(),
        parameters: case.parameters.clone(),
        sweep: case.point.as_ref().map(|point| SweepPlace {
            case: point.case.clone(),
            parameter: point.parameter.clone(),
        }),
        margin: case.margin.unwrap_or(file.comparison.margin),
        reference: file.reference_of(case).unwrap_or_default().to_owned(),
        arms: readings.arms.into_iter().map(arm).collect(),
        again: readings.again.map(arm),
        work: work.clone(),
        comparisons: Vec::new(),
        break_evens: Vec::new(),
    }
}

fn arm_result(
    readings: ArmReadings,
    work: Option<&Work>,
    options: &RunOptions,
    seed: u64,
) -> ArmResult {
    let regimes = readings
        .regimes
        .into_iter()
        .map(|of| {
            let (regime, policy) = (of.regime, of.policy);
            let samples = of.samples.into_iter().map(|(round, raw)| Sample {
                round: Some(round),
                ..examine(raw, conditions(regime, policy))
            });
            regime_result(regime, policy, samples.collect(), work, options, seed)
        })
        .collect();
    ArmResult {
        name: readings.arm,
        regimes,
        priming: readings.priming,
        stopped: readings.stopped,
        agreement: Agreed::NotCompared { why: "not all arms are measured yet".to_owned() },
        findings: Vec::new(),
    }
}

fn conditions(regime: Regime, policy: firstlight_schema::cache::CachePolicy) -> Conditions {
    let job = if regime.is_cold() { Job::FirstCall } else { Job::Window };
    Conditions { policy, any_exit_code: false, job }
}

/// Whether a case needs more warm processes, and how many calls they are to make.
pub(super) fn guidance(arms: &[&ArmReadings], plan: &SuitePlan<'_>, case: &CaseFile) -> Guidance {
    let mut samples: Vec<(bool, Vec<Sample>)> = arms
        .iter()
        .map(|arm| {
            let is_reference = plan.suite.file.reference_of(case) == Some(&arm.arm);
            (is_reference, arm.regimes.iter().flat_map(warm_samples).collect())
        })
        .collect();
    let iterations = samples.iter().map(|(_, samples)| calls(samples)).collect();
    // The reference stands first; its control, which has its name, comes after it.
    samples.sort_by_key(|&(is_reference, _)| !is_reference);
    let samples: Vec<Vec<Sample>> = samples.into_iter().map(|(_, samples)| samples).collect();
    Guidance { enough: is_narrow_enough(&samples, plan.warm.target), iterations }
}

fn warm_samples(of: &RegimeReadings) -> Vec<Sample> {
    if of.regime.is_cold() {
        return Vec::new();
    }
    let conditions = conditions(of.regime, of.policy);
    let sample = |(round, raw): &(u32, _)| {
        let raw: &firstlight_schema::reading::RawSample = raw;
        Sample { round: Some(*round), ..examine(raw.clone(), conditions) }
    };
    of.samples.iter().map(sample).collect()
}
