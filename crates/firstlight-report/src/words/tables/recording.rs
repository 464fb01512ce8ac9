//! The cost of recording for a suite's arms, and the phases of a framework's wrapper.

use firstlight_schema::suite_trace::{Beyond, Overhead, SuiteTraceDocument};
use firstlight_schema::trace::{TraceDocument, TracedRun, Tracing};

use super::Table;
use crate::words::format::{difference, duration, share};

const RUNS: [Tracing; 3] = [Tracing::Untraced, Tracing::HostOnly, Tracing::Python];

/// A steady step of each arm with and without recording, and the time in excess of something else.
pub fn recording(document: &SuiteTraceDocument) -> Option<Table> {
    let mut table =
        Table::new(&["arm", "", "untraced", "host only", "with Python frames", "factor"]);
    for arm in &document.arms {
        let Some(inflation) = arm.trace.as_ref().and_then(|trace| trace.inflation.as_ref()) else {
            continue;
        };
        let run = |tracing: Tracing| {
            inflation.runs.iter().find(|run: &&TracedRun| run.tracing == tracing)
        };
        let step = |tracing| Some(duration(run(tracing)?.step?.point));
        let host = |tracing| Some(duration(run(tracing)?.host?.point));
        table.rows.push(row(&arm.arm, "step", step, inflation.factor));
        table.rows.push(row("", "host", host, inflation.host_factor));
        for one in &arm.overheads {
            let ns = |tracing: Tracing| {
                let run = one.runs.iter().find(|run| run.tracing == tracing)?;
                Some(difference(run.ns))
            };
            table.rows.push(row("", &beyond(one), ns, one.factor));
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn row(
    arm: &str,
    what: &str,
    column: impl Fn(Tracing) -> Option<String>,
    factor: Option<f64>,
) -> Vec<String> {
    let values = RUNS.map(|tracing| column(tracing).unwrap_or_default());
    let factor = factor.map_or_else(|| "–".to_owned(), |factor| format!("{factor:.2}×"));
    [arm.to_owned(), what.to_owned()].into_iter().chain(values).chain([factor]).collect()
}

fn beyond(overhead: &Overhead) -> String {
    match (overhead.beyond, &overhead.arm) {
        (Beyond::Reference, Some(arm)) => format!("beyond {arm}"),
        (Beyond::Reference, None) => "beyond the reference".to_owned(),
        _ => "beyond its baseline".to_owned(),
    }
}

/// Each known wrapper as text, and its phases; those within another are marked by `inner`.
pub fn wrappers(document: &TraceDocument, inner: &str) -> Vec<(String, Table)> {
    let wrapper = |one: &firstlight_schema::trace::Wrapper| {
        let title = format!(
            "{}: {} of host time per steady step, {} of it",
            one.name,
            duration(one.host_ns),
            share(one.share)
        );
        let mut table =
            Table::new(&["phase", "per step", "of the wrapper", "of the step", "frame"]);
        table.rows.extend(one.phases.iter().map(|phase| {
            let mark = if phase.within.is_some() { inner } else { "" };
            vec![
                format!("{mark}{}", phase.name),
                duration(phase.host_ns),
                share(phase.share_of_wrapper),
                share(phase.share_of_step),
                phase.frame.clone(),
            ]
        }));
        (title, table)
    };
    document.wrappers.iter().map(wrapper).collect()
}
