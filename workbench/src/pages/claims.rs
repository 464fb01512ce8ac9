//! The sentence at the top of a page: one number with its interval, from a snapshot. Words are arguments of
//! the block, with underscores for spaces.

use firstlight_report::words::answer::answers;
use firstlight_report::words::format::{duration, interval, share};
use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::{CaseResult, RunDocument};

use xtask::shell::Result;

use super::case;
use super::conditions::short_machine;

pub(super) fn claim(kind: &str, document: &RunDocument, more: &[&str]) -> Result<String> {
    let [name, words @ ..] = more else { return Err("no case is named".to_owned()) };
    let case = case(document, name)?;
    let sentence = match (kind, words) {
        ("answer", []) => answer(case, "0")?,
        ("answer", [number]) => answer(case, number)?,
        ("planted", [arm, subject]) => mistake(case, arm, subject)?,
        ("overhead", [arm, subject]) => overhead(case, arm, subject)?,
        _ => return Err("no such claim, or not all of its words".to_owned()),
    };
    Ok(format!("> **{sentence}.** {}.", short_machine(document)))
}

/// One of the sentences on the first screen of a report.
fn answer(case: &CaseResult, number: &str) -> Result<String> {
    let number: usize = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
    let sentences = answers(case);
    let sentence = sentences.get(number).ok_or("the case has fewer answers")?;
    let is_name = case.arms.iter().any(|arm| sentence.starts_with(&arm.name));
    Ok(if is_name { sentence.clone() } else { capitalised(sentence) })
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

fn mistake(case: &CaseResult, arm: &str, subject: &str) -> Result<String> {
    let rows = case.planted.iter().flat_map(|one| &one.rows);
    let mut row = rows.filter(|row| row.arm == arm);
    let factor = row.next().and_then(|row| row.time.factor).ok_or("no factor of this arm")?;
    let ends = factor.interval.ok_or("the factor has no interval")?;
    if ends.low <= 1.0 {
        return Err("the interval of the factor contains 1".to_owned());
    }
    let subject = spelled(subject);
    let ends = format!("95 % CI {}–{}×", digits(ends.low), digits(ends.high));
    let times = digits(factor.point);
    Ok(format!("{subject} overstates the time per call of `{arm}` {times}× ({ends})"))
}

fn overhead(case: &CaseResult, arm: &str, subject: &str) -> Result<String> {
    let arms = case.arms.iter().filter(|known| known.name == arm);
    let mut warm = arms.flat_map(|arm| &arm.regimes).filter_map(|result| result.warm.as_ref());
    let warm = warm.next().ok_or("the arm has no warm regime")?;
    let overhead: Estimate = warm.overhead.ok_or("the arm has no overhead")?;
    let ends = overhead.interval.ok_or("the overhead has no interval")?;
    if ends.low <= 0.0 {
        return Err("the interval of the overhead contains 0".to_owned());
    }
    Ok(format!(
        "{} costs {} per call (95 % CI {}), {} of a training step",
        spelled(subject),
        duration(overhead.point),
        interval(ends.low, ends.high),
        share(overhead.point / warm.per_call.point),
    ))
}

/// A factor with three digits, or all digits before the decimal point.
fn digits(factor: f64) -> String {
    match factor {
        large if large >= 99.5 => format!("{large:.0}"),
        medium if medium >= 9.95 => format!("{medium:.1}"),
        small => format!("{small:.2}"),
    }
}

/// Replaces underscores by spaces, except in names between backticks.
fn spelled(words: &str) -> String {
    let parts = words.split('`').enumerate();
    let parts =
        parts.map(|(n, part)| if n % 2 == 0 { part.replace('_', " ") } else { part.to_owned() });
    parts.collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::super::open;
    use super::{claim, spelled};

    #[test]
    fn a_claim_has_its_number_its_interval_and_its_machine() {
        let document = open("generate-cpu").unwrap().unwrap().document;
        let words = ["warm-up-of-5-test-of-15", "growing", "A_warm-up"];
        let text = claim("planted", &document, &words).unwrap();
        let expected =
            "> **A warm-up overstates the time per call of `growing` 1401× (95 % CI 1185–1656×).**";
        assert!(text.starts_with(expected) && text.ends_with(" CPUs."), "{text}");
    }

    #[test]
    fn a_claim_needs_an_interval_that_supports_it() {
        let document = open("generate-cpu").unwrap().unwrap().document;
        let words = ["warm-up-of-5-test-of-15", "static-cache", "A_warm-up"];
        let error = claim("planted", &document, &words).unwrap_err();
        assert_eq!(error, "the interval of the factor contains 1");
        let document = open("jit-overhead-gpu").unwrap().unwrap().document;
        let error = claim("overhead", &document, &["step", "pytrees", "It"]).unwrap_err();
        assert_eq!(error, "the interval of the overhead contains 0");
    }

    #[test]
    fn names_in_backticks_keep_their_underscores() {
        assert_eq!(spelled("The_`filter_jit`_of"), "The `filter_jit` of");
    }
}
