//! The table of raw readings: a row for each timed call of a warm process, and one for each fresh process.
//! CSV and Parquet are two formats of it.

use firstlight_schema::finding::Reason;
use firstlight_schema::message::{Iterations, Message, Part};
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult, RunDocument};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Regime;

/// One reading. Times are in nanoseconds; absent values are unknown or were never reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row<'a> {
    pub(super) case: &'a str,
    pub(super) arm: &'a str,
    pub(super) regime: Regime,
    /// Whether this is the reference arm's second measurement.
    pub(super) control: bool,
    pub(super) round: Option<u32>,
    pub(super) process: u32,
    pub(super) part: RowPart,
    /// The index in its part, from 0.
    pub(super) call: Option<u64>,
    /// The number of calls in the duration.
    pub(super) calls: Option<u64>,
    /// On the machine's monotonic clock.
    pub(super) begin_ns: Option<u64>,
    pub(super) duration_ns: Option<u64>,
    pub(super) steady: Option<bool>,
    pub(super) valid: bool,
    pub(super) reasons: String,
}

/// The kind of a row's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowPart {
    FirstResult,
    Process,
    WarmUp,
    Window,
}

impl RowPart {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::FirstResult => "first-result",
            Self::Process => "process",
            Self::WarmUp => "warm-up",
            Self::Window => "window",
        }
    }
}

pub(super) const COLUMNS: [&str; 14] = [
    "case",
    "arm",
    "regime",
    "control",
    "round",
    "process",
    "part",
    "call",
    "calls",
    "begin_ns",
    "duration_ns",
    "steady",
    "valid",
    "reasons",
];

/// All rows, in the order of the document.
pub(super) fn rows(document: &RunDocument) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let known = document.imported.is_none();
    for case in &document.cases {
        let arms = case.arms.iter().map(|arm| (arm, false));
        for (arm, control) in arms.chain(case.again.iter().map(|arm| (arm, true))) {
            for result in &arm.regimes {
                for sample in &result.samples {
                    let row = begun(case, arm, result, control, sample);
                    match result.regime {
                        Regime::Warm => calls(&row, sample, known, &mut rows),
                        Regime::ColdClean | Regime::ColdPrimed | Regime::Fresh => {
                            rows.push(process(row, sample, known));
                        }
                    }
                }
            }
        }
    }
    rows
}

fn begun<'a>(
    case: &'a CaseResult,
    arm: &'a ArmResult,
    regime_result: &RegimeResult,
    control: bool,
    sample: &Sample,
) -> Row<'a> {
    let reasons: Vec<&str> = sample.reasons.iter().map(|reason| reason.finding.name()).collect();
    Row {
        case: &case.name,
        arm: &arm.name,
        regime: regime_result.regime,
        control,
        round: sample.round,
        process: sample.number,
        part: RowPart::Window,
        call: None,
        calls: None,
        begin_ns: None,
        duration_ns: None,
        steady: None,
        valid: sample.valid,
        reasons: reasons.join(" "),
    }
}

/// A fresh process. A failed process has no duration.
fn process<'a>(row: Row<'a>, sample: &Sample, known: bool) -> Row<'a> {
    let (part, time) = match row.regime {
        Regime::Fresh => (RowPart::Process, Some(sample.wall_ns)),
        Regime::ColdClean | Regime::ColdPrimed | Regime::Warm => {
            (RowPart::FirstResult, sample.first_result.as_ref().map(|first| first.ns))
        }
    };
    let failed = sample.reasons.iter().any(|reason: &Reason| reason.finding.is_failure());
    Row {
        part,
        begin_ns: known.then_some(sample.raw.spawn.0),
        duration_ns: time.filter(|_| !failed).map(|time| time.0),
        ..row
    }
}

/// The calls of a warm process; a single empty row if it made none.
fn calls<'a>(row: &Row<'a>, sample: &Sample, known: bool, rows: &mut Vec<Row<'a>>) {
    let before = rows.len();
    let (mut warm_ups, mut measured) = (0, 0);
    let steady_from = sample.window.as_ref().and_then(|window| window.steady_from);
    for message in &sample.raw.messages {
        let Message::Iterations(block) = message else { continue };
        let (part, next) = match block.part {
            Part::First | Part::Baseline => continue,
            Part::WarmUp => (RowPart::WarmUp, &mut warm_ups),
            Part::Window => (RowPart::Window, &mut measured),
        };
        for row in spans(row, block, part, next, known) {
            let steady = part == RowPart::Window
                && steady_from.is_some_and(|from| row.call >= Some(u64::from(from)));
            rows.push(Row { steady: Some(steady), ..row });
        }
    }
    if rows.len() == before {
        rows.push(row.clone());
    }
}

fn spans<'a>(
    row: &Row<'a>,
    block: &Iterations,
    part: RowPart,
    next: &mut u64,
    known: bool,
) -> Vec<Row<'a>> {
    let first = *next;
    *next += u64::try_from(block.spans.len()).unwrap_or(u64::MAX);
    let places = (first..).zip(&block.spans);
    places
        .map(|(call, (begin, end))| Row {
            part,
            call: Some(call),
            calls: Some(block.calls_per_span.get()),
            begin_ns: known.then_some(begin.0),
            duration_ns: Some(end.since(*begin).0),
            ..row.clone()
        })
        .collect()
}
