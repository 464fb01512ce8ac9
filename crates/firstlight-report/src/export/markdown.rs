//! A run as a few lines of Markdown for a pull request: verdicts, break-evens, findings. Text of a suite or a
//! workload creates no markup, no link and no mention.

use std::fmt::Write as _;

use firstlight_schema::comparison::Comparison;
use firstlight_schema::run::{CaseResult, RunDocument};

use crate::words::arrays::arrays;
use crate::words::findings::{FindingText, Place, of_the_case, of_the_machine};
use crate::words::format::is_invisible;
use crate::words::machine::machine;
use crate::words::row::Row;
use crate::words::verdict::{answer, times};

const SHOWN_PLACES: usize = 3;

pub fn markdown(document: &RunDocument) -> String {
    let mut text = format!("### {}\n\n", plain(&document.suite));
    let comparisons: Vec<&Comparison> =
        document.cases.iter().flat_map(|case| &case.comparisons).collect();
    if comparisons.is_empty() {
        times_of(&mut text, document);
    } else {
        verdicts(&mut text, &comparisons);
    }
    for case in &document.cases {
        break_evens(&mut text, case);
    }
    findings(&mut text, &all_findings(document));
    sizes(&mut text, document);
    conditions(&mut text, document);
    text
}

fn verdicts(text: &mut String, comparisons: &[&Comparison]) {
    text.push_str("| case | regime | arm | against | verdict | time | 95 % interval |\n");
    text.push_str("|---|---|---|---|---|--:|---|\n");
    for comparison in comparisons {
        let ratio =
            comparison.ratio.map_or_else(|| "none".to_owned(), |ratio| times(ratio.point) + "×");
        let interval =
            comparison.ratio.and_then(|ratio| ratio.interval).map_or_else(String::new, |ends| {
                format!("{}× to {}×", times(ends.low), times(ends.high))
            });
        let (case, arm, against) =
            (plain(&comparison.case), plain(&comparison.arm), plain(&comparison.against));
        line(
            text,
            &format!(
                "| {case} | {} | {arm} | {against} | {} | {ratio} | {interval} |",
                comparison.regime, comparison.verdict
            ),
        );
    }
}

/// The times themselves if nothing is compared.
fn times_of(text: &mut String, document: &RunDocument) {
    text.push_str("| case | arm | regime | time | interval | processes |\n");
    text.push_str("|---|---|---|--:|---|--:|\n");
    for case in &document.cases {
        for (arm, regime) in
            case.arms.iter().flat_map(|arm| arm.regimes.iter().map(move |one| (arm, one)))
        {
            let Row { arm, regime, time, interval, processes, .. } = Row::new(arm, regime);
            let (case, arm) = (plain(&case.name), plain(arm));
            line(
                text,
                &format!("| {case} | {arm} | {regime} | {time} | {interval} | {processes} |"),
            );
        }
    }
}

fn break_evens(text: &mut String, case: &CaseResult) {
    for (index, even) in case.break_evens.iter().enumerate() {
        if index == 0 {
            text.push('\n');
        }
        line(
            text,
            &format!(
                "- break-even, {}, {}: {}",
                plain(&case.name),
                even.cold,
                plain(&answer(even))
            ),
        );
    }
}

/// Each finding once, whatever the number of affected cases.
fn all_findings(document: &RunDocument) -> Vec<FindingText> {
    let mut all: Vec<FindingText> = Vec::new();
    let of_cases = document.cases.iter().flat_map(|case| {
        of_the_case(case).into_iter().map(move |mut entry| {
            for place in &mut entry.places {
                place.place = format!("{}, {}", case.name, place.place);
            }
            entry
        })
    });
    for entry in of_cases.chain(of_the_machine(document)) {
        match all.iter_mut().find(|known| known.finding == entry.finding) {
            Some(known) => known.places.extend(entry.places),
            None => all.push(entry),
        }
    }
    all
}

fn findings(text: &mut String, all: &[FindingText]) {
    for (index, entry) in all.iter().enumerate() {
        if index == 0 {
            text.push('\n');
        }
        let said = |place: &Place| format!("{}: {}", plain(&place.place), plain(&place.text));
        let places: Vec<String> = entry.places.iter().take(SHOWN_PLACES).map(said).collect();
        let more = match entry.places.len().saturating_sub(SHOWN_PLACES) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        line(text, &format!("- **{}**: {}{more}", entry.finding, places.join("; ")));
    }
}

fn conditions(text: &mut String, document: &RunDocument) {
    let complete = if document.complete { "" } else { "; **not complete**" };
    line(
        text,
        &format!(
            "\n{}, {}, seed {}, firstlight {}{complete}",
            plain(&machine(document)),
            plain(&document.created),
            document.seed,
            plain(&document.firstlight.version),
        ),
    );
}

/// Sizes and element types of each case.
fn sizes(text: &mut String, document: &RunDocument) {
    let all = document.cases.iter().flat_map(|case| {
        arrays(case).into_iter().map(move |(arms, words)| (&case.name, arms, words))
    });
    for (index, (case, arms, words)) in all.enumerate() {
        if index == 0 {
            text.push('\n');
        }
        line(text, &format!("- arrays, {}, {}: {}", plain(case), plain(&arms), plain(&words)));
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string");
}

/// Text without special meaning in Markdown and on GitHub: one line, no markup, no mention, no link.
pub(super) fn plain(text: &str) -> String {
    /// An invisible separator of two characters.
    const JOINER: char = '\u{2060}';
    let mut safe = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '|' | '~' | '!' => {
                safe.extend(['\\', c]);
            }
            '@' | '#' => safe.extend([c, JOINER]),
            ':' if rest.peek().is_some_and(|next| !next.is_whitespace()) => {
                safe.extend([c, JOINER]);
            }
            c if is_invisible(c) => safe.push(' '),
            c => safe.push(c),
        }
    }
    // `www.` alone creates a link, too.
    safe.replace("www.", "www\u{2060}.")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn foreign_text_creates_no_markup() {
        assert_eq!(plain("mlp, 256"), "mlp, 256");
        assert_eq!(plain("a|b\n<img src=x>"), "a\\|b &lt;img src=x&gt;");
        assert_eq!(plain("[x](y) `z`"), "\\[x\\](y) \\`z\\`");
        assert_eq!(plain("a\u{202e}b\x1b[2J"), "a b \\[2J");
        for text in ["@someone", "#12", "https://example.org", "www.example.org"] {
            assert!(!plain(text).contains(text), "{text}");
        }
    }
}
