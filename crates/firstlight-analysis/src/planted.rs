//! A case with a known mistake compared with the same case without it: the value that would have been
//! published, the correct one, and the ratio of the two.

use firstlight_schema::comparison::{Mistaken, PlantedResult, PlantedRow};
use firstlight_schema::message::{Iterations, Message, Part};
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::{Regime, Takes};

use crate::compare::{pairs, values};
use crate::stats::{Ratio, log_mean, mean, plain_mean};
use crate::warm::{Statistic, overheads};

/// A number for each round.
type Rounds = Vec<(u32, f64)>;

/// Fills in the result of a planted case; `right` is the case without the mistake.
pub(crate) fn planted(case: &CaseResult, right: Option<&CaseResult>) -> Option<PlantedResult> {
    let known = case.planted.as_ref()?;
    let takes = known.takes;
    let reference = Both::new(case, right, &case.reference, takes);
    let rows: Vec<PlantedRow> = case
        .arms
        .iter()
        .map(|arm| {
            let both = Both::new(case, right, &arm.name, takes);
            let speed_up = (arm.name != case.reference).then(|| both.against(&reference));
            PlantedRow {
                arm: arm.name.clone(),
                findings: findings(arm),
                time: both.times(),
                speed_up,
                overhead: both.overheads(),
            }
        })
        .collect();
    let refused = rows.iter().any(|row| !row.findings.is_empty());
    Some(PlantedResult { of: known.of.clone(), takes, refused, rows })
}

/// One arm's warm processes with the mistake, valid or not, and without it.
struct Both {
    wrong: Rounds,
    right: Rounds,
    wrong_overhead: Rounds,
    right_overhead: Rounds,
}

impl Both {
    fn new(case: &CaseResult, right: Option<&CaseResult>, arm: &str, takes: Takes) -> Self {
        let wrong = warm(case, arm).map_or(&[][..], |result| &result.samples);
        let right =
            right.and_then(|case| warm(case, arm)).map_or(&[][..], |result| &result.samples);
        Self {
            wrong: all(wrong, |sample| taken(sample, takes)),
            right: values(right, Regime::Warm),
            wrong_overhead: all(wrong, |sample| sample.window.as_ref()?.overhead?.mean_ns),
            right_overhead: overheads(right, Statistic::Mean),
        }
    }

    fn times(&self) -> Mistaken {
        Mistaken {
            wrong: log_mean(&numbers(&self.wrong)),
            right: log_mean(&numbers(&self.right)),
            factor: ratio(&self.right, &self.wrong),
        }
    }

    /// The speed-up over another arm, round by round.
    fn against(&self, other: &Self) -> Mistaken {
        let (wrong, right) =
            (quotients(&self.wrong, &other.wrong), quotients(&self.right, &other.right));
        Mistaken {
            wrong: ratio(&self.wrong, &other.wrong),
            right: ratio(&self.right, &other.right),
            factor: ratio(&right, &wrong),
        }
    }

    fn overheads(&self) -> Option<Mistaken> {
        if self.wrong_overhead.is_empty() && self.right_overhead.is_empty() {
            return None;
        }
        Some(Mistaken {
            wrong: plain_mean(&numbers(&self.wrong_overhead)),
            right: plain_mean(&numbers(&self.right_overhead)),
            factor: ratio(&self.right_overhead, &self.wrong_overhead),
        })
    }
}

fn warm<'a>(case: &'a CaseResult, arm: &str) -> Option<&'a RegimeResult> {
    let arm = case.arms.iter().find(|known| known.name == arm)?;
    arm.regimes.iter().find(|result| result.regime == Regime::Warm)
}

fn all(samples: &[Sample], given: impl Fn(&Sample) -> Option<f64>) -> Rounds {
    let value = |sample: &Sample| Some((sample.round.unwrap_or(sample.number), given(sample)?));
    samples.iter().filter_map(value).collect()
}

/// The value that the mistake would have published for this process.
fn taken(sample: &Sample, takes: Takes) -> Option<f64> {
    let calls: Vec<f64> = sample
        .raw
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Iterations(block) if block.part == Part::Window => Some(block),
            _ => None,
        })
        .flat_map(Iterations::per_call)
        .collect();
    match takes {
        Takes::FirstCall => calls.first().copied(),
        Takes::Window => (!calls.is_empty()).then(|| mean(&calls)),
    }
}

fn numbers(rounds: &Rounds) -> Vec<f64> {
    rounds.iter().map(|&(_, value)| value).collect()
}

/// The second over the first, in rounds that have both.
fn ratio(first: &Rounds, second: &Rounds) -> Option<firstlight_schema::estimate::Estimate> {
    Ratio::paired(&pairs(first, second)).map(|ratio| ratio.estimate)
}

/// The second over the first, round by round.
fn quotients(first: &Rounds, second: &Rounds) -> Rounds {
    first
        .iter()
        .filter_map(|&(round, a)| {
            let (_, b) = second.iter().find(|&&(other, _)| other == round)?;
            Some((round, b / a))
        })
        .collect()
}

/// The reasons why the arm's warm samples are invalid.
fn findings(arm: &ArmResult) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let warm = arm.regimes.iter().filter(|result| result.regime == Regime::Warm);
    for reason in warm.flat_map(|result| &result.samples).flat_map(|sample| &sample.reasons) {
        let name = reason.finding.name().to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
