//! The first screen of a case: its answer, the picture that shows it, the ledgers, and the command.

use firstlight_schema::run::CaseResult;
use firstlight_schema::suite::Regime;
use maud::{Markup, html};

use super::glossary::term;
use super::name;
use crate::model::Case;
use crate::svg::{arm_class, break_even, totals};
use crate::words::answer::{answers, has_many_pairs};

pub(super) fn card(id: &str, case: &Case<'_>) -> Markup {
    let sentences = answers(case.of);
    let (first, rest) = sentences.split_first().expect("a case has an answer");
    html! {
        div class="card" {
            div class="answers" {
                p class="answer" { bdi { (sentence(first)) } }
                @if !rest.is_empty() {
                    ul { @for one in rest { li { bdi { (sentence(one)) } } } }
                }
                @if !case.rerun.is_empty() {
                    p class="note" { "Reproduce: " (command(&case.rerun)) }
                }
                @if !case.arrays.is_empty() {
                    p class="note" {
                        "Arrays of "
                        @for (index, (arms, words)) in case.arrays.iter().enumerate() {
                            @if index > 0 { " · " }
                            (name(arms)) ": " (words)
                        }
                    }
                }
                @if !case.findings.is_empty() {
                    p class="soft" {
                        a href={ "#" (id) "-findings" } {
                            (case.findings.len()) @if case.findings.len() == 1 { " warning" } @else { " warnings" }
                        }
                    }
                }
            }
            @if let Some(picture) = picture(id, case) { (picture) }
        }
    }
}

/// A command that breaks only between its words: an option is not broken at its hyphens.
fn command(words: &[String]) -> Markup {
    html! {
        code {
            @for (index, word) in words.iter().enumerate() {
                @if index > 0 { " " }
                span class="whole" { (word) }
            }
        }
    }
}

/// A sentence begins with a capital letter, unless it begins with a name.
fn sentence(text: &str) -> String {
    let lower = ["the ", "no ", "each ", "first ", "fastest ", "inconclusive", "equivalent"];
    if !lower.iter().any(|start| text.starts_with(start)) {
        return format!("{text}.");
    }
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// The crossing of the arms' costs: a pair with its interval, or all arms if there are more.
fn picture(id: &str, case: &Case<'_>) -> Option<Markup> {
    let picture = if has_many_pairs(case.of) {
        totals(&format!("{id}-totals"), case.of, Regime::ColdClean, &case.cast)?
    } else {
        let even = case.of.break_evens.first()?;
        let classes = [&even.arm, &even.against].map(|arm| arm_class(&case.cast, arm));
        break_even(&format!("{id}-card"), even, [&classes[0], &classes[1]])?
    };
    Some(html! {
        figure {
            figcaption class="soft" { "Total time against calls, " (term(Regime::ColdClean.name())) }
            (picture)
        }
    })
}

/// The titles of commands are the commands themselves.
pub(super) fn commands(case: &CaseResult) -> Option<Markup> {
    let words = |arm: &firstlight_schema::run::ArmResult| Some(arm.command.as_ref()?.join(" "));
    let all: Option<Vec<_>> = case.arms.iter().map(|arm| Some((arm, words(arm)?))).collect();
    let all = all?;
    Some(html! {
        // A single command is the page's title.
        @if all.len() > 1 {
            dl class="facts" {
                @for (arm, words) in &all { dt { (name(&arm.name)) } dd { code { (words) } } }
            }
        }
    })
}
