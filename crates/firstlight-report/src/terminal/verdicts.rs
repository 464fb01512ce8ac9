//! Verdicts in words, and from how many calls on an arm pays.

use firstlight_schema::comparison::{AgainResult, BreakEven, Comparison, Crossing, Pays, Verdict};
use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::CaseResult;
use firstlight_schema::suite::Regime;

use super::page::{BOLD, Page};
use crate::format::calls;
use crate::plot::{Draw, Series, plot};

const WIDEST_PLOT: usize = 76;

pub(super) fn verdicts(page: &mut Page, comparisons: &[Comparison]) {
    if !comparisons.is_empty() {
        page.gap();
    }
    for comparison in comparisons {
        page.sentence(&format!("{BOLD}{}{BOLD:#}: {}", comparison.regime, verdict(comparison)));
    }
}

/// A verdict as a sentence.
pub(crate) fn verdict(of: &Comparison) -> String {
    let ratio = of.ratio.as_ref().map_or_else(|| "no ratio".to_owned(), ratio);
    let margin = format!("a margin of {} %", of.margin * 100.0);
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
    let times = |value: f64| match value {
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.3}"),
    };
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

/// The control in a sentence.
pub(super) fn control(page: &mut Page, control: &AgainResult) {
    page.gap();
    let ratios: Vec<String> = control
        .comparisons
        .iter()
        .filter_map(|one| Some(format!("{} {:.3}", one.regime, one.ratio?.point)))
        .collect();
    let passed = if control.passed { "is not told from itself" } else { "DIFFERS from itself" };
    page.sentence(&format!(
        "{BOLD}control{BOLD:#}: {} in {} {passed} ({})",
        control.arm,
        control.case,
        ratios.join(", "),
    ));
}

/// Break-evens in words, and the first crossing as a picture.
pub(super) fn break_evens(page: &mut Page, case: &CaseResult) {
    if case.break_evens.is_empty() {
        return;
    }
    page.gap();
    for of in &case.break_evens {
        page.sentence(&format!("{BOLD}break-even{BOLD:#}, {}: {}", of.cold, answer(of)));
    }
    if let Some(of) = case.break_evens.iter().find(|of| of.calls.is_some()) {
        picture(page, of);
    }
}

fn answer(of: &BreakEven) -> String {
    let (arm, against) = (&of.arm, &of.against);
    let at = |first: &str, later: &str| {
        let calls = of.calls.as_ref().map_or_else(String::new, interval);
        format!("{first} is cheaper at first, {later} {calls}")
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
    }
}

fn interval(of: &Crossing) -> String {
    let from = format!("from {} on", calls(of.point));
    match (of.low, of.high) {
        (Some(low), Some(high)) if low + 2.0 >= high => from,
        (Some(low), Some(high)) => format!("{from} ({low:.0} to {})", calls(high)),
        (None, Some(high)) => format!("{from} (at most {})", calls(high)),
        (Some(low), None) => format!("{from} (at least {})", calls(low)),
        (None, None) => format!("{from} ({} rounds are too few for an interval)", of.pairs),
    }
}

/// Total time against calls, for one pair of arms.
fn picture(page: &mut Page, of: &BreakEven) {
    let (a, b) = letters(&of.against, &of.arm);
    let series = [
        Series {
            letter: a,
            points: of.curve.iter().map(|total| (total.calls, total.against_ns)).collect(),
            name: &of.against,
        },
        Series {
            letter: b,
            points: of.curve.iter().map(|total| (total.calls, total.arm_ns)).collect(),
            name: &of.arm,
        },
    ];
    let width = page.width().saturating_sub(10).min(WIDEST_PLOT);
    let Some(lines) = plot(&series, Draw::Lines, width) else { return };
    page.gap();
    let names: Vec<String> =
        series.iter().map(|one| format!("{} {}", one.letter, one.name)).collect();
    page.sentence(&format!("  total time against calls, {}: {}", of.cold, names.join(", ")));
    for line in lines {
        page.line(&format!("  {line}"));
    }
}

/// A letter for each of two names, their first ones where these differ.
pub(super) fn letters(first: &str, second: &str) -> (char, char) {
    let initial = |name: &str| name.chars().find(char::is_ascii_alphanumeric);
    match (initial(first), initial(second)) {
        (Some(a), Some(b)) if a != b => (a, b),
        _ => ('a', 'b'),
    }
}

/// The regime in words, for a table.
pub(super) fn regime_order(regime: Regime) -> u8 {
    match regime {
        Regime::ColdClean => 0,
        Regime::ColdPrimed => 1,
        Regime::Warm => 2,
        Regime::Fresh => 3,
    }
}
