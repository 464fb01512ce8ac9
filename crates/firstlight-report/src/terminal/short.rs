//! The first screen: the number, where it went, what explains it. At most 24 lines for a command or a
//! small suite; `--full` has the rest.

use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult, RunDocument};
use firstlight_schema::suite::Regime;
use firstlight_schema::summary::{PhaseMean, Summary};

use super::bar::words_bar;
use super::cold;
use super::page::{BOLD, DIM, Page};
use super::rows::title;
use super::sheet::{cells, headline};
use super::sweeps::fit as fitted;
use super::verdicts::control;
use crate::words::answer::{answers, with_interval};
use crate::words::diagnosis;
use crate::words::findings::{Told, of_the_case, of_the_machine};
use crate::words::format::{bytes, duration, fit};
use crate::words::headline::headline as headline_of;
use crate::words::regime::label;
use crate::words::table::Align;

/// More cases than this are told in a sentence each.
const FEW_CASES: usize = 2;
const SHOWN_DIAGNOSES: usize = 5;
const SHOWN_BARS: usize = 6;
const SHOWN_REASONS: usize = 3;
/// Reasons that list many shapes are cut; `--full` has them whole.
const LONGEST_REASON: usize = 160;

pub(super) fn short(page: &mut Page, document: &RunDocument) {
    let commands = cold::commands(document);
    if let Some((arm, regime)) = commands.and_then(cold::only) {
        return command(page, arm, regime);
    }
    let few = document.cases.len() <= FEW_CASES;
    for case in &document.cases {
        match commands {
            Some(_) => cold::titles(page, case),
            None => title(page, case),
        }
        for (index, sentence) in answers(case).iter().enumerate() {
            match index {
                0 => page.sentence(&format!("{BOLD}{sentence}{BOLD:#}")),
                _ if few => page.sentence(sentence),
                _ => {}
            }
        }
        if few {
            page.gap();
            times(page, case);
            bars(page, case);
            if commands.is_some() {
                cold::differences(page, case);
            }
        }
        warnings(page, &of_the_case(case), case);
    }
    for sweep in &document.sweeps {
        page.gap();
        page.line(&format!("{BOLD}{} over {}{BOLD:#}", sweep.case, sweep.parameter));
        for line in &sweep.lines {
            page.sentence(&format!(
                "{}, {}: {}",
                line.arm,
                line.regime,
                fitted(line, &sweep.parameter)
            ));
        }
    }
    if let Some(result) = &document.control {
        control(page, result);
    }
    warn(page, &of_the_machine(document), " about the machine");
}

/// One command in one regime.
fn command(page: &mut Page, arm: &ArmResult, regime: &RegimeResult) {
    let shown = regime.summary.as_ref().or(regime.invalid_summary.as_deref());
    cold::title(page, arm);
    page.sentence(&cold::conditions(regime.samples.len(), regime.policy, shown));
    page.gap();
    if regime.summary.is_none() {
        page.sentence(&cold::no_valid_sample(&regime.samples));
    }
    if let Some(summary) = shown {
        let wall = summary.first_result.as_ref().unwrap_or(&summary.wall);
        let what = if summary.first_result.is_some() { " to the first result" } else { "" };
        let peak = bytes(summary.peak_rss_bytes);
        page.sentence(&format!("{BOLD}{}{BOLD:#}{what}, peak {peak}", with_interval(wall)));
        let (phases, _) = headline(summary);
        bar_with_legend(page, phases, page.width());
        marks(page, summary);
    }
    reasons(page, regime);
    page.gap();
    for line in regime.diagnosis.iter().take(SHOWN_DIAGNOSES) {
        page.sentence(&diagnosis::line(line));
    }
}

/// A bar across the page; phases that got only a letter are named below it.
fn bar_with_legend(page: &mut Page, phases: &[PhaseMean], room: usize) {
    let (bar, letters) = words_bar(phases, room);
    page.line(&bar);
    if !letters.is_empty() {
        let legend: Vec<String> =
            letters.iter().map(|(letter, phase)| format!("{letter} {phase}")).collect();
        page.sentence(&format!("{DIM}{}{DIM:#}", legend.join(", ")));
    }
}

/// What the program marked by itself, on one line.
fn marks(page: &mut Page, summary: &Summary) {
    let marks = summary.marks.iter();
    let marks = marks.filter(|mark| mark.name != firstlight_schema::message::FIRST_RESULT);
    let told: Vec<String> =
        marks.map(|mark| format!("{} {}", mark.name, duration(mark.at.point))).collect();
    if !told.is_empty() {
        page.sentence(&format!("marks: {}", told.join(", ")));
    }
}

