//! The data behind an arm's numbers: programs, packages, caches, and the output of failed processes.

use firstlight_schema::cache::{Inventory, LayerEvidence};
use firstlight_schema::run::{Agreed, ArmResult, CaseResult, RegimeResult};
use firstlight_schema::sample::Sample;
use firstlight_schema::summary::{PackageMean, Program};
use maud::{Markup, html};

use super::name;
use super::table::{Cell, Head, Order, table};
use crate::words::format::{bytes, count, duration, fit};

const SHOWN_PACKAGES: usize = 12;
/// The number of programs shown; cheaper ones are in result.json.
const SHOWN_PROGRAMS: usize = 12;
/// A longer list of shapes is cut.
const LONGEST_ARGUMENTS: usize = 200;
/// The number of failures shown, because failing processes usually report the same.
const SHOWN_FAILURES: usize = 3;

pub(super) fn arms(case: &CaseResult) -> Markup {
    html! {
        h3 { "Evidence" }
        @for arm in &case.arms {
            details {
                summary { (name(&arm.name)) ": results, caches, programs, imports" }
                p { "Its results " bdi { (agreement(&arm.agreement)) } "." }
                @for (index, regime) in arm.regimes.iter().enumerate() {
                    (evidence(arm, regime, index == 0))
                }
            }
        }
    }
}

fn agreement(agreed: &Agreed) -> String {
    match agreed {
        Agreed::Reference => "are what the other arms are compared with".to_owned(),
        Agreed::Equal => "equal the reference's to the last bit".to_owned(),
        Agreed::Close { difference } => {
            format!("are the reference's within the tolerance; largest difference {difference:.1e}")
        }
        Agreed::Sampled { difference } => format!(
            "are the reference's in the sampled elements; largest difference {difference:.1e}"
        ),
        Agreed::Differs { how } => format!("differ from the reference's: {how}"),
        Agreed::NotCompared { why } => format!("were not compared: {why}"),
    }
}

/// All regimes of an arm import the same packages, so only the first one lists them.
fn evidence(arm: &ArmResult, regime_result: &RegimeResult, is_first: bool) -> Markup {
    let about =
        |what: &str| format!("{what} of {} in the regime {}", arm.name, regime_result.regime);
    let policy = &regime_result.policy;
    html! {
        h4 { (regime_result.regime) }
        p class="soft" {
            "Declared: compiler caches " (policy.compilers) ", byte code " (policy.bytecode)
            ", page cache " (policy.page_cache) "."
        }
        @for bound in &regime_result.quantiles {
            p {
                "With 95 % confidence " (bound.quantile * 100.0) " % of processes take at most "
                (duration(bound.at_most_ns)) "."
            }
        }
        @if regime_result.summary.is_none() && regime_result.invalid_summary.is_some() {
            p { strong { "INVALID" } ": no process is valid. The numbers below are for information only." }
        }
        @if let Some(summary) = regime_result.summary.as_ref().or(regime_result.invalid_summary.as_deref()) {
            (caches(&about("Caches"), &summary.caches))
            @if !summary.programs.is_empty() { (programs(&about("Compiled programs"), &summary.programs)) }
            @if is_first && !summary.packages.is_empty() { (packages(&about("Imports"), &summary.packages)) }
        }
        @for sample in regime_result.samples.iter().filter(|sample| !sample.valid).take(SHOWN_FAILURES) {
            (said(sample))
        }
    }
}

