//! Results for a terminal, complete without colour and at any width.

use std::fmt::Write as _;

use anstyle::Style;
use firstlight_schema::cache::{CachePolicy, LayerEvidence, Policy};
use firstlight_schema::cold::{ColdDocument, Control, PhaseMean, Program, Summary};
use firstlight_schema::finding::Reason;
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult, RunDocument};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Regime;

use crate::bar::{bar, letter, style};
use crate::format::{bytes, count, difference, duration, estimate, fit, policy, share};
use crate::sentence;
use crate::strip::strip;
use crate::table::{Align, columns};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const NARROWEST: usize = 40;
const WIDEST: usize = 110;
const SHOWN_PARTS: usize = 4;
const SHOWN_PROGRAMS: usize = 8;
/// Phases shorter than this share of the whole are told in one row.
const NEGLIGIBLE: f64 = 0.0005;

/// Renders documents for a terminal of a given width.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    width: usize,
}

impl Terminal {
    pub fn new(width: usize) -> Self {
        Self { width: width.clamp(NARROWEST, WIDEST) }
    }

    pub fn cold(self, document: &ColdDocument) -> String {
        let mut text = String::new();
        let command = fit(&document.command.join(" "), self.width);
        line(&mut text, &format!("{BOLD}{command}{BOLD:#}"));
        let conditions = conditions(document.samples.len(), document.policy);
        self.wrapped(&mut text, &conditions);
        match &document.summary {
            Some(summary) => {
                text.push('\n');
                self.sheet(&mut text, summary, &document.samples, summary.wall.point);
            }
            None => line(&mut text, "no valid sample"),
        }
        if let Some(control) = &document.control {
            self.control(&mut text, control);
        }
        self.invalid(&mut text, &document.samples);
        self.notices(&mut text, &document.notices);
        if let Some(summary) = &document.summary {
            text.push('\n');
            self.wrapped(&mut text, &sentence::largest(summary));
        }
        text
    }

    pub fn run(self, document: &RunDocument) -> String {
        let mut text = String::new();
        for case in &document.cases {
            self.case(&mut text, case);
        }
        for case in &document.cases {
            for sentence in case.arms.iter().filter_map(|arm| self.closing(case, arm)) {
                self.wrapped(&mut text, &sentence);
            }
        }
        text
    }

    fn case(self, text: &mut String, case: &CaseResult) {
        let parameters: Vec<String> =
            case.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let title = format!("{BOLD}{}{BOLD:#}  {}", case.name, parameters.join(", "));
        line(text, &fit(&title, self.width + 8));
        let longest = case
            .arms
            .iter()
            .flat_map(|arm| &arm.regimes)
            .filter_map(|regime| regime.summary.as_ref())
            .map(|summary| headline(summary).1)
            .fold(0.0, f64::max);
        for arm in &case.arms {
            for regime in &arm.regimes {
                self.regime(text, arm, regime, longest);
            }
            if let Some(stopped) = &arm.stopped {
                text.push('\n');
                self.notices(text, std::slice::from_ref(stopped));
            }
        }
        text.push('\n');
    }

    fn regime(self, text: &mut String, arm: &ArmResult, regime: &RegimeResult, longest: f64) {
        text.push('\n');
        line(text, &format!("{BOLD}{}{BOLD:#}, {}", arm.name, regime.regime));
        match &regime.summary {
            Some(summary) => self.sheet(text, summary, &regime.samples, longest),
            None => line(text, "  no valid sample"),
        }
        self.invalid(text, &regime.samples);
        self.notices(text, &regime.notices);
    }

    fn closing(self, case: &CaseResult, arm: &ArmResult) -> Option<String> {
        let summary_of = |regime: Regime| {
            arm.regimes.iter().find(|known| known.regime == regime)?.summary.as_ref()
        };
        let clean = summary_of(Regime::ColdClean);
        let primed = summary_of(Regime::ColdPrimed);
        let first = clean.or(primed)?;
        let mut text = format!("{}, {}: {}", case.name, arm.name, sentence::largest(first));
        if let Some(more) =
            clean.zip(primed).and_then(|(a, b)| sentence::primed_against_clean(a, b))
        {
            write!(text, " {more}").expect("writing to a string");
        }
        Some(text)
    }

