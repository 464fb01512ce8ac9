//! JSON patches (RFC 6902), with which HEPData publishes signals on top of a background-only workspace.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::{Workspace, WorkspaceError};

/// A list of operations on a workspace's document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Patch(json_patch::Patch);

impl Patch {
    /// Reads a patch.
    ///
    /// ```
    /// use histfactory::workspace::Patch;
    ///
    /// let patch = Patch::from_slice(
    ///     br#"[{"op": "replace", "path": "/channels/0/samples/0/data", "value": [7.0]}]"#,
    /// )?;
    /// # Ok::<(), histfactory::workspace::WorkspaceError>(())
    /// ```
    pub fn from_slice(json: &[u8]) -> Result<Self, WorkspaceError> {
        let patch = serde_json::from_slice(json);
        patch.map(Self).map_err(|error| WorkspaceError::NoPatch(error.to_string()))
    }

    /// Reads a patch from a file.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let path = path.as_ref();
        let json = std::fs::read(path)
            .map_err(|source| WorkspaceError::Read { path: path.to_owned(), source })?;
        Self::from_slice(&json)
    }

    pub(super) fn from_value(value: &Value) -> Result<Self, WorkspaceError> {
        let patch = serde::Deserialize::deserialize(value);
        patch
            .map(Self)
            .map_err(|error: serde_json::Error| WorkspaceError::NoPatch(error.to_string()))
    }

    /// Applies all operations, or none.
    pub fn apply(&self, document: &mut Value) -> Result<(), WorkspaceError> {
        let mut changed = document.clone();
        self.change(&mut changed)?;
        *document = changed;
        Ok(())
    }

    /// Applies the operations up to the first that fails.
    ///
    /// The crate's own all-or-nothing mode is not used: it undoes operations, and panics if it cannot, for
    /// example after moving a value out of its place and into it again.
    pub(super) fn change(&self, document: &mut Value) -> Result<(), WorkspaceError> {
        json_patch::patch_unsafe(document, &self.0).map_err(|error| {
            let operation = self.0.0.get(error.operation);
            let op = operation.and_then(|operation| serde_json::to_value(operation).ok());
            let op = op.and_then(|op| op["op"].as_str().map(str::to_owned)).unwrap_or_default();
            WorkspaceError::Patch {
                index: error.operation,
                op,
                path: error.path.to_string(),
                reason: error.kind.to_string(),
            }
        })
    }
}

impl Workspace {
    /// The workspace with patches applied, one after the other.
    pub fn patched(&self, patches: &[Patch]) -> Result<Self, WorkspaceError> {
        let mut document = self.to_value();
        for patch in patches {
            patch.change(&mut document)?;
        }
        Self::from_value(&document)
    }
}
