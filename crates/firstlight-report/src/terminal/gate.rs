//! The documents `gate` and `bisect` as text.

use firstlight_schema::gate::{BisectDocument, GateDocument};

use super::page::{BOLD, Page};
use crate::words::gate::{
    change, conclusion, conditions, headline, margins, place, reason, revision, step, verdict,
};
use crate::words::table::Align;

pub(super) fn gate(page: &mut Page, document: &GateDocument) {
    let words = format!("{}: {}", document.decision.name(), headline(document));
    page.sentence(&format!("{BOLD}{words}{BOLD:#}"));
    page.gap();
    page.facts(&[
        ("base", about(&revision(&document.base), &document.base.subject)),
        ("head", about(&revision(&document.head), &document.head.subject)),
        ("margin", margins(document)),
    ]);
    page.gap();
    let rows: Vec<Vec<String>> = document
        .rows
        .iter()
        .map(|row| vec![place(row), verdict(row).to_owned(), change(row)])
        .collect();
    page.columns(&[Align::Left, Align::Left, Align::Right], &rows);
    let reasons: Vec<String> = document
        .rows
        .iter()
        .filter_map(|row| Some(format!("{}: {}", place(row), reason(row)?)))
        .collect();
    for line in reasons.iter().chain(&document.notes) {
        page.gap();
        page.sentence(line);
    }
    page.gap();
    page.sentence(&conditions(document));
    page.sentence(&format!("reproduce: {}", document.reproduce));
}

fn about(name: &str, subject: &str) -> String {
    format!("{name}: {subject}")
}

pub(super) fn bisect(page: &mut Page, document: &BisectDocument) {
    for one in &document.steps {
        page.sentence(&step(one));
    }
    page.gap();
    page.sentence(&format!("{BOLD}{}{BOLD:#}", conclusion(document)));
    if document.suspects.len() > 1 {
        for one in &document.suspects {
            page.sentence(&format!("  {} {}", one.short(), one.subject));
        }
    }
}
