//! The first screen: the number, its parts, the diagnosis, in at most 24 lines; `--full` has the rest.

use std::collections::BTreeMap;

use firstlight_schema::comparison::SweepResult;
use firstlight_schema::finding::Reason;
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult, RunDocument};
use firstlight_schema::suite::Regime;
use firstlight_schema::summary::{PhaseMean, Summary};

use super::bar::words_bar;
use super::cold;
use super::page::{BOLD, DIM, Page};
use super::screen::{NARROW, Rank, Screen};
use super::sheet::{cells, headline};
use super::verdicts::control;
use crate::words::answer::{answers, with_interval};
use crate::words::diagnosis;
use crate::words::findings::{FindingText, of_the_case, of_the_machine};
use crate::words::format::{bytes, count, duration, fit, fit_list};
use crate::words::headline::headline as headline_of;
use crate::words::machine::brief;
use crate::words::regime::label;
use crate::words::row::about_beside;
use crate::words::sweep::fit as fitted;
use crate::words::table::Align;

/// With more cases, each is shown in one line.
const FEW_CASES: usize = 2;
/// Further cases are only counted.
const SHOWN_CASES: usize = 12;
const LONGEST_CASE: usize = 24;
const SHOWN_DIAGNOSES: usize = 5;
const SHOWN_ARMS: usize = 8;
const SHOWN_BARS: usize = 4;
const SHOWN_REASONS: usize = 3;
const SHOWN_LINES: usize = 3;
const REST: &str = "everything else: firstlight show RUN --full, or firstlight report RUN";

pub(super) fn short(page: &mut Page, document: &RunDocument) {
    let mut screen = Screen::new(page.width());
    let commands = cold::commands(document);
    if let Some((arm, regime)) = commands.and_then(cold::only) {
        command(&mut screen, arm, regime);
    } else if document.cases.len() <= FEW_CASES {
        header(&mut screen, document);
        for (index, case) in document.cases.iter().enumerate() {
            few(&mut screen, document, case, index == 0);
        }
    } else {
        header(&mut screen, document);
        many(&mut screen, document);
    }
    for sweep in &document.sweeps {
        swept(&mut screen, sweep);
    }
    if let Some(result) = &document.control {
        screen.add(Rank::Evidence, true, |page| {
            let mut whole = Page::new(usize::MAX);
            control(&mut whole, result);
            page.cut(whole.finish().trim(), 2);
        });
    }
    screen.add(Rank::Evidence, false, |page| {
        warn(page, &of_the_machine(document), " about the machine");
    });
    if screen.print(page, 1) {
        page.sentence(&format!("{DIM}{REST}{DIM:#}"));
    }
}

/// The suite and the machine.
fn header(screen: &mut Screen, document: &RunDocument) {
    if cold::commands(document).is_none() {
        let suite = &document.suite;
        screen.add(Rank::Answer, false, |page| {
            let room = page.width().saturating_sub(suite.chars().count() + 2);
            page.line(&format!("{BOLD}{suite}{BOLD:#}  {}", fit_list(&brief(document), room)));
        });
    }
}

/// A case with its answers, times and bars.
fn few(screen: &mut Screen, document: &RunDocument, case: &CaseResult, is_first: bool) {
    let below = if is_first { Rank::Evidence } else { Rank::Detail };
    let command = cold::commands(document).is_some();
    screen.add(Rank::Answer, true, |page| {
        if command {
            cold::titles(page, case);
        } else {
            let about = about_beside(case, &document.cases);
            let room = page.width().saturating_sub(case.name.chars().count() + 2);
            page.line(&format!("{BOLD}{}{BOLD:#}  {}", case.name, fit_list(&about, room)));
        }
    });
    for (index, sentence) in answers(case).iter().enumerate() {
        match index {
            0 => screen.add(Rank::Answer, false, |page| {
                page.cut(&format!("{BOLD}{sentence}{BOLD:#}"), 2);
            }),
            1 | 2 => screen.line(below, sentence),
            _ => screen.line(Rank::Detail, sentence),
        }
    }
    screen.add(Rank::Evidence, true, |page| times(page, case));
    if command {
        screen.add(Rank::Evidence, false, |page| cold::differences(page, case));
    }
    screen.add(below, true, |page| bars(page, case));
    for line in invalid(case) {
        screen.line(Rank::Evidence, &line);
    }
    let rank = if is_first { Rank::Answer } else { Rank::Evidence };
    screen.add(rank, false, |page| warn(page, &of_the_case(case), ""));
}

