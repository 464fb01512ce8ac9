//! Findings with their meaning and remedy.

use maud::{Markup, html};

use crate::words::findings::{Place, Told};

/// The number of places shown; the rest is folded.
const SHOWN_PLACES: usize = 3;

pub(super) fn findings(title: &str, all: &[Told]) -> Markup {
    if all.is_empty() {
        return html! {};
    }
    html! {
        h3 { (title) }
        @for told in all { (finding(told)) }
    }
}

fn finding(told: &Told) -> Markup {
    let (shown, rest) = told.places.split_at(told.places.len().min(SHOWN_PLACES));
    html! {
        div class="finding" {
            p { strong { (told.finding) } ": " (code(told.finding.meaning())) "." }
            (places(shown))
            @if !rest.is_empty() {
                details { summary { "In " (rest.len()) " more places" } (places(rest)) }
            }
            @if let Some(advice) = told.finding.advice() { p { "→ " (code(advice)) } }
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
