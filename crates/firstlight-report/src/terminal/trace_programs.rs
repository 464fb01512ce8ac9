//! The parts of a trace's text that go beyond its steps: programs with their longest operators, memory, and
//! the skew between devices.

use firstlight_schema::trace::{MemoryRow, ProgramRow, TraceDocument};

use super::page::{BOLD, Page};
use crate::words::format::{self, bytes, count, duration, share};
use crate::words::table::Align;

/// The number of programs shown; the page and the document have more.
const MOST_PROGRAMS: usize = 3;

pub(super) fn beyond(page: &mut Page, document: &TraceDocument, rows: usize) {
    skew(page, document);
    memory(page, &document.memory);
    for program in document.programs.iter().take(MOST_PROGRAMS) {
        operators(page, program, rows);
    }
}

fn skew(page: &mut Page, document: &TraceDocument) {
    let Some(skew) = &document.skew else { return };
    let interval = skew.median.interval.map_or_else(String::new, |interval| {
        format!(" ({})", format::interval(interval.low, interval.high))
    });
    page.gap();
    page.sentence(&format!(
        "{BOLD}skew between devices{BOLD:#}: {}{interval} from the first device that finishes a step to the \
         last one, median of the steady steps; {} is last in {}",
        duration(skew.median.point),
        skew.last,
        count(u64::from(skew.last_in), "step"),
    ));
}

fn memory(page: &mut Page, all: &[MemoryRow]) {
    if all.is_empty() {
        return;
    }
    page.gap();
    page.line(&format!("{BOLD}peak memory{BOLD:#} by allocator"));
    let header = ["peak", "at", "in step", "allocator"].map(str::to_owned).to_vec();
    let line = |row: &MemoryRow| {
        vec![
            bytes(row.peak_bytes),
            duration(row.peak_at_ns.as_f64()),
            row.peak_step.map_or_else(|| "none".to_owned(), |step| step.to_string()),
            row.allocator.clone(),
        ]
    };
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(all.iter().map(line)).collect();
    page.columns(&[Align::Right, Align::Right, Align::Right, Align::Left], &lines);
}

/// The memory that the compiler reserved for a run, or that was in use in a region.
fn program_memory(program: &ProgramRow) -> Option<String> {
    if let Some(peak) = program.peak_bytes {
        return Some(format!("  memory: at most {} in use inside it", bytes(peak)));
    }
    let memory = program.memory?;
    Some(format!(
        "  memory: {} of arguments, {} of outputs, {} of constants, {} of temporaries",
        bytes(memory.arguments_bytes),
        bytes(memory.outputs_bytes),
        bytes(memory.constants_bytes),
        bytes(memory.temporaries_bytes)
    ))
}

fn operators(page: &mut Page, program: &ProgramRow, rows: usize) {
    page.gap();
    let number = program.program.as_ref().map_or_else(String::new, |id| format!(" ({id})"));
    page.line(&format!(
        "{BOLD}the longest operators{BOLD:#} of {}{number}, {} in total",
        program.module,
        duration(program.total_ns.as_f64())
    ));
    let header = ["total", "share", "count", "operator"].map(str::to_owned).to_vec();
    let rows = program.operators.iter().take(rows).map(|row| {
        vec![
            duration(row.total_ns.as_f64()),
            share(row.share),
            row.count.to_string(),
            row.name.clone(),
        ]
    });
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    page.columns(&[Align::Right, Align::Right, Align::Right, Align::Left], &lines);
    if let Some(words) = program_memory(program) {
        page.sentence(&words);
    }
}