/// A line for each case, and the number of cases with each problem.
fn many(screen: &mut Screen, document: &RunDocument) {
    let shown = &document.cases[..document.cases.len().min(SHOWN_CASES)];
    let name = |case: &CaseResult| fit(&case.name, LONGEST_CASE);
    let widest = shown.iter().map(|case| name(case).chars().count()).max().unwrap_or(0);
    screen.add(Rank::Answer, true, |page| {
        for case in shown {
            let answer = &answers(case)[0];
            page.cut(&format!("{BOLD}{:widest$}{BOLD:#}  {answer}", name(case)), 1);
        }
        let more = document.cases.len() - shown.len();
        if more > 0 {
            page.line(&count(more as u64, "more case"));
        }
    });
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &document.cases {
        for entry in of_the_case(case) {
            *found.entry(entry.finding.name()).or_default() += 1;
        }
    }
    let mut found: Vec<(&str, usize)> = found.into_iter().collect();
    found.sort_by_key(|(_, cases)| std::cmp::Reverse(*cases));
    screen.add(Rank::Evidence, true, |page| {
        let words: Vec<String> =
            found.iter().map(|(name, cases)| format!("{name} in {cases}")).collect();
        if !words.is_empty() {
            let cases = document.cases.len();
            let words = words.join(", ");
            page.cut(&format!("{BOLD}warnings, of {cases} cases{BOLD:#}: {words}"), 2);
        }
    });
    for line in document.cases.iter().flat_map(invalid).take(SHOWN_REASONS) {
        screen.line(Rank::Detail, &line);
    }
}

/// The steepest lines of a sweep.
fn swept(screen: &mut Screen, sweep: &SweepResult) {
    let slope = |point: Option<f64>| point.unwrap_or(f64::NEG_INFINITY);
    let mut lines: Vec<_> = sweep.lines.iter().collect();
    lines.sort_by(|a, b| {
        let [a, b] = [a, b].map(|line| slope(line.slope.map(|slope| slope.point)));
        b.total_cmp(&a)
    });
    screen.add(Rank::Detail, true, |page| {
        page.line(&format!("{BOLD}{} over {}{BOLD:#}", sweep.case, sweep.parameter));
        for line in lines.iter().take(SHOWN_LINES) {
            let words = fitted(line, &sweep.parameter);
            page.cut(&format!("{}, {}: {words}", line.arm, line.regime), 1);
        }
    });
}

/// One command in one regime.
fn command(screen: &mut Screen, arm: &ArmResult, regime: &RegimeResult) {
    let shown = regime.summary.as_ref().or(regime.invalid_summary.as_deref());
    screen.add(Rank::Answer, false, |page| {
        cold::title(page, arm);
        page.cut(&cold::conditions(regime.samples.len(), regime.policy, shown), 2);
    });
    if regime.summary.is_none() {
        screen.add(Rank::Answer, true, |page| {
            page.cut(&cold::no_valid_sample(&regime.samples), 3);
        });
    }
    if let Some(summary) = shown {
        let wall = summary.first_result.as_ref().unwrap_or(&summary.wall);
        let what = if summary.first_result.is_some() { " to the first result" } else { "" };
        let peak = bytes(summary.peak_rss_bytes);
        screen.add(Rank::Answer, true, |page| {
            let time = with_interval(wall);
            page.sentence(&format!("{BOLD}{time}{BOLD:#}{what}, median; peak {peak}"));
            let (phases, _) = headline(summary);
            bar_with_legend(page, phases, page.width());
        });
        screen.add(Rank::Detail, false, |page| marks(page, summary));
    }
    if let Some(line) = invalid_samples(regime) {
        screen.add(Rank::Evidence, false, |page| page.cut(&line, 2));
    }
    for (index, line) in regime.diagnosis.iter().take(SHOWN_DIAGNOSES).enumerate() {
        screen.add(Rank::Evidence, index == 0, |page| page.cut(&diagnosis::line(line), 3));
    }
    for (index, line) in notices(regime).enumerate() {
        screen.add(Rank::Evidence, index == 0, |page| page.cut(&line, 2));
    }
}

/// A bar across the page; phases that only have a letter are named below it.
fn bar_with_legend(page: &mut Page, phases: &[PhaseMean], room: usize) {
    let (bar, letters) = words_bar(phases, room);
    page.line(&bar);
    if !letters.is_empty() {
        let legend: Vec<String> =
            letters.iter().map(|(letter, phase)| format!("{letter} {phase}")).collect();
        page.sentence(&format!("{DIM}{}{DIM:#}", legend.join(", ")));
    }
}

/// The marks of the program, on one line.
fn marks(page: &mut Page, summary: &Summary) {
    let marks = summary.marks.iter();
    let marks = marks.filter(|mark| mark.name != firstlight_schema::message::FIRST_RESULT);
    let shown: Vec<String> =
        marks.map(|mark| format!("{} {}", mark.name, duration(mark.at.point))).collect();
    if !shown.is_empty() {
        page.sentence(&format!("marks: {}", shown.join(", ")));
    }
}

