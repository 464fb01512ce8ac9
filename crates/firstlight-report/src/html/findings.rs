//! Findings with their meaning and remedy.

use maud::{Markup, html};

use crate::words::findings::{FindingText, Place};
use crate::words::format::count;

/// The number of places shown; the rest is folded.
const SHOWN_PLACES: usize = 3;

pub(super) fn findings(title: &str, all: &[FindingText]) -> Markup {
    if all.is_empty() {
        return html! {};
    }
    html! {
        h3 { (title) }
        @for entry in all { (finding(entry)) }
    }
}

fn finding(entry: &FindingText) -> Markup {
    let (shown, rest) = entry.places.split_at(entry.places.len().min(SHOWN_PLACES));
    html! {
        div class="finding" {
            p { strong { (entry.finding) } ": " (code(entry.finding.meaning())) "." }
            (places(shown))
            @if !rest.is_empty() {
                details { summary { (count(rest.len() as u64, "more place")) } (places(rest)) }
            }
            @if let Some(advice) = entry.finding.advice() { p { "→ " (code(advice)) } }
        }
    }
}

fn places(all: &[Place]) -> Markup {
    html! {
        ul { @for one in all { li { bdi { (one.place) } ": " bdi { (one.text) } } } }
    }
}

/// Our own text, with commands and settings between back-quotes.
fn code(text: &'static str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
