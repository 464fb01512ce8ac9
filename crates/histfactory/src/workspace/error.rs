//! Errors in workspaces, with their places.

use std::fmt;
use std::path::PathBuf;

use super::Channel;
use super::nearest::nearest;

/// An error for a file that could not be read or is not a valid workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("not a JSON document: {0}")]
    Syntax(#[source] serde_json::Error),
    #[error("{}", list(.0))]
    Invalid(Vec<Problem>),
    #[error("there is no measurement in the workspace")]
    NoMeasurement,
    #[error("there is no {what} `{name}` in the workspace")]
    Unknown { what: &'static str, name: String, known: Vec<String> },
    #[error("the workspaces cannot be combined: {0}")]
    Combine(String),
    #[error("`{op}` at `{path}`, operation {index} of the patch, cannot be done: {reason}")]
    Patch { index: usize, op: String, path: String, reason: String },
    #[error("not a JSON patch: {0}")]
    NoPatch(String),
    #[error("not a patch set: {0}")]
    NoPatchSet(String),
    #[error("the {algorithm} of the workspace is {found}, the patch set was made for {expected}")]
    Digest { algorithm: String, expected: String, found: String },
}

impl WorkspaceError {
    /// A remedy, where one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { what, name, known } => {
                Some(match nearest(name, known.iter().map(String::as_str)) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("the {what}s are {}", quoted(known)),
                })
            }
            Self::Combine(_) => {
                Some("rename what clashes, or join with `outer` or `left outer`".to_owned())
            }
            Self::Patch { .. } => Some("is it a patch of this workspace?".to_owned()),
            Self::Digest { .. } => {
                Some("take the background-only workspace that it was published with".to_owned())
            }
            Self::Syntax(_) => Some("a workspace is a JSON file as pyhf writes it".to_owned()),
            Self::Read { .. }
            | Self::Invalid(_)
            | Self::NoMeasurement
            | Self::NoPatch(_)
            | Self::NoPatchSet(_) => None,
        }
    }
}

fn quoted(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut quoted: Vec<String> =
        names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if names.len() > SHOWN {
        quoted.push("…".to_owned());
    }
    quoted.join(", ")
}

/// An error and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub place: Place,
    pub what: String,
}

/// A place in a workspace; unknown or inapplicable parts are left out.
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

impl Place {
    pub(super) fn of_channel(channel: &Channel) -> Self {
        Self { channel: Some(channel.name.clone()), ..Self::default() }
    }
}

impl Problem {
    /// A problem of the workspace as a whole.
    pub(super) fn anywhere(what: String) -> Self {
        Self { place: Place::default(), what }
    }
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

/// A problem, or the first few, one on each line.
fn list(problems: &[Problem]) -> String {
    const SHOWN: usize = 10;
    if let [problem] = problems {
        return problem.to_string();
    }
    let mut lines = vec![format!("{} problems", problems.len())];
    lines.extend(problems.iter().take(SHOWN).map(|problem| format!("  {problem}")));
    if problems.len() > SHOWN {
        lines.push(format!("  and {} more", problems.len() - SHOWN));
    }
    lines.join("\n")
}