fn caches(caption: &str, layers: &[LayerEvidence]) -> Markup {
    let heads = [
        Head::Text("cache"),
        Head::Text("declared"),
        Head::Text("before"),
        Head::Text("after"),
        Head::Text("requests"),
        Head::Text("served"),
    ];
    let files = |one: Option<Inventory>| {
        one.map_or_else(
            || "unknown".to_owned(),
            |one| format!("{} files, {}", one.entries, bytes(one.bytes)),
        )
    };
    let count = |one: Option<u64>| one.map_or_else(|| "unknown".to_owned(), |one| one.to_string());
    let (used, idle): (Vec<&LayerEvidence>, Vec<_>) = layers.iter().partition(|one| was_used(one));
    let idle: Vec<&str> = idle.iter().map(|layer| layer.layer.name()).collect();
    let rows: Vec<Vec<Cell>> = used
        .iter()
        .map(|layer| {
            vec![
                Cell::text(layer.layer.name()),
                Cell::text(layer.policy.name()),
                Cell::text(&files(layer.before)),
                Cell::text(&files(layer.after)),
                Cell::text(&count(layer.requests)),
                Cell::text(&count(layer.hits)),
            ]
        })
        .collect();
    html! {
        @if !rows.is_empty() { (table(caption, Order::Fixed, &heads, &rows)) }
        @if !idle.is_empty() { p class="note" { "Caches without files and requests: " (idle.join(", ")) "." } }
    }
}

fn was_used(layer: &LayerEvidence) -> bool {
    let has_files = |files: Option<Inventory>| files.is_some_and(|files| files.entries > 0);
    layer.requests.unwrap_or(0) > 0 || has_files(layer.before) || has_files(layer.after)
}

fn programs(caption: &str, programs: &[Program]) -> Markup {
    let heads = [
        Head::Text("program"),
        Head::Number("times"),
        Head::Number("trace"),
        Head::Number("lower"),
        Head::Number("compile"),
        Head::Number("from cache"),
        Head::Text("arguments"),
        Head::Text("source"),
        Head::Text("compiled again because"),
    ];
    let cost = |program: &Program| program.trace_ns + program.lower_ns + program.compile_ns;
    let mut costly: Vec<&Program> = programs.iter().collect();
    costly.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    let rest = costly.split_off(costly.len().min(SHOWN_PROGRAMS));
    let rows: Vec<Vec<Cell>> = costly
        .into_iter()
        .map(|program| {
            let time = |ns: f64| Cell::number(duration(ns), ns);
            vec![
                Cell::Text(name(&program.function)),
                Cell::number(format!("{:.1}", program.count), program.count),
                time(program.trace_ns),
                time(program.lower_ns),
                time(program.compile_ns),
                Cell::number(format!("{:.1}", program.hits), program.hits),
                long(program.signature.as_deref()),
                long(program.source.as_deref()),
                long(program.cause.as_deref()),
            ]
        })
        .collect();
    html! {
        (table(caption, Order::Sortable, &heads, &rows))
        @if !rest.is_empty() {
            p class="note" {
                (count(rest.len() as u64, "more program")) ", "
                (duration(rest.iter().map(|program| cost(program)).sum())) " together, in result.json."
            }
        }
    }
}

fn long(text: Option<&str>) -> Cell {
    Cell::Long(html! { bdi { (fit(text.unwrap_or_default(), LONGEST_ARGUMENTS)) } })
}

fn packages(caption: &str, packages: &[PackageMean]) -> Markup {
    let heads = [Head::Text("package"), Head::Number("its own"), Head::Number("with its imports")];
    let rows: Vec<Vec<Cell>> = packages
        .iter()
        .take(SHOWN_PACKAGES)
        .map(|one| {
            vec![
                Cell::Text(name(&one.name)),
                Cell::number(duration(one.self_ns), one.self_ns),
                Cell::number(duration(one.cumulative_ns), one.cumulative_ns),
            ]
        })
        .collect();
    table(caption, Order::Sortable, &heads, &rows)
}

/// The reasons why a process is invalid, and the end of its output.
fn said(sample: &Sample) -> Markup {
    let streams = &sample.raw.streams;
    html! {
        p {
            "Process " (sample.number) " does not count: "
            bdi { (sample.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")) }
        }
        @for (stream, tail) in [("standard output", &streams.stdout_tail), ("standard error", &streams.stderr_tail)] {
            @if !tail.is_empty() {
                p class="soft" { "The end of its " (stream) ":" }
                pre { (tail) }
            }
        }
    }
}
