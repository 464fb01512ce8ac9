//! A gate in words, the same in the terminal, in a comment and in an annotation.

use firstlight_schema::comparison::{Comparison, Verdict};
use firstlight_schema::estimate::Interval;
use firstlight_schema::gate::{
    BisectDocument, BisectStep, Change, Decision, Found, GateDocument, GateRow, Results, Revision,
};

use crate::words::format::{count, percent};
use crate::words::machine::hardware;

/// The answer in one sentence.
pub(crate) fn headline(document: &GateDocument) -> String {
    let rows = &document.rows;
    let all = rows.len();
    let with = |decision: Decision| rows.iter().filter(move |row| row.decision == decision);
    let part = |decision: Decision| format!("{} of {}", with(decision).count(), comparisons(all));
    match document.decision {
        Decision::Failed => {
            let different = with(Decision::Failed).any(|row| row.results == Results::Different);
            let slower = with(Decision::Failed).any(|row| row.results != Results::Different);
            let what = match (slower, different) {
                (_, false) => "is slower than base",
                (false, true) => "gives other results than base",
                (true, true) => "is slower than base or gives other results",
            };
            format!("head {what} in {}", part(Decision::Failed))
        }
        Decision::NotRun => format!("no verdict: a process failed in {}", part(Decision::NotRun)),
        Decision::Inconclusive if all == 0 => "no verdict: nothing was compared".to_owned(),
        Decision::Inconclusive => format!(
            "could not tell whether head is slower than base in {}",
            part(Decision::Inconclusive)
        ),
        Decision::Passed => {
            let faster = rows.iter().filter(|row| is_faster(row)).count();
            let better =
                if faster == 0 { String::new() } else { format!(", and faster in {faster}") };
            format!("head is not slower than base in {}{better}", comparisons(all))
        }
    }
}

fn comparisons(n: usize) -> String {
    count(n as u64, "comparison")
}

pub(crate) fn is_faster(row: &GateRow) -> bool {
    row.comparison.as_ref().is_some_and(|one| one.verdict == Verdict::Faster)
}

/// Whether a reader must see the row: it changed, or nobody knows.
pub(crate) fn is_relevant(row: &GateRow) -> bool {
    row.decision != Decision::Passed || is_faster(row)
}

/// `mlp, jax, cold-clean`; a command has no case and arm worth naming.
pub(crate) fn place(row: &GateRow) -> String {
    let GateRow { case, arm, regime, .. } = row;
    if arm.is_empty() { format!("{case}, {regime}") } else { format!("{case}, {arm}, {regime}") }
}

/// `+12.3 % (+11.0 to +13.5 %)`.
pub(crate) fn change(row: &GateRow) -> String {
    let Some(ratio) = row.comparison.as_ref().and_then(|one| one.ratio) else {
        return "unknown".to_owned();
    };
    let point = signed(ratio.point);
    match ratio.interval {
        Some(Interval { low, high, .. }) => {
            let low = signed(low);
            format!("{point} ({} to {})", low.trim_end_matches(" %"), signed(high))
        }
        None => point,
    }
}

/// A ratio as a change with its sign.
fn signed(ratio: f64) -> String {
    let change = (ratio - 1.0) * 100.0;
    let digits = usize::from(change.abs() < 99.95);
    let text = format!("{:.digits$}", change.abs());
    let sign = match change {
        _ if text.trim_matches(['0', '.']).is_empty() => "",
        _ if change < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{text} %")
}

/// The verdict in a word or two.
pub(crate) fn verdict(row: &GateRow) -> &'static str {
    match (row.decision, row.results) {
        (Decision::Failed, Results::Different) => "other results",
        (Decision::Failed, Results::Same | Results::NotCompared) => "slower",
        (Decision::NotRun, _) => "failed to run",
        (Decision::Inconclusive, _) => row.comparison.as_ref().map_or("inconclusive", word),
        (Decision::Passed, _) if is_faster(row) => "faster",
        (Decision::Passed, _) => match row.comparison.as_ref().map(|one| one.verdict) {
            Some(Verdict::Equivalent) => "equivalent",
            _ => "not slower",
        },
    }
}