    /// One ledger: headline, bar, table, points, programs, evidence. `longest` is a full bar.
    fn sheet(self, text: &mut String, summary: &Summary, samples: &[Sample], longest: f64) {
        let mut heads = vec![vec!["wall time".to_owned(), String::new(), String::new()]];
        (heads[0][1], heads[0][2]) = estimate(&summary.wall);
        if let Some(first) = &summary.first_result {
            let (point, sure) = estimate(first);
            heads.insert(0, vec!["first result".to_owned(), point, sure]);
        }
        self.columns(text, &[Align::Left, Align::Right, Align::Left], &heads);
        text.push('\n');
        let (phases, point) = headline(summary);
        line(text, &format!("  {}", bar(phases, self.cells(point / longest))));
        self.points(text, summary, samples);
        text.push('\n');
        self.ledger(text, phases);
        self.programs(text, &summary.programs);
        text.push('\n');
        self.evidence(text, summary);
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "cells of a terminal"
    )]
    fn cells(self, fraction: f64) -> usize {
        ((self.width - 4) as f64 * fraction.clamp(0.0, 1.0)).round().max(1.0) as usize
    }

    fn points(self, text: &mut String, summary: &Summary, samples: &[Sample]) {
        let valid = samples.iter().filter(|sample| sample.valid);
        let (values, median): (Vec<f64>, _) = match &summary.first_result {
            Some(first) => (
                valid
                    .filter_map(|sample| Some(sample.first_result.as_ref()?.ns.as_f64()))
                    .collect(),
                first,
            ),
            None => (valid.map(|sample| sample.wall_ns.as_f64()).collect(), &summary.wall),
        };
        let low = duration(values.iter().copied().fold(f64::INFINITY, f64::min));
        let high = duration(values.iter().copied().fold(0.0, f64::max));
        let room = self.width.saturating_sub(8 + low.len() + high.len()).min(60);
        if let Some([points, marks]) = strip(&values, median, room) {
            text.push('\n');
            line(text, &format!("  {low} {points} {high}"));
            line(
                text,
                &format!("  {} {DIM}{}{DIM:#}", " ".repeat(low.chars().count()), marks.trim_end()),
            );
        }
    }

    fn ledger(self, text: &mut String, phases: &[PhaseMean]) {
        let (small, shown): (Vec<_>, Vec<_>) = phases.iter().partition(|row| {
            row.share < NEGLIGIBLE && row.name != firstlight_schema::phase::Phase::Unattributed
        });
        let mut rows = vec![["", "phase", "mean", "share", ""].map(str::to_owned).to_vec()];
        for row in &shown {
            rows.push(vec![
                letter(row.name).to_string(),
                row.name.to_string(),
                duration(row.mean_ns),
                share(row.share),
                parts(row),
            ]);
        }
        if !small.is_empty() {
            let names: Vec<_> = small.iter().map(|row| row.name.name()).collect();
            let sum = |value: fn(&PhaseMean) -> f64| small.iter().map(|row| value(row)).sum();
            rows.push(vec![
                String::new(),
                "others".to_owned(),
                duration(sum(|row| row.mean_ns)),
                share(sum(|row| row.share)),
                names.join(", "),
            ]);
        }
        let total: f64 = phases.iter().map(|row| row.mean_ns).sum();
        rows.push(vec![
            String::new(),
            "total".to_owned(),
            duration(total),
            share(1.0),
            String::new(),
        ]);
        let align = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Left];
        let lines = columns(&align, &rows, self.width - 2);
        for (index, plain) in lines.iter().enumerate() {
            // The letter wears its phase's colour, as in the bar.
            let row = index.checked_sub(1).and_then(|index| shown.get(index));
            match row.zip(plain.char_indices().nth(1)) {
                Some((row, (rest, _))) => {
                    let style = style(row.name);
                    line(text, &format!("  {style}{}{style:#}{}", &plain[..rest], &plain[rest..]));
                }
                None => line(text, &format!("  {plain}")),
            }
        }
    }

    fn programs(self, text: &mut String, programs: &[Program]) {
        if programs.is_empty() {
            return;
        }
        text.push('\n');
        let mut rows = vec![
            ["program", "times", "trace", "lower", "compile", "cached", "arguments"]
                .map(str::to_owned)
                .to_vec(),
        ];
        for program in programs.iter().take(SHOWN_PROGRAMS) {
            rows.push(vec![
                fit(&program.function, 28),
                number(program.count),
                duration(program.trace_ns),
                duration(program.lower_ns),
                duration(program.compile_ns),
                number(program.hits),
                program.signature.clone().unwrap_or_default(),
            ]);
        }
        let align = [
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Left,
        ];
        self.columns(text, &align, &rows);
        if let Some(rest) = programs.len().checked_sub(SHOWN_PROGRAMS).filter(|&rest| rest > 0) {
            let cost: f64 = programs[SHOWN_PROGRAMS..]
                .iter()
                .map(|program| program.trace_ns + program.lower_ns + program.compile_ns)
                .sum();
            line(text, &format!("  {rest} more programs, {} together", duration(cost)));
        }
    }

    fn evidence(self, text: &mut String, summary: &Summary) {
        let mut memory = format!("peak {}", bytes(summary.peak_rss_bytes));
        if let Some(peak) = summary.compile_peak_rss_bytes {
            write!(memory, ", compiling {}", bytes(peak)).expect("writing to a string");
        }
        if let Some(peak) = summary.run_peak_rss_bytes {
            write!(memory, ", running {}", bytes(peak)).expect("writing to a string");
        }
        let mut rows = vec![vec!["memory".to_owned(), memory]];
        for (index, layer) in
            summary.caches.iter().filter(|layer| says_something(layer)).enumerate()
        {
            let head = if index == 0 { "caches" } else { "" };
            rows.push(vec![head.to_owned(), cache(layer, summary.valid)]);
        }
        if let Some(cores) = summary.contention_cores {
            rows.push(vec!["machine".to_owned(), format!("others kept {cores:.2} cores busy")]);
        }
        let samples = match summary.invalid {
            0 => format!("{} valid", summary.valid),
            invalid => format!("{} valid, {invalid} invalid and left out", summary.valid),
        };
        rows.push(vec!["samples".to_owned(), samples]);
        self.columns(text, &[Align::Left, Align::Left], &rows);
    }

    fn control(self, text: &mut String, control: &Control) {
        let price = |estimate: &firstlight_schema::estimate::Estimate| match &estimate.interval {
            Some(interval) => format!(
                "{} ({} to {})",
                difference(estimate.point),
                difference(interval.low),
                difference(interval.high)
            ),
            None => format!("{} (too few pairs for an interval)", difference(estimate.point)),
        };
        if let (Some(wall), Some(cpu)) = (&control.price_wall, &control.price_cpu) {
            let words = format!(
                "price of the hooks over {}: wall time {}, CPU time {}; the median without them is {}",
                count(u64::from(wall.n), "pair"),
                price(wall),
                price(cpu),
                control.wall.map_or_else(String::new, |wall| duration(wall.point)),
            );
            text.push('\n');
            self.wrapped(text, &words);
        }
    }

    fn invalid(self, text: &mut String, samples: &[Sample]) {
        const SHOWN: usize = 4;
        let invalid: Vec<&Sample> = samples.iter().filter(|sample| !sample.valid).collect();
        if invalid.is_empty() {
            return;
        }
        text.push('\n');
        for sample in invalid.iter().take(SHOWN) {
            for reason in &sample.reasons {
                self.wrapped(text, &format!("invalid: sample {}: {reason}", sample.number));
            }
        }
        if invalid.len() > SHOWN {
            line(text, &format!("invalid: {} more", invalid.len() - SHOWN));
        }
    }

    fn notices(self, text: &mut String, notices: &[Reason]) {
        for notice in notices {
            self.wrapped(text, &format!("{BOLD}{}{BOLD:#}: {}", notice.finding, notice.text));
        }
    }

    fn columns(self, text: &mut String, align: &[Align], rows: &[Vec<String>]) {
        for row in columns(align, rows, self.width - 2) {
            line(text, &format!("  {row}"));
        }
    }

    /// A sentence, broken at spaces; what follows is indented.
    fn wrapped(self, text: &mut String, sentence: &str) {
        let mut used = 0;
        for word in sentence.split(' ') {
            let length = visible(word);
            if used > 0 && used + 1 + length > self.width {
                text.push_str("\n  ");
                used = 2;
            } else if used > 0 {
                text.push(' ');
                used += 1;
            }
            text.push_str(word);
            used += length;
        }
        text.push('\n');
    }
}

