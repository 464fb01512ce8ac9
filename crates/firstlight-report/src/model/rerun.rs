//! The command that measures a case again.

use firstlight_schema::run::{CaseResult, RunDocument};

pub(super) fn rerun(document: &RunDocument, case: &CaseResult) -> String {
    format!(
        "firstlight run {} --case {} --processes {} --seed {}",
        quoted(&document.suite),
        quoted(&case.name),
        document.options.processes,
        document.seed
    )
}

/// A word as a POSIX shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_is_quoted_only_where_a_shell_would_not_take_it_as_it_is() {
        assert_eq!(quoted("mlp.width-64"), "mlp.width-64");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("$(rm -r ~)'s"), r"'$(rm -r ~)'\''s'");
    }
}
