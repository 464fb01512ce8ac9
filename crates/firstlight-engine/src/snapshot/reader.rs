//! Reads the documents of a snapshot; the version is checked first.

use std::path::Path;

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::run::{self, RunDocument};
use firstlight_schema::snapshot::{self, MANIFEST, Manifest, RAW, RESULT, SUITE};
use firstlight_schema::suite::SuiteFile;
use firstlight_schema::version::{SchemaId, Version};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Files;
use super::files::refused;
use super::newer::{Understood, read_document, understood_suite};
use super::schemas::Shape;
use crate::EngineError;

#[derive(Deserialize)]
struct Head {
    schema: SchemaId,
}

/// The version of a document, if it is the expected document with a known major version.
pub fn check_version(content: &[u8], name: &str, ours: Version) -> Result<Version, String> {
    let head: Head = serde_json::from_slice(content)
        .map_err(|error| format!("is not a document of firstlight: {error}"))?;
    let (found, version) = (&head.schema.name, head.schema.version);
    if found != name {
        return Err(format!("is a document `{found}`, not `{name}`"));
    }
    if version.major != ours.major {
        return Err(format!("has version {version}, this firstlight reads {}.x", ours.major));
    }
    Ok(version)
}

/// A manifest or a validation is a list of names, not of readings.
pub const LARGEST_LIST: usize = 8 << 20;
/// People write suites. As values of TOML they take a hundred times their size.
const LARGEST_SUITE: usize = 512 << 10;

fn check_size(files: &Files, path: &Path, file: &str, largest: usize) -> Result<(), EngineError> {
    let bytes = files.get(file).map_or(0, <[u8]>::len);
    if bytes <= largest {
        return Ok(());
    }
    Err(refused(path, file, &format!("has {bytes} bytes, {largest} are allowed")))
}

pub fn read_manifest(files: &Files, path: &Path) -> Result<Manifest, EngineError> {
    check_size(files, path, MANIFEST, LARGEST_LIST)?;
    Ok(document(files, path, MANIFEST, snapshot::NAME, Shape::Manifest)?.document)
}

/// The result of a snapshot, as it was published.
pub fn read_result(files: &Files, path: &Path) -> Result<RunDocument, EngineError> {
    Ok(with_notice(document(files, path, RESULT, run::NAME, Shape::Run)?))
}

/// The run, with a notice that counts the dropped values.
pub(crate) fn with_notice(read: Understood<RunDocument>) -> RunDocument {
    let Understood { mut document, left_out } = read;
    let version = document.schema.version;
    if version > run::VERSION {
        let text = format!(
            "version {version} of the document is newer than {}; {left_out} values were left out",
            run::VERSION
        );
        document.machine_notices.push(Reason::new(Finding::NewerVersion, text));
    }
    document
}

fn document<T: DeserializeOwned>(
    files: &Files,
    path: &Path,
    file: &str,
    name: &str,
    shape: Shape,
) -> Result<Understood<T>, EngineError> {
    let content = files.get(file).ok_or_else(|| refused(path, file, "is missing"))?;
    let wrong = |reason: String| refused(path, file, &reason);
    let version = check_version(content, name, shape.version()).map_err(wrong)?;
    read_document(shape, content, version)
        .map_err(|error| refused(path, file, &format!("cannot be read: {error}")))
}

/// Whether a snapshot was written by a newer minor version.
pub fn is_newer(manifest: &Manifest) -> bool {
    manifest.schema.version > snapshot::VERSION
}

/// The suite as it was chosen.
pub fn read_suite(
    files: &Files,
    path: &Path,
    manifest: &Manifest,
) -> Result<SuiteFile, EngineError> {
    let name = format!("{SUITE}suite.toml");
    check_size(files, path, &name, LARGEST_SUITE)?;
    let content = files.get(&name).ok_or_else(|| refused(path, &name, "is missing"))?;
    let wrong = |reason: String| refused(path, &name, &reason);
    let text = str::from_utf8(content).map_err(|error| wrong(error.to_string()))?;
    let defaults = manifest.origin.defaults;
    let known =
        if is_newer(manifest) { Some(understood_suite(text).map_err(wrong)?) } else { None };
    let text = known.as_deref().unwrap_or(text);
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
        Some(_) => Err(refused(path, RAW, "is truncated in the middle of a line")),
    }
}
