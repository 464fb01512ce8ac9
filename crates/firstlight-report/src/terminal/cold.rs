//! The document `cold` as text.

use std::fmt::Write as _;

use firstlight_schema::cache::{CachePolicy, Policy};
use firstlight_schema::cold::{ColdDocument, Summary};
use firstlight_schema::sample::Sample;

use super::evidence::{control, invalid, notices};
use super::page::{BOLD, Page};
use super::sheet::{Depth, headline, sheet};
use crate::diagnosis;
use crate::format::{fit, policy};

pub(super) fn cold(page: &mut Page, document: &ColdDocument) {
    let command = fit(&document.command.join(" "), page.width());
    page.line(&format!("{BOLD}{command}{BOLD:#}"));
    let shown = document.summary.as_ref().or(document.invalid_summary.as_deref());
    page.sentence(&conditions(document.samples.len(), document.policy, shown));
    page.gap();
    if document.summary.is_none() {
        page.sentence(&no_valid_sample(&document.samples));
        page.gap();
    }
    if let Some(summary) = shown {
        let longest = headline(summary).1;
        sheet(page, summary, &document.samples, longest, Depth::Imports);
    }
    if let Some(of) = &document.control {
        control(page, of);
    }
    invalid(page, &document.samples);
    notices(page, &document.notices);
    page.gap();
    for line in &document.diagnosis {
        page.sentence(&diagnosis::line(line));
    }
}

/// Why the ledger below is not a result.
fn no_valid_sample(samples: &[Sample]) -> String {
    let reason = samples.iter().flat_map(|sample| &sample.reasons).next();
    let reason = reason.map_or_else(|| "nothing was measured".to_owned(), ToString::to_string);
    format!("{BOLD}INVALID{BOLD:#}: {reason}")
}

fn conditions(samples: usize, of: CachePolicy, summary: Option<&Summary>) -> String {
    let processes = if samples == 1 { "process" } else { "processes" };
    let mut text = format!(
        "{samples} fresh {processes}, compiler caches {}{}, byte code {}",
        policy(of.compilers),
        summary.map_or_else(String::new, switches),
        policy(of.bytecode),
    );
    if of.page_cache != Policy::AsFound {
        write!(text, ", page cache {}", policy(of.page_cache)).expect("writing to a string");
    }
    text
}

/// Which caches were on and which off: ` (inductor on, jax off)`; nothing where no framework tells.
pub(super) fn switches(summary: &Summary) -> String {
    let told = summary.caches.iter().filter_map(|layer| {
        let on = if layer.enabled? { "on" } else { "off" };
        Some(format!("{} {on}", layer.layer))
    });
    match told.collect::<Vec<_>>() {
        told if told.is_empty() => String::new(),
        told => format!(" ({})", told.join(", ")),
    }
}
