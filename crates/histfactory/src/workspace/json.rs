//! Workspaces to and from JSON.

use std::path::Path;
use std::str::FromStr;

use super::{Workspace, WorkspaceError};

impl Workspace {
    /// Reads a workspace.
    ///
    /// ```
    /// # let json = br#"{"channels": [{"name": "c", "samples": [{"name": "s", "data": [1.0],
    /// #   "modifiers": []}]}], "observations": [{"name": "c", "data": [2.0]}],
    /// #   "measurements": [], "version": "1.0.0"}"#;
    /// let workspace = histfactory::Workspace::from_slice(json)?;
    /// assert_eq!(workspace.channels[0].bins(), 1);
    /// # Ok::<(), histfactory::workspace::WorkspaceError>(())
    /// ```
    pub fn from_slice(json: &[u8]) -> Result<Self, WorkspaceError> {
        serde_json::from_slice(json).map_err(WorkspaceError::Syntax)
    }

    /// Reads a workspace from a file.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let path = path.as_ref();
        let json = std::fs::read(path)
            .map_err(|source| WorkspaceError::Read { path: path.to_owned(), source })?;
        Self::from_slice(&json)
    }

    /// Writes a workspace as pyhf does: keys in alphabetical order, indented by four.
    pub fn to_json(&self) -> String {
        let mut text = Vec::new();
        let indented = serde_json::ser::PrettyFormatter::with_indent(b"    ");
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, indented);
        serde::Serialize::serialize(self, &mut serializer).expect("a workspace has string keys");
        String::from_utf8(text).expect("JSON is UTF-8")
    }
}

impl FromStr for Workspace {
    type Err = WorkspaceError;

    fn from_str(json: &str) -> Result<Self, WorkspaceError> {
        Self::from_slice(json.as_bytes())
    }
}
