//! The command that measures a case again.

use firstlight_schema::run::{CaseResult, RunDocument};

pub(super) fn rerun(document: &RunDocument, case: &CaseResult) -> String {
    let commands: Option<Vec<_>> = case.arms.iter().map(|arm| arm.command.as_deref()).collect();
    if let Some(commands) = commands.filter(|all| !all.is_empty()) {
        return cold(document, case, &commands);
    }
    format!(
        "firstlight run {} --case {} --processes {} --seed {}",
        quoted(&document.suite),
        quoted(&case.name),
        document.options.processes,
        document.seed
    )
}

/// The command line of `firstlight cold`, whose arms are commands.
fn cold(document: &RunDocument, case: &CaseResult, commands: &[&[String]]) -> String {
    let words = |command: &[String]| {
        let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    };
    let runs = document.options.processes;
    if let [only] = commands {
        return format!("firstlight cold --runs {runs} -- {}", words(only));
    }
    let arms = case.arms.iter().zip(commands).map(|(arm, command)| {
        format!(" --arm {}", quoted(&format!("{}={}", arm.name, words(command))))
    });
    format!("firstlight cold --runs {runs}{}", arms.collect::<String>())
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
