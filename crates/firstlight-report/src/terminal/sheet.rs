//! One set of samples: headline, bar, points, ledger, programs, evidence.

use firstlight_schema::message::FIRST_RESULT;
use firstlight_schema::sample::Sample;
use firstlight_schema::summary::{PhaseMean, Summary};

use super::evidence::evidence;
use super::ledger::{ledger, packages, programs};
use super::page::{DIM, Page};
use crate::terminal::bar::bar;
use crate::terminal::strip::strip;
use crate::words::format::{duration, estimate};

const WIDEST_STRIP: usize = 60;

/// The level of detail of one set of samples.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// The default if there are many sets.
    Usual,
    /// Also lists imports package by package.
    Imports,
}

/// Draws the whole sheet; a bar of the page's width stands for `longest` nanoseconds.
pub(super) fn sheet(
    page: &mut Page,
    summary: &Summary,
    samples: &[Sample],
    longest: f64,
    depth: Depth,
) {
    let first = summary.first_result.as_ref().map(|first| ("first result", estimate(first)));
    let wall = ("wall time", estimate(&summary.wall));
    let marks = summary.marks.iter().filter(|mark| mark.name != FIRST_RESULT);
    let marks = marks.map(|mark| (mark.name.as_str(), estimate(&mark.at)));
    page.facts(&first.into_iter().chain([wall]).chain(marks).collect::<Vec<_>>());
    page.gap();
    let (phases, point) = headline(summary);
    page.line(&format!("  {}", bar(phases, cells(page.width() - 4, point / longest))));
    points(page, summary, samples);
    page.gap();
    ledger(page, phases);
    if depth == Depth::Imports {
        packages(page, &summary.packages);
    }
    programs(page, &summary.programs);
    evidence(page, summary);
}

/// The representative ledger and time of a summary: to the first result if there is one.
pub(super) fn headline(summary: &Summary) -> (&[PhaseMean], f64) {
    match (&summary.first_result_phases, &summary.first_result) {
        (Some(phases), Some(first)) => (phases, first.point),
        _ => (&summary.phases, summary.wall.point),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "cells of a terminal"
)]
pub(super) fn cells(room: usize, fraction: f64) -> usize {
    (room as f64 * fraction.clamp(0.0, 1.0)).round().max(1.0) as usize
}

/// Every sample as a point, and the median's interval.
fn points(page: &mut Page, summary: &Summary, samples: &[Sample]) {
    let valid = samples.iter().filter(|sample| sample.valid);
    let first = |sample: &Sample| Some(sample.first_result.as_ref()?.ns.as_f64());
    let (values, median): (Vec<f64>, _) = match &summary.first_result {
        Some(median) => (valid.filter_map(first).collect(), median),
        None => (valid.map(|sample| sample.wall_ns.as_f64()).collect(), &summary.wall),
    };
    let low = duration(values.iter().copied().fold(f64::INFINITY, f64::min));
    let high = duration(values.iter().copied().fold(0.0, f64::max));
    let room = page.width().saturating_sub(8 + low.len() + high.len()).min(WIDEST_STRIP);
    if let Some([points, marks]) = strip(&values, median, room) {
        let margin = " ".repeat(low.chars().count());
        page.gap();
        page.line(&format!("  {low} {points} {high}"));
        page.line(&format!("  {margin} {DIM}{}{DIM:#}", marks.trim_end()));
    }
}