/// The number of invalid samples, with the first reason.
fn invalid_samples(regime: &RegimeResult) -> Option<String> {
    regime.summary.as_ref()?;
    let invalid = regime.samples.iter().filter(|sample| !sample.valid).count();
    let reason = regime.samples.iter().flat_map(|sample| &sample.reasons).next()?;
    let all = regime.samples.len();
    Some(format!("{BOLD}invalid{BOLD:#}: {invalid} of {all} samples: {reason}"))
}

/// The notices that the diagnosis does not already contain.
fn notices(regime: &RegimeResult) -> impl Iterator<Item = String> {
    let is_new = |one: &&Reason| regime.diagnosis.iter().all(|line| line.finding != one.finding);
    let notices = regime.notices.iter().filter(is_new).take(SHOWN_REASONS);
    notices.map(|one| format!("{BOLD}{}{BOLD:#}: {}", one.finding, one.text))
}

/// A row for each arm, a column for each regime.
fn times(page: &mut Page, case: &CaseResult) {
    let regimes: Vec<Regime> = Regime::ALL
        .into_iter()
        .filter(|regime| {
            case.arms.iter().flat_map(|arm| &arm.regimes).any(|known| known.regime == *regime)
        })
        .collect();
    let narrow = page.width() < NARROW;
    let head = regimes.iter().map(|regime| {
        let (what, statistic) = match regime {
            Regime::Warm => ("each call".to_owned(), "mean"),
            Regime::ColdClean => (first_label(case), "median"),
            Regime::ColdPrimed => ("caches primed".to_owned(), "median"),
            Regime::Fresh => ("wall time".to_owned(), "median"),
        };
        if narrow { what } else { format!("{what}, {statistic}") }
    });
    let mut rows = vec![[String::new()].into_iter().chain(head).collect::<Vec<_>>()];
    rows.extend(case.arms.iter().take(SHOWN_ARMS).map(|arm| {
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
    if narrow {
        page.line(&format!("{DIM}  medians of processes, means of calls{DIM:#}"));
    }
    if case.arms.len() > SHOWN_ARMS {
        page.line(&format!("  {}", count((case.arms.len() - SHOWN_ARMS) as u64, "more arm")));
    }
}

/// The label of the first column: commands need not mark a first result.
fn first_label(case: &CaseResult) -> String {
    let mut regimes = case.arms.iter().flat_map(|arm| &arm.regimes);
    let cold = regimes.find(|known| known.regime == Regime::ColdClean);
    let marked = cold
        .and_then(|known| known.summary.as_ref())
        .is_none_or(|known| known.first_result.is_some());
    if marked { "first result".to_owned() } else { cold.map_or("wall time", label).to_owned() }
}

/// The phases of the first result's time, a bar for each arm in its first cold regime.
fn bars(page: &mut Page, case: &CaseResult) {
    let rows: Vec<(&str, &Summary)> = case
        .arms
        .iter()
        .filter_map(|arm| {
            let cold = arm.regimes.iter().find(|known| known.regime.is_cold())?;
            Some((arm.name.as_str(), cold.summary.as_ref()?))
        })
        .filter(|(_, summary)| !headline(summary).0.is_empty())
        .collect();
    let (rows, more) = rows.split_at(rows.len().min(SHOWN_BARS));
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
    if !more.is_empty() {
        page.line(&format!("  {}", count(more.len() as u64, "more arm")));
    }
    let legend: Vec<String> =
        seen.iter().map(|(letter, phase)| format!("{letter} {phase}")).collect();
    if !legend.is_empty() {
        page.facts(&[(&" ".repeat(margin), format!("{DIM}{}{DIM:#}", legend.join(", ")))]);
    }
}

/// Arms without a valid sample, or that were stopped, grouped by reason.
fn invalid(case: &CaseResult) -> Vec<String> {
    let without = case.arms.iter().filter(|arm| {
        arm.regimes.iter().all(|regime| headline_of(regime).is_none()) || arm.stopped.is_some()
    });
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for arm in without {
        let samples = arm.regimes.iter().flat_map(|regime| &regime.samples);
        let reason = arm.stopped.as_ref().or(samples.flat_map(|sample| &sample.reasons).next());
        let Some(reason) = reason.map(ToString::to_string) else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, arms)) => arms.push(&arm.name),
            None => reasons.push((reason, vec![&arm.name])),
        }
    }
    let line = |(reason, arms): (String, Vec<&str>)| {
        format!("{BOLD}invalid{BOLD:#}: {}: {reason}", arms.join(", "))
    };
    reasons.into_iter().map(line).collect()
}

fn warn(page: &mut Page, all: &[FindingText], about: &str) {
    if all.is_empty() {
        return;
    }
    let names: Vec<&str> = all.iter().map(|entry| entry.finding.name()).collect();
    let word = if names.len() == 1 { "warning" } else { "warnings" };
    page.cut(&format!("{BOLD}{} {word}{about}{BOLD:#}: {}", names.len(), names.join(", ")), 2);
}
