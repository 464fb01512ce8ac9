//! The answers of a case as sentences, the most important one first, for the first screen.

use firstlight_analysis::cheapest::{Stretch, cheapest};
use firstlight_schema::comparison::{BreakEven, Comparison, Pays, Verdict};
use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::{ArmResult, CaseResult};
use firstlight_schema::suite::Regime;

use crate::words::format::{calls, duration, interval};
use crate::words::headline::headline;
use crate::words::verdict;

/// The largest number of sentences on the first screen.
const MOST: usize = 4;

/// The results of a case, in order of importance; never empty.
pub fn answers(case: &CaseResult) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    sentences.extend(mistaken(case));
    sentences.extend(overheads(case));
    if has_many_pairs(case) {
        sentences.extend(fastest_arms(&cheapest(case, Regime::ColdClean)));
    }
    let decided = case.break_evens.iter().filter(|even| is_decided(even));
    let shown = if has_many_pairs(case) { 0 } else { 2 };
    sentences.extend(decided.take(shown).map(|even| {
        let primed = even.cold == Regime::ColdPrimed;
        verdict::answer(even) + if primed { ", with primed caches" } else { "" }
    }));
    let conclusive = case.comparisons.iter().filter(|one| is_conclusive(one));
    sentences.extend(conclusive.map(compared));
    if case.arms.len() == 1 {
        sentences.extend(alone(&case.arms[0]));
    }
    if sentences.is_empty() {
        sentences.push(nothing(case));
    }
    sentences.truncate(MOST);
    sentences
}

/// Whether break-evens are shown as one picture of all arms rather than pair by pair.
pub(crate) fn has_many_pairs(case: &CaseResult) -> bool {
    case.break_evens.len() > 2
}

/// The result that a planted mistake would have published: the largest factor of its arms.
fn mistaken(case: &CaseResult) -> Option<String> {
    let rows = case.planted.as_ref()?.rows.iter();
    let factors = rows.filter_map(|row| Some((row, row.time.factor?)));
    let away = |factor: f64| factor.ln().abs();
    let (row, factor) = factors.max_by(|(_, a), (_, b)| away(a.point).total_cmp(&away(b.point)))?;
    let (how, invert) =
        if factor.point < 1.0 { ("understates", true) } else { ("overstates", false) };
    let value = |number: f64| if invert { 1.0 / number } else { number };
    let ends = factor.interval.map_or_else(String::new, |ends| {
        let (a, b) = (value(ends.low), value(ends.high));
        format!(" ({})", verdict::range(a.min(b), a.max(b)))
    });
    let times = verdict::times(value(factor.point));
    Some(format!("the planted mistake {how} the time per call of {} {times}×{ends}", row.arm))
}

/// The additional time of wrappers per call, the largest first, if the interval excludes zero.
fn overheads(case: &CaseResult) -> Vec<String> {
    let regimes = case.arms.iter().flat_map(|arm| arm.regimes.iter().map(move |one| (arm, one)));
    let mut known: Vec<(&str, Estimate, f64)> = regimes
        .filter_map(|(arm, regime)| {
            let warm = regime.warm.as_ref()?;
            Some((arm.name.as_str(), warm.overhead?, warm.per_call.point))
        })
        .filter(|(_, overhead, _)| overhead.interval.is_some_and(|ends| ends.low > 0.0))
        .collect();
    known.sort_by(|a, b| b.1.point.total_cmp(&a.1.point));
    known
        .into_iter()
        .map(|(arm, overhead, call)| {
            let share = overhead.point / call * 100.0;
            format!(
                "{arm} adds {} to each call, {share:.0} % of the call",
                with_interval(&overhead)
            )
        })
        .collect()
}

fn is_decided(even: &BreakEven) -> bool {
    match even.pays {
        Pays::FromTheFirstCall | Pays::Later | Pays::AtFirst | Pays::Never => true,
        Pays::Undecided | Pays::TooFewRounds => false,
    }
}

fn is_conclusive(comparison: &Comparison) -> bool {
    match comparison.verdict {
        Verdict::Faster | Verdict::Slower | Verdict::Equivalent => true,
        Verdict::Inconclusive | Verdict::TooFew | Verdict::NotConfirmed | Verdict::Invalid => false,
    }
}

/// `fastest from a cold start: numpy up to 369 calls (95 % CI 270–535), then jax`.
fn fastest_arms(stretches: &[Stretch]) -> Option<String> {
    let (last, before) = stretches.split_last()?;
    if before.is_empty() {
        return Some(format!("{} is the fastest for any number of calls", last.arm));
    }
    let parts: Vec<String> = before
        .iter()
        .zip(&stretches[1..])
        .map(|(stretch, next)| {
            let to = calls(next.from - 1.0);
            match next.change {
                Some((Some(low), Some(high))) => {
                    format!("{} up to {to} (95 % CI {low:.0}–{high:.0})", stretch.arm)
                }
                _ => format!("{} up to {to}", stretch.arm),
            }
        })
        .collect();
    Some(format!("fastest from a cold start: {}, then {}", parts.join(", "), last.arm))
}

/// The arm first: `numpy reaches its first result 8.0× faster than jax (6.6–9.6×)`.
fn compared(comparison: &Comparison) -> String {
    let said = verdict::verdict(comparison);
    match comparison.regime {
        Regime::Warm => format!("each call: {said}"),
        Regime::ColdClean => format!("first result: {said}"),
        Regime::ColdPrimed => format!("first result, caches primed: {said}"),
        Regime::Fresh => said,
    }
}

/// The times of a single arm, regime by regime.
fn alone(arm: &ArmResult) -> Vec<String> {
    let sentence = |regime: Regime, estimate: &Estimate, marked: bool| {
        let time = with_interval(estimate);
        match regime {
            Regime::Warm => format!("each call of {} takes {time}", arm.name),
            Regime::ColdPrimed if marked => {
                format!("{} reaches its first result after {time} with primed caches", arm.name)
            }
            Regime::ColdPrimed => format!("{} takes {time} with primed caches", arm.name),
            Regime::ColdClean if marked => {
                format!("{} reaches its first result after {time}", arm.name)
            }
            Regime::ColdClean | Regime::Fresh => {
                format!("{} takes {time}", arm.name)
            }
        }
    };
    let regimes = arm.regimes.iter().filter_map(|regime| Some((regime, headline(regime)?)));
    regimes
        .map(|(regime, estimate)| {
            let marked = regime.summary.as_ref().is_some_and(|known| known.first_result.is_some());
            sentence(regime.regime, &estimate, marked)
        })
        .collect()
}

/// `1.03 s (95 % CI 966 ms–1.17 s)`, `2.50 ms (95 % CI 2.41–2.62 ms)`.
pub(crate) fn with_interval(estimate: &Estimate) -> String {
    let point = duration(estimate.point);
    if let Some(ends) = estimate.interval {
        return format!("{point} (95 % CI {})", interval(ends.low, ends.high));
    }
    let processes = if estimate.n == 1 { "process" } else { "processes" };
    format!("{point} ({} {processes}, too few for an interval)", estimate.n)
}

/// The reason why there is no answer.
fn nothing(case: &CaseResult) -> String {
    match case.comparisons.first() {
        Some(first) if first.verdict == Verdict::Invalid => verdict::verdict(first),
        Some(first) => format!("no difference was shown; {}", verdict::verdict(first)),
        None => "no valid sample was measured".to_owned(),
    }
}
