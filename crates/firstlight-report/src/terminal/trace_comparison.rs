//! The document `trace-comparison` as text: rows by bucket, and a waterfall from one wall time to the
//! other.

use firstlight_schema::trace::Bucket;
use firstlight_schema::trace_comparison::{Fall, Row, TraceComparisonDocument};

use super::page::{BOLD, Page};
use crate::words::format::{count, difference, duration, fit};
use crate::words::table::Align;
use crate::words::trace::sides;

const CELLS: usize = 40;
/// Longer names of files are truncated.
const LONGEST_NAME: usize = 18;

pub(super) fn trace_comparison(page: &mut Page, document: &TraceComparisonDocument, rows: usize) {
    let (first, second) = (&document.first, &document.second);
    page.line(&format!("{BOLD}{}{BOLD:#}", fit(&second.recording.file, page.width())));
    page.line(&fit(&format!("against {}", first.recording.file), page.width()));
    page.line(&format!(
        "{} against {} in which nothing was compiled",
        count(second.steady_steps.into(), "step"),
        first.steady_steps
    ));
    if let Some(aligned) = document.aligned_steps {
        let aligned = count(aligned.into(), "step");
        page.sentence(&format!("{aligned} of the same number on both sides, compared in pairs"));
    }
    for reason in &document.not_comparable {
        page.sentence(&format!("{BOLD}not comparable{BOLD:#}: {reason}"));
    }
    let Some(wall) = &document.wall else {
        page.gap();
        page.sentence("A side has no steady step, so there is nothing to compare.");
        return;
    };
    let (first, second) = sides(document);
    let names = [first, second].map(|name| fit(&name, LONGEST_NAME));
    table(page, wall, document, &names);
    waterfall(page, wall, &document.waterfall, &names);
    frames(page, document, rows, &names);
    for finding in &document.findings {
        page.gap();
        page.sentence(&format!("{BOLD}{}{BOLD:#}: {}", finding.finding, finding.text));
    }
}

fn table(page: &mut Page, wall: &Row, document: &TraceComparisonDocument, names: &[String; 2]) {
    page.gap();
    page.line(&format!("{BOLD}a steady step{BOLD:#}, medians"));
    let [first, second] = names.each_ref().map(String::as_str);
    let header = ["", first, second, "difference", "95 % interval"].map(str::to_owned).to_vec();
    let line = |name: String, row: &Row| {
        let interval = row.difference.interval.map_or_else(
            || "too few steps".to_owned(),
            |interval| format!("{} to {}", difference(interval.low), difference(interval.high)),
        );
        vec![
            name,
            duration(row.first_ns),
            duration(row.second_ns),
            difference(row.difference.point),
            interval,
        ]
    };
    let rows = std::iter::once(wall).chain(&document.buckets).map(|row| line(name(row), row));
    let outside =
        document.host_outside.iter().map(|row| line("host outside (w + h)".to_owned(), row));
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(rows).chain(outside).collect();
    let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
    page.columns(&align, &lines);
}

fn name(row: &Row) -> String {
    match (row.bucket, row.part) {
        (None, _) => "wall".to_owned(),
        (Some(bucket), None) => bucket.name().to_owned(),
        (Some(_), Some(part)) => format!("  {part}"),
    }
}

fn waterfall(page: &mut Page, wall: &Row, falls: &[Fall], [first, second]: &[String; 2]) {
    page.gap();
    page.line(&format!("{BOLD}from {first} to {second}{BOLD:#}"));
    let most = falls
        .iter()
        .flat_map(|fall| [fall.from_ns, fall.from_ns + fall.by_ns])
        .chain([wall.first_ns, wall.second_ns])
        .fold(1.0, f64::max);
    let mut lines =
        vec![vec![first.clone(), duration(wall.first_ns), filled(0.0, wall.first_ns, most, '█')]];
    for fall in falls {
        let (low, high) = match fall.by_ns {
            by if by < 0.0 => (fall.from_ns + by, fall.from_ns),
            by => (fall.from_ns, fall.from_ns + by),
        };
        let mark = if fall.by_ns < 0.0 { '◂' } else { '▸' };
        lines.push(vec![
            fall.bucket.map_or("rest: medians do not add up", Bucket::name).to_owned(),
            difference(fall.by_ns),
            filled(low, high, most, mark),
        ]);
    }
    lines.push(vec![
        second.clone(),
        duration(wall.second_ns),
        filled(0.0, wall.second_ns, most, '█'),
    ]);
    page.columns(&[Align::Left, Align::Right, Align::Left], &lines);
}

/// A bar between two times, of at least one cell if it is not zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a place among few cells"
)]
fn filled(low: f64, high: f64, most: f64, mark: char) -> String {
    let place = |ns: f64| (ns / most * CELLS as f64).round().clamp(0.0, CELLS as f64) as usize;
    let (from, to) = (place(low), place(high));
    let cells = (to - from).max(usize::from(high > low));
    format!("{}{}", " ".repeat(from.min(CELLS - 1)), mark.to_string().repeat(cells))
}

fn frames(page: &mut Page, document: &TraceComparisonDocument, rows: usize, names: &[String; 2]) {
    if document.frames.is_empty() || rows == 0 {
        return;
    }
    page.gap();
    page.line(&format!("{BOLD}host work{BOLD:#} outside of the compiled program, per steady step"));
    let [first, second] = names.each_ref().map(String::as_str);
    let header = [first, second, "difference", "event"].map(str::to_owned).to_vec();
    let lines = document.frames.iter().take(rows).map(|row| {
        vec![
            duration(row.first_ns),
            duration(row.second_ns),
            difference(row.second_ns - row.first_ns),
            row.name.clone(),
        ]
    });
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(lines).collect();
    page.columns(&[Align::Right, Align::Right, Align::Right, Align::Left], &lines);
}
