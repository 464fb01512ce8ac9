//! The document `suite-trace` as text: the cost of recording for each arm, and the phases of its wrapper.

use firstlight_schema::suite_trace::{ArmTrace, SuiteTraceDocument};

use super::page::{BOLD, Page};
use super::trace;
use crate::words::format::count;
use crate::words::table::Align;
use crate::words::tables;

/// A single arm is shown itself.
pub(super) fn suite_trace(page: &mut Page, document: &SuiteTraceDocument, rows: usize) {
    costs(page, document);
    for failed in &document.arms {
        if let Some(reason) = &failed.failed {
            page.gap();
            page.sentence(&format!("{BOLD}{}{BOLD:#} was not recorded: {reason}", failed.arm));
        }
    }
    for finding in
        document.arms.iter().flat_map(|arm| &arm.overheads).flat_map(|item| &item.findings)
    {
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
        "{BOLD}cost of recording{BOLD:#}: {}, case {}, {} run three times, medians of a steady step",
        document.suite,
        document.case,
        count(document.arms.len() as u64, "arm")
    ));
    let Some(table) = tables::recording(document) else { return };
    let lines: Vec<Vec<String>> = std::iter::once(table.head).chain(table.rows).collect();
    let align = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right];
    page.columns(&align, &lines);
    page.sentence(
        "  Times to publish are those of the least traced run; the factor is what recording Python \
         frames makes of them. Names and shares below come from the run with Python frames, scaled to \
         the host time of the one without.",
    );
}
