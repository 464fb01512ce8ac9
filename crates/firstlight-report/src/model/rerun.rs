//! The command that repeats the measurement of a case.

use firstlight_schema::run::{CaseResult, RunDocument};

/// Its words, quoted for a POSIX shell. Empty where no command of firstlight repeats it from the document
/// alone.
pub(super) fn rerun(document: &RunDocument, case: &CaseResult) -> Vec<String> {
    if document.imported.is_some() || is_gate(document, case) {
        return Vec::new();
    }
    let commands: Option<Vec<_>> = case.arms.iter().map(|arm| arm.command.as_deref()).collect();
    if let Some(commands) = commands.filter(|all| !all.is_empty()) {
        return cold(document, case, &commands);
    }
    let (suite, name) = (quoted(&document.suite), quoted(&case.name));
    let (processes, seed) = (document.options.processes.to_string(), document.seed.to_string());
    ["firstlight", "run", &suite, "--case", &name, "--processes", &processes, "--seed", &seed]
        .map(str::to_owned)
        .into()
}

/// Whether two commits were compared. Their checkouts are gone, and no suite has this name.
fn is_gate(document: &RunDocument, case: &CaseResult) -> bool {
    let is_side = |name: &str| ["base", "head"].contains(&name.split('.').next().unwrap_or(name));
    document.suite.starts_with("gate-") && case.arms.iter().all(|arm| is_side(&arm.name))
}

/// The command line of `firstlight cold`, whose arms are commands.
fn cold(document: &RunDocument, case: &CaseResult, commands: &[&[String]]) -> Vec<String> {
    let words = |command: &[String]| command.iter().map(|word| quoted(word)).collect::<Vec<_>>();
    let runs = document.options.processes.to_string();
    let mut line: Vec<String> = ["firstlight", "cold", "--runs", &runs].map(str::to_owned).into();
    if let [only] = commands {
        line.push("--".to_owned());
        line.extend(words(only));
        return line;
    }
    for (arm, command) in case.arms.iter().zip(commands) {
        line.push("--arm".to_owned());
        line.push(quoted(&format!("{}={}", arm.name, words(command).join(" "))));
    }
    line
}

/// A word quoted for a POSIX shell.
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
    fn a_word_is_quoted_only_where_a_shell_requires_it() {
        assert_eq!(quoted("mlp.width-64"), "mlp.width-64");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("$(rm -r ~)'s"), r"'$(rm -r ~)'\''s'");
    }
}
