//! The document `comparison` as text.

use firstlight_schema::comparison::{
    Comparison, ComparisonDocument, Gate, Replication, Side, Verdict,
};

use super::page::{BOLD, Page};
use crate::words::verdict::verdict;

const SHOWN_LINES: usize = 12;

pub(super) fn comparison(page: &mut Page, document: &ComparisonDocument) {
    let paired = if document.replication.is_some() {
        "each arm's ratio to the reference, over the same ratio in the first run"
    } else if document.paired {
        "interleaved, compared pair by pair"
    } else {
        "not interleaved: the difference includes whatever changed between the two runs"
    };
    if document.first == document.second {
        page.sentence(&format!("{}, {paired}", side(&document.first)));
    } else {
        page.sentence(&format!(
            "{} against {}, {paired}",
            side(&document.second),
            side(&document.first)
        ));
    }
    let mut case = "";
    for one in &document.comparisons {
        if one.case != case {
            page.gap();
            page.line(&format!("{BOLD}{}{BOLD:#}", one.case));
            case = &one.case;
        }
        if document.replication.is_some() {
            page.sentence(&format!("  {}: {}", one.regime, rerun(one)));
            continue;
        }
        let mut one = one.clone();
        if one.arm == one.against {
            "before".clone_into(&mut one.against);
        }
        page.sentence(&format!("  {}: {}", one.regime, verdict(&one)));
    }
    list(page, "differs between the two sides:", &document.differences);
    list(page, "reasons to doubt the comparison:", &document.doubts);
    if let Some(replication) = document.replication {
        page.gap();
        page.sentence(&format!("{BOLD}replication{BOLD:#}: {}", judged(replication)));
    }
    if let Some(gate) = document.gate {
        page.gap();
        let doubtful = !document.doubts.is_empty();
        page.sentence(&format!("{BOLD}gate{BOLD:#}: {}", outcome(gate, doubtful)));
    }
}

fn side(value: &Side) -> String {
    let arm = value.arm.as_ref().map_or_else(String::new, |arm| format!(", {arm}"));
    format!("{} of {}{arm}", value.suite, value.created)
}

fn list(page: &mut Page, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    page.gap();
    page.line(title);
    for line in lines.iter().take(SHOWN_LINES) {
        page.sentence(&format!("  {line}"));
    }
    if lines.len() > SHOWN_LINES {
        page.line(&format!("  and {} more", lines.len() - SHOWN_LINES));
    }
}

/// The ratio of the second run compared with the first run's.
fn rerun(comparison: &Comparison) -> String {
    let change = comparison.ratio.map_or_else(String::new, |ratio| {
        let interval = ratio.interval.map_or_else(String::new, |interval| {
            format!(" ({:.3} to {:.3})", interval.low, interval.high)
        });
        format!("{:.3} times what it was{interval}", ratio.point)
    });
    let said = match comparison.verdict {
        Verdict::Equivalent => "the same within the margin of",
        Verdict::Faster | Verdict::Slower => "not the same within the margin of",
        Verdict::Inconclusive | Verdict::TooFew | Verdict::NotConfirmed | Verdict::Invalid => {
            "no verdict against the margin of"
        }
    };
    let why = comparison.why.as_ref().map_or_else(String::new, |why| format!("; {why}"));
    let margin = comparison.margin * 100.0;
    format!("{} over {}: {change}, {said} {margin} %{why}", comparison.arm, comparison.against)
}

fn judged(replication: Replication) -> &'static str {
    match replication {
        Replication::Replicated => {
            "replicated, every ratio between arms lies within its margin and the results agree"
        }
        Replication::NotReplicated => "not replicated, a ratio lies elsewhere or a result differs",
        Replication::Inconclusive => "inconclusive, the intervals are too wide for the margin",
    }
}

fn outcome(gate: Gate, doubtful: bool) -> &'static str {
    match gate {
        Gate::Passed => "passed: nothing is slower",
        Gate::Failed => "failed: something is slower than its margin allows",
        Gate::Inconclusive if doubtful => {
            "inconclusive: the measurement is doubtful, see above; measure again on a quiet machine"
        }
        Gate::Inconclusive => "inconclusive: some comparison has no verdict",
    }
}
