//! The table of raw readings as CSV (RFC 4180, with line feeds); an empty field is an absent value.

use std::fmt::Display;

use firstlight_schema::run::RunDocument;

use super::table::{COLUMNS, Row, rows};

pub fn csv(document: &RunDocument) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for row in rows(document) {
        text.push_str(&line(&row));
        text.push('\n');
    }
    text
}

fn line(row: &Row<'_>) -> String {
    [
        quoted(row.case),
        quoted(row.arm),
        row.regime.to_string(),
        row.control.to_string(),
        optional(row.round),
        row.process.to_string(),
        row.part.name().to_owned(),
        optional(row.call),
        optional(row.calls),
        optional(row.begin_ns),
        optional(row.duration_ns),
        optional(row.steady),
        row.valid.to_string(),
        quoted(&row.reasons),
    ]
    .join(",")
}

fn optional<T: Display>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A name as a field. A spreadsheet would evaluate a name that begins like a formula, so it gets a leading
/// apostrophe, which spreadsheets treat as a mark of text.
fn quoted(text: &str) -> String {
    let text = &match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}"),
        _ => text.to_owned(),
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn only_fields_that_need_quotes_are_quoted() {
        assert_eq!(quoted("plain name"), "plain name");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"] {
            assert_eq!(quoted(formula), format!("'{formula}"));
        }
        assert_eq!(quoted("say \"so\"\n"), "\"say \"\"so\"\"\n\"");
    }
}
