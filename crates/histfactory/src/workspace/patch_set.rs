//! Patch sets: many patches of one workspace, by name or by the values of their labels.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::digest::{Algorithm, digest};
use super::patch::Patch;
use super::validate::duplicates;
use super::{VERSION, Workspace, WorkspaceError};

/// Patches with their metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchSet {
    pub metadata: PatchSetMetadata,
    pub patches: Vec<PatchSetEntry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PatchSetMetadata {
    pub description: String,
    /// Digests of the workspace that the patches are for, by algorithm.
    pub digests: BTreeMap<String, String>,
    /// The dimensions of the patches' values.
    pub labels: Vec<String>,
    pub references: BTreeMap<String, String>,
}

/// A patch, its name and its values: numbers or strings, one for each label.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchSetEntry {
    pub name: String,
    pub values: Vec<Value>,
    pub patch: Patch,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    metadata: PatchSetMetadata,
    patches: Vec<Entry>,
    version: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    metadata: EntryMetadata,
    patch: Value,
}

#[derive(Deserialize)]
struct EntryMetadata {
    name: String,
    values: Vec<Value>,
}

impl PatchSet {
    pub fn from_slice(json: &[u8]) -> Result<Self, WorkspaceError> {
        let document: Document = serde_json::from_slice(json)
            .map_err(|error| WorkspaceError::NoPatchSet(error.to_string()))?;
        if document.version != VERSION {
            let what =
                format!("`version` is \"{}\", only \"{VERSION}\" is known", document.version);
            return Err(WorkspaceError::NoPatchSet(what));
        }
        let entry = |entry: Entry| {
            let patch = Patch::from_value(&entry.patch)?;
            Ok(PatchSetEntry { name: entry.metadata.name, values: entry.metadata.values, patch })
        };
        let patches = document.patches.into_iter().map(entry).collect::<Result<_, _>>()?;
        let set = Self { metadata: document.metadata, patches };
        set.check()?;
        Ok(set)
    }

    /// Reads a patch set from a file.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let path = path.as_ref();
        let json = std::fs::read(path)
            .map_err(|source| WorkspaceError::Read { path: path.to_owned(), source })?;
        Self::from_slice(&json)
    }

    fn check(&self) -> Result<(), WorkspaceError> {
        let no = |what: String| Err(WorkspaceError::NoPatchSet(what));
        if let Some(name) = duplicates(self.patches.iter().map(|entry| &entry.name)).first() {
            return no(format!("there are two patches `{name}`"));
        }
        let labels = self.metadata.labels.len();
        for (index, entry) in self.patches.iter().enumerate() {
            if entry.values.len() != labels {
                let (name, values) = (&entry.name, entry.values.len());
                return no(format!("patch `{name}` has {values} values for {labels} labels"));
            }
            let same = |other: &&PatchSetEntry| other.values == entry.values;
            if let Some(other) = self.patches[..index].iter().find(same) {
                let (one, two) = (&other.name, &entry.name);
                return no(format!("patches `{one}` and `{two}` have the same values"));
            }
        }
        Ok(())
    }

    /// The patch with that name.
    pub fn get(&self, name: &str) -> Result<&PatchSetEntry, WorkspaceError> {
        self.patches.iter().find(|entry| entry.name == name).ok_or_else(|| {
            WorkspaceError::Unknown {
                what: "patch",
                name: name.to_owned(),
                known: self.patches.iter().map(|entry| entry.name.clone()).collect(),
            }
        })
    }

    /// Checks that the patches were made for this document.
    pub fn verify(&self, document: &Value) -> Result<(), WorkspaceError> {
        for (algorithm, expected) in &self.metadata.digests {
            let Some(known) = Algorithm::parse(algorithm) else {
                let what = format!("there is no digest `{algorithm}`, only md5 and sha256");
                return Err(WorkspaceError::NoPatchSet(what));
            };
            let found = digest(document, known);
            if !found.eq_ignore_ascii_case(expected) {
                let (algorithm, expected) = (algorithm.clone(), expected.clone());
                return Err(WorkspaceError::Digest { algorithm, expected, found });
            }
        }
        Ok(())
    }

    /// The document, verified, with one of the patches applied.
    pub fn apply(&self, document: &Value, name: &str) -> Result<Workspace, WorkspaceError> {
        self.verify(document)?;
        let mut patched = document.clone();
        self.get(name)?.patch.change(&mut patched)?;
        Workspace::from_value(&patched)
    }
}
