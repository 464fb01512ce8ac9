//! What can be wrong with a workspace, and where.

use std::fmt;
use std::path::PathBuf;

/// A workspace that could not be read, or is not one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    #[error("cannot read `{}`: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("not a JSON document: {0}")]
    Syntax(#[source] serde_json::Error),
    #[error("{}", list(.0))]
    Invalid(Vec<Problem>),
}

/// Something that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub place: Place,
    pub what: String,
}

/// A place in a workspace; what is not known or does not apply is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    pub channel: Option<String>,
    pub sample: Option<String>,
    pub modifier: Option<String>,
    /// A measurement and its parameter, for what is wrong there.
    pub measurement: Option<String>,
    pub parameter: Option<String>,
    pub observation: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("measurement", &self.measurement),
            ("parameter", &self.parameter),
            ("observation", &self.observation),
            ("channel", &self.channel),
            ("sample", &self.sample),
            ("modifier", &self.modifier),
        ];
        let mut first = true;
        for (word, name) in parts {
            let Some(name) = name else { continue };
            let comma = if first { "" } else { ", " };
            write!(formatter, "{comma}{word} `{name}`")?;
            first = false;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.to_string() {
            place if place.is_empty() => formatter.write_str(&self.what),
            place => write!(formatter, "{place}: {}", self.what),
        }
    }
}

/// The first few problems, one to a line.
fn list(problems: &[Problem]) -> String {
    const SHOWN: usize = 10;
    let mut lines: Vec<String> = problems.iter().take(SHOWN).map(Problem::to_string).collect();
    if problems.len() > SHOWN {
        lines.push(format!("and {} more", problems.len() - SHOWN));
    }
    lines.join("\n")
}
