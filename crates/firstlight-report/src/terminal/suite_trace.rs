//! The document `suite-trace` as text: what recording costs each arm, and the phases of its wrapper.

use firstlight_schema::suite_trace::{ArmTrace, Beyond, Overhead, SuiteTraceDocument};
use firstlight_schema::trace::{TracedRun, Tracing};

use super::page::{BOLD, Page};
use super::trace;
use crate::format::{count, difference, duration};
use crate::table::Align;

const RUNS: [Tracing; 3] = [Tracing::Untraced, Tracing::HostOnly, Tracing::Python];

/// The arm itself is shown where it is the only one.
pub(super) fn suite_trace(page: &mut Page, document: &SuiteTraceDocument, rows: usize) {
    costs(page, document);
    for failed in &document.arms {
        if let Some(reason) = &failed.failed {
            page.gap();
            page.sentence(&format!("{BOLD}{}{BOLD:#} was not recorded: {reason}", failed.arm));
        }
    }
    for finding in document.arms.iter().flat_map(|arm| &arm.overheads).flat_map(|of| &of.findings) {
        page.sentence(&format!("{BOLD}{}{BOLD:#}: {}", finding.finding, finding.text));
    }
    match document.arms.as_slice() {
        [ArmTrace { trace: Some(only), .. }] => {
            page.gap();
            trace::trace(page, only, rows);
        }
        several => {
            for arm in several {
                let Some(one) = &arm.trace else { continue };
                trace::wrappers(page, one);
                for finding in &one.findings {
                    let (name, text) = (finding.finding, &finding.text);
                    page.sentence(&format!("{}: {BOLD}{name}{BOLD:#}: {text}", arm.arm));
                }
            }
        }
    }
}

fn costs(page: &mut Page, document: &SuiteTraceDocument) {
    page.line(&format!(
        "{BOLD}what recording costs{BOLD:#}: {}, case {}, {} run three times, medians of a steady step",
        document.suite,
        document.case,
        count(document.arms.len() as u64, "arm")
    ));
    let mut lines = vec![
        ["arm", "", "untraced", "host only", "with Python frames", "factor"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for arm in &document.arms {
        let Some(inflation) = arm.trace.as_ref().and_then(|trace| trace.inflation.as_ref()) else {
            continue;
        };
        let step = |tracing: Tracing| {
            let run = inflation.runs.iter().find(|run: &&TracedRun| run.tracing == tracing);
            run.and_then(|run| run.step).map(|step| duration(step.point))
        };
        lines.push(line(arm.arm.clone(), "step", step, inflation.factor));
        let host = |tracing: Tracing| {
            let run = inflation.runs.iter().find(|run: &&TracedRun| run.tracing == tracing);
            run.and_then(|run| run.host).map(|host| duration(host.point))
        };
        lines.push(line(String::new(), "host", host, inflation.host_factor));
        for of in &arm.overheads {
            let ns = |tracing: Tracing| {
                let run = of.runs.iter().find(|run| run.tracing == tracing);
                run.map(|run| difference(run.ns))
            };
            lines.push(line(String::new(), &beyond(of), ns, of.factor));
        }
    }
    let align = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right];
    page.columns(&align, &lines);
    page.sentence(
        "  Times to publish are those of the least traced run; the factor is what recording Python \
         frames makes of them. Names and shares below come from the run with Python frames, scaled to \
         the host time of the one without.",
    );
}

fn line(
    arm: String,
    what: &str,
    of: impl Fn(Tracing) -> Option<String>,
    factor: Option<f64>,
) -> Vec<String> {
    let values = RUNS.map(|tracing| of(tracing).unwrap_or_default());
    let factor = factor.map_or_else(|| "–".to_owned(), |factor| format!("{factor:.2}×"));
    [arm, what.to_owned()].into_iter().chain(values).chain([factor]).collect()
}

fn beyond(of: &Overhead) -> String {
    match (of.beyond, &of.arm) {
        (Beyond::Reference, Some(arm)) => format!("beyond {arm}"),
        (Beyond::Reference, None) => "beyond the reference".to_owned(),
        _ => "beyond its baseline".to_owned(),
    }
}
