//! Verdicts and break-evens as text, the same everywhere.

use firstlight_schema::comparison::{BreakEven, Comparison, Crossing, NodeVariance, Pays, Verdict};
use firstlight_schema::estimate::{Estimate, Interval, Method};

use crate::words::format::{calls, count, percent, share};

/// A verdict as a sentence.
pub(crate) fn verdict(comparison: &Comparison) -> String {
    let Comparison { arm, against, why, needed, .. } = comparison;
    let ratio = comparison.ratio.as_ref();
    let margin = percent(comparison.margin);
    let said = match comparison.verdict {
        Verdict::Faster => speed(comparison, "faster"),
        Verdict::Slower => speed(comparison, "slower"),
        Verdict::Equivalent => {
            let taken = taken(ratio, against);
            format!("equivalent at a {margin} margin: {arm} {taken}")
        }
        Verdict::Inconclusive => {
            format!("inconclusive at a {margin} margin: {arm} {}", taken(ratio, against))
        }
        Verdict::TooFew => {
            let n = ratio.map_or(0, |ratio| ratio.n);
            let unpaired = ratio.is_some_and(|ratio| ratio.method == Method::UnpairedLogRatio);
            let (found, each) = if unpaired {
                (format!("{n} processes of both"), " of each")
            } else {
                (format!("{} of processes", count(u64::from(n), "pair")), "")
            };
            let needed =
                needed.map_or_else(String::new, |needed| format!(", {needed}{each} are needed"));
            format!("too few: {found}{needed}; {arm} {}", taken(ratio, against))
        }
        Verdict::NotConfirmed => {
            format!("not confirmed: {arm} {}", taken(ratio, against))
        }
        Verdict::Invalid => format!("no verdict on {arm} and {against}"),
    };
    let proposed = needed.filter(|_| comparison.verdict == Verdict::Inconclusive);
    let proposed = proposed.map(|needed| format!("about {needed} processes would settle it"));
    let nodes = comparison.nodes.as_ref().map(of_nodes);
    [Some(said), why.clone(), proposed, nodes].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// `the ratio varies by 1.2 % between 8 nodes and by 0.8 % within a node`.
fn of_nodes(variance: &NodeVariance) -> String {
    format!(
        "the ratio varies by {} between {} nodes and by {} within a node",
        share(variance.between),
        variance.nodes,
        share(variance.within),
    )
}

/// Effects that the intervals of some comparisons may miss; `None` if there are no intervals.
pub(crate) fn coverage(comparisons: &[Comparison]) -> Option<String> {
    let with_interval =
        comparisons.iter().filter(|one| one.ratio.is_some_and(|r| r.interval.is_some()));
    let rarest = with_interval
        .filter_map(|one| one.rarity)
        .fold(None, |most: Option<f64>, one| Some(most.map_or(one, |most| most.max(one))))?;
    Some(format!(
        "the intervals allow for deviations in at least 1 of {:.0} processes; rarer ones may be missing",
        (1.0 / rarest).floor()
    ))
}

/// `numpy is 8.0× faster than jax (6.6–9.6×)`.
fn speed(comparison: &Comparison, how: &str) -> String {
    let Comparison { arm, against, ratio, .. } = comparison;
    let Some(ratio) = ratio else { return format!("{arm} is {how} than {against}") };
    let invert = |value: f64| if how == "faster" { 1.0 / value } else { value };
    let point = format!("{arm} is {}× {how} than {against}", times(invert(ratio.point)));
    match ratio.interval.map(|Interval { low, high, .. }| (invert(low), invert(high))) {
        Some((a, b)) => format!("{point} ({})", range(a.min(b), a.max(b))),
        None => point,
    }
}

/// `takes 1.01× the time of jax (0.97–1.05×)`.
fn taken(ratio: Option<&Estimate>, against: &str) -> String {
    let Some(ratio) = ratio else { return format!("was not measured beside {against}") };
    let point = format!("takes {}× the time of {against}", times(ratio.point));
    match ratio.interval {
        Some(interval) => format!("{point} ({})", range(interval.low, interval.high)),
        None => point,
    }
}

/// `6.6–9.6×`.
pub(crate) fn range(low: f64, high: f64) -> String {
    // Numbers that are close have the same number of decimals.
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, digits)| digits.len());
    let (from, to) = (times(low), times(high));
    if decimals(&from) > decimals(&to) && high < 2.0 * low {
        return format!("{from}–{high:.digits$}×", digits = decimals(&from));
    }
    format!("{from}–{to}×")
}