fn word(comparison: &Comparison) -> &'static str {
    match comparison.verdict {
        Verdict::TooFew => "too few processes",
        Verdict::NotConfirmed => "not confirmed",
        Verdict::Faster
        | Verdict::Slower
        | Verdict::Equivalent
        | Verdict::Inconclusive
        | Verdict::Invalid => "inconclusive",
    }
}

/// Why a row has its verdict, and what would settle it.
pub(crate) fn reason(row: &GateRow) -> Option<String> {
    let needed = row.comparison.as_ref().and_then(|one| one.needed);
    let open = row.decision == Decision::Inconclusive;
    let needed = needed.filter(|_| open).map(|n| format!("about {n} processes would settle it"));
    let parts: Vec<String> = row.why.clone().into_iter().chain(needed).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The margins of the comparisons: `5 %`, or `2 % to 5 %`.
pub(crate) fn margins(document: &GateDocument) -> String {
    let margins = document.rows.iter().filter_map(|row| Some(row.comparison.as_ref()?.margin));
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for margin in margins {
        (low, high) = (low.min(margin), high.max(margin));
    }
    match low <= high {
        false => "unknown".to_owned(),
        true if low >= high => percent(low),
        true => format!("{} to {}", percent(low), percent(high)),
    }
}

/// The machine, how much was measured, and whether the control passed.
pub(crate) fn conditions(document: &GateDocument) -> String {
    let machine = hardware(&document.machine, document.gpus.clone());
    let control = match document.control {
        Some(true) => "A/A control passed",
        Some(false) => "A/A control failed",
        None => "A/A control inconclusive",
    };
    format!(
        "{machine}; base and head took turns; {control}; seed {}; firstlight {}",
        document.seed, document.firstlight.version
    )
}

/// `main, 1a2b3c4d5e`: what it was called, and its id if that is another word.
pub(crate) fn revision(of: &Revision) -> String {
    let changes = if of.uncommitted { " with uncommitted changes" } else { "" };
    if of.commit.starts_with(&of.name) {
        return format!("{}{changes}", of.short());
    }
    format!("{} {}{changes}", of.name, of.short())
}

/// The conclusion of a search, in one sentence.
pub(crate) fn conclusion(document: &BisectDocument) -> String {
    let BisectDocument { good, bad, suspects, .. } = document;
    let Some(change) = document.change else {
        return format!(
            "no change to look for: {} has no verdict that differs from {}",
            revision(bad),
            revision(good)
        );
    };
    let what = match change {
        Change::Slower => "became slower",
        Change::DifferentResults => "began to give other results",
        Change::Faster => "became faster",
    };
    match suspects.as_slice() {
        [] => format!("the search for the commit that {what} was interrupted"),
        [one] => {
            format!("{} is the first commit that {what}: {}", one.commit, one.subject)
        }
        [first, .., last] => format!(
            "one of {} commits {what}, from {} to {}: the others could not be measured",
            suspects.len(),
            first.short(),
            last.short()
        ),
    }
}

/// Every comparison of a gate in one line.
pub fn rows(document: &GateDocument) -> String {
    let rows = document.rows.iter();
    rows.map(|row| format!("{}: {} {}", place(row), verdict(row), change(row)))
        .collect::<Vec<_>>()
        .join("; ")
}

/// A step of a search in one line.
pub fn step(of: &BisectStep) -> String {
    let found = match of.found {
        Found::Before => "good",
        Found::After => "bad",
        Found::Inconclusive => "skipped, inconclusive",
        Found::NotRun => "skipped, failed to run",
    };
    let id = of.commit.get(..10).unwrap_or(&of.commit);
    format!("{id} {}: {found}; {}", of.subject, of.verdict)
}

#[cfg(test)]
mod tests {
    use super::signed;

    #[test]
    fn a_ratio_is_a_signed_change() {
        for (ratio, text) in [
            (1.123, "+12.3 %"),
            (0.9, "−10.0 %"),
            (1.0002, "0.0 %"),
            (0.9998, "0.0 %"),
            (3.5, "+250 %"),
        ] {
            assert_eq!(signed(ratio), text);
        }
    }
}
