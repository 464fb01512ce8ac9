//! What a snapshot's documents say; their versions are looked at before anything else.

use std::path::Path;

use firstlight_schema::run::{self, RunDocument};
use firstlight_schema::snapshot::{self, MANIFEST, Manifest, RAW, RESULT, SUITE};
use firstlight_schema::suite::SuiteFile;
use firstlight_schema::version::{SchemaId, Version};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Files;
use super::files::refused;
use crate::EngineError;

#[derive(Deserialize)]
struct Head {
    schema: SchemaId,
}

/// The version of a document, where it is the one that is wanted and its major is known.
pub fn check_version(content: &[u8], name: &str, ours: Version) -> Result<Version, String> {
    let head: Head = serde_json::from_slice(content).map_err(|error| error.to_string())?;
    let (found, version) = (&head.schema.name, head.schema.version);
    if found != name {
        return Err(format!("is a document `{found}`, not `{name}`"));
    }
    if version.major != ours.major {
        return Err(format!("has version {version}, this firstlight reads {}.x", ours.major));
    }
    Ok(version)
}

pub fn read_manifest(files: &Files, path: &Path) -> Result<Manifest, EngineError> {
    document(files, path, MANIFEST, snapshot::NAME, snapshot::VERSION)
}

/// The result of a snapshot, as it was published.
pub fn read_result(files: &Files, path: &Path) -> Result<RunDocument, EngineError> {
    document(files, path, RESULT, run::NAME, run::VERSION)
}

fn document<T: DeserializeOwned>(
    files: &Files,
    path: &Path,
    file: &str,
    name: &str,
    ours: Version,
) -> Result<T, EngineError> {
    let content = files.get(file).ok_or_else(|| refused(path, file, "is missing"))?;
    check_version(content, name, ours).map_err(|reason| refused(path, file, &reason))?;
    serde_json::from_slice(content)
        .map_err(|error| refused(path, file, &format!("cannot be read: {error}")))
}

/// The suite as it was chosen.
pub fn read_suite(
    files: &Files,
    path: &Path,
    manifest: &Manifest,
) -> Result<SuiteFile, EngineError> {
    let name = format!("{SUITE}suite.toml");
    let content = files.get(&name).ok_or_else(|| refused(path, &name, "is missing"))?;
    let wrong = |reason: String| refused(path, &name, &reason);
    let text = str::from_utf8(content).map_err(|error| wrong(error.to_string()))?;
    let defaults = manifest.origin.defaults;
    let mut suite =
        SuiteFile::parse_with(text, defaults).map_err(|error| wrong(error.to_string()))?;
    manifest.origin.choice.apply(&mut suite).map_err(wrong)?;
    Ok(suite)
}

/// The lines of `raw.jsonl`.
pub fn raw_lines<'a>(files: &'a Files, path: &Path) -> Result<Vec<&'a [u8]>, EngineError> {
    let content = files.get(RAW).ok_or_else(|| refused(path, RAW, "is missing"))?;
    let mut lines: Vec<&[u8]> = content.split(|&byte| byte == b'\n').collect();
    match lines.pop() {
        Some(b"") | None => Ok(lines),
        Some(_) => Err(refused(path, RAW, "ends in the middle of a line")),
    }
}
