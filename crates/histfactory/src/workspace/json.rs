//! Workspaces to and from JSON.

use std::path::Path;
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;

use super::diagnose::diagnose;
use super::{Problem, Workspace, WorkspaceError};

impl Workspace {
    /// Reads and validates a workspace.
    ///
    /// ```
    /// use histfactory::Workspace;
    ///
    /// let workspace = Workspace::from_slice(br#"{
    ///     "channels": [{"name": "SR", "samples": [{
    ///         "name": "signal", "data": [5.0, 6.0],
    ///         "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]
    ///     }]}],
    ///     "observations": [{"name": "SR", "data": [4, 8]}],
    ///     "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
    ///     "version": "1.0.0"
    /// }"#)?;
    /// assert_eq!(workspace.channels[0].bins(), 2);
    /// # Ok::<(), histfactory::workspace::WorkspaceError>(())
    /// ```
    ///
    /// Errors name the channel, sample and modifier:
    ///
    /// ```
    /// # use histfactory::Workspace;
    /// let error = Workspace::from_slice(br#"{
    ///     "channels": [{"name": "SR", "samples": [{
    ///         "name": "signal", "data": [5.0],
    ///         "modifiers": [{"name": "mu", "type": "normfacter", "data": null}]
    ///     }]}],
    ///     "observations": [{"name": "SR", "data": [4]}],
    ///     "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
    ///     "version": "1.0.0"
    /// }"#).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "channel `SR`, sample `signal`, modifier `mu`: \
    ///      there is no modifier type `normfacter`; did you mean `normfactor`?"
    /// );
    /// ```
    pub fn from_slice(json: &[u8]) -> Result<Self, WorkspaceError> {
        let workspace: Self = serde_json::from_slice(json).map_err(|error| explain(json, error))?;
        workspace.validate()?;
        Ok(workspace)
    }

    /// Reads and validates a workspace from a file.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let path = path.as_ref();
        let json = std::fs::read(path)
            .map_err(|source| WorkspaceError::Read { path: path.to_owned(), source })?;
        Self::from_slice(&json)
    }

    /// Reads and validates a workspace from a parsed document.
    pub fn from_value(document: &Value) -> Result<Self, WorkspaceError> {
        let workspace = serde::Deserialize::deserialize(document);
        let workspace: Self = workspace.map_err(|error| refused(document, &error))?;
        workspace.validate()?;
        Ok(workspace)
    }

    /// The workspace as a document, for patches.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("a workspace has string keys")
    }

    /// Writes a workspace like pyhf: keys in alphabetical order, indented by four.
    pub fn to_json(&self) -> String {
        let mut text = Vec::new();
        let indented = serde_json::ser::PrettyFormatter::with_indent(b"    ");
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, indented);
        self.serialize(&mut serializer).expect("a workspace has string keys");
        String::from_utf8(text).expect("JSON is UTF-8")
    }
}

impl FromStr for Workspace {
    type Err = WorkspaceError;

    fn from_str(json: &str) -> Result<Self, WorkspaceError> {
        Self::from_slice(json.as_bytes())
    }
}

/// The reason why the fast reader rejected the document: with names, if it is valid JSON.
fn explain(json: &[u8], error: serde_json::Error) -> WorkspaceError {
    match serde_json::from_slice(json).or_else(|_| serde_json::from_slice(&quoted(json))) {
        Ok(document) => refused(&document, &error),
        Err(_) => WorkspaceError::Syntax(error),
    }
}

fn refused(document: &Value, error: &serde_json::Error) -> WorkspaceError {
    let mut problems = diagnose(document);
    if problems.is_empty() {
        problems.push(Problem::anywhere(error.to_string()));
    }
    WorkspaceError::Invalid(problems)
}

/// Python writes numbers that JSON does not allow. As strings they can at least be located in an error.
fn quoted(json: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(json.len());
    let (mut at, mut in_string) = (0, false);
    while at < json.len() {
        let rest = &json[at..];
        let odd = [&b"-Infinity"[..], b"Infinity", b"NaN"];
        if let Some(odd) = odd.into_iter().find(|odd| !in_string && rest.starts_with(odd)) {
            text.push(b'"');
            text.extend_from_slice(odd);
            text.push(b'"');
            at += odd.len();
        } else {
            let escape = in_string && rest[0] == b'\\' && rest.len() > 1;
            let taken = if escape { 2 } else { 1 };
            in_string ^= rest[0] == b'"';
            text.extend_from_slice(&rest[..taken]);
            at += taken;
        }
    }
    text
}
