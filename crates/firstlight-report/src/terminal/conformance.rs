//! The output of `firstlight conformance`: a line for each requirement, conversation by conversation.

use std::fmt::Write as _;

use firstlight_schema::conformance::ConformanceDocument;
use firstlight_schema::validation::RuleOutcome;

use super::Terminal;
use super::validation::one_line;

impl Terminal {
    pub fn conformance(&self, document: &ConformanceDocument) -> String {
        let mut text = format!("{}\n", one_line(&document.command.join(" ")));
        for conversation in &document.conversations {
            writeln!(text, "\n{}", conversation.name).expect("a string");
            for result in &conversation.requirements {
                let (outcome, evidence) = (result.outcome.name(), one_line(&result.evidence));
                writeln!(text, "{outcome:<11}  {:<12}  {evidence}", result.requirement)
                    .expect("a string");
            }
        }
        let results = || document.conversations.iter().flat_map(|one| &one.requirements);
        let count = |outcome| results().filter(|result| result.outcome == outcome).count();
        let verdict = if document.passed { "conforms" } else { "DOES NOT CONFORM" };
        writeln!(
            text,
            "\n{verdict}: {} passed, {} failed, {} not checked",
            count(RuleOutcome::Pass),
            count(RuleOutcome::Fail),
            count(RuleOutcome::NotChecked),
        )
        .expect("a string");
        text
    }
}