/// The ledger and the time that stand for a summary: to the first result where there is one.
fn headline(summary: &Summary) -> (&[PhaseMean], f64) {
    match (&summary.first_result_phases, &summary.first_result) {
        (Some(phases), Some(first)) => (phases, first.point),
        _ => (&summary.phases, summary.wall.point),
    }
}

fn conditions(samples: usize, of: CachePolicy) -> String {
    let mut text = format!(
        "{}, compiler caches {}, byte code {}",
        count(samples as u64, "fresh process").replace("processs", "processes"),
        policy(of.compilers),
        policy(of.bytecode),
    );
    if of.page_cache != Policy::AsFound {
        write!(text, ", page cache {}", policy(of.page_cache)).expect("writing to a string");
    }
    text
}

fn parts(row: &PhaseMean) -> String {
    let mut names: Vec<String> = row
        .parts
        .iter()
        .take(SHOWN_PARTS)
        .map(|part| format!("{} {}", part.name, duration(part.ns.as_f64())))
        .collect();
    if row.parts.len() > SHOWN_PARTS {
        names.push(format!("{} more", row.parts.len() - SHOWN_PARTS));
    }
    names.join(", ")
}

fn number(value: f64) -> String {
    if (value - value.round()).abs() < 1e-9 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn says_something(layer: &LayerEvidence) -> bool {
    let used = |inventory: Option<firstlight_schema::cache::Inventory>| {
        inventory.is_some_and(|inventory| inventory.entries > 0)
    };
    layer.requests.unwrap_or(0) > 0 || used(layer.before) || used(layer.after)
}

fn cache(layer: &LayerEvidence, samples: u32) -> String {
    let mut text = format!("{} {}", layer.layer, policy(layer.policy));
    if let (Some(before), Some(after)) = (layer.before, layer.after) {
        write!(
            text,
            ": {} entries before, {} after ({})",
            before.entries,
            after.entries,
            bytes(after.bytes)
        )
        .expect("writing to a string");
    }
    if let (Some(requests), Some(hits)) = (layer.requests, layer.hits)
        && requests > 0
    {
        let what = match layer.layer {
            firstlight_schema::cache::Layer::Bytecode => {
                format!("; {requests} modules compiled from source")
            }
            _ => format!("; {hits} hits of {requests} requests"),
        };
        write!(text, "{what} in {}", count(u64::from(samples), "sample"))
            .expect("writing to a string");
    }
    text
}

fn line(text: &mut String, content: &str) {
    text.push_str(content.trim_end());
    text.push('\n');
}

/// How many cells a word takes, escape sequences not counted.
fn visible(word: &str) -> usize {
    let mut escaped = false;
    word.chars()
        .filter(|&c| {
            let was = escaped;
            escaped = (escaped && c != 'm') || c == '\u{1b}';
            !was && !escaped
        })
        .count()
}
