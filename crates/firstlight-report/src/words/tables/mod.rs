//! A run's answers as tables: for the terminal, for the report and for pages that quote a published result.

mod cheapest;
mod dependence;
mod overhead;
mod planted;
mod programs;
mod recording;
mod times;

use std::fmt::Write as _;

pub use firstlight_analysis::sweep::beyond_reference;
use firstlight_schema::estimate::{Estimate, Method};

pub use cheapest::{break_evens, cheapest, totals};
pub use dependence::dependence;
pub use overhead::{overheads, slopes};
pub use planted::planted;
pub use programs::{memory, programs, signatures};
pub use recording::{recording, wrappers};
pub use times::{cold_verdicts, phases, sweep_times, times};

use crate::words::format::{duration, interval};

/// A head and rows of equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|&name| name.to_owned()).collect(), rows: Vec::new() }
    }

    /// Removes columns in which no row has a value.
    fn without_empty_columns(mut self) -> Self {
        let used: Vec<bool> = (0..self.head.len())
            .map(|at| self.rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.is_empty())))
            .collect();
        for cells in self.rows.iter_mut().chain([&mut self.head]) {
            let mut used = used.iter();
            cells.retain(|_| used.next().is_some_and(|used| *used));
        }
        self
    }

    /// Formats the table as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let mut line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            writeln!(text, "| {} |", cells.join(" | ")).expect("writing to a string");
        };
        line(&self.head);
        line(&vec!["---".to_owned(); self.head.len()]);
        self.rows.iter().for_each(|row| line(row));
        text
    }

    /// Head and rows together, for columns of text.
    pub(crate) fn lines(&self) -> Vec<Vec<String>> {
        [self.head.clone()].into_iter().chain(self.rows.iter().cloned()).collect()
    }
}

/// A duration that may be negative.
pub(crate) fn signed_point(ns: f64) -> String {
    if ns < 0.0 { format!("−{}", duration(-ns)) } else { duration(ns) }
}

/// A duration that may be negative, with its interval.
pub(crate) fn signed(estimate: &Estimate) -> String {
    with_interval(estimate, signed_point, interval)
}

/// An estimate with its interval. The scatter within one process says nothing about other processes, so it is
/// marked.
fn with_interval(
    estimate: &Estimate,
    point: impl Fn(f64) -> String,
    ends: impl Fn(f64, f64) -> String,
) -> String {
    let Some(interval) = estimate.interval else { return point(estimate.point) };
    let within =
        if estimate.method == Method::BlockBootstrap { ", within one process" } else { "" };
    format!("{} ({}{within})", point(estimate.point), ends(interval.low, interval.high))
}

/// A factor with its interval: `2.38× (2.03–3.31×)`.
pub(crate) fn factor(estimate: &Estimate) -> String {
    let digits = |value: f64| match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    };
    let ends = |low, high| format!("{}–{}×", digits(low), digits(high));
    with_interval(estimate, |value| format!("{}×", digits(value)), ends)
}
