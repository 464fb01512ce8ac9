//! The cost of recording: the document `suite-trace` on a run's page.

use firstlight_schema::suite_trace::SuiteTraceDocument;
use maud::{Markup, html};

use super::case::answer;
use crate::words::tables;

pub(super) fn recording(document: &SuiteTraceDocument) -> Markup {
    html! {
        section aria-labelledby="recording" {
            h2 id="recording" { "What recording costs" }
            p {
                "The arms of " (document.case) " run three times more, untraced and recorded. Times to publish are "
                "those of the least traced run; the factor is what recording Python frames makes of them."
            }
            (answer("Untraced and recorded", "Medians of a steady step", tables::recording(document)))
            @for arm in &document.arms {
                @if let Some(why) = &arm.failed { p class="warning" { (arm.arm) " was not recorded: " (why) } }
                @for finding in arm.overheads.iter().flat_map(|overhead| &overhead.findings) {
                    p class="warning" { (arm.arm) ": " (finding.to_string()) }
                }
                @if let Some(trace) = &arm.trace {
                    @for (title, table) in tables::wrappers(trace, "– ") {
                        (answer(&title, "Shares of the run with Python frames", Some(table)))
                    }
                }
            }
        }
    }
}
