//! The gate as JUnit XML: a test for each measurement, and one for each verdict.
//!
//! A measurement without a valid number is an error. For verdicts, slower is a failure, invalid an error, and
//! inconclusive is skipped, so "regressed" and "inconclusive" are distinct.

use std::fmt::Write as _;

use firstlight_schema::comparison::{Comparison, Verdict};
use firstlight_schema::run::{Agreed, ArmResult, CaseResult, RegimeResult, RunDocument};

use crate::words::headline::headline;
use crate::words::verdict::verdict;

/// The outcome of one test.
enum Outcome {
    Passed,
    Failed(String),
    Error(String),
    Skipped(String),
}

struct Test {
    name: String,
    outcome: Outcome,
}

pub fn junit(document: &RunDocument) -> String {
    let suites: Vec<(&CaseResult, Vec<Test>)> =
        document.cases.iter().map(|case| (case, tests(case))).collect();
    let all = counts(suites.iter().flat_map(|(_, tests)| tests));
    let name = escaped(&document.suite);
    let head =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{name}\" {all}>\n");
    let suites = suites.iter().map(|(case, tests)| suite(document, case, tests));
    head + &suites.collect::<String>() + "</testsuites>\n"
}

fn suite(document: &RunDocument, case: &CaseResult, tests: &[Test]) -> String {
    let name = escaped(&format!("{}.{}", document.suite, case.name));
    let skipped = tests.iter().filter(|test| matches!(test.outcome, Outcome::Skipped(_))).count();
    let head = format!(
        "  <testsuite name=\"{name}\" {} skipped=\"{skipped}\"{}>\n",
        counts(tests.iter()),
        timestamp(&document.created),
    );
    head + &tests.iter().map(|test| element(test, &name)).collect::<String>() + "  </testsuite>\n"
}

/// Readers require `2026-01-01T00:00:00`; dates of other tools may have another format or be unknown.
fn timestamp(created: &str) -> String {
    match created.get(..19) {
        Some(date) if date.as_bytes()[10] == b'T' => {
            format!(" timestamp=\"{}\"", escaped(date))
        }
        Some(_) | None => String::new(),
    }
}

fn counts<'a>(tests: impl Iterator<Item = &'a Test>) -> String {
    let (mut all, mut failures, mut errors) = (0, 0, 0);
    for test in tests {
        all += 1;
        match test.outcome {
            Outcome::Failed(_) => failures += 1,
            Outcome::Error(_) => errors += 1,
            Outcome::Passed | Outcome::Skipped(_) => {}
        }
    }
    format!("tests=\"{all}\" failures=\"{failures}\" errors=\"{errors}\"")
}

/// `class` is escaped already.
fn element(test: &Test, class: &str) -> String {
    let open = format!("    <testcase name=\"{}\" classname=\"{class}\"", escaped(&test.name));
    let inner = |tag: &str, message: &str| {
        format!("{open}>\n      <{tag} message=\"{}\"/>\n    </testcase>\n", escaped(message))
    };
    match &test.outcome {
        Outcome::Passed => format!("{open}/>\n"),
        Outcome::Failed(message) => inner("failure", message),
        Outcome::Error(message) => inner("error", message),
        Outcome::Skipped(message) => inner("skipped", message),
    }
}

fn tests(case: &CaseResult) -> Vec<Test> {
    let arms = case.arms.iter().flat_map(|arm| arm.regimes.iter().map(move |result| (arm, result)));
    let mut tests: Vec<Test> = arms.map(|(arm, result)| measurement(arm, result)).collect();
    tests.extend(case.comparisons.iter().map(comparison));
    tests
}

fn measurement(arm: &ArmResult, regime_result: &RegimeResult) -> Test {
    let wrong = match &arm.agreement {
        Agreed::Differs { how } => Some(how.clone()),
        Agreed::Reference
        | Agreed::Equal
        | Agreed::Close { .. }
        | Agreed::Sampled { .. }
        | Agreed::NotCompared { .. } => None,
    };
    let reason = || {
        regime_result
            .samples
            .iter()
            .flat_map(|sample| &sample.reasons)
            .chain(&regime_result.notices)
            .next()
    };
    let outcome = match (&arm.stopped, wrong, headline(regime_result)) {
        (Some(why), ..) => Outcome::Error(why.to_string()),
        (None, Some(how), _) => Outcome::Error(how),
        (None, None, None) => Outcome::Error(
            reason().map_or_else(|| "nothing was measured".to_owned(), ToString::to_string),
        ),
        (None, None, Some(_)) => Outcome::Passed,
    };
    Test { name: format!("{}, {}: is measured", arm.name, regime_result.regime), outcome }
}

fn comparison(value: &Comparison) -> Test {
    let said = verdict(value);
    let outcome = match value.verdict {
        Verdict::Faster | Verdict::Equivalent => Outcome::Passed,
        Verdict::Slower => Outcome::Failed(said),
        Verdict::Inconclusive | Verdict::TooFew | Verdict::NotConfirmed => Outcome::Skipped(said),
        Verdict::Invalid => Outcome::Error(said),
    };
    Test {
        name: format!("{}, {}: is not slower than {}", value.arm, value.regime, value.against),
        outcome,
    }
}

/// Escaped text for an attribute. Characters that XML 1.0 cannot represent become U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\t' | '\n' | '\r' => write!(out, "&#{};", u32::from(c)).expect("writing to a string"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn no_text_leaves_its_attribute() {
        let text = escaped("\"/><script>'&\n\u{1b}[31m\u{0}");
        assert_eq!(text, "&quot;/&gt;&lt;script&gt;&apos;&amp;&#10;\u{fffd}[31m\u{fffd}",);
    }
}
