//! The document `cold` as text.

use std::fmt::Write as _;

use firstlight_schema::cache::{CachePolicy, Policy};
use firstlight_schema::cold::ColdDocument;

use super::evidence::{control, invalid, notices};
use super::page::{BOLD, Page};
use super::sheet::{Depth, headline, sheet};
use crate::format::{fit, policy};
use crate::sentence;

pub(super) fn cold(page: &mut Page, document: &ColdDocument) {
    let command = fit(&document.command.join(" "), page.width());
    page.line(&format!("{BOLD}{command}{BOLD:#}"));
    page.sentence(&conditions(document.samples.len(), document.policy));
    page.gap();
    match &document.summary {
        Some(summary) => {
            let longest = headline(summary).1;
            sheet(page, summary, &document.samples, longest, Depth::Imports);
        }
        None => page.line("no valid sample"),
    }
    if let Some(of) = &document.control {
        control(page, of);
    }
    invalid(page, &document.samples);
    notices(page, &document.notices);
    if let Some(summary) = &document.summary {
        page.gap();
        page.sentence(&sentence::largest(summary));
    }
}

fn conditions(samples: usize, of: CachePolicy) -> String {
    let processes = if samples == 1 { "process" } else { "processes" };
    let mut text = format!(
        "{samples} fresh {processes}, compiler caches {}, byte code {}",
        policy(of.compilers),
        policy(of.bytecode),
    );
    if of.page_cache != Policy::AsFound {
        write!(text, ", page cache {}", policy(of.page_cache)).expect("writing to a string");
    }
    text
}
