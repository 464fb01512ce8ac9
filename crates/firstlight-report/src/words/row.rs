//! One arm in one regime as a row: the time, its interval, the number of processes, whether they are valid.

use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult};
use firstlight_schema::suite::{Regime, Scalar};

use crate::words::format::{self, duration, rate};
use crate::words::headline::headline;
use crate::words::regime::label;

/// A table's row for one arm and regime.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'a> {
    pub arm: &'a str,
    pub regime: Regime,
    /// The display name of the regime.
    pub label: &'static str,
    /// Absent if there is no valid, steady measurement.
    pub estimate: Option<Estimate>,
    pub time: String,
    pub interval: String,
    pub valid: usize,
    pub processes: String,
    /// The kind of the time, and the throughput if there is one.
    pub what: String,
}

impl<'a> Row<'a> {
    pub(crate) fn new(arm: &'a ArmResult, regime: &RegimeResult) -> Self {
        let estimate = headline(regime);
        let valid = regime.samples.iter().filter(|sample| sample.valid).count();
        let processes = match regime.samples.len() {
            all if all == valid => format!("{valid}"),
            all => format!("{valid} of {all} valid"),
        };
        // The number with the interval is the number shown.
        let processes = match &regime.warm {
            Some(warm) if usize::try_from(warm.per_call.n).is_ok_and(|n| n < valid) => {
                format!("{} of {valid} steady", warm.per_call.n)
            }
            _ => processes,
        };
        let (time, interval) = match estimate {
            Some(estimate) => (duration(estimate.point), interval(&estimate)),
            None if regime.samples.is_empty() => ("none".to_owned(), String::new()),
            None if valid == 0 => ("invalid".to_owned(), String::new()),
            None => ("no steady state".to_owned(), String::new()),
        };
        let what = what(regime, estimate.is_some());
        let label = label(regime);
        let (arm, regime) = (arm.name.as_str(), regime.regime);
        Self { arm, regime, label, estimate, time, interval, valid, processes, what }
    }
}

pub(crate) fn interval(estimate: &Estimate) -> String {
    estimate.interval.map_or_else(
        || "too few".to_owned(),
        |interval| format::interval(interval.low, interval.high),
    )
}

fn what(regime: &RegimeResult, is_known: bool) -> String {
    match &regime.warm {
        Some(warm) => warm.throughput.as_ref().map_or_else(
            || "mean per call".to_owned(),
            |one| format!("mean per call, {} {}/s", rate(one.per_second.point), one.unit),
        ),
        None if is_known && regime.regime == Regime::Fresh => "median wall time".to_owned(),
        None if is_known && !has_first_result(regime) => "median wall time".to_owned(),
        None if is_known => "median to first result".to_owned(),
        None => String::new(),
    }
}

fn has_first_result(regime: &RegimeResult) -> bool {
    regime.summary.as_ref().is_some_and(|summary| summary.first_result.is_some())
}

/// The distinguishing facts of a case: its parameters, and the work of one call.
pub(crate) fn about(case: &CaseResult) -> String {
    words(case, |_, _| true)
}

/// The same without parameters that all cases share.
pub(crate) fn about_beside(case: &CaseResult, all: &[CaseResult]) -> String {
    let differs = |name: &str, value: &Scalar| {
        all.len() == 1 || all.iter().any(|other| other.parameters.get(name) != Some(value))
    };
    words(case, differs)
}

fn words(case: &CaseResult, shown: impl Fn(&str, &Scalar) -> bool) -> String {
    let parameters = case.parameters.iter().filter(|(name, value)| shown(name, value));
    let mut words: Vec<String> =
        parameters.map(|(name, value)| format!("{name} = {value}")).collect();
    if let Some(work) = case.work.as_ref().filter(|work| work.per_call > 1.0) {
        words.push(format!("{} {} per call", work.per_call, work.unit));
    }
    words.join(", ")
}
