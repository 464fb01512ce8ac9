//! Verdicts and break-evens in words, the same wherever they are shown.

use firstlight_schema::comparison::{BreakEven, Comparison, Crossing, Pays, Verdict};
use firstlight_schema::estimate::Estimate;

use crate::format::{calls, percent};

/// A verdict as a sentence.
pub(crate) fn verdict(of: &Comparison) -> String {
    let ratio = of.ratio.as_ref().map_or_else(|| "no ratio".to_owned(), ratio);
    let margin = format!("a margin of {}", percent(of.margin));
    let (arm, against) = (&of.arm, &of.against);
    let said = match of.verdict {
        Verdict::Faster => format!("{arm} is faster than {against}: {ratio}"),
        Verdict::Slower => format!("{arm} is slower than {against}: {ratio}"),
        Verdict::Equivalent => {
            format!("{arm} and {against} are equivalent within {margin}: {ratio}")
        }
        Verdict::Inconclusive => {
            format!("{arm} cannot be told from {against} against {margin}: {ratio}")
        }
        Verdict::Invalid => format!("no verdict on {arm} and {against}"),
    };
    match &of.why {
        Some(why) => format!("{said}; {why}"),
        None => said,
    }
}

fn ratio(of: &Estimate) -> String {
    match of.interval {
        Some(interval) => format!(
            "{} times as long ({} to {})",
            times(of.point),
            times(interval.low),
            times(interval.high)
        ),
        None => format!("{} times as long", times(of.point)),
    }
}

/// A ratio, with as many digits as tell it from its neighbours.
pub(crate) fn times(value: f64) -> String {
    match value {
        v if v >= 9.995 => format!("{v:.1}"),
        v if v >= 0.0995 => format!("{v:.3}"),
        v if v >= 0.000_995 => format!("{v:.5}"),
        v => format!("{v:.1e}"),
    }
}

/// From how many calls on an arm pays, as a sentence.
pub(crate) fn answer(of: &BreakEven) -> String {
    let (arm, against) = (&of.arm, &of.against);
    let at = |first: &str, later: &str| match &of.calls {
        Some(crossing) if crossing.low.is_some() => {
            format!("{first} is cheaper at first, {later} {}", interval(crossing))
        }
        Some(crossing) => format!("{later} is cheaper {}", interval(crossing)),
        None => format!("{later} is cheaper in the end"),
    };
    match of.pays {
        Pays::FromTheFirstCall => format!("{arm} is cheaper than {against} from the first call on"),
        Pays::Never => format!("{against} is cheaper than {arm} from the first call on"),
        Pays::Later => at(against, arm),
        Pays::AtFirst => at(arm, against),
        Pays::Undecided => {
            let sure =
                of.calls.as_ref().and_then(|calls| calls.low).map_or_else(String::new, |low| {
                    format!("; up to {} they are told apart", calls(low))
                });
            format!("{arm} and {against} cannot be told apart in the long run{sure}")
        }
        Pays::TooFewRounds => {
            let pairs = of.calls.as_ref().map_or(0, |calls| calls.pairs);
            let rounds = if pairs == 1 { "round" } else { "rounds" };
            let are = if pairs == 1 { "is" } else { "are" };
            format!("{pairs} {rounds} of {arm} and {against} {are} too few, six are needed")
        }
    }
}

fn interval(of: &Crossing) -> String {
    let from = format!("from {} on", calls(of.point));
    match (of.low, of.high) {
        (Some(low), Some(high)) if low + 2.0 >= high => from,
        (Some(low), Some(high)) => format!("{from} ({low:.0} to {})", calls(high)),
        (None, Some(high)) if high > of.point => format!("{from}, or from {} at most", calls(high)),
        (_, None) | (None, Some(_)) => from,
    }
}
