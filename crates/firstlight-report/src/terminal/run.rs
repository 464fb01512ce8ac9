//! The document `run` as text, in several lengths.

use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult, RunDocument};
use firstlight_schema::suite::Regime;

use super::answers::{cheapest, overheads, planted, slopes};
use super::cold;
use super::findings::{findings, of_the_machine};
use super::minimum::{facts, minimum};
use super::page::{BOLD, Page};
use super::rows::{bars, beside, rows, title};
use super::sheet::{Depth, headline, sheet};
use super::short::short;
use super::sweeps::sweep;
use super::verdicts::{break_evens, control, verdicts};
use super::windows::windows;
use crate::words::diagnosis;
use crate::words::regime::label;

/// The length of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Mean ± standard deviation, range, n, hardware, versions, configuration.
    Minimum,
    /// The answers on one screen.
    Usual,
    /// Every ledger, every process, every verdict and finding, and the conditions.
    Full,
    /// The same with lists of programs and packages to their end.
    All,
}

pub(super) fn run(page: &mut Page, document: &RunDocument, report: Report) {
    match report {
        Report::Minimum => minimum(page, document),
        Report::Usual => short(page, document),
        Report::Full | Report::All => long(page, document),
    }
}

fn long(page: &mut Page, document: &RunDocument) {
    let commands = cold::commands(document);
    if let Some((arm, regime)) = commands.and_then(cold::only) {
        cold::command(page, arm, regime);
        page.gap();
        return facts(page, document);
    }
    for case in &document.cases {
        match commands {
            Some(_) => cold::titles(page, case),
            None => title(page, case),
        }
        page.gap();
        rows(page, case);
        bars(page, case);
        beside(page, case);
        sheets(page, case);
        windows(page, case);
        overheads(page, case);
        planted(page, case);
        verdicts(page, &case.comparisons);
        if commands.is_some() {
            cold::differences(page, case);
        }
        cheapest(page, case);
        break_evens(page, case);
        findings(page, case);
    }
    for comparison in &document.sweeps {
        sweep(page, comparison);
        slopes(page, document, comparison);
    }
    if let Some(comparison) = &document.control {
        control(page, comparison);
    }
    of_the_machine(page, document);
    page.gap();
    facts(page, document);
    for case in &document.cases {
        for arm in &case.arms {
            diagnosed(page, case, arm);
        }
    }
}

/// The ledger of every arm and cold regime; imported results have none.
fn sheets(page: &mut Page, case: &CaseResult) {
    let summaries = case.arms.iter().flat_map(|arm| &arm.regimes);
    let longest = summaries
        .filter_map(|regime| regime.summary.as_ref())
        .map(|summary| headline(summary).1)
        .fold(0.0, f64::max);
    for arm in &case.arms {
        for regime in arm
            .regimes
            .iter()
            .filter(|result| result.regime.is_cold() && result.regime != Regime::Fresh)
        {
            regime_(page, arm, regime, longest);
        }
    }
}

fn regime_(page: &mut Page, arm: &ArmResult, regime: &RegimeResult, longest: f64) {
    page.gap();
    page.line(&format!("{BOLD}{}{BOLD:#}, {}", arm.name, label(regime)));
    match (&regime.summary, &regime.invalid_summary) {
        (Some(summary), _) => sheet(page, summary, &regime.samples, longest, Depth::Usual),
        (None, Some(summary)) => {
            page.line(&format!("  {BOLD}INVALID{BOLD:#}: for reading only"));
            sheet(page, summary, &regime.samples, longest, Depth::Usual);
        }
        (None, None) => page.line("  no valid sample"),
    }
}

/// The largest parts of an arm's cold start, for the first regime with a diagnosis.
fn diagnosed(page: &mut Page, case: &CaseResult, arm: &ArmResult) {
    let Some(regime) = arm.regimes.iter().find(|regime| !regime.diagnosis.is_empty()) else {
        return;
    };
    page.gap();
    page.line(&format!("{BOLD}{}, {}{BOLD:#}, {}", case.name, arm.name, label(regime)));
    for line in &regime.diagnosis {
        page.sentence(&format!("  {}", diagnosis::line(line)));
    }
}
