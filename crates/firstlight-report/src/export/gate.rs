//! A gate as the comment of a pull request, as a job summary and as annotations of GitHub. The first line
//! of a comment marks it, so that the next run replaces it.

use std::fmt::Write as _;

use firstlight_schema::gate::{Decision, GateDocument, GateRow};

use super::markdown::plain;
use crate::words::format::{count, duration};
use crate::words::gate::{
    change, conditions, headline, is_relevant, margins, place, reason, revision, verdict,
};

/// Longer comments are refused by GitHub, and nobody reads so many rows.
const MOST_ROWS: usize = 100;

/// Rows without a relevant change are folded.
pub fn gate_comment(document: &GateDocument, report_url: Option<&str>) -> String {
    let mut text = format!("<!-- firstlight gate: {} -->\n", marker(&document.subject));
    let (relevant, rest): (Vec<&GateRow>, Vec<&GateRow>) =
        document.rows.iter().partition(|row| is_relevant(row));
    head(&mut text, document);
    if !relevant.is_empty() {
        table(&mut text, &relevant);
    }
    if !rest.is_empty() {
        let n = count(rest.len() as u64, "comparison");
        write!(text, "\n<details>\n<summary>{n} without a relevant change</summary>\n")
            .expect("writing to a string");
        table(&mut text, &rest);
        text.push_str("\n</details>\n");
    }
    foot(&mut text, document, report_url);
    text
}

/// Every row in sight.
pub fn gate_summary(document: &GateDocument, report_url: Option<&str>) -> String {
    let mut text = String::new();
    head(&mut text, document);
    if !document.rows.is_empty() {
        table(&mut text, &document.rows.iter().collect::<Vec<_>>());
    }
    foot(&mut text, document, report_url);
    text
}

/// A command of GitHub's log for each row that needs attention, and one for the whole.
pub fn annotations(document: &GateDocument) -> String {
    let level = |decision: Decision| match decision {
        Decision::Failed | Decision::NotRun => "error",
        Decision::Inconclusive => "warning",
        Decision::Passed => "notice",
    };
    let mut text = String::new();
    let mut add = |decision: Decision, title: &str, message: &str| {
        let (title, message) =
            (escaped(title).replace(',', "%2C").replace(':', "%3A"), escaped(message));
        writeln!(text, "::{} title={title}::{message}", level(decision))
            .expect("writing to a string");
    };
    add(document.decision, "firstlight gate", &headline(document));
    for row in document.rows.iter().filter(|row| row.decision != Decision::Passed) {
        let why = reason(row).map_or_else(String::new, |why| format!("; {why}"));
        let title = format!("firstlight: {}", verdict(row));
        add(row.decision, &title, &format!("{}: {}{why}", place(row), change(row)));
    }
    text
}

/// As GitHub's log wants the text of a command.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text that cannot end an HTML comment.
fn marker(subject: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || " ._/=".contains(c) { c } else { '-' };
    let mut text: String = subject.chars().take(100).map(plain).collect();
    while text.contains("--") {
        text = text.replace("--", "-");
    }
    text
}

fn head(text: &mut String, document: &GateDocument) {
    let sign = match document.decision {
        Decision::Passed => "✅",
        Decision::Failed => "❌",
        Decision::Inconclusive => "❔",
        Decision::NotRun => "💥",
    };
    writeln!(text, "### {sign} {}\n", plain(&headline(document))).expect("writing to a string");
    let (base, head) = (revision(&document.base), revision(&document.head));
    writeln!(
        text,
        "{}: head is {}, base is {}. Margin {}.",
        plain(&document.subject),
        plain(&head),
        plain(&base),
        margins(document)
    )
    .expect("writing to a string");
}

fn table(text: &mut String, rows: &[&GateRow]) {
    text.push_str(
        "\n| where | verdict | change (95 % CI) | base | head |\n|---|---|--:|--:|--:|\n",
    );
    for row in rows.iter().take(MOST_ROWS) {
        let time = |side: Option<f64>| side.map_or_else(|| "none".to_owned(), duration);
        let why = reason(row).filter(|_| is_relevant(row));
        let why = why.map_or_else(String::new, |why| format!(": {}", plain(&why)));
        writeln!(
            text,
            "| {} | {}{why} | {} | {} | {} |",
            plain(&place(row)),
            verdict(row),
            change(row),
            time(row.base.map(|time| time.point)),
            time(row.head.map(|time| time.point)),
        )
        .expect("writing to a string");
    }
    if rows.len() > MOST_ROWS {
        let more = count((rows.len() - MOST_ROWS) as u64, "more row");
        writeln!(text, "\n{more} in the report.").expect("writing to a string");
    }
}

fn foot(text: &mut String, document: &GateDocument, report_url: Option<&str>) {
    text.push('\n');
    for note in &document.notes {
        writeln!(text, "- {}", plain(note)).expect("writing to a string");
    }
    if !document.notes.is_empty() {
        text.push('\n');
    }
    if !document.complete {
        text.push_str("**The run is not complete.**\n\n");
    }
    let is_web = |url: &&str| ["https://", "http://"].iter().any(|start| url.starts_with(start));
    if let Some(url) = report_url.filter(is_web) {
        let url = url.replace(['(', ')', '<', '>', ' ', '\n'], "");
        writeln!(text, "[Report]({url})\n").expect("writing to a string");
    }
    writeln!(
        text,
        "<sub>{}. Reproduce: {}</sub>",
        plain(&conditions(document)),
        code(&document.reproduce)
    )
    .expect("writing to a string");
}

/// A command line as code, whatever is in it.
fn code(text: &str) -> String {
    let safe = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<code>{}</code>", safe.replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::{code, escaped, marker};

    #[test]
    fn texts_cannot_leave_their_places() {
        assert_eq!(marker("bench/mlp"), "bench/mlp");
        assert!(!marker("x --> <!-- y").contains("--"));
        assert_eq!(escaped("50 %\n::error::x"), "50 %25%0A::error::x");
        assert_eq!(code("a</code><img>"), "<code>a&lt;/code&gt;&lt;img&gt;</code>");
    }
}