/// Why samples do not count, and what is worth knowing: the first of each.
fn reasons(page: &mut Page, regime: &RegimeResult) {
    let invalid = regime.samples.iter().filter(|sample| !sample.valid).count();
    let reason = regime.samples.iter().flat_map(|sample| &sample.reasons).next();
    if let (Some(reason), true) = (reason, regime.summary.is_some()) {
        let all = regime.samples.len();
        page.sentence(&format!("{BOLD}invalid{BOLD:#}: {invalid} of {all} samples: {reason}"));
    }
    for notice in regime.notices.iter().take(SHOWN_REASONS) {
        page.sentence(&format!("{BOLD}{}{BOLD:#}: {}", notice.finding, notice.text));
    }
}

/// A row for each arm, a column for each regime.
fn times(page: &mut Page, case: &CaseResult) {
    let regimes: Vec<Regime> = Regime::ALL
        .into_iter()
        .filter(|regime| {
            case.arms.iter().flat_map(|arm| &arm.regimes).any(|known| known.regime == *regime)
        })
        .collect();
    let head = regimes.iter().map(|regime| match regime {
        Regime::Warm => "each call".to_owned(),
        Regime::ColdClean => first_label(case),
        Regime::ColdPrimed => "caches primed".to_owned(),
        Regime::Fresh => "wall time".to_owned(),
    });
    let mut rows = vec![[String::new()].into_iter().chain(head).collect::<Vec<_>>()];
    rows.extend(case.arms.iter().map(|arm| {
        let cells = regimes.iter().map(|regime| {
            let known = arm.regimes.iter().find(|known| known.regime == *regime);
            match known.map(|known| (known, headline_of(known))) {
                Some((_, Some(estimate))) => duration(estimate.point),
                Some((known, None)) if !known.samples.is_empty() => "invalid".to_owned(),
                _ => "–".to_owned(),
            }
        });
        [fit(&arm.name, 30)].into_iter().chain(cells).collect()
    }));
    let mut align = vec![Align::Right; regimes.len() + 1];
    align[0] = Align::Left;
    page.columns(&align, &rows);
}

/// What the first column holds: commands need not mark a first result.
fn first_label(case: &CaseResult) -> String {
    let mut regimes = case.arms.iter().flat_map(|arm| &arm.regimes);
    let cold = regimes.find(|known| known.regime == Regime::ColdClean);
    let marked = cold
        .and_then(|known| known.summary.as_ref())
        .is_none_or(|known| known.first_result.is_some());
    if marked { "first result".to_owned() } else { cold.map_or("wall time", label).to_owned() }
}

/// Where the first result's time goes, a bar for each arm in its first cold regime.
fn bars(page: &mut Page, case: &CaseResult) {
    let rows: Vec<(&str, &Summary)> = case
        .arms
        .iter()
        .filter_map(|arm| {
            let cold = arm.regimes.iter().find(|known| known.regime.is_cold())?;
            Some((arm.name.as_str(), cold.summary.as_ref()?))
        })
        .filter(|(_, summary)| !headline(summary).0.is_empty())
        .take(SHOWN_BARS)
        .collect();
    let longest = rows.iter().map(|(_, summary)| headline(summary).1).fold(0.0, f64::max);
    let margin = rows.iter().map(|(name, _)| fit(name, 16).chars().count()).max().unwrap_or(0);
    let room = page.width().saturating_sub(margin + 4);
    if rows.is_empty() || room < 16 || longest <= 0.0 {
        return;
    }
    page.gap();
    let mut seen = Vec::new();
    for (name, summary) in rows {
        let (phases, point) = headline(summary);
        let (bar, letters) = words_bar(phases, cells(room, point / longest));
        page.line(&format!("  {:margin$}  {bar}", fit(name, 16)));
        for entry in letters {
            if !seen.contains(&entry) {
                seen.push(entry);
            }
        }
    }
    let legend: Vec<String> =
        seen.iter().map(|(letter, phase)| format!("{letter} {phase}")).collect();
    if !legend.is_empty() {
        page.facts(&[(&" ".repeat(margin), format!("{DIM}{}{DIM:#}", legend.join(", ")))]);
    }
}

/// Findings by name; those that make all samples of an arm invalid with their words.
fn warnings(page: &mut Page, all: &[Told], case: &CaseResult) {
    let without = case.arms.iter().filter(|arm| {
        arm.regimes.iter().all(|regime| headline_of(regime).is_none()) || arm.stopped.is_some()
    });
    for arm in without {
        let samples = arm.regimes.iter().flat_map(|regime| &regime.samples);
        let reason = arm.stopped.as_ref().or(samples.flat_map(|sample| &sample.reasons).next());
        if let Some(reason) = reason {
            let reason = fit(&reason.to_string(), LONGEST_REASON);
            page.sentence(&format!("{BOLD}invalid{BOLD:#}: {}: {reason}", arm.name));
        }
    }
    warn(page, all, "");
}

fn warn(page: &mut Page, all: &[Told], about: &str) {
    if all.is_empty() {
        return;
    }
    let names: Vec<&str> = all.iter().map(|told| told.finding.name()).collect();
    let word = if names.len() == 1 { "warning" } else { "warnings" };
    page.sentence(&format!("{BOLD}{} {word}{about}{BOLD:#}: {}", names.len(), names.join(", ")));
}
