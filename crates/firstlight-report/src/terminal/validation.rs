//! The output of `firstlight verify`: a line for each rule, and the places of errors.

use std::fmt::Write as _;

use firstlight_schema::validation::{RuleOutcome, ValidationDocument};

use super::Terminal;

/// Line breaks in a snapshot must not look like our own lines.
pub(super) fn one_line(text: &str) -> String {
    text.replace('\n', "\\n").replace('\t', "\\t")
}

impl Terminal {
    pub fn validation(&self, document: &ValidationDocument) -> String {
        let mut text = String::new();
        let id = document.snapshot.as_deref().unwrap_or("a snapshot without an id");
        writeln!(text, "{}\n", one_line(id)).expect("writing to a string");
        for result in &document.rules {
            let outcome = result.outcome.name();
            let evidence = one_line(&result.evidence);
            writeln!(text, "{outcome:<11}  {:<20}  {evidence}", result.rule)
                .expect("writing to a string");
            for place in &result.places {
                writeln!(text, "{:<11}  {}", "", one_line(&place.to_string()))
                    .expect("writing to a string");
            }
        }
        let count = |outcome| document.rules.iter().filter(|rule| rule.outcome == outcome).count();
        let verdict = if document.passed { "verified" } else { "NOT VERIFIED" };
        writeln!(
            text,
            "\n{verdict}: {} passed, {} with a warning, {} failed, {} not checked",
            count(RuleOutcome::Pass),
            count(RuleOutcome::Warn),
            count(RuleOutcome::Fail),
            count(RuleOutcome::NotChecked),
        )
        .expect("writing to a string");
        text
    }
}
