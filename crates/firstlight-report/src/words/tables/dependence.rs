//! Whether the overhead of calls depends on one swept parameter, on another, or on both: sentences derived
//! only from the intervals of the slopes.

use firstlight_schema::comparison::{SweepLine, SweepResult};
use firstlight_schema::estimate::Interval;

use super::{signed, signed_point};
use crate::words::format::duration;

/// The conclusion from the interval of a slope.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    /// The whole interval is above zero, or below zero.
    Grows,
    Falls,
    /// Zero is in the interval.
    Nothing,
    /// There is no interval.
    Unknown,
}

impl Seen {
    fn new(line: &SweepLine) -> Self {
        match interval(line) {
            Some(Interval { low, .. }) if low > 0.0 => Self::Grows,
            Some(Interval { high, .. }) if high < 0.0 => Self::Falls,
            Some(_) => Self::Nothing,
            None => Self::Unknown,
        }
    }
}

fn interval(line: &SweepLine) -> Option<Interval> {
    line.slope.as_ref()?.interval
}

/// The number of arms by dependence, then a sentence for each arm; empty if no arm is in both sweeps.
pub fn dependence(first: &SweepResult, second: &SweepResult) -> Vec<String> {
    let both: Vec<(&SweepLine, &SweepLine)> = first
        .overheads
        .iter()
        .filter_map(|line| {
            let other = second.overheads.iter().find(|other| other.arm == line.arm)?;
            Some((line, other))
        })
        .collect();
    if both.is_empty() {
        return Vec::new();
    }
    let of_first: Vec<Seen> = both.iter().map(|(line, _)| Seen::new(line)).collect();
    let of_second: Vec<Seen> = both.iter().map(|(_, line)| Seen::new(line)).collect();
    let counted = [(first, of_first), (second, of_second)]
        .map(|(sweep, seen)| format!("`{}`: {}.", sweep.parameter, counted(&seen)));
    let sentences = both.iter().map(|(line, other)| {
        format!(
            "**{}**: {}; {}.",
            line.arm,
            description(line, &first.parameter),
            description(other, &second.parameter)
        )
    });
    counted.into_iter().chain(sentences).collect()
}

fn counted(seen: &[Seen]) -> String {
    let words = [
        (Seen::Grows, "the overhead grows"),
        (Seen::Falls, "the overhead falls"),
        (Seen::Nothing, "no dependence was found"),
        (Seen::Unknown, "inconclusive"),
    ];
    let said: Vec<String> = words
        .into_iter()
        .filter_map(|(kind, words)| {
            let n = seen.iter().filter(|one| **one == kind).count();
            (n > 0).then(|| format!("{words} in {n} of {} arms", seen.len()))
        })
        .collect();
    said.join(", ")
}

/// One arm and one parameter: the slope if there is one, otherwise the excluded values.
fn description(line: &SweepLine, parameter: &str) -> String {
    let numbers: Vec<f64> = line.rows.iter().filter_map(|row| row.number).collect();
    let from = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let to = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let across = to - from;
    let range = format!("from {from} to {to}");
    match (Seen::new(line), &line.slope, interval(line)) {
        (Seen::Grows, Some(slope), _) => format!(
            "the overhead grows by {} per unit of `{parameter}`: by {} {range}",
            signed(slope),
            duration(slope.point * across)
        ),
        (Seen::Falls, Some(slope), _) => format!(
            "the overhead falls by {} per unit of `{parameter}`: by {} {range}",
            signed_point(-slope.point),
            duration(-slope.point * across)
        ),
        (Seen::Nothing, Some(slope), Some(interval)) => format!(
            "no dependence on `{parameter}` was found: the slope is {}, so growth by more than {} {range} is \
             excluded",
            signed(slope),
            duration(interval.high.max(0.0) * across)
        ),
        _ => format!("too few processes vary `{parameter}`"),
    }
}

#[cfg(test)]
mod tests {
    use firstlight_schema::comparison::{SweepLine, SweepResult, SweepRow};
    use firstlight_schema::estimate::{Estimate, Interval, Method};
    use firstlight_schema::suite::Regime;

    use super::dependence;

    /// An arm with the low end, the point and the high end of its slope.
    type Slope = (&'static str, Option<(f64, f64, f64)>);

    fn sweep(parameter: &str, slopes: &[Slope]) -> SweepResult {
        let row =
            |number: f64| SweepRow { value: number.to_string(), number: Some(number), time: None };
        let line = |&(arm, slope): &Slope| SweepLine {
            arm: arm.to_owned(),
            regime: Regime::Warm,
            rows: vec![row(10.0), row(110.0)],
            constant: None,
            slope: slope.map(|(low, point, high)| Estimate {
                point,
                interval: Some(Interval { low, high, confidence: 0.95 }),
                n: 3,
                method: Method::Mean,
            }),
            linear: None,
            largest_residual: None,
        };
        SweepResult {
            case: parameter.to_owned(),
            parameter: parameter.to_owned(),
            lines: Vec::new(),
            overheads: slopes.iter().map(line).collect(),
        }
    }

    #[test]
    fn each_sentence_claims_only_what_the_interval_allows() {
        let structure = sweep("leaves", &[("a", Some((1e3, 2e3, 3e3))), ("b", None), ("c", None)]);
        let computation = sweep(
            "batch",
            &[("a", Some((-10.0, 5.0, 20.0))), ("b", Some((-4.0, -3.0, -2.0))), ("d", None)],
        );
        assert_eq!(
            dependence(&structure, &computation),
            [
                "`leaves`: the overhead grows in 1 of 2 arms, inconclusive in 1 of 2 arms.",
                "`batch`: the overhead falls in 1 of 2 arms, no dependence was found in 1 of 2 arms.",
                "**a**: the overhead grows by 2.00 µs (1.00–3.00 µs) per unit of `leaves`: by 200 µs from \
                 10 to 110; no dependence on `batch` was found: the slope is 5 ns (−10 ns to 20 ns), so \
                 growth by more than 2.00 µs from 10 to 110 is excluded.",
                "**b**: too few processes vary `leaves`; the overhead falls by 3 ns per unit of `batch`: by \
                 300 ns from 10 to 110.",
            ]
        );
    }

    #[test]
    fn without_an_arm_in_both_sweeps_there_is_no_sentence() {
        let select = |arm| sweep("leaves", &[(arm, None)]);
        assert!(dependence(&select("a"), &select("b")).is_empty());
    }
}
