//! Problems and notices: each finding once, with its places and its remedy.

use firstlight_schema::run::{CaseResult, RunDocument};

use super::page::{BOLD, Page};
use crate::words::findings::{self, FindingText, Place};

const SHOWN_PLACES: usize = 4;

/// All findings of a case.
pub(super) fn findings(page: &mut Page, case: &CaseResult) {
    print(page, &findings::of_the_case(case));
}

/// Findings about the machine as a whole.
pub(super) fn of_the_machine(page: &mut Page, document: &RunDocument) {
    print(page, &findings::of_the_machine(document));
}

fn print(page: &mut Page, all: &[FindingText]) {
    for entry in all {
        page.gap();
        for (index, Place { place, text }) in entry.places.iter().take(SHOWN_PLACES).enumerate() {
            match index {
                0 => page.sentence(&format!("{BOLD}{}{BOLD:#}: {place}: {text}", entry.finding)),
                _ => page.sentence(&format!("  {place}: {text}")),
            }
        }
        if entry.places.len() > SHOWN_PLACES {
            let rest = &entry.places[SHOWN_PLACES..];
            let places: Vec<&str> = rest.iter().map(|place| place.place.as_str()).collect();
            page.sentence(&format!("  and in {}", places.join("; ")));
        }
        if let Some(advice) = entry.finding.advice() {
            page.sentence(&format!("  → {advice}"));
        }
    }
}
