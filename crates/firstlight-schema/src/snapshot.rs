//! The document `snapshot`: the manifest of a published result, and the state at its start.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::machine_state::MachineState;
use crate::run::EnvironmentRecord;
use crate::suite::Choice;
use crate::version::{Build, SchemaId, Version};

pub const NAME: &str = "snapshot";
pub const VERSION: Version = Version { major: 1, minor: 2 };

/// Names inside a snapshot.
pub const MANIFEST: &str = "manifest.json";
pub const RESULT: &str = "result.json";
pub const RAW: &str = "raw.jsonl";
/// The cost of recording for the arms of a suite with `trace = true`.
pub const TRACE: &str = "trace.json";
/// For a merged snapshot: the manifest of each shard, one per line.
pub const SHARDS: &str = "shards.jsonl";
pub const SUITE: &str = "suite/";
pub const SCHEMAS: &str = "schemas/";
pub const CITATION: &str = "CITATION.cff";
pub const ZENODO: &str = ".zenodo.json";
pub const VALIDATION: &str = "validation.json";
pub const SIGNATURE: &str = "manifest.json.minisig";
/// For a running or interrupted run: the state at its start, which becomes part of the manifest.
pub const ORIGIN: &str = "origin.json";

/// `manifest.json`. The result can be recomputed from it, the raw readings and the suite's files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Manifest {
    pub schema: SchemaId,
    /// `sha256:` and the digest of this document, as compact JSON without this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub origin: Origin,
    /// The machine's state after the last process; unknown for a run that was killed.
    pub after: Option<MachineState>,
    /// The suite's lock file, as a path in the snapshot.
    pub lock: Option<String>,
    /// Present if the result was recomputed from the raw readings of an older snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recomputed: Option<Recomputed>,
    /// The firstlight that sealed the files and wrote their validation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<Sealed>,
    /// Private data in the files, as far as the sealing machine can recognise it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy: Option<Privacy>,
    /// Every file except the manifest, its signature and the validation, sorted by path.
    pub files: Vec<FileEntry>,
}

/// A snapshot whose result a later firstlight recomputed; its raw readings are unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Recomputed {
    /// The identifier of the older snapshot.
    pub from: String,
    pub firstlight: Build,
    /// UTC.
    pub at: String,
}

/// The firstlight that sealed a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Sealed {
    pub firstlight: Build,
    /// The version of the validation. It also increases when only the wording of the rules changes.
    pub validation: Version,
}

/// Private data in a snapshot.
#[derive(Clone, Default, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Privacy {
    /// Whether any file contains the name of the machine.
    pub host_name: bool,
    pub user_name: bool,
    pub home_folder: bool,
    /// The number of absolute paths in the raw readings.
    pub paths: u64,
    /// The number of processes with the end of their error output in the raw readings.
    pub output: u64,
}

/// The state at the start of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Origin {
    /// UTC.
    pub created: String,
    pub suite: String,
    /// SHA-256 over the names and contents of the suite's files.
    pub suite_digest: String,
    pub firstlight: Harness,
    /// As typed.
    pub argv: Vec<String>,
    pub choice: Choice,
    /// The revision of the defaults for values missing from the suite.
    #[serde(default = "first_revision", skip_serializing_if = "is_first_revision")]
    pub defaults: u32,
    /// Environment variables of the allow-list; `null` if the value could be a path or a secret.
    pub variables: BTreeMap<String, Option<String>>,
    pub machine: Machine,
    pub before: MachineState,
    pub environment: EnvironmentRecord,
    /// Identifies the boot of the machine; clocks of different boots are not comparable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// The name of the machine, if recording it was requested. Merged results distinguish nodes by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Files of the suite that were changed while it was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suite_changes: Vec<String>,
    /// The parts of a resumed run after the first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Segment>,
    /// The snapshots that were merged into this one, in the order of their readings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ShardEntry>,
}

/// A snapshot whose raw readings are part of a merged one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ShardEntry {
    /// The identifier of the shard.
    pub id: String,
    /// The number of its processes.
    pub processes: u32,
}

/// A part of a run that was measured without interruption.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Segment {
    /// The number of its first process.
    pub first: u32,
    /// UTC.
    pub started: String,
    pub boot: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    pub firstlight: Harness,
    pub machine: Machine,
    pub before: MachineState,
}

impl Origin {
    /// The name of the machine on which a process was measured, if one was recorded.
    pub fn node_of(&self, process: u32) -> Option<&str> {
        let segment = self.segments.iter().rev().find(|segment| segment.first <= process);
        segment.map_or(self.node.as_deref(), |segment| segment.node.as_deref())
    }

    /// The boot of the machine in which a process was measured.
    pub fn boot_of(&self, process: u32) -> Option<&str> {
        let segment = self.segments.iter().rev().find(|segment| segment.first <= process);
        segment.map_or(self.boot.as_deref(), |segment| segment.boot.as_deref())
    }
}

fn first_revision() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_first_revision(revision: &u32) -> bool {
    *revision == first_revision()
}

/// The firstlight that measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Harness {
    pub build: Build,
    /// Whether it was built from files that are not in the commit.
    pub dirty: Option<bool>,
    pub binary_sha256: Option<String>,
}

/// A file of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FileEntry {
    pub path: String,
    pub sha256: String,
    pub bytes: u64,
}

impl Manifest {
    pub fn schema_id() -> SchemaId {
        SchemaId::new(NAME, VERSION)
    }
}

/// Whether the manifest covers a file.
pub fn is_inventoried(path: &str) -> bool {
    ![MANIFEST, SIGNATURE, VALIDATION, ORIGIN].contains(&path)
}
