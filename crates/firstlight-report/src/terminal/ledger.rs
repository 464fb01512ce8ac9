//! A ledger as a table, and the programs that were compiled.

use firstlight_schema::phase::Phase;
use firstlight_schema::summary::{PackageMean, PhaseMean, Program};

use super::page::Page;
use crate::svg::phases::{letter, style};
use crate::words::format::{duration, fit, share};
use crate::words::table::{Align, columns};

const SHOWN_PARTS: usize = 4;
const SHOWN_PROGRAMS: usize = 8;
const SHOWN_PACKAGES: usize = 6;
const LONGEST_NAME: usize = 28;
/// Below this width a program's stages are shown together.
const NARROW: usize = 72;
/// Phases with a smaller share of the whole are shown in one row.
const NEGLIGIBLE: f64 = 0.0005;

/// One row per phase, the small ones together, and the total.
pub(super) fn ledger(page: &mut Page, phases: &[PhaseMean]) {
    let is_small = |row: &&PhaseMean| row.share < NEGLIGIBLE && row.name != Phase::Unattributed;
    let (small, shown): (Vec<_>, Vec<_>) = phases.iter().partition(is_small);
    let mut rows = vec![["", "phase", "mean", "share", ""].map(str::to_owned).to_vec()];
    rows.extend(shown.iter().map(|row| {
        vec![
            letter(row.name).to_string(),
            row.name.to_string(),
            duration(row.mean_ns),
            share(row.share),
            parts(row),
        ]
    }));
    let sum = |rows: &[&PhaseMean], value: fn(&PhaseMean) -> f64| -> f64 {
        rows.iter().map(|row| value(row)).sum()
    };
    if !small.is_empty() {
        let names: Vec<_> = small.iter().map(|row| row.name.name()).collect();
        let (time, part) = (sum(&small, |row| row.mean_ns), sum(&small, |row| row.share));
        rows.push(vec![
            String::new(),
            "others".to_owned(),
            duration(time),
            share(part),
            names.join(", "),
        ]);
    }
    let total: f64 = phases.iter().map(|row| row.mean_ns).sum();
    let last = ["", "total", &duration(total), &share(1.0), ""];
    rows.push(last.map(str::to_owned).to_vec());

    let align = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Left];
    for (index, plain) in columns(&align, &rows, page.width() - 2).iter().enumerate() {
        // The letter has its phase's colour, as in the bar.
        let row = index.checked_sub(1).and_then(|index| shown.get(index));
        match row.zip(plain.char_indices().nth(1)) {
            Some((row, (rest, _))) => {
                let style = style(row.name);
                page.line(&format!("  {style}{}{style:#}{}", &plain[..rest], &plain[rest..]));
            }
            None => page.line(&format!("  {plain}")),
        }
    }
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

/// The compiled programs, slowest first.
pub(super) fn programs(page: &mut Page, programs: &[Program]) {
    if programs.is_empty() {
        return;
    }
    page.gap();
    let narrow = page.width() < NARROW;
    let head: &[&str] = if narrow {
        &["program", "times", "all stages"]
    } else {
        &["program", "times", "trace", "lower", "compile", "cached", "arguments"]
    };
    let mut rows = vec![head.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()];
    let shown = page.entries(SHOWN_PROGRAMS);
    rows.extend(programs.iter().take(shown).map(|program| {
        let mut row = vec![fit(&program.function, LONGEST_NAME), number(program.count)];
        if narrow {
            row.push(duration(cost(program)));
        } else {
            let stages = [program.trace_ns, program.lower_ns, program.compile_ns];
            row.extend(stages.map(duration));
            row.push(number(program.hits));
            row.push(program.signature.clone().unwrap_or_default());
        }
        row
    }));
    let mut align = vec![Align::Right; head.len()];
    align[0] = Align::Left;
    if !narrow {
        align[head.len() - 1] = Align::Left;
    }
    page.columns(&align, &rows);
    if programs.len() > shown {
        let rest = &programs[shown..];
        let together: f64 = rest.iter().map(cost).sum();
        page.line(&format!("  {} more programs, {} together", rest.len(), duration(together)));
    }
}

/// The imported packages: their own modules, and including their imports.
pub(super) fn packages(page: &mut Page, packages: &[PackageMean]) {
    if packages.is_empty() {
        return;
    }
    page.gap();
    let mut rows = vec![["package", "its own", "with its imports"].map(str::to_owned).to_vec()];
    let shown = page.entries(SHOWN_PACKAGES);
    rows.extend(packages.iter().take(shown).map(|package| {
        vec![
            fit(&package.name, LONGEST_NAME),
            duration(package.self_ns),
            duration(package.cumulative_ns),
        ]
    }));
    page.columns(&[Align::Left, Align::Right, Align::Right], &rows);
    if packages.len() > shown {
        let rest = &packages[shown..];
        let together: f64 = rest.iter().map(|package| package.self_ns).sum();
        page.line(&format!("  {} more packages, {} together", rest.len(), duration(together)));
    }
}

fn cost(program: &Program) -> f64 {
    program.trace_ns + program.lower_ns + program.compile_ns
}

fn number(value: f64) -> String {
    if (value - value.round()).abs() < 1e-9 { format!("{value:.0}") } else { format!("{value:.1}") }
}
