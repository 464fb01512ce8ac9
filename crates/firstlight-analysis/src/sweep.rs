//! A case over a range of one parameter: a table, and constant + slope × value.

use std::collections::BTreeMap;

use firstlight_schema::comparison::{SweepLine, SweepResult, SweepRow};
use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult};
use firstlight_schema::suite::Regime;

use crate::compare::values;
use crate::stats::{line, line_by_rounds};
use crate::warm::{Statistic, mean_of_rounds, overheads, overheads_beyond_reference};

/// A line is rejected only if its residuals are also this large.
const WORTH_A_WORD: f64 = 0.05;
const DOUBTFUL: f64 = 0.01;

/// All sweeps of a run, in the order of their cases.
pub(crate) fn sweeps(cases: &[CaseResult]) -> Vec<SweepResult> {
    let mut sweeps: Vec<SweepResult> = Vec::new();
    for case in cases {
        let Some(place) = &case.sweep else { continue };
        if sweeps.iter().any(|known| known.case == place.case) {
            continue;
        }
        let points: Vec<&CaseResult> = cases
            .iter()
            .filter(|other| other.sweep.as_ref().is_some_and(|other| other.case == place.case))
            .collect();
        sweeps.push(SweepResult {
            case: place.case.clone(),
            parameter: place.parameter.clone(),
            lines: lines(&points, &place.parameter),
            overheads: overhead_lines(&points, &place.parameter),
        });
    }
    sweeps
}

fn lines(points: &[&CaseResult], parameter: &str) -> Vec<SweepLine> {
    let Some(first) = points.first() else { return Vec::new() };
    first
        .arms
        .iter()
        .flat_map(|arm| arm.regimes.iter().map(|regime| (arm.name.as_str(), regime.regime)))
        .map(|(arm, regime)| sweep_line(points, parameter, arm, regime))
        .collect()
}

fn sweep_line(points: &[&CaseResult], parameter: &str, arm: &str, regime: Regime) -> SweepLine {
    let mut rows = Vec::new();
    let mut measured: Vec<(f64, f64)> = Vec::new();
    for case in points {
        let value = case.parameters.get(parameter);
        let number = value.and_then(firstlight_schema::suite::Scalar::number);
        let found = regime_of(&case.arms, arm, regime);
        if let Some((number, found)) = number.zip(found) {
            measured.extend(values(&found.samples, regime).iter().map(|&(_, y)| (number, y)));
        }
        rows.push(SweepRow {
            value: value.map_or_else(String::new, ToString::to_string),
            number,
            time: found.and_then(|found| match regime {
                Regime::Warm => found.warm.as_ref().map(|warm| warm.per_call),
                Regime::ColdClean | Regime::ColdPrimed => found.summary.as_ref()?.first_result,
                Regime::Fresh => found.summary.as_ref().map(|summary| summary.wall),
            }),
        });
    }
    let fit = line(&measured);
    SweepLine {
        arm: arm.to_owned(),
        regime,
        rows,
        constant: fit.map(|fit| fit.constant),
        slope: fit.map(|fit| fit.slope),
        linear: fit
            .and_then(|fit| Some(fit.straight? > DOUBTFUL || fit.largest_residual < WORTH_A_WORD)),
        largest_residual: fit.map(|fit| fit.largest_residual),
    }
}

/// A sweep with overheads beyond those of the reference arm, round by round.
///
/// The cost of calling the baseline is the same in every arm's overhead, and cancels here.
pub fn beyond_reference(cases: &[CaseResult], sweep: &SweepResult) -> SweepResult {
    let points: Vec<&CaseResult> = cases
        .iter()
        .filter(|case| case.sweep.as_ref().is_some_and(|place| place.case == sweep.case))
        .collect();
    let arms = sweep.overheads.iter().map(|line| line.arm.as_str());
    let lines = arms.filter_map(|arm| {
        overhead_line(&points, &sweep.parameter, arm, |case| {
            let rounds = overheads_beyond_reference(case, arm, Statistic::Mean);
            (mean_of_rounds(&rounds), rounds)
        })
    });
    SweepResult { overheads: lines.collect(), ..sweep.clone() }
}

/// The time of calls beyond the baseline, for the arms that have one.
fn overhead_lines(points: &[&CaseResult], parameter: &str) -> Vec<SweepLine> {
    let Some(first) = points.first() else { return Vec::new() };
    let arms = first.arms.iter().map(|arm| arm.name.as_str());
    let line = |arm| {
        overhead_line(points, parameter, arm, |case| {
            let found = regime_of(&case.arms, arm, Regime::Warm);
            let mean = found.and_then(|found| found.warm.as_ref()?.overhead);
            (mean, found.map_or_else(Vec::new, |found| overheads(&found.samples, Statistic::Mean)))
        })
    };
    arms.filter_map(line).collect()
}

fn overhead_line(
    points: &[&CaseResult],
    parameter: &str,
    arm: &str,
    given: impl Fn(&CaseResult) -> (Option<Estimate>, Vec<(u32, f64)>),
) -> Option<SweepLine> {
    let mut rows = Vec::new();
    let mut rounds: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for case in points {
        let value = case.parameters.get(parameter);
        let number = value.and_then(firstlight_schema::suite::Scalar::number);
        let (time, by_round) = given(case);
        if let Some(number) = number {
            for (round, overhead) in by_round {
                rounds.entry(round).or_default().push((number, overhead));
            }
        }
        let value = value.map_or_else(String::new, ToString::to_string);
        rows.push(SweepRow { value, number, time });
    }
    rows.iter().any(|row| row.time.is_some()).then_some(())?;
    // A round with a missing value has another line for that reason alone.
    let rounds: Vec<_> = rounds.into_values().filter(|given| given.len() == points.len()).collect();
    let fit = line_by_rounds(&rounds);
    Some(SweepLine {
        arm: arm.to_owned(),
        regime: Regime::Warm,
        rows,
        constant: fit.map(|fit| fit.constant),
        slope: fit.map(|fit| fit.slope),
        linear: None,
        largest_residual: fit.map(|fit| fit.largest_residual),
    })
}

pub(crate) fn regime_of<'a>(
    arms: &'a [ArmResult],
    arm: &str,
    regime: Regime,
) -> Option<&'a RegimeResult> {
    let arm = arms.iter().find(|known| known.name == arm)?;
    arm.regimes.iter().find(|known| known.regime == regime)
}
