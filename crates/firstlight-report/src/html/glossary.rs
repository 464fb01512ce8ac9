//! firstlight's own terms, explained where they appear and at the end of the page.

use maud::{Markup, html};

const WORDS: [(&str, &str); 14] = [
    ("cold-clean", "a fresh process with empty compilation caches"),
    ("cold-primed", "a fresh process whose compilation caches an earlier process has filled"),
    ("warm", "calls in a process that has already compiled and warmed up"),
    ("fresh", "whole processes that another tool timed"),
    ("case", "one piece of work, with its parameters"),
    ("regime", "how a measurement starts: cold-clean, cold-primed, warm or fresh"),
    ("snapshot", "a stored run with its raw readings, identified by their checksum"),
    ("steady state", "the part of a warm process in which calls no longer get faster or slower"),
    ("time to first result", "from the start of the process to the end of its first call"),
    ("arm", "one of the ways of doing the same work that a suite compares"),
    (
        "A/A control",
        "the reference arm measured twice under two names; it must not differ from itself",
    ),
    ("break-even", "the number of calls after which the slower start is paid back by faster calls"),
    ("ledger", "the wall time of a process, every nanosecond booked to one phase"),
    ("margin", "the largest difference that does not matter; smaller ones count as equivalent"),
];

/// A term with its explanation as a tooltip and a link.
pub(crate) fn term(word: &str) -> Markup {
    let known = WORDS.iter().find(|(known, _)| *known == word);
    html! {
        @if let Some((_, meaning)) = known {
            a class="term" href={ "#" (anchor(word)) } title=(meaning) { (word) }
        } @else { (word) }
    }
}

fn anchor(word: &str) -> String {
    format!("word-{}", word.replace([' ', '/'], "-").to_lowercase())
}

pub(crate) fn glossary() -> Markup {
    html! {
        section aria-labelledby="glossary" {
            h2 id="glossary" { "Glossary" }
            dl class="facts" {
                @for (word, meaning) in WORDS { dt id=(anchor(word)) { (word) } dd { (meaning) } }
            }
        }
    }
}
