//! An error in a suite: the line, the message, and the probable fix.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct SuiteError {
    pub line: usize,
    pub message: String,
    /// The probable correction.
    pub hint: Option<String>,
}

impl SuiteError {
    pub(crate) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let line = 1 + text[..offset.min(text.len())].matches('\n').count();
        Self { line, message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }

    /// Converts a parser's error, with the nearest known name if it lists the expected ones.
    pub(crate) fn from_toml(text: &str, error: &toml::de::Error) -> Self {
        let message = error.message().trim().replace('\n', " ");
        let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let hint = match names.split_first() {
            Some((unknown, known)) if message.contains("expected") => nearest(unknown, known),
            _ => None,
        };
        let hint = hint.map(|name| format!("did you mean `{name}`?"));
        Self::at(text, error.span().map_or(0, |span| span.start), &*message).with_hint(hint)
    }
}

/// The known name most similar to `unknown`, if any is similar.
pub(crate) fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    const ALIKE: f64 = 0.75;
    known
        .iter()
        .map(|&name| (strsim::jaro_winkler(unknown, name), name))
        .filter(|&(score, _)| score >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