/// A ratio with as many digits as distinguish it from similar ones.
pub(crate) fn times(value: f64) -> String {
    match value {
        v if v >= 99.5 => format!("{v:.0}"),
        v if v >= 1.995 => format!("{v:.1}"),
        v if v >= 1.095 => format!("{v:.2}"),
        v if v >= 0.0995 => format!("{v:.3}"),
        v if v >= 0.000_995 => format!("{v:.5}"),
        v => format!("{v:.1e}"),
    }
}

/// The break-even as a sentence.
pub(crate) fn answer(even: &BreakEven) -> String {
    let (arm, against) = (&even.arm, &even.against);
    let after = |later: &str, first: &str| match &even.calls {
        Some(crossing) => format!("{later} pays off against {first} {}", interval(crossing)),
        None => format!("{later} pays off against {first} in the end"),
    };
    match even.pays {
        Pays::FromTheFirstCall => format!("{arm} is faster than {against} for any number of calls"),
        Pays::Never => format!("{against} is faster than {arm} for any number of calls"),
        Pays::Later => after(arm, against),
        Pays::AtFirst => after(against, arm),
        Pays::Undecided => {
            let known = even.calls.as_ref().and_then(|calls| calls.low);
            let known = known.map_or_else(String::new, |low| {
                format!("; up to {} their difference is known", calls(low))
            });
            format!("undecided: {arm} and {against} take about the same time per call{known}")
        }
        Pays::TooFewRounds => {
            let pairs = even.calls.as_ref().map_or(0, |calls| calls.pairs);
            let rounds = count(u64::from(pairs), "round");
            format!("too few: {rounds} of {arm} and {against}, 6 are needed")
        }
    }
}

/// `after 370 calls (95 % CI 270–535)`.
fn interval(crossing: &Crossing) -> String {
    let after = if crossing.point <= 1.0 {
        "from the first call".to_owned()
    } else {
        format!("after {}", calls(crossing.point - 1.0))
    };
    match (crossing.low, crossing.high) {
        (Some(low), Some(high)) if low + 2.0 >= high => after,
        (Some(low), Some(high)) => format!("{after} (95 % CI {low:.0}–{high:.0})"),
        (None, Some(high)) if high > crossing.point => {
            format!("{after} (95 % CI up to {})", calls(high))
        }
        (Some(low), None) => format!("{after} (95 % CI from {})", calls(low)),
        (None, _) => after,
    }
}

#[cfg(test)]
mod tests {
    use firstlight_schema::comparison::{Comparison, NodeVariance};
    use serde_json::json;

    use super::{range, verdict};

    fn comparison(word: &str, ratio: (f64, f64, f64)) -> Comparison {
        serde_json::from_value(json!({
            "case": "mlp", "regime": "cold-clean", "arm": "numpy", "against": "jax",
            "verdict": word, "margin": 0.02, "robust": null, "p": null, "adjusted-p": null,
            "why": null, "needed": 5,
            "ratio": {"point": ratio.0, "n": 14, "method": "paired-log-ratio",
                "interval": {"low": ratio.1, "high": ratio.2, "confidence": 0.95}},
        }))
        .unwrap()
    }

    #[test]
    fn each_outcome_reads_as_a_person_would_say_it() {
        let said = |word, ratio| verdict(&comparison(word, ratio));
        assert_eq!(
            said("faster", (0.125, 0.104, 0.151)),
            "numpy is 8.0× faster than jax (6.6–9.6×)"
        );
        assert_eq!(
            said("slower", (1.05, 1.03, 1.07)),
            "numpy is 1.050× slower than jax (1.030–1.070×)"
        );
        assert_eq!(range(1.8, 2.0), "1.80–2.00×");
        assert_eq!(
            said("too-few", (24.8, 23.1, 26.7)),
            "too few: 14 pairs of processes, 5 are needed; numpy takes 24.8× the time of jax \
             (23.1–26.7×)"
        );
        let mut merged = comparison("slower", (1.05, 1.03, 1.07));
        merged.nodes = Some(NodeVariance { nodes: 8, between: 0.012, within: 0.008 });
        assert_eq!(
            verdict(&merged),
            "numpy is 1.050× slower than jax (1.030–1.070×); the ratio varies by 1.2 % between 8 \
             nodes and by 0.8 % within a node"
        );
    }
}
