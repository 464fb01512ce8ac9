//! Every process of an arm in a regime as one value, including invalid ones.

use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::RegimeResult;
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Regime;

use crate::words::headline::headline;

#[derive(Debug)]
pub struct Points<'a> {
    pub arm: &'a str,
    pub regime: Regime,
    /// Whether this is the reference arm's second measurement.
    pub control: bool,
    pub estimate: Option<Estimate>,
    /// The kind of the values.
    pub what: &'static str,
    /// In order of measurement; one for each process.
    pub points: Vec<Point>,
}

/// One process.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub number: u32,
    pub round: Option<u32>,
    /// Absent if the process did not get so far.
    pub ns: Option<f64>,
    pub valid: bool,
    /// The reasons why it is invalid.
    pub reasons: Vec<String>,
}

impl<'a> Points<'a> {
    pub(super) fn new(arm: &'a str, control: bool, regime_result: &RegimeResult) -> Self {
        let has_first_result =
            regime_result.samples.iter().any(|sample| sample.first_result.is_some());
        let (what, value, estimate): (_, fn(&Sample) -> Option<f64>, _) =
            if !regime_result.regime.is_cold() {
                ("mean per call of the steady part", per_call, headline(regime_result))
            } else if has_first_result {
                ("time to first result", first_result, headline(regime_result))
            } else {
                ("wall time", wall, regime_result.summary.as_ref().map(|summary| summary.wall))
            };
        let points = regime_result.samples.iter().map(|sample| Point::new(sample, value)).collect();
        Self { arm, regime: regime_result.regime, control, estimate, what, points }
    }

    /// The name of the arm.
    pub fn name(&self) -> String {
        let control = if self.control { ", measured again as a control" } else { "" };
        format!("{}{control}", self.arm)
    }

    /// The valid values, sorted.
    pub fn sorted(&self) -> Vec<(f64, &Point)> {
        let mut valid: Vec<(f64, &Point)> =
            self.points.iter().filter(|p| p.valid).filter_map(|p| Some((p.ns?, p))).collect();
        valid.sort_by(|a, b| a.0.total_cmp(&b.0));
        valid
    }

    /// Invalid processes that still have a value.
    pub fn invalid(&self) -> impl Iterator<Item = (f64, &Point)> {
        self.points.iter().filter(|p| !p.valid).filter_map(|p| Some((p.ns?, p)))
    }
}

impl Point {
    fn new(sample: &Sample, value: fn(&Sample) -> Option<f64>) -> Self {
        Self {
            number: sample.number,
            round: sample.round,
            ns: value(sample),
            valid: sample.valid,
            reasons: sample.reasons.iter().map(ToString::to_string).collect(),
        }
    }
}

fn first_result(sample: &Sample) -> Option<f64> {
    Some(sample.first_result.as_ref()?.ns.as_f64())
}

#[expect(clippy::unnecessary_wraps, reason = "one of several ways to get a value")]
fn wall(sample: &Sample) -> Option<f64> {
    Some(sample.wall_ns.as_f64())
}

fn per_call(sample: &Sample) -> Option<f64> {
    Some(sample.window.as_ref()?.steady.as_ref()?.mean_ns)
}
